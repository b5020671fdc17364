"""What is said before a run of settings that the files of a model deny."""

import json

import pytest

from tests.engine.encoders.models import edit_config, save, save_sentence_transformer
from theodolite.engine.encoders import describe, load, warnings_of

SIDES = {"query": "the cat ", "document": "a "}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model with prompts for both sides, cut at 20 tokens, whose last module normalises."""
    made = save_sentence_transformer(tmp_path_factory.mktemp("st") / "model", prompts=SIDES)
    edit_config(made, "sentence_bert_config.json", max_seq_length=20)
    modules = json.loads((made / "modules.json").read_text())
    modules.append(
        {
            "idx": 3,
            "name": "3",
            "path": "3_Normalize",
            "type": "sentence_transformers.models.Normalize",
        }
    )
    (made / "modules.json").write_text(json.dumps(modules))
    (made / "3_Normalize").mkdir()
    return made


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            "",
            "has prompts, and none is asked for: query ('the cat '), document ('a '). "
            "Add prompt=@task",
        ),
        ("?prompt=quary", "no prompt named 'quary'; it has query, document"),
        ("?prompt=document&query_prompt=the cat", "a space at the end is written %20"),
        ("?prompt=@task&max_length=22", "max_length=22 is more than the 20 tokens"),
        ("?prompt=@task&pooling=avg", "pooling=avg, but"),
        ("?prompt=@task&pooling=avg", "Dense, Normalize is left out"),
        ("?prompt=@task&pooling=cls_token", "Dense, Normalize is left out"),
    ],
)
def test_a_setting_that_the_files_deny_is_said_before_a_run(folder, options, said):
    """By the encoder, in the facts of a list and alone."""
    spec = f"dir:{folder}{options}"
    for warnings in (load(spec).warnings, describe(spec)["warnings"], warnings_of(spec)):
        assert [w for w in warnings if said in w]
    assert set(load(spec).warnings) == set(describe(spec)["warnings"]) == set(warnings_of(spec))


@pytest.mark.parametrize(
    "options",
    [
        "?prompt=@task",
        "?prompt=",
        "?prompt=document&query_prompt=query",
        "?query_prompt=query",
        "?prompt=@task&max_length=20",
        "?prompt=summarise: ",
    ],
)
def test_a_setting_that_agrees_is_not_spoken_of(folder, options):
    """To ask for no prompt, or for words of one's own, is to have thought of it."""
    assert load(f"dir:{folder}{options}").warnings == ()


def test_a_default_prompt_is_that_of_one_side(tmp_path):
    """The other side is told; what has no sides has nothing to say."""
    folder = save_sentence_transformer(
        tmp_path / "st", prompts=SIDES, default_prompt_name="document"
    )
    (warnings,) = load(f"dir:{folder}").warnings
    assert "Queries get the default prompt" in warnings and "add query_prompt=query" in warnings
    (left_out,) = (w for w in warnings_of(f"dir:{folder}?pooling=cls_token") if "asked for" in w)
    assert "prompt=@task" in left_out
    alone = save_sentence_transformer(
        tmp_path / "alone", prompts={"query": "the cat "}, default_prompt_name="query"
    )
    assert load(f"dir:{alone}").warnings == ()


def test_a_model_without_prompts(tmp_path):
    """Only what asks for them is told so."""
    folder = save(tmp_path / "bert")
    assert load(f"dir:{folder}").warnings == ()
    assert "name no prompts" in load(f"dir:{folder}?prompt=@task").warnings[0]
    assert warnings_of(f"dir:{folder}?prompt=query") == [f"{folder} has no prompt named 'query'."]
    assert warnings_of("random:8") == warnings_of("dir:/nowhere") == warnings_of("nonsense") == []
