"""Ranks: intervals by hand and by scipy's ranks; the Borda count as mteb has it."""

import random

import numpy as np
import pytest
from scipy.stats import rankdata

from tests.engine.samples import resample
from theodolite.engine.stats.bootstrap import Resampled, Sample
from theodolite.engine.stats.ranking import Span, at_cutoffs, of_passages, order
from theodolite.engine.stats.ranks import borda, rank, rank_intervals


def suite(*tasks: list[int] | np.ndarray, resamples: int = 200) -> list[Resampled]:
    """One encoder: for each task which examples it has right; each task has its own seed."""
    return [
        resample(Sample(np.array(right, dtype=np.float64)), resamples, seed)
        for seed, right in enumerate(tasks)
    ]


@pytest.mark.parametrize("over_tasks", [False, True])
def test_the_best_the_worst_and_equals(over_tasks: bool) -> None:
    """Whatever is drawn, the order is the same: intervals of one rank; equals share theirs."""
    worst, best = suite([0] * 4, [0] * 2), suite([1] * 4, [1] * 2)
    rows = rank_intervals({"none": worst, "all": best}, over_tasks=over_tasks)
    assert [(r.name, r.score, r.rank, r.low, r.high, r.first) for r in rows] == [
        ("all", 100.0, 1, 1, 1, 1.0),
        ("none", 0.0, 2, 2, 2, 0.0),
    ]
    rows = rank_intervals({"a": best, "b": best, "c": worst}, over_tasks=over_tasks)
    assert [(row.rank, row.low, row.first) for row in rows] == [(1, 1, 0.5)] * 2 + [(3, 3, 0.0)]


@pytest.mark.parametrize("over_tasks", [False, True])
def test_intervals_are_those_of_scipys_ranks_of_every_draw(over_tasks: bool) -> None:
    """The same tasks, the same examples, summed and ranked anew."""
    right = np.random.default_rng(4).random((3, 4, 30)) < np.array([[[0.70]], [[0.66]], [[0.5]]])
    examples = [np.random.default_rng(seed).integers(0, 30, (300, 30)) for seed in range(4)]
    drawn = np.take_along_axis(right[:, :, None], np.array([examples]), axis=3).sum(axis=3)
    tasks = np.random.default_rng(9).integers(0, 4, (300, 4)) if over_tasks else [range(4)] * 300
    sums = np.take_along_axis(drawn, np.transpose(tasks)[None], axis=1).sum(axis=1)
    places = np.sort(rankdata(-sums, method="min", axis=0), axis=1)
    scores = {name: suite(*mine, resamples=300) for name, mine in zip("abc", right, strict=True)}
    rows = sorted(rank_intervals(scores, over_tasks=over_tasks, seed=9), key=lambda row: row.name)
    assert [[row.low, row.high] for row in rows] == places[:, [7, 292]].tolist()  # 2.5 %, 97.5 %


def test_what_cannot_be_ranked() -> None:
    for named, scores in (
        ("same examples", {"a": suite([1, 0]), "b": suite([1, 0, 1])}),
        ("one task", {"a": []}),
    ):
        with pytest.raises(ValueError, match=named):
            rank_intervals(scores, over_tasks=False)
    # A correlation of equal values is no number; with no resample left, any rank may be.
    nothing = [Resampled(50.0, np.full(3, np.nan), 2)]
    for row in rank_intervals({"a": nothing, "b": nothing}, over_tasks=False):
        assert (row.low, row.high) == (1, 2)


def test_borda_by_hand() -> None:
    """By n - rank, with n = 3: 2 + 1.5 + 1, then 1 + 1.5 + 2, then 0 + 0 and nothing for the gap.

    Of the third task the two that have a score are first and second among three encoders.
    """
    scores = np.array([[90.0, 80.0, 70.0], [80.0, 80.0, 75.0], [70.0, 60.0, np.nan]])
    points = borda(scores)
    assert (points.tolist(), rank(points).tolist()) == ([4.5, 4.5, 0.0], [1, 1, 3])


