"""The encoder folder that a run leaves: three libraries read it and give the same vectors."""

import json
import shlex
import shutil
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from sentence_transformers import SentenceTransformer
from transformers import AutoModelForMaskedLM, AutoTokenizer

from tests.engine.encoders.models import (
    SENTENCES,
    SPECIAL,
    WORDS,
    close,
    edit_config,
    plainly,
    save,
    save_sentence_transformer,
)
from tests.errors import refused
from theodolite.engine.encoders import describe, load
from theodolite.engine.training import Evaluated, TrainSpec
from theodolite.engine.training.base_spec import relative_path
from theodolite.engine.training.export import write
from theodolite.engine.training.model import open_model
from theodolite.engine.training.record import Record, card, earlier, read

LONG = "a cat sat on the mat and then ran"
"""Longer than the runs' greatest length."""
TEXTS = [*SENTENCES, LONG, ""]


def trained(base, out, objective="unsup", **changes):
    """A model that training has moved a little; its spec has all the changes."""
    source = base if isinstance(base, str) else f"dir:{base}"
    spec = TrainSpec(objective, source, "sentences.txt", str(out), max_length=6, **changes)
    model = open_model(spec, [(text,) for text in SENTENCES])
    generator = torch.Generator().manual_seed(0)
    for weight in model.parameters():
        weight.data += 0.05 * torch.randn(weight.shape, generator=generator)
    return model


def record_of(model, **facts):
    """What a run would say of it."""
    return Record(model.spec, "0123abcd", 7, **facts)


@pytest.mark.parametrize(
    ("kind", "pooling", "head"),
    [
        ("bert", "cls_token", "mlp-train-only"),
        ("bert", "cls_token", "mlp"),
        ("bert", "cls_token", "none"),
        ("bert", "avg", "none"),
        ("bert", "avg_top2", "none"),
        ("bert", "avg_first_last", "mlp-train-only"),
        ("bert", "max", "none"),
        ("roberta", "cls_token", "mlp"),
        ("roberta", "avg_first_last", "none"),
        ("gpt2", "avg", "none"),
        # A base that has words of its own.
        ("new:layers=1,hidden=32,heads=2,vocab=60,positions=40", "cls_token", "mlp-train-only"),
    ],
)
def test_three_libraries_give_the_vectors_of_training(folders, tmp_path, kind, pooling, head):
    """Without options, warnings or files of other places; the pooling doctor names the pooling."""
    model = trained(folders.get(kind, kind), tmp_path / "out", pooling=pooling, head=head)
    texts = TEXTS if kind != "gpt2" else [*SENTENCES, LONG]
    expected = model.encode(texts)
    spec = write(model, record_of(model))

    with warnings.catch_warnings(action="error"):
        peer = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    close(peer.encode(texts), expected)
    name = "pooler_output" if (head, pooling) == ("mlp", "cls_token") else pooling
    for place in (0, 1, -2, -1):
        close(plainly(tmp_path / "out", name, texts[place]), expected[place])

    assert describe(spec)["pooling"] == name
    for source in (spec, f"{spec}?pooling={name}"):
        own = load(source, device="cpu")
        close(own.encode(texts), expected)
        assert (own.dim, own.warnings) == (32, ())


def test_of_t5_the_encoder_is_trained_and_read_again(tmp_path):
    """As SentenceTransformer reads it, too; of its decoder nothing is written."""
    model = trained(save(tmp_path / "t5", "t5"), tmp_path / "out", pooling="avg", head="none")
    spec = write(model, record_of(model))
    for peer in (
        load(spec, device="cpu"),
        SentenceTransformer(str(tmp_path / "out"), device="cpu"),
    ):
        close(peer.encode(SENTENCES), model.encode(SENTENCES))


ASK, DOC = "Ask this:\n", "doc:"
"""The prompts of a base, which cannot be written with a line between them."""


