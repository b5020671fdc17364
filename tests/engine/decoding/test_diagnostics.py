"""Figures of what was kept, against numbers worked by hand and sacrebleu's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sacrebleu.metrics import BLEU

from engine.decoding import diagnostics

SAID = ["the cat sat on the mat", "he sleeps", "a b c d", "one two three four five"]
CAME = ["the cat sat on the mat", "sleeps he", "a b x y", "one two three four six"]


def test_identity_and_permutation() -> None:
    """PERM counts the identical ones too, as the reference code does."""
    assert diagnostics.identical(SAID, CAME).tolist() == [True, False, False, False]
    assert diagnostics.permuted(SAID, CAME).tolist() == [True, True, False, False]
    assert diagnostics.kept_order(SAID, CAME) == 0.5


def test_no_order_without_words() -> None:
    """Nothing came back with its words: there is no order to speak of."""
    assert math.isnan(diagnostics.kept_order(["a b"], ["c d"]))


def test_token_f1() -> None:
    """By hand: all, all, two of four on both sides, four of five."""
    assert np.allclose(diagnostics.token_f1(SAID, CAME), [1, 1, 0.5, 0.8])
    assert diagnostics.token_f1(["a a b", "", ""], ["a b b", "", "x"]).tolist() == pytest.approx(
        [2 / 3, 1.0, 0.0]
    )


def test_bleu_is_sacrebleus() -> None:
    """13a tokens, case kept; and a perfect round trip is 100."""
    assert diagnostics.bleu(SAID, SAID) == pytest.approx(100.0)
    assert diagnostics.bleu(SAID, CAME) == BLEU().corpus_score(CAME, [SAID]).score


def test_the_references_bleu_glues_lines() -> None:
    """One sentence of all: the last word of a line and the first of the next are one word."""
    glued = BLEU(tokenize="none", force=True)
    expected = glued.corpus_score(["".join(CAME)], [["".join(SAID)]]).score
    assert diagnostics.reference_bleu(SAID, CAME) == expected
    assert (
        diagnostics.reference_bleu(["a b", "c d"], ["a b", "c d"]) < 100.0
    )  # three words: no 4-gram


def test_the_interval_of_a_mean_covers_it() -> None:
    """And is as wide as the normal approximation says, for many values."""
    values = np.random.default_rng(1).random(2000) < 0.3
    low, high = diagnostics.interval(values)
    error = 1.96 * values.std() / math.sqrt(len(values))
    assert low < values.mean() < high
    assert (high - low) / 2 == pytest.approx(error, rel=0.1)


def test_the_interval_of_bleu_is_sacrebleus() -> None:
    """sacrebleu's own bootstrap of the same corpus has nearly the same ends."""
    rng = np.random.default_rng(2)
    said = [" ".join(f"w{i}" for i in rng.integers(0, 30, 9)) for _ in range(200)]
    came = [" ".join(w if rng.random() < 0.8 else "x" for w in s.split()) for s in said]
    low, high = diagnostics.bleu_interval(said, came)
    score = BLEU().corpus_score(came, [said], n_bootstrap=1000)
    assert low < diagnostics.bleu(said, came) < high
    assert (high - low) / 2 == pytest.approx(score._ci, rel=0.15)
