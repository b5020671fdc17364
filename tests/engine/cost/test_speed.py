"""The sample by which the speed of an encoder is told."""

import numpy as np

from tests.fakes.encoders import HashEncoder
from theodolite.engine.cost.speed import encoding_speed


class Counting(HashEncoder):
    """Notes how many sentences it is given at a time."""

    def __init__(self) -> None:
        super().__init__(4)
        self.encoded: list[int] = []

    def encode(self, sentences, progress=None):
        """Zeros."""
        self.encoded.append(len(sentences))
        return np.zeros((len(sentences), self.dim), np.float32)


def test_a_warm_call_comes_before_the_timed_one() -> None:
    """Of a first sample one block is timed."""
    encoder = Counting()
    encoding_speed(encoder, [str(i) for i in range(72)])
    assert encoder.encoded == [8, 64]