@pytest.mark.parametrize(
    ("objective", "asked", "prompts", "columns", "query", "document", "usual"),
    [
        ("sup", "", "query: | passage:", ["query: ", "passage: "], "query: ", "passage: ", ""),
        ("unsup", "", "say:", ["say: "], "say: ", "say: ", "say: "),
        ("unsup", "", None, [""], "", "", ""),
        ("mlm", "", "base", [""], ASK, DOC, ""),
        ("unsup", "", "base", [""], ASK, DOC, ""),
        ("sup", "", "base", [ASK, DOC], ASK, DOC, ""),
        ("sup", "?prompt=@task", "base", [ASK, DOC], ASK, DOC, ""),
        ("sup", "?query_prompt=", "base", ["", DOC], "", DOC, ""),
        ("sup", "?prompt=own", "base", ["own", "own"], "own", "own", "own"),
        ("unsup", "?prompt=document&query_prompt=query", "base", [DOC], ASK, DOC, DOC),
    ],
)
def test_prompts_are_read_by_sentence_transformers(
    folders, tmp_path, objective, asked, prompts, columns, query, document, usual
):
    """Those of the base unless others are given; one for all columns precedes every sentence."""
    base = shutil.copytree(folders["bert"], tmp_path / "base")
    own = {"prompts": {"query": ASK, "document": DOC}, "default_prompt_name": None}
    (base / "config_sentence_transformers.json").write_text(json.dumps(own))
    spec = f"dir:{base}{asked}"
    model = trained(spec, tmp_path / "out", objective, prompts=prompts, pooling="avg", head="none")
    assert list(model.column_prompts) == columns
    ours = load(write(model, record_of(model)), device="cpu")
    peer = SentenceTransformer(str(tmp_path / "out"), device="cpu")
    of_sides = "encode_query(" in (tmp_path / "out" / "README.md").read_text()
    assert of_sides is (len({*columns}) > 1 and prompts != "base")
    for encode, prompt in (
        (peer.encode_query, query),
        (peer.encode_document, document),
        (peer.encode, usual),
    ):
        close(encode(SENTENCES), model.encode([prompt + text for text in SENTENCES]))
    close(ours.encode(SENTENCES), peer.encode(SENTENCES))


def test_a_kept_head_over_a_mean_is_a_dense_layer(folders, tmp_path):
    """For which plain transformers have no place; one of the base is left out, and that is said."""
    base = save_sentence_transformer(tmp_path / "dense", "mean")
    (note,) = open_model(TrainSpec("unsup", f"dir:{base}", "x", "y", max_length=6), []).base.notes
    assert note.startswith("The module Dense of ")
    model = trained(folders["bert"], tmp_path / "out", pooling="avg", head="mlp")
    rows = load(write(model, record_of(model)), device="cpu").encode(SENTENCES)
    close(rows, model.encode(SENTENCES))
    dense = model.heads[0].dense
    mean = np.array([plainly(tmp_path / "out", "avg", s) for s in SENTENCES])
    close(rows, np.tanh(mean @ dense.weight.detach().numpy().T + dense.bias.detach().numpy()))


@pytest.mark.parametrize(
    ("option", "limit"), [("", 8), ("?pooling=avg", 24), ("?max_length=7", 7), ("?max_length=5", 6)]
)
def test_a_trained_encoder_takes_as_many_tokens_as_its_base(tmp_path, option, limit):
    """Or as many as it was trained on, where these are more."""
    base = edit_config(
        save_sentence_transformer(tmp_path / "base"), "sentence_bert_config.json", max_seq_length=8
    )
    model = trained(f"dir:{base}{option}", tmp_path / "out")
    spec = write(model, record_of(model))
    assert describe(spec)["max_tokens"] == model.limit == limit
    close(load(spec, device="cpu").encode([2 * f"{LONG} "]), model.encode([2 * f"{LONG} "]))


def test_of_two_encoders_the_first_is_kept(folders, tmp_path):
    """Sentences of a task have no side."""
    model = trained(folders["bert"], tmp_path / "out", dual=True, head="none").eval()
    rows, ids = load(write(model, record_of(model))).encode(SENTENCES), model.ids(SENTENCES)
    first, second = (model.vectors(ids, side=side).detach() for side in (0, 1))
    short = [i for i, row in enumerate(ids) if len(row) < 6]
    close(rows[short], first.numpy()[short])
    assert not torch.allclose(first, second, atol=1e-2)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
def test_mlm_keeps_its_head_for_the_next_run(tmp_path, kind):
    """Transformers finds it; a run from the folder predicts with it."""
    base = save(tmp_path / kind, kind, "ForMaskedLM")
    model = trained(base, tmp_path / "out", "mlm", pooling="avg")
    spec = write(model, record_of(model))
    ids = AutoTokenizer.from_pretrained(tmp_path / "out")(
        SENTENCES[2], return_tensors="pt"
    ).input_ids
    logits = AutoModelForMaskedLM.from_pretrained(tmp_path / "out").eval()(input_ids=ids).logits[0]
    for each in (model, open_model(TrainSpec("mlm", spec, "x", "y", max_length=24), [])):
        states, _ = each.eval().token_states(ids.tolist())
        torch.testing.assert_close(each.mlm_logits(states), logits, atol=1e-5, rtol=1e-5)
    assert len(model.heads) == 0
    close(load(spec, device="cpu").encode(TEXTS), model.encode(TEXTS))


