"""Means over what was measured and the Borda count: by hand, and as mteb's leaderboard counts."""

from __future__ import annotations

import numpy as np
import pytest

from engine.stats.borda import borda, by_group, means, placed

NAN = np.nan
SCORES = np.array([
    [90.0, 80.0, 70.0],
    [80.0, 80.0, 75.0],
    [70.0, 60.0, NAN],
])  # fmt: skip


def test_a_missing_score_is_left_out_of_a_mean() -> None:
    """Of the third row two scores are there; of a row without any nothing is known."""
    mean, counts = means(SCORES)
    assert mean.tolist() == pytest.approx([80.0, 235 / 3, 65.0])
    assert counts.tolist() == [3, 3, 2]
    mean, counts = means(np.full((1, 2), NAN))
    assert np.isnan(mean[0]) and counts[0] == 0


def test_means_within_types() -> None:
    """The first and the third column are of one type."""
    names, mean, counts = by_group(SCORES, ["STS", "Retrieval", "STS"])
    assert names == ["STS", "Retrieval"]
    np.testing.assert_allclose(mean, [[80.0, 80.0], [77.5, 80.0], [70.0, 60.0]])
    assert counts.tolist() == [[2, 1], [2, 1], [1, 1]]


def test_borda_by_hand() -> None:
    """By n - rank, with n = 3: 2 + 1.5 + 1, then 1 + 1.5 + 2, then 0 + 0 and nothing for the gap.

    Of the third task the two that have a score are first and second among three encoders.
    """
    points = borda(SCORES)
    assert points.tolist() == [4.5, 4.5, 0.0]
    assert placed(points).tolist() == [1, 1, 3]


@pytest.mark.slow
def test_borda_ranks_as_mteb_does() -> None:
    """Its own function on the same numbers, with ties and with missing tasks."""
    import polars
    from mteb.benchmarks import _create_table as table

    random = np.random.default_rng(7)
    scores = np.round(random.normal(60, 5, (30, 12)))
    scores[random.random(scores.shape) < 0.15] = NAN
    there = np.argwhere(~np.isnan(scores))
    frame = polars.DataFrame({
        "model_name": [f"m{row}" for row, _ in there],
        "task_name": [f"t{column}" for _, column in there],
        "score": scores[tuple(there.T)],
    })  # fmt: skip
    ranked = dict(table._borda_rank_from_long(frame).iter_rows())
    assert ranked == {f"m{row}": rank for row, rank in enumerate(placed(borda(scores)).tolist())}
