"""What estimates have in common: the sample by which the speed of an encoder is told."""

import numpy as np

from tests.fakes.encoders import HashEncoder
from theodolite.engine.cost.speed import SAMPLE, encoding_speed, spread


class Counting(HashEncoder):
    """Notes how many sentences it is given at a time."""

    def __init__(self) -> None:
        super().__init__(4)
        self.encoded: list[int] = []

    def encode(self, sentences, progress=None):
        """Zeros."""
        self.encoded.append(len(sentences))
        return np.zeros((len(sentences), self.dim), np.float32)


def test_a_sample_is_a_warm_call_and_a_timed_one() -> None:
    """Of sentences from all over, each once; of few it takes all."""
    encoder, sentences = Counting(), [str(i) for i in range(10_000)]
    sample = spread(sentences)
    assert (len(set(sample)), sample.count("0"), sample.count("9999")) == (SAMPLE, 1, 1)
    encoding_speed(encoder, sample)
    assert encoder.encoded == [8, 64]
    assert sorted(spread(["a", "b"])) == ["a", "b"]