CURVE = (
    {"kind": "stepped", "step": 5, "loss": 1.25},
    Evaluated(5, True, 61.5, 0.25, -1.5).to_dict(),
    {"kind": "stepped", "step": 10, "loss": 0.5},
    Evaluated(10, False, 60.0, 0.2, -1.75).to_dict(),
)


def test_the_card_says_from_what_how_and_how_well(folders, tmp_path):
    """Hash of the data, settings, curve, scores and the command; the JSON file says it all."""
    out = tmp_path / "out"
    model = trained(folders["bert"], out, temperature=0.1, hard_negatives=False, dropout=0.0)
    model.spec = replace(model.spec, train=str(tmp_path / "sentences.txt"))
    facts = {"steps": 10, "best_step": 5, "best_score": 61.5, "notes": ("2 lines were | empty.",)}
    write(model, record_of(model, curve=CURVE, **facts))
    wanted = (
        "0123abcd",
        "| `temperature` | `0.1` |",
        "**61.50** after update 5",
        "| 5 | 61.50 | 0.250 | -1.500 | 1.2500 |",
        "| 10 | 60.00 | 0.200 | -1.750 | 0.5000 |",
        "2 lines were \\| empty.",
        shlex.join(model.spec.relative_paths().command()),
        "--max-length 6 --temperature 0.1 --no-hard-negatives",
    )
    text = (out / "README.md").read_text()
    assert [words for words in wanted if words not in text] == []
    found = read(out)
    told = TrainSpec.from_dict(found["spec"]), found["curve"]
    assert told == (model.spec.relative_paths(), list(CURVE))
    # What is handed on names no folders of its maker, though the hash is of what was asked.
    assert str(folders["bert"]) in model.spec.base
    files = [file for file in out.rglob("*") if file.is_file()]
    for file, secret in product(files, (tmp_path, folders["bert"].parent)):
        assert str(secret).encode() not in file.read_bytes(), file.name
    assert (found["spec"]["train"], found["spec"]["out"]) == ("sentences.txt", "out")
    assert found["hash"] == model.spec.hash != TrainSpec.from_dict(found["spec"]).hash
    assert earlier(model.spec.out_folder, model.spec.hash) == found
    # Nothing in the folder can run.
    assert {file.suffix for file in files} <= {".json", ".safetensors", ".md", ".txt"}
    # With a dropout of 0 unsupervised SimCSE could not train it further: the base's comes back.
    config = json.loads((out / "config.json").read_text())
    assert config["hidden_dropout_prob"] == config["attention_probs_dropout_prob"] == 0.1


@pytest.mark.parametrize(
    ("source", "told"),
    [
        ("/home/me/s.txt", "s.txt"),
        ("~/x/s.txt", "s.txt"),
        ("C:\\me\\s.txt", "s.txt"),
        ("s.txt", "s.txt"),
        ("unlabelled/wiki_split", "unlabelled/wiki_split"),
        ("hf:a/b?pooling=cls_token", "hf:a/b?pooling=cls_token"),
        (
            "dir:/home/me/my enc?pooling=cls_token | normalise",
            "dir:my enc?pooling=cls_token | normalise",
        ),
        ("dir:/x/y + words:/z/w.txt + hf:a/b", "dir:y + words:w.txt + hf:a/b"),
    ],
)
def test_a_whole_path_is_told_by_its_last_part(source, told):
    """Names of data sets and models have none."""
    assert relative_path(source) == told


@pytest.mark.parametrize(
    ("objective", "told", "untold"),
    [
        ("unsup", ["- simcse", "`temperature`"], ["`mlm_probability`", "`loss`", "`dims`"]),
        ("mlm", ["`mlm_probability`", "7 updates in"], ["- simcse", "`temperature`"]),
        ("static", ["`dims`", "without updates"], ["- simcse", "`batch_size`", " updates in "]),
    ],
)
def test_the_card_claims_only_what_the_training_did(objective, told, untold):
    text = card(Record(TrainSpec(objective, "minilm", "a.txt", "out"), "ab", 9, steps=7), 32, "avg")
    assert [words for words in (*told, *untold) if words in text] == told


