"""Folders of every kind: the library's own vectors, what their files say, or why they are none."""

import json
import shutil
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

from tests.engine.encoders.folders import LIKE_THEIRS, REFUSED, WIDTH, Folders
from tests.engine.encoders.models import (
    SENTENCES,
    close,
    edit_config,
    save,
    save_sentence_transformer,
)
from tests.errors import refused
from tests.fakes.allocation import Allocation
from theodolite.engine.encoders import (
    PromptTask,
    bind_task,
    cuts_of,
    describe,
    load,
    prompts_of,
    query_side,
    similarity_of,
    warnings_of,
)
from theodolite.engine.encoders.facts import diagnose, token_counts
from theodolite.engine.encoders.loading import checkpoint_of
from theodolite.engine.encoders.sentence_transformer import SentenceTransformerSource

LONG = " ".join(["a cat sat"] * 30)
TEXTS = [*SENTENCES, "Unknown Cat", "", LONG, "the dog slept"]
RETRIEVAL = PromptTask("mine", "Retrieval")


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """Writes folders."""
    return Folders(tmp_path)


def theirs(folder: Path, **options: object) -> SentenceTransformer:
    """The model as the library loads it, in float32."""
    return SentenceTransformer(
        str(folder),
        device="cpu",
        local_files_only=True,
        model_kwargs={"dtype": "float32"},
        **options,
    )


@pytest.mark.parametrize("kind", LIKE_THEIRS)
def test_the_vectors_are_those_of_sentence_transformers(folders, kind):
    """Whatever the modules, the weights' format and the settings; the dimension too."""
    folder = LIKE_THEIRS[kind](folders, kind.replace(" ", "-"))
    model, spec = theirs(folder), f"dir:{folder}"
    encoder = load(spec, device="cpu")
    rows = encoder.encode(TEXTS)
    close(rows, model.encode(TEXTS))
    facts = describe(spec, read=True)
    assert rows.shape[1] == encoder.dim == facts["dim"]
    assert describe(spec)["dim"] in (None, encoder.dim)
    assert similarity_of(encoder) == model.similarity_fn_name
    # A convolution sees the padding.
    assert any("depends on the texts" in one for one in facts["warnings"]) == (kind == "cnn")


@pytest.mark.parametrize("kind", ["gpt2", "bert"])
def test_a_tokenizer_without_a_padding_token_gets_one(folders, kind):
    """As the library's users do by hand; the mask leaves it out."""
    folder = edit_config(folders.mean("nopad", kind), "tokenizer_config.json", pad_token=None)
    expected = theirs(folder)
    assert expected.tokenizer.pad_token is None
    expected.tokenizer.pad_token = expected.tokenizer.convert_ids_to_tokens(0)
    encoder = load(f"dir:{folder}", device="cpu")
    close(encoder.encode(TEXTS), expected.encode(TEXTS))
    close(encoder.encode([""]), encoder.encode(["", "a"])[:1])


def test_texts_that_will_be_cut_are_counted_before_a_run(folders):
    """From the files: special tokens and prompts count, and a text of just the maximum is whole."""
    spec = f"dir:{folders.mean('st', prompts={'query': 'the dog '})}"
    whole, longer = " ".join(["cat"] * 22), " ".join(["cat"] * 23)
    texts = [*SENTENCES, whole, longer]
    for options, some, said in (
        ("", texts, "1 of 9 texts of mine is longer than the 24 tokens"),
        ("?prompt=query", texts, "2 of 9 texts of mine are longer"),
        ("?max_length=3", [longer] * 9, "9 of 9 texts of mine are longer than the 3 tokens"),
        ("", [longer] * 2000, "2,000 of 2,000"),
    ):
        (cut,) = cuts_of(f"{spec}{options}", some, "mine")
        assert said in cut
    assert cuts_of(spec, texts[:-1]) == cuts_of("wordllama", texts) == []
    encoder = load(spec, device="cpu")
    encoder.encode(texts)
    assert "1 text was cut to 24 tokens." in encoder.warnings
    # Of a damaged tokenizer a list says nothing, and who counts its tokens gets a sentence.
    (folders.root / "st" / "tokenizer.json").write_text("{")
    assert cuts_of(spec, texts) == []
    with refused("damaged", "tokenizer of"):
        token_counts(checkpoint_of(spec)[1], texts)