def test_borda_ranks_as_mteb_does(rng: np.random.Generator) -> None:
    """Its own function on the same numbers, with ties and with missing tasks."""
    import polars
    from mteb.benchmarks import _create_table as table

    scores = np.round(rng.normal(60, 5, (30, 12)))
    scores[rng.random(scores.shape) < 0.15] = np.nan
    there = np.argwhere(~np.isnan(scores))
    columns = {
        "model_name": [f"m{row}" for row, _ in there],
        "task_name": [f"t{column}" for _, column in there],
        "score": scores[tuple(there.T)],
    }
    theirs = dict(table._borda_rank_from_long(polars.DataFrame(columns)).iter_rows())
    assert theirs == {f"m{row}": place for row, place in enumerate(rank(borda(scores)).tolist())}


# --- rankings of documents ---


CUTOFFS = (1, 3, 5, 10, 100)


def test_as_trec_eval(rng: np.random.Generator) -> None:
    """Ties, missing judgements, grades up to 3, and answers that were not found."""
    import pytrec_eval as trec

    names = np.array([f"d{i}" for i in range(60)])
    keys = names.argsort().argsort()
    judged = {
        f"q{query}": {
            name: int(rng.integers(0, 4)) for name in rng.choice(names, 12, replace=False)
        }
        for query in range(40)
    }
    run = {
        query: {name: float(rng.integers(0, 6)) for name in rng.choice(names, 30, replace=False)}
        for query in judged
    }
    k = ",".join(map(str, CUTOFFS))
    ours_of = {
        "ndcg": "ndcg_cut",
        "map": "map_cut",
        "recall": "recall",
        "precision": "P",
        "hit_rate": "success",
    }
    wanted = {f"{name}.{k}" for name in ours_of.values()}
    theirs = trec.RelevanceEvaluator(judged, wanted).evaluate(run)
    for query, found in run.items():
        at = np.array([list(names).index(name) for name in found])
        placed = names[at][order(np.array(list(found.values())), keys[at])]
        grades = judged[query]
        ranks = [(r, grades[n]) for r, n in enumerate(placed, 1) if n in grades]
        ours = at_cutoffs(*np.array(ranks).T, np.array(list(grades.values())), CUTOFFS)
        for name, called in ours_of.items():
            expected = [theirs[query][f"{called}_{k}"] for k in CUTOFFS]
            np.testing.assert_allclose(ours[name], expected, atol=1e-12, err_msg=name)


def test_by_hand() -> None:
    """The first answer is at rank 2; trec_eval has no reciprocal rank at a cutoff."""
    found = at_cutoffs(np.array([2, 3, 4]), np.array([2, 0, 1]), np.array([2, 0, 1, 3]), (1, 3, 5))
    np.testing.assert_allclose(found["mrr"], [0, 1 / 2, 1 / 2])
    # All judged 0, or none of the answers found: zeros, no warning.
    for given in ([1], [0], [0]), ([], [], [1, 2]):
        nothing = at_cutoffs(*(np.array(of, np.int64) for of in given), CUTOFFS)
        assert not any(values.any() for values in nothing.values())
    # Of equal scores the later id is first, as trec_eval sorts them.
    names = np.array(["a", "c", "b", "d"])
    placed = names[order(np.array([1.0, 1.0, 1.0, 2.0]), np.array([0, 2, 1, 3]))]
    assert placed.tolist() == ["d", "c", "b", "a"]


# --- passages ---


def characters(spans: list[Span]) -> list[tuple[str, int]]:
    return [(document, i) for document, start, stop in spans for i in range(start, stop)]


@pytest.mark.parametrize("seed", range(40))
def test_passages_are_compared_as_sets_of_characters(seed: int) -> None:
    rng = random.Random(seed)

    def draw(n: int) -> list[Span]:
        starts = [(rng.choice("ab"), rng.randrange(30)) for _ in range(n)]
        return [(document, start, start + rng.randrange(1, 12)) for document, start in starts]

    chunks, answers = draw(rng.randrange(5)), draw(rng.randrange(1, 4))
    wanted, both = set(characters(answers)), set(characters(answers)) & set(characters(chunks))
    retrieved = len(characters(chunks))  # what overlapping chunks share counts each time
    assert of_passages(chunks, answers) == pytest.approx(
        (
            len(both) / len(wanted),
            len(both) / max(retrieved, 1),
            len(both) / (retrieved + len(wanted) - len(both)),
        )
    )
