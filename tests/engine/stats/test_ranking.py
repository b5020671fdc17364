"""Rankings against pytrec_eval and by hand."""

import random

import numpy as np
import pytest

from theodolite.engine.stats.ranking import Span, at_cutoffs, of_passages, order

CUTOFFS = (1, 3, 5, 10, 100)


def test_as_trec_eval() -> None:
    """Ties, missing judgements, grades up to 3, and answers that were not found."""
    import pytrec_eval as trec

    rng = np.random.default_rng(1)
    names = np.array([f"d{i}" for i in range(60)])
    keys = names.argsort().argsort()
    judged, run = {}, {}
    for query in range(40):
        of = rng.choice(60, 12, replace=False)
        judged[f"q{query}"] = {names[i]: int(rng.integers(0, 4)) for i in of}
        found = rng.choice(60, 30, replace=False)
        run[f"q{query}"] = {names[i]: float(rng.integers(0, 6)) for i in found}
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


def test_an_example_of_chroma_s() -> None:
    """One chunk holds half of the answer, of two chunks that overlap by ten characters."""
    chunks = [("a", 0, 40), ("a", 30, 70)]
    assert of_passages(chunks, [("a", 50, 90)]) == (20 / 40, 20 / 80, 20 / 100)
