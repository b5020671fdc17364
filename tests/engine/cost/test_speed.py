"""What estimates have in common: the speed of an encoder, told from a few sentences."""

from __future__ import annotations

import time

import numpy as np

from tests.fakes.encoders import HashEncoder
from theodolite.engine.cost.speed import SAMPLE, encoding_speed, spread


class Slow(HashEncoder):
    """Takes a millisecond a sentence, at least; half a second more at the first call."""

    def __init__(self) -> None:
        super().__init__(4)
        self.encoded: list[int] = []

    def encode(self, sentences, progress=None):
        """Zeros."""
        time.sleep(0.001 * len(sentences) + (0.0 if self.encoded else 0.5))
        self.encoded.append(len(sentences))
        return np.zeros((len(sentences), self.dim), np.float32)


def test_more_sentences_than_fit_into_the_time_are_not_encoded() -> None:
    """The first call, which loads and warms up, is not timed."""
    encoder = Slow()
    speed = encoding_speed(encoder, [f"s {i}" for i in range(5000)], 0.2).per_second
    assert 100 < speed < 1000
    assert sum(encoder.encoded) < 1000


def test_a_sample_is_a_warm_call_and_a_timed_one() -> None:
    """Of sentences from all over, each once; of few it takes all."""
    encoder, sentences = Slow(), [str(i) for i in range(10_000)]
    sample = spread(sentences)
    assert (len(set(sample)), sample.count("0"), sample.count("9999")) == (SAMPLE, 1, 1)
    encoding_speed(encoder, sample)
    assert encoder.encoded == [8, 64]
    assert sorted(spread(["a", "b"])) == ["a", "b"]