def test_queries_and_documents_take_their_own_routes(folders):
    """In tasks with sides, by encode_query and encode_document, whose prompts come with them."""
    folder = folders.router("router", prompts={"query": "the cat ", "document": "a "})
    model, encoder = theirs(folder), load(f"dir:{folder}", device="cpu")
    bound, similar = (
        bind_task(encoder, (), "", task) for task in (RETRIEVAL, PromptTask("mine", "STS"))
    )
    for one in (encoder, similar):
        close(one.encode(TEXTS), model.encode(TEXTS))
    close(bound.encode(TEXTS), model.encode_document(TEXTS))
    for one in (bound, encoder):
        close(query_side(one).encode(TEXTS), model.encode_query(TEXTS))
    assert prompts_of(bound) == {"prompt": "a ", "query_prompt": "the cat "}
    assert len({one.fingerprint for one in (encoder, bound, query_side(bound))}) == 3
    facts = describe(f"dir:{folder}")
    assert (facts["routed"], facts["max_tokens"]) == (True, 24)


def nested(folders, **options):
    """A router inside of a router."""
    outer = folders.m.Router({"text": [folders.routes("nested")]}, default_route="text")
    return folders.save("nested", outer, **options)


@pytest.mark.parametrize("write", [partial(Folders.router, name="router"), nested])
@pytest.mark.parametrize(
    ("options", "query"),
    [
        ("?query_prompt=a%20dog%20", "a dog "),
        ("?prompt=a%20dog%20", "a dog "),
        ("?prompt=@task", "the cat "),
        ("", "the cat "),
    ],
)
def test_a_prompt_of_the_spec_takes_the_place_of_a_route_s_own(folders, write, options, query):
    """For one side or both, by text or by task; the task reaches a router inside of a router."""
    folder = write(folders, prompts={"query": "the cat ", "STS": "a dog "})
    encoder = bind_task(load(f"dir:{folder}{options}", device="cpu"), (), "", RETRIEVAL)
    close(query_side(encoder).encode(TEXTS), theirs(folder).encode_query(TEXTS, prompt=query))


@pytest.mark.parametrize("kind", REFUSED)
def test_what_cannot_encode_is_said_to_be_what_it_is(folders, kind):
    """In the facts and when it is loaded; nothing is built that its weights deny."""
    write, code, named = REFUSED[kind]
    spec = f"dir:{write(folders, kind.replace(' ', '-'))}"
    with refused(code, *named) as caught:
        load(spec, device="cpu").encode(SENTENCES)
    assert describe(spec, read=True)["problem"] == str(caught.value)
    if kind == "plain cross-encoder":  # with a pooling, it is a transformer like any other
        assert load(f"{spec}?pooling=avg", device="cpu").encode(SENTENCES).shape[1] == WIDTH


def test_a_text_is_cut_where_the_positions_end(folders):
    """RoBERTa's begin after the padding: no file states that maximum; a larger one is not used."""
    folder, gpt = folders.mean("roberta", "roberta"), folders.mean("gpt", "gpt2")
    plain, plain_gpt = (folders.root / f"{of}-plain?pooling=avg" for of in ("roberta", "gpt"))
    long = edit_config(folders.mean("long"), "sentence_bert_config.json", max_seq_length=512)
    for path, peer in ((folder, folder), (plain, folder), (long, long), (plain_gpt, gpt)):
        expected = theirs(peer)
        expected.max_seq_length = 24
        encoder = load(f"dir:{path}", device="cpu")
        close(encoder.encode(TEXTS), expected.encode(TEXTS))
        assert "1 text was cut to 24 tokens." in encoder.warnings
    rotary = edit_config(folders.mean("gte", "gte"), "tokenizer_config.json", model_max_length=99)
    edit_config(rotary, "sentence_bert_config.json", max_seq_length=None)
    assert theirs(rotary).max_seq_length == 24
    for path in (folder, rotary):
        assert describe(f"dir:{path}")["max_tokens"] == 24
    with refused("too-large", "max_length=30", 24):
        load(f"dir:{long}?max_length=30", device="cpu").encode(TEXTS)


def test_the_fingerprint_follows_every_module(folders):
    """Another pooling, dense layer or prompt is another encoder; another folder is not."""
    dense = LIKE_THEIRS["dense"](folders, "dense")
    copy, other = (shutil.copytree(dense, folders.root / name) for name in ("copy", "other"))
    edit_config(other, "2_Dense/config.json", bias=False)
    specs = (dense, copy, f"{dense}?prompt=a", other)
    first, *others = (load(f"dir:{spec}", device="cpu").fingerprint for spec in specs)
    assert [one == first for one in others] == [True, False, False]


