"""What every kind of data set has."""

from __future__ import annotations

from collections.abc import Callable, Iterable

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
    content_hash,
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
    hashed: list[int] = []

    def counted(lines: Iterable[str]) -> str:
        hashed.append(1)
        return content_hash(lines)

    monkeypatch.setattr(types, "content_hash", counted)
    data = MADE[kind](SENTENCES)
    assert data.hash == data.hash
    assert len(hashed) == 1
    assert MADE[kind](["a cat", "a cow"]).hash != data.hash
