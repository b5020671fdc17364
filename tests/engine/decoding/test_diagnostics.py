"""Figures of what came back, against numbers worked by hand and sacrebleu's own."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from scipy import stats

from theodolite.engine.decoding import diagnostics
from theodolite.engine.decoding.diagnostics import resamples

SAID = ["The cat sat on the mat.", "he sleeps", "a b c d", "one two three four five"]
CAME = ["the cat  sat on the mat .", "sleeps he", "a b x y", "one two three four six"]


def corpus() -> tuple[list[str], list[str]]:
    """200 sentences of nine words, each of which came back as it was with a chance of .8."""
    rng = np.random.default_rng(2)
    references = [" ".join(f"w{i}" for i in rng.integers(0, 30, 9)) for _ in range(200)]
    came = [" ".join(w if rng.random() < 0.8 else "x" for w in s.split()) for s in references]
    return references, came


def test_words_are_folded_and_marks_stand_alone() -> None:
    """As in the text that the paper's figures were taken on; digits are kept."""
    assert diagnostics.tokens('Well, "he" paid 3.50!') == [
        *("well", ",", '"', "he", '"', "paid", "3.50", "!")
    ]
    assert diagnostics.tokens("  ") == []


def test_identity_and_permutation() -> None:
    """PERM counts the identical ones too, as the paper's code does; case and spaces are nothing."""
    same, permuted = diagnostics.identical(SAID, CAME), diagnostics.permuted(SAID, CAME)
    assert same.tolist() == [True, False, False, False]
    assert permuted.tolist() == [True, True, False, False]
    assert diagnostics.kept_order(same, permuted) == 0.5


def test_a_word_is_not_there_twice() -> None:
    """Bags, not sets."""
    assert not diagnostics.permuted(["a a b"], ["a b b"])[0]


def test_no_order_without_words() -> None:
    """Nothing came back with its words: there is no order to speak of."""
    none = np.zeros(3, bool)
    assert math.isnan(diagnostics.kept_order(none, none))
    assert all(map(math.isnan, diagnostics.ratio_interval(none, none, resamples(3))))


def test_token_f1() -> None:
    """By hand: all, all, two of four on both sides, four of five."""
    assert np.allclose(diagnostics.token_f1(SAID, CAME), [1, 1, 0.5, 0.8])
    assert diagnostics.token_f1(["a a b", "", ""], ["a b b", "", "x"]).tolist() == pytest.approx(
        [2 / 3, 1.0, 0.0]
    )


def test_bleu_is_sacrebleus() -> None:
    """13a tokens of lower case; and a perfect round trip is 100."""
    assert diagnostics.bleu(SAID, [line.upper() for line in SAID]) == pytest.approx(100.0)
    expected = BLEU().corpus_score([c.lower() for c in CAME], [[s.lower() for s in SAID]])
    assert diagnostics.bleu(SAID, CAME) == pytest.approx(expected.score, abs=1e-9)


def test_the_references_bleu_by_hand() -> None:
    """Glued, `a b c d` and `e f g h` are seven words: a b c de f g h.

    Of `a b c x`, `e f g h` seven words too: five are right; of the pairs a b, b c, f g, g h; of
    the threes a b c, f g h; of the fours none, and without smoothing that is all.
    """
    references, came = ["a b c d", "e f g h"], ["a b c x", "e f g h"]
    assert diagnostics.reference_bleu(references, came) == 0.0
    assert diagnostics.reference_bleu(references, references) == pytest.approx(100.0)
    # a b c d e | x f g h i: nine glued words, `ex` for `exf`; 8/9, 6/8, 4/7, 2/6 are right.
    references, came = ["A b c d e", "f g h i j"], ["a b c d e", "x g h i j"]
    expected = 100 * (8 / 9 * 6 / 8 * 4 / 7 * 2 / 6) ** 0.25
    assert diagnostics.reference_bleu(references, came) == pytest.approx(expected)