def test_a_batch_that_does_not_fit_the_memory_is_halved(folders):
    """Until it does, down to a single text."""
    lines, folder = ["the cat sees a dog"] * 100, folders.mean("tiny")
    source = SentenceTransformerSource("tiny", checkpoint_of(f"dir:{folder}")[1], device="cpu")
    memory = Allocation(source._loaded.model[0], most=150)
    close(np.concatenate(list(source.chunks(lines))), theirs(folder).encode(lines))
    assert 1 <= memory.failures <= 3
    memory.most = 1
    with refused("too-large", "cpu"):
        list(source.chunks(lines))


def test_routes_that_do_not_fit_get_a_sentence(folders):
    """No default route is no reason against a search, nor a lacking route against all else."""
    static, router = folders.static, folders.m.Router
    two = {"query": [static()], "document": [static()]}
    none = folders.save("none", router(two, allow_empty_key=False))
    asym = folders.save("asym", router({"query": [static()], "doc": [static()]}))
    encoder = load(f"dir:{none}", device="cpu")
    with refused("unsupported", none):
        encoder.encode(TEXTS)
    documents = bind_task(encoder, (), "", RETRIEVAL).encode(TEXTS)
    close(documents, theirs(none).encode_document(TEXTS))
    close(load(f"dir:{asym}", device="cpu").encode(TEXTS), theirs(asym).encode(TEXTS))
    for folder, code, *named in (
        (asym, "unsupported", "'document'"),
        (folders.router("unequal", dim=16), "mismatch", 16, 32),
    ):
        with refused(code, *named):
            bind_task(load(f"dir:{folder}", device="cpu"), (), "", RETRIEVAL)


# --- what a model's files say ---


SIDES = {"query": "the cat ", "document": "a "}


@pytest.mark.parametrize(
    ("name", "kind", "head", "pooling", "because", "wrong", "warning"),
    [
        (
            "unsup-simcse-bert",
            "bert",
            "Model",
            "cls_token",
            "training only",
            "pooler_output",
            "expects cls_token",
        ),
        (
            "sup-simcse-bert",
            "bert",
            "Model",
            "pooler_output",
            "trained head is its pooler",
            "avg",
            "expects pooler_output",
        ),
        (
            "my-gpt",
            "gpt2",
            "LMHeadModel",
            "last",
            "decoder",
            "cls_token",
            "first token of a decoder sees nothing",
        ),
        ("my-bert", "bert", "ForMaskedLM", "avg_first_last", "not tuned", "", ""),
        ("my-encoder", "bert", "Model", "avg", "common choice", "", ""),
    ],
)
def test_files_and_names_tell_the_pooling(
    tmp_path, name, kind, head, pooling, because, wrong, warning
):
    """It is the one used when the spec names none, and one that is wrong is warned of."""
    spec = f"dir:{save(tmp_path / name, kind, head)}"
    diagnosis, encoder = diagnose(spec), load(spec, device="cpu")
    assert diagnosis.pooling == describe(spec)["pooling"] == pooling
    assert because in diagnosis.reasons[0] and diagnosis.warnings == encoder.warnings == ()
    assert encoder.fingerprint == load(f"{spec}?pooling={pooling}", device="cpu").fingerprint
    if wrong:
        assert any(warning in one for one in load(f"{spec}?pooling={wrong}").warnings)


def test_other_evidence_of_the_pooling(tmp_path):
    """A Pooling module, a name in the configuration of a copy, a decoder that reads both ways."""
    mean, last = (save_sentence_transformer(tmp_path / one, one) for one in ("mean", "lasttoken"))
    copy = edit_config(save(tmp_path / "copy"), _name_or_path="x/unsup-simcse-bert-base")
    both = edit_config(save(tmp_path / "both", "gpt2", "LMHeadModel"), is_causal=False)
    folders = (mean, last, copy, both)
    specs = ("minilm?pooling=pooler_output", *(f"dir:{folder}" for folder in folders))
    assert [diagnose(spec).pooling for spec in specs] == ["avg", "avg", "last", "cls_token", "avg"]