def test_names_cannot_break_the_card(folders, tmp_path):
    """Text of files and folders is no Markdown and no HTML."""
    model = trained(folders["bert"], tmp_path / "<i>*x*")
    spec = replace(model.spec, train="a`|\n<b>.txt")
    write(model, Record(spec, "0123abcd", 7, notes=("<script>alert(1)</script>",)))
    text = (spec.out_folder / "README.md").read_text()
    assert "<script>" not in text.replace("\\<script\\>", "") and "# \\<i\\>\\*x\\*" in text
    assert "`a'¦ <b>.txt`" in text


def test_nothing_is_overwritten(folders, tmp_path):
    """But the outcome of the same settings; a full disk leaves no half folder."""
    model, other = (trained(folders["bert"], tmp_path / "out", seed=seed) for seed in (42, 1))
    for _ in range(2):
        write(model, record_of(model))
    with refused("conflict", tmp_path / "out"):
        write(other, record_of(other))
    mine = tmp_path / "mine"
    mine.mkdir()
    assert earlier(mine, model.spec.hash) is None
    (mine / "thesis.txt").write_text("words")
    with refused("conflict", mine):
        earlier(mine, model.spec.hash)
    model.spec = replace(model.spec, out=str(mine / "thesis.txt" / "out"))
    with refused("no-file", mine / "thesis.txt"):
        write(model, record_of(model))


def test_a_long_curve_is_thinned_in_the_card():
    """The best look stays."""
    looks = [
        Evaluated(i, i in (0, 333), 50.0 + (i == 333), 0.0, 0.0).to_dict() for i in range(1000)
    ]
    record = Record(TrainSpec("unsup", "minilm", "x", "y"), "h", 1, curve=looks, best_score=51.0)
    rows = [line for line in card(record, 8, "avg").splitlines() if line.count("|") == 6]
    assert 20 < len(rows) < 30
    assert any("| 51.00 |" in row for row in rows) and rows[-1].startswith("| 999 |")


# --- SimCSE's released checkpoints ---


RELEASED = ["A cat sat .", "The dogs ran", "the mat", ""]


def released(folder, converted, kind):
    """A BERT as SimCSE's authors publish it, or as their training code leaves it.

    Unconverted (`BertForCL`) there is no pooler, but a head called mlp, which conversion makes it.
    """
    tensors = load_file(save(folder) / "model.safetensors")
    if converted:
        # Their files hold the position numbers too, as older versions of transformers wrote them.
        tensors["embeddings.position_ids"] = torch.arange(24)[None]
    else:
        edit_config(folder, architectures=["BertForCL"])
        tensors = {
            f"bert.{name}".replace("bert.pooler", "mlp"): tensor for name, tensor in tensors.items()
        }
    save_file(tensors, folder / "model.safetensors", {"format": "pt"})
    if kind == "bin":
        torch.save(tensors, folder / "pytorch_model.bin")
        (folder / "model.safetensors").unlink()
    (folder / "tokenizer.json").unlink()
    (folder / "vocab.txt").write_text("\n".join([*SPECIAL["bert"].values(), *WORDS]))
    return edit_config(
        folder, "tokenizer_config.json", tokenizer_class="BertTokenizer", mask_token=None
    )


@pytest.mark.parametrize("kind", ["bin", "safetensors"])
@pytest.mark.parametrize(
    ("name", "converted", "kept"),
    [
        ("unsup-simcse-bert-base-uncased", True, False),
        ("sup-simcse-bert-base-uncased", True, True),
        ("my-unsup-simcse-bert-base-uncased", False, False),
        ("my-sup-simcse-bert-base-uncased", False, True),
        ("result", False, False),
    ],
)
def test_they_have_their_own_pooling(tmp_path, name, kept, converted, kind):
    """Converted, the head is the pooler, which unsupervised models leave out.

    Training goes on from the transformer alone.
    """
    plain, spec = save(tmp_path / "plain"), f"dir:{released(tmp_path / name, converted, kind)}"
    encoder, pooled = (load(f"{spec}{how}", device="cpu") for how in ("", "?pooling=pooler_output"))
    opened = open_model(TrainSpec("unsup", spec, "x", "y", max_length=20), [])
    own = "pooler_output" if kept else "cls_token"
    for each, pooling in ((encoder, own), (opened, "cls_token"), (pooled, "pooler_output")):
        close(each.encode(RELEASED), [plainly(plain, pooling, text) for text in RELEASED])
    assert describe(spec)["pooling"] == own
    assert encoder.warnings == ()
    assert converted or bool(pooled.warnings) == (not kept)
