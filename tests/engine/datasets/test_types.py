"""What every kind of data set has."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from theodolite.engine.datasets.types import (
    Dataset,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    ScoredPairs,
    Sentences,
    Triplets,
)


class Counted(list[str]):
    """Sentences that count how often they are gone through."""

    times = 0

    def __iter__(self) -> Iterator[str]:
        self.times += 1
        return super().__iter__()


SENTENCES = ["a cat", "a dog"]


def made(kind: str, sentences: list[str]) -> Dataset:
    """A small data set of a kind."""
    if kind == "scores":
        part = PairPart(sentences, SENTENCES, np.array([1.0, 2.0]))
        return ScoredPairs("x", {"all": part}, "splits", (0.0, 5.0))
    if kind == "labels":
        return LabelledSentences("x", sentences, ["y", "z"])
    if kind == "pairs":
        place = np.arange(2, dtype=np.int32)
        return LabelledPairs("x", sentences, place, place[::-1], ["y", "z"], ["train", "test"])
    if kind == "triplets":
        return Triplets("x", sentences, SENTENCES, SENTENCES)
    return Sentences("x", sentences)


@pytest.mark.parametrize("kind", ["scores", "labels", "pairs", "triplets", "sentences"])
def test_content_is_hashed_once(kind: str) -> None:
    """However often it is asked for: an evaluation asks five times, of up to a million rows."""
    sentences = Counted(SENTENCES)
    data = made(kind, sentences)
    first, times = data.hash, sentences.times
    assert times > 0
    assert data.hash == first
    assert sentences.times == times
    assert made(kind, ["a cat", "a cow"]).hash != first