def test_what_has_no_pooling_to_diagnose_is_refused(tmp_path):
    """A pooler that is not there is never made up, as transformers would."""
    for kind, head in (("bert", "ForMaskedLM"), ("gpt2", "Model")):
        with refused("unsupported", "pooler_output", "cls_token"):
            load(f"dir:{save(tmp_path / kind, kind, head)}?pooling=pooler_output")
    several = {spec: spec for spec in ("wordllama", "minilm + wordllama", "minilm | normalise")}
    for spec, named in (several | {f"dir:{tmp_path}": "config.json"}).items():
        with refused("wrong-kind", named):
            diagnose(spec)
    # sentence-transformers once wrote `0_Transformer/`.
    inner = save(tmp_path / "0_Transformer")
    part = {"path": "0_Transformer", "type": "sentence_transformers.models.Transformer"}
    (tmp_path / "modules.json").write_text(json.dumps([{"idx": 0, "name": "0", **part}]))
    loaded = [load(f"dir:{folder}?pooling=avg", device="cpu") for folder in (tmp_path, inner)]
    np.testing.assert_array_equal(*(encoder.encode(SENTENCES) for encoder in loaded))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with prompts for both sides, cut at 20 tokens, whose last module normalises."""
    folders = Folders(tmp_path_factory.mktemp("st"))
    parts = (folders.inner("model"), folders.m.Pooling(WIDTH, "cls"), folders.m.Dense(WIDTH, 8))
    made = folders.save("model", *parts, folders.m.Normalize(), prompts=SIDES)
    return edit_config(made, "sentence_bert_config.json", max_seq_length=20)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("", "query ('the cat '), document ('a '). Add prompt=@task"),
        ("?prompt=quary", "no prompt named 'quary'; it has query, document"),
        ("?prompt=document&query_prompt=the cat", "a space at the end is written %20"),
        ("?prompt=@task&max_length=22", "max_length=22 is more than the 20 tokens"),
        ("?prompt=@task&pooling=avg", "pooling=avg, but"),
        ("?prompt=@task&pooling=avg", "Dense, Normalize is left out"),
        ("?prompt=@task&pooling=cls_token", "Dense, Normalize is left out"),
        # To ask for no prompt, or for words of one's own, is to have thought of it.
        ("?prompt=@task", None),
        ("?prompt=", None),
        ("?prompt=document&query_prompt=query", None),
        ("?query_prompt=query", None),
        ("?prompt=@task&max_length=20", None),
        ("?prompt=summarise: ", None),
    ],
)
def test_a_setting_that_the_files_deny_is_said_before_a_run(folder, options, said):
    """By the encoder, in the facts of a list and alone; one that agrees is not spoken of."""
    spec = f"dir:{folder}{options}"
    every = (load(spec).warnings, describe(spec)["warnings"], warnings_of(spec))
    for warnings in every:
        assert any(said in w for w in warnings) if said else not warnings
    assert set(every[0]) == set(every[1]) == set(every[2])


def test_a_default_prompt_is_that_of_one_side(tmp_path):
    """The other side is told; what has no sides has nothing to say."""
    for name, prompts in (("document", SIDES), ("query", {"query": "the cat "})):
        save_sentence_transformer(tmp_path / name, prompts=prompts, default_prompt_name=name)
    spec = f"dir:{tmp_path / 'document'}"
    (warning,) = load(spec).warnings
    assert "Queries get the default prompt" in warning and "add query_prompt=query" in warning
    (left_out,) = (w for w in warnings_of(f"{spec}?pooling=cls_token") if "asked for" in w)
    assert "prompt=@task" in left_out
    assert load(f"dir:{tmp_path / 'query'}").warnings == ()
    save_sentence_transformer(tmp_path / "both", prompts=SIDES, default_prompt_name="query")
    (warning,) = load(f"dir:{tmp_path / 'both'}").warnings
    assert "Documents get the default prompt" in warning and "add prompt=document" in warning


def test_a_model_without_prompts(tmp_path):
    """Only what asks for them is told so."""
    folder = save(tmp_path / "bert")
    assert "name no prompts" in load(f"dir:{folder}?prompt=@task").warnings[0]
    assert warnings_of(f"dir:{folder}?prompt=query") == [f"{folder} has no prompt named 'query'."]
    for spec in (f"dir:{folder}", "random:8", "dir:/nowhere", "nonsense"):
        assert warnings_of(spec) == []


@pytest.mark.parametrize(
    ("spec", "named"),
    [
        ({"base": "new:layers=2", "train": "nli"}, ["nli"]),
        ({"base": "dir:/nowhere", "train": "/home/me/own.txt"}, ["own.txt"]),
        ({"base": "not a spec?", "train": "nli/mnli_sample"}, ["nli/mnli_sample"]),
        ({"train": 3}, []),
        ({"base": "minilm", "train": "nli"}, ["snli", "nli"]),  # the card of the base comes first
    ],
)
def test_what_was_trained_here_names_its_data(tmp_path: Path, spec: dict, named: list[str]) -> None:
    """By the record that lies beside it; a file by its name alone."""
    folder = save_sentence_transformer(tmp_path / "trained")
    (folder / "theodolite.json").write_text(json.dumps({"version": 1, "spec": spec}))
    trained_on = describe(f"dir:{folder}")["trained_on"]
    assert trained_on == named or (len(trained_on) > 10 and set(named) <= set(trained_on))
    assert trained_on[-1:] == named[-1:]
