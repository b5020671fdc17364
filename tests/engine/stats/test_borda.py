"""Means by type and the Borda count: by hand, and as mteb's leaderboard counts."""

from __future__ import annotations

import numpy as np

from theodolite.engine.stats.borda import borda, by_group, placed

NAN = np.nan
SCORES = np.array(
    [
        [90.0, 80.0, 70.0],
        [80.0, 80.0, 75.0],
        [70.0, 60.0, NAN],
    ]
)


def test_means_within_types() -> None:
    """The first and the third column are of one type; a mean over a missing score is none."""
    found = by_group(SCORES, ["STS", "Retrieval", "STS"])
    assert list(found) == ["STS", "Retrieval"]
    np.testing.assert_allclose(found["STS"], [80.0, 77.5, NAN])
    np.testing.assert_allclose(found["Retrieval"], [80.0, 80.0, 60.0])


def test_borda_by_hand() -> None:
    """By n - rank, with n = 3: 2 + 1.5 + 1, then 1 + 1.5 + 2, then 0 + 0 and nothing for the gap.

    Of the third task the two that have a score are first and second among three encoders.
    """
    points = borda(SCORES)
    assert points.tolist() == [4.5, 4.5, 0.0]
    assert placed(points).tolist() == [1, 1, 3]


def test_borda_ranks_as_mteb_does() -> None:
    """Its own function on the same numbers, with ties and with missing tasks."""
    import polars
    from mteb.benchmarks import _create_table as table

    random = np.random.default_rng(7)
    scores = np.round(random.normal(60, 5, (30, 12)))
    scores[random.random(scores.shape) < 0.15] = NAN
    there = np.argwhere(~np.isnan(scores))
    frame = polars.DataFrame(
        {
            "model_name": [f"m{row}" for row, _ in there],
            "task_name": [f"t{column}" for _, column in there],
            "score": scores[tuple(there.T)],
        }
    )
    ranked = dict(table._borda_rank_from_long(frame).iter_rows())
    assert ranked == {f"m{row}": rank for row, rank in enumerate(placed(borda(scores)).tolist())}
