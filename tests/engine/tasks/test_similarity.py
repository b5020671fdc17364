"""Cosine, z-normalised cosine and learned similarity side by side, on the same pairs."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics.pairwise import paired_cosine_distances
from sklearn.preprocessing import StandardScaler

from theodolite.engine.datasets.types import PairPart, ScoredPairs
from theodolite.engine.progress import nobody
from theodolite.engine.stats.bootstrap import main_sample
from theodolite.engine.tasks import similarity, sts

RNG = np.random.default_rng(3)


def pairs(sizes: dict[str, int], kind: str, scale: tuple[float, float] = (0.0, 5.0)) -> ScoredPairs:
    """Random scores; the sentences do not matter, vectors are given by position."""
    parts = {
        name: PairPart(tuple("a" * n), tuple("b" * n), RNG.uniform(*scale, n).round(1))
        for name, n in sizes.items()
    }
    return ScoredPairs("random", parts, kind, scale)  # type: ignore[arg-type]


def uneven(n: int) -> np.ndarray:
    """Vectors whose columns have other means and spreads; the last one none."""
    return (RNG.normal(size=(n, 6)) * [9, 1, 1, 0.1, 3, 0] + np.arange(6)).astype(np.float32)


def by_metric(found: object) -> dict[str, float]:
    """Scores by their metric, each of which is there once."""
    scores = {s.metric: s.score for s in found.scores}  # type: ignore[attr-defined]
    assert len(scores) == len(found.scores)  # type: ignore[attr-defined]
    return scores


@pytest.mark.parametrize(
    ("sizes", "kind", "scored"),
    [
        ({"one": 30, "two": 50}, "subsets", slice(0, 160)),
        ({"train": 40, "dev": 30, "test": 20}, "splits", slice(140, 180)),
        ({"all": 40}, "splits", slice(0, 80)),
    ],
)
def test_the_normalised_cosine_is_that_of_standard_scaler(
    sizes: dict[str, int], kind: str, scored: slice
) -> None:
    """Fitted on the sentences that are scored alone: other splits do not count."""
    data = pairs(sizes, kind)
    vectors = uneven(2 * sum(sizes.values()))
    found = by_metric(similarity.measure(data, vectors, 1111, nobody))
    normal, gold, at = StandardScaler().fit(vectors[scored].astype(np.float64)), [], 0
    cosines: list[float] = []
    for part in data.parts.values():
        n = len(part.gold)
        if scored.start <= at < scored.stop:
            left, right = (
                normal.transform(vectors[i : i + n].astype(np.float64)) for i in (at, at + n)
            )
            cosines += list(1 - paired_cosine_distances(left, right))
            gold += part.gold.tolist()
        at += 2 * n
    assert found["znorm_pearson"] == pytest.approx(100 * stats.pearsonr(cosines, gold).statistic)
    assert found["znorm_spearman"] == pytest.approx(100 * stats.spearmanr(cosines, gold).statistic)


def test_the_plain_cosine_is_the_measurement_of_simcse() -> None:
    """Same main score, same examples, on the main split only, and nothing on the space."""
    data = pairs({"one": 30, "two": 50}, "subsets")
    vectors = uneven(160)
    found = similarity.measure(data, vectors, 1111, nobody)
    plain = sts.measure(data, vectors)
    (main,) = (s for s in found.scores if s.main)
    assert main in plain.scores
    assert {(s.split, s.aggregation) for s in found.scores} == {("all", "all")}
    assert set(by_metric(found)) == {"spearman", "pearson", "znorm_spearman", "znorm_pearson"}
    assert main_sample(found.examples, found.details).statistic == pytest.approx(main.score)


@pytest.mark.parametrize(
    ("sizes", "scale", "learned"),
    [
        ({"train": 60, "dev": 30, "test": 30}, (1.0, 5.0), True),
        ({"train": 60, "dev": 30, "test": 30}, (0.0, 1.0), False),
        ({"train": 60, "test": 30}, (0.0, 5.0), False),
    ],
)
def test_a_similarity_is_learnt_where_it_can_be(
    sizes: dict[str, int], scale: tuple[float, float], learned: bool
) -> None:
    """With three splits, and scores that the regressor has bins for."""
    data = pairs(sizes, "splits", scale)
    vectors = RNG.normal(size=(2 * sum(sizes.values()), 6)).astype(np.float32)
    found = similarity.measure(data, vectors, 1111, nobody)
    extra = {s.metric: s for s in found.scores if s.metric.startswith("learned_")}
    expected = {"learned_pearson", "learned_spearman", "learned_mse"} if learned else set()
    assert set(extra) == expected
    assert all((s.split, s.n, s.main) == ("test", 30, False) for s in extra.values())
