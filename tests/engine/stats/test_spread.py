"""How far a score moves with the seed, against numbers worked by hand."""

import math

import pytest

from theodolite.engine.stats.spread import spreads, words


def row(seed: int, score: float | None, **other: object) -> dict[str, object]:
    """A result as the store lists it."""
    kept = {
        "encoder": "e",
        "task": "MR",
        "protocol": "senteval",
        "fingerprint": "f",
        "data_hash": "d",
        "error": None,
    }
    return kept | {"seed": seed, "score": score} | other


def test_the_deviation_is_that_of_a_sample() -> None:
    """80, 81, 84: mean 81.67, squares 2.78 + 0.44 + 5.44 = 8.67, over n - 1: 4.33, root 2.08."""
    (found,) = spreads([row(1, 80.0), row(2, 81.0), row(3, 84.0)]).values()
    assert (found.seeds, found.lowest, found.highest) == (3, 80.0, 84.0)
    assert found.mean == pytest.approx(245 / 3)
    assert found.deviation == pytest.approx(math.sqrt(13 / 3))
    assert words(found) == "± 2.08 over 3 seeds"


@pytest.mark.parametrize(
    "other",
    [
        [],
        [row(2, None, error="Memory ran out.")],
        [row(2, math.nan)],
        *(
            [row(2, 90.0, **{question: "other"})]
            for question in ("encoder", "task", "protocol", "fingerprint", "data_hash")
        ),
    ],
)
def test_one_seed_has_no_spread(other: list[dict[str, object]]) -> None:
    """A failed one, one that gave no number and one of another question are no second."""
    assert spreads([row(1, 80.0), *other]) == {}


def test_of_two_versions_the_one_measured_last_counts() -> None:
    """New weights under an old name have their own spread."""
    old = [row(1, 10.0), row(2, 20.0)]
    new = [row(1, 80.0, fingerprint="g"), row(2, 82.0, fingerprint="g")]
    assert spreads([*old, *new])["e", "MR", "senteval"].mean == 81.0
    assert spreads([*new, *old])["e", "MR", "senteval"].mean == 15.0
