"""The Word Mover's score, against transports worked by hand and another exact solver."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from tests.fakes.encoders import HashEncoder
from theodolite.engine.decoding.diagnostics import AT_ONCE, tokens, word_mover_scores
from theodolite.engine.encoders import load


class Plane(HashEncoder):
    """Words on the unit circle, by their angle in degrees; `none` has no vector, `far` is long."""

    def encode(self, sentences: Sequence[str], progress: object = None) -> np.ndarray:
        """One row a word, float32 (n, 2)."""
        rows: list[list[float]] = []
        for word in filter(None, sentences):
            angle = math.radians(90.0 if word in ("none", "far") else float(word))
            size = {"none": 0.0, "far": 9.0}.get(word, 1.0)
            rows.append([size * math.cos(angle), size * math.sin(angle)])
        return np.array(rows, np.float32).reshape(-1, 2)


def score(a: str, b: str) -> float:
    """Of one pair."""
    return float(word_mover_scores([a], [b], Plane(2))[0])


@pytest.mark.parametrize(
    ("a", "b", "travelled"),
    [
        ("0", "0", 0.0),
        ("0 60", "60 0", 0.0),
        ("0", "90", 2.0),
        ("0", "180", 4.0),
        ("0", "60", 1.0),
        ("far", "0", 2.0),
        # Each to its nearer: 0 -> 60 and 90 -> 150, not crosswise.
        ("0 90", "150 60", 1.0),
        # 0 weighs two thirds, one of which goes on to 60.
        ("0 0 60", "0 60 60", 1 / 3),
        # The half of 0 splits: a third stays, a sixth goes to 60; 90 (a half) goes there by a
        # sixth and to 150 by a third: (1 + (2 - 2 cos 30)) / 6 + 1 / 3.
        ("0 90", "0 60 150", (1 + (2 - math.sqrt(3))) / 6 + 1 / 3),
        # Words without a vector are as far from all others as words that share nothing.
        ("none", "0", 2.0),
        ("none", "none", 0.0),
        ("", "0", 2.0),
        ("0", "", 2.0),
        ("", "", 0.0),
    ],
)
def test_the_transport_by_hand(a: str, b: str, travelled: float) -> None:
    """1 - what was worked out on paper, in either direction."""
    assert score(a, b) == pytest.approx(1 - travelled, abs=1e-6)
    assert score(b, a) == pytest.approx(1 - travelled, abs=1e-6)


def test_many_at_once_are_as_good_as_an_assignment() -> None:
    """Each word split into equal parts, which scipy assigns one to one: exact as well."""
    rng = np.random.default_rng(0)
    words = load("random:16")
    lines = [[f"w{i}" for i in rng.integers(0, 30, rng.integers(1, 9))] for _ in range(3 * AT_ONCE)]
    sentences = [" ".join(line) for line in lines]
    came = sentences[1:] + sentences[:1]
    found = word_mover_scores(sentences, came, words)
    for a, b, got in zip(sentences, came, found, strict=True):
        left, right = (words.encode(tokens(s)).astype(float) for s in (a, b))
        left, right = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (left, right))
        far = ((left[:, None] - right[None]) ** 2).sum(-1)
        size = math.lcm(*far.shape)
        split = far.repeat(size // len(left), 0).repeat(size // len(right), 1)
        assert got == pytest.approx(1 - split[linear_sum_assignment(split)].mean(), abs=1e-5)


def test_case_and_marks() -> None:
    """The same bag of words is 1, whatever its order."""
    assert (
        word_mover_scores(["The dog, asleep."], ["asleep the , dog ."], load("random:16"))[0] == 1.0
    )
