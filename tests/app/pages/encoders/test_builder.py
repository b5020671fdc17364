"""The choices on the page Encoders write specs that the engine reads."""

from __future__ import annotations

import pytest

from theodolite.app.pages.encoders import builder
from theodolite.app.web.controls import Values
from theodolite.engine.encoders.spec import parse

NAMES = ("source", "value", "pooling", "averaging", "learnt", "before", "steps", "fitted")
PROMPTS = ("prompt", "query_prompt")


def chosen(*values: object, **prompts: str | None) -> Values:
    """What the controls say."""
    assert {control.name for control in builder.CONTROLS} == {*NAMES, *PROMPTS}
    return Values(**dict(zip(NAMES, values, strict=True)), **dict.fromkeys(PROMPTS) | prompts)


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (("wordllama", None, "", "avg", "starter", None, [], "@task"), "wordllama"),
        (("wordllama", "", "", "max", "starter", "", [], "@task"), "wordllama?pooling=max"),
        (
            ("random", "48", "", "sif", "nli", "", ["normalise"], "@task"),
            "random:48?pooling=sif&data=nli | normalise",
        ),
        (
            ("words", "/a b/x+y.txt", "", "sif", "starter", "", [], "@task"),
            "words:/a b/x%2By.txt?pooling=sif",
        ),
        (
            ("vectors", "/x.npy", "cls", "max", "starter", "minilm + wordllama", ["drop"], "nli"),
            "minilm + wordllama + vectors:/x.npy | drop:1,nli",
        ),
        (
            ("hf", "a/b", "cls_token", "max", "starter", "", ["center", "whiten"], "@task"),
            "hf:a/b?pooling=cls_token | center:@task | whiten:@task",
        ),
        (("minilm", "", builder.LEFT_TO_MODEL, "gem", "starter", "", [], "@task"), "minilm"),
        (
            (None, "", "cls", "avg", "starter", "random:8", ["normalise"], "@task"),
            "random:8 | normalise",
        ),
    ],
)
def test_choices_become_a_spec(choices: tuple, text: str) -> None:
    """Canonical already, options of another source left out."""
    assert builder.compose(chosen(*choices)) == text
    assert str(parse(text)) == text


def test_prompts_are_written_for_models_alone() -> None:
    """Spaces at their ends and all, so that they read back as they were typed."""
    prompts = {"prompt": "passage: ", "query_prompt": "a & b? "}
    rest = ("", "", [], "@task")
    text = builder.compose(chosen("hf", "a/b", "avg", "avg", *rest, **prompts))
    (source,) = parse(text).sources
    assert dict(source.options) == {"pooling": "avg", **prompts}
    minilm = chosen("minilm", "", builder.LEFT_TO_MODEL, "avg", *rest, prompt="@task")
    assert builder.compose(minilm) == "minilm?prompt=@task"
    assert builder.compose(chosen("wordllama", "", "", "avg", *rest, **prompts)) == "wordllama"


def test_nothing_is_written_while_nothing_is_chosen() -> None:
    """Nor while a source lacks its value."""
    for kind in (None, "hf", "words", "vectors", "random"):
        choices = chosen(kind, " ", "cls", "avg", "starter", "", ["normalise"], "nli")
        assert builder.compose(choices) == ""
