"""What every kind of data set has."""

from collections.abc import Callable

import numpy as np
import pytest

from theodolite.engine.datasets import types
from theodolite.engine.datasets.types import (
    Dataset,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    ScoredPairs,
    Sentences,
    Triplets,
)

SENTENCES = ["a cat", "a dog"]
PLACES = np.arange(2, dtype=np.int32)
MADE: dict[str, Callable[[list[str]], Dataset]] = {
    "scores": lambda some: ScoredPairs(
        "x", {"all": PairPart(tuple(some), tuple(SENTENCES), np.array([1.0, 2.0]))}, "splits"
    ),
    "labels": lambda some: LabelledSentences("x", some, ["y", "z"]),
    "pairs": lambda some: LabelledPairs(
        "x", some, PLACES, PLACES[::-1], ["y", "z"], ["train", "test"]
    ),
    "triplets": lambda some: Triplets("x", some, SENTENCES, SENTENCES),
    "sentences": lambda some: Sentences("x", some),
}


@pytest.mark.parametrize("kind", MADE)
def test_content_is_hashed_once(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often it is asked for: an evaluation asks five times, of up to a million rows."""
    hashes = iter(["first"])
    data, other = (MADE[kind](sentences) for sentences in (SENTENCES, ["a cat", "a cow"]))
    assert data.hash != other.hash
    monkeypatch.setattr(types, "content_hash", lambda lines: next(hashes))
    again = MADE[kind](SENTENCES)
    assert again.hash == again.hash == "first"
