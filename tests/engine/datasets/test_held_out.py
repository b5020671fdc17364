"""A part of the data is held out by content, whatever the kind."""

import random
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.errors import refused
from theodolite.engine import tasks
from theodolite.engine.datasets import (
    Catalog,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    Retrieval,
    ScoredPairs,
    Sentences,
)
from theodolite.engine.datasets.held_out import join, split, split_name

TEXTS = [f"text {i}" for i in range(90)]
LABELLED = LabelledSentences(
    "mine", [*TEXTS, "TEXT 7 !"], [*("abc"[i % 3] for i in range(90)), "b"]
)
LEFT = [f"left {i // 3}" for i in range(90)]
GOLD = np.arange(90.0)


def rows(data: Any) -> dict[str, list[Any]]:
    """Split -> the texts of its examples."""
    match data:
        case ScoredPairs():
            return {name: list(part.left) for name, part in data.parts.items()}
        case Retrieval():
            return {name: [*judged] for name, judged in data.judgements.items()}
        case LabelledPairs():
            texts = [*zip(data.left.tolist(), data.right.tolist(), strict=True)]
        case LabelledSentences():
            texts = data.sentences
    return pd.Series(texts).groupby(data.splits).agg(list).to_dict()


@pytest.mark.parametrize(
    "data",
    [
        LABELLED,
        LabelledPairs.of("mine", LEFT, TEXTS, ["0", "1"] * 45, [""] * 90),
        ScoredPairs(
            name="mine", parts={"all": PairPart((*LEFT,), (*TEXTS,), GOLD)}, parts_are="subsets"
        ),
        Retrieval(
            name="mine",
            queries={text: text for text in TEXTS},
            documents={"d": "document"},
            judgements={"test": {text: {"d": 1} for text in TEXTS}},
        ),
    ],
    ids=lambda data: data.kind,
)
def test_a_third_is_held_out_of_any_kind_by_content(data: Any) -> None:
    """The same by the same seed; another by another; what shares a text stays together."""
    found, again, other = (rows(split(data, seed, "x")) for seed in (0, 0, 1))
    assert found == again != other and found.keys() == {"train", "test"}
    count = len(found["train"]) + len(found["test"])
    assert count == (91 if data is LABELLED else 90)
    assert 0.25 <= len(found["test"]) / count <= 0.34
    assert not set(found["train"]) & set(found["test"])
    assert split(data, 0, "x").hash != split(data, 1, "x").hash


def test_repeated_texts_and_labels_are_shared_out() -> None:
    """Texts that differ in case and end marks are in one part, and each label in both."""
    made: Any = split(LABELLED, 0, "x")
    assert made.splits[7] == made.splits[90]
    of = {(label, name) for label, name in zip(made.labels, made.splits, strict=True)}
    assert of == {(label, name) for label in "abc" for name in ("train", "test")}
    shuffled = random.Random(0).sample(range(91), 91)
    labels, texts = ([column[i] for i in shuffled] for column in (made.labels, made.sentences))
    moved: Any = split(LabelledSentences("mine", texts, labels), 0, "x")
    assert [moved.splits[shuffled.index(i)] for i in range(90)] == made.splits[:90]
    # Own splits stay, but for what is in both.
    own = ["train"] * 80 + ["test"] * 11
    kept: Any = split(replace(LABELLED, splits=own), 0, "x")
    assert kept.splits == [*own[:7], "", *own[8:]]  # "text 7" is in test too


@pytest.mark.usefixtures("no_folder")
def test_a_name_says_that_a_part_is_held_out() -> None:
    """Of data sets and of tasks; of data without examples it is refused."""
    catalog, name = Catalog(), join("starter-topics", 3)
    assert split_name(f"{name}/classify") == ("starter-topics/classify", 3)
    task, pairs = (tasks.get(of, catalog) for of in (f"{name}/classify", join("starter-pairs", 3)))
    assert (task.name, task.dataset, task.type) == (f"{name}/classify", name, "classification")
    assert (pairs.dataset, pairs.type) == (join("starter-pairs", 3), "sts")
    assert catalog.load(name).hash != catalog.load(join("starter-topics", 4)).hash
    with refused("wrong-kind", "plain"):
        split(Sentences("plain", TEXTS), 0, "x")
