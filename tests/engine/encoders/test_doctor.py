"""What a model's files say: the pooling that fits, the settings they contradict, its data."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.encoders.folders import WIDTH, Folders
from tests.engine.encoders.models import SENTENCES, edit_config, save, save_sentence_transformer
from tests.errors import refused
from theodolite.engine.encoders import describe, load, warnings_of
from theodolite.engine.encoders.facts import diagnose

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
        warnings = load(f"{spec}?pooling={wrong}", device="cpu").warnings
        assert any(warning in one for one in warnings)


def test_other_evidence_of_the_pooling(tmp_path):
    """A Pooling module, a name in the configuration of a copy."""
    mean, last = (save_sentence_transformer(tmp_path / one, one) for one in ("mean", "lasttoken"))
    copy = edit_config(save(tmp_path / "copy"), _name_or_path="x/unsup-simcse-bert-base")
    specs = ("minilm?pooling=pooler_output", *(f"dir:{folder}" for folder in (mean, last, copy)))
    assert [diagnose(spec).pooling for spec in specs] == ["avg", "avg", "last", "cls_token"]


def test_what_has_no_pooling_to_diagnose_is_refused(tmp_path):
    """A pooler that is not there is never made up, as transformers would."""
    for kind, head in (("bert", "ForMaskedLM"), ("gpt2", "Model")):
        with refused("unsupported", "pooler_output", "cls_token"):
            load(f"dir:{save(tmp_path / kind, kind, head)}?pooling=pooler_output")
    several = {spec: spec for spec in ("wordllama", "minilm + wordllama", "minilm | normalise")}
    for spec, named in (several | {f"dir:{tmp_path}": "config.json"}).items():
        with refused("wrong-kind", named):
            diagnose(spec)


def test_old_models_with_their_transformer_in_a_folder_beneath(tmp_path):
    """sentence-transformers once wrote `0_Transformer/`."""
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
def test_what_was_trained_here_names_its_data(
    tmp_path: Path, spec: dict[str, Any], named: list[str]
) -> None:
    """By the record that lies beside it; a file by its name alone."""
    folder = save_sentence_transformer(tmp_path / "trained")
    (folder / "theodolite.json").write_text(json.dumps({"version": 1, "spec": spec}))
    trained_on = describe(f"dir:{folder}")["trained_on"]
    assert trained_on == named or (len(trained_on) > 10 and set(named) <= set(trained_on))
    assert trained_on[-1:] == named[-1:]