def test_the_references_bleu_is_sacrebleus_of_one_line() -> None:
    """The whole file written out; also of next to nothing."""
    glued = BLEU(tokenize="none", smooth_method="none", force=True)
    references, came = corpus()
    for a, b in ((references, came), (["a b c d e"], ["b"]), (["a"], ["a b c d e"]), (["a"], [""])):
        expected = glued.corpus_score(["".join(b)], [["".join(a)]]).score
        assert diagnostics.reference_bleu(a, b) == pytest.approx(expected, abs=1e-9)


def test_the_references_bleu_matches_anywhere() -> None:
    """What belongs to another line is right there, and would not be line by line."""
    references = ["one two three four five six", "seven eight nine ten eleven twelve"]
    assert diagnostics.reference_bleu(references, references[::-1]) > diagnostics.bleu(
        references, references[::-1]
    )


def test_resamples_are_as_large_as_the_sample() -> None:
    """Every sentence is drawn once on average; a seed decides which."""
    times = resamples(50, 4000, seed=3)
    assert (times.sum(1) == 50).all()
    assert np.allclose(times.mean(0), 1, atol=0.1)
    assert (times == resamples(50, 4000, seed=3)).all()


def test_the_interval_of_a_mean_is_scipys() -> None:
    """Its percentile bootstrap of the same values."""
    values = np.random.default_rng(1).random(500) < 0.3
    found = diagnostics.mean_interval(values, resamples(500, 4000))
    oracle = stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(5)
    ).confidence_interval
    assert found == pytest.approx((oracle.low, oracle.high), abs=0.006)


def test_the_interval_of_a_ratio_is_scipys() -> None:
    """Both sums drawn in step."""
    rng = np.random.default_rng(1)
    below = rng.random(400) < 0.6
    above = below & (rng.random(400) < 0.5)
    found = diagnostics.ratio_interval(above, below, resamples(400, 4000))
    oracle = stats.bootstrap(
        (above, below),
        lambda a, b, axis: a.sum(axis) / b.sum(axis),
        paired=True,
        n_resamples=4000,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(5),
    ).confidence_interval
    assert found == pytest.approx((oracle.low, oracle.high), abs=0.008)


def test_the_interval_of_bleu_is_sacrebleus() -> None:
    """Its own bootstrap of the same corpus has nearly the same ends."""
    references, came = corpus()
    low, high = diagnostics.bleu_interval(references, came, resamples(200))
    score = BLEU().corpus_score(came, [references], n_bootstrap=1000)
    assert low < diagnostics.bleu(references, came) < high
    assert (high - low) / 2 == pytest.approx(score._ci, rel=0.15)


def test_a_resample_of_bleu_is_the_bleu_of_the_resample() -> None:
    """Drawn once, in another mixture: the very score of those sentences written out."""
    references, came = corpus()
    times = resamples(200, 1, seed=9)
    rows = np.repeat(np.arange(200), times[0])
    again = [references[i] for i in rows], [came[i] for i in rows]
    ends = diagnostics.bleu_interval(references, came, times)
    assert ends == pytest.approx((diagnostics.bleu(*again),) * 2)


def test_the_interval_of_the_references_bleu_holds_other_corpora() -> None:
    """Lines that match any other line, where hardly a resample comes up to the score.

    It lies about the score, and is at least as wide as the scores of other corpora of its kind
    vary: the jackknife's variance is too large on average (Efron, Stein 1981).
    """
    scores, widths = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        lines = [" ".join(f"w{i}" for i in rng.geometric(0.2, 9)) for _ in range(160)]
        given = lines[:80], lines[80:]
        scores.append(diagnostics.reference_bleu(*given))
        if seed < 5:
            low, high = diagnostics.reference_bleu_interval(*given)
            assert low < scores[-1] < high
            widths.append(high - low)
    assert 1.0 < np.mean(widths) / (2 * 1.99 * np.std(scores)) < 1.7
    assert all(map(math.isnan, diagnostics.reference_bleu_interval(["a"], ["a"])))
