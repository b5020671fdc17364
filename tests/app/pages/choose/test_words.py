"""What a decision sheet says: who is recommended, how sure that is, and what would end a tie."""

from __future__ import annotations

from typing import Any

import pytest

from theodolite.app.pages.choose import words

ROW = {
    "encoder": "a",
    "score": 80.0,
    "low": 75.0,
    "high": 85.0,
    "ms_per_sentence": 4.0,
    "bytes_per_vector": 1536.0,
    "dim": 384,
    "dtype": "float32",
    "per_second_64": None,
    "licence": None,
    "error": None,
    "outside": "",
    "spec": "a",
    "timed_disturbed": False,
}
QUICK = ROW | {
    "encoder": "b",
    "spec": "b",
    "score": 79.5,
    "ms_per_sentence": 0.1,
    "dim": 256,
    "bytes_per_vector": 256.0,
}
BUSY = ROW | {"timed_disturbed": True}
NONE = {"delta": 0.0, "low": 0.0, "high": 0.0}
CHEAP = QUICK | {"dtype": "int8", "spec": "b | quantise:int8,mine", "behind": NONE}
PAIR = {"a": "a", "b": "b"}
SHEET = {
    "kind": "labels",
    "metric": "accuracy",
    "n": 300,
    "best": ROW,
    "ties": [QUICK],
    "cheapest": CHEAP,
    "limits": {"margin": 2.0},
    "nothing_cheaper": None,
    "encoders": [QUICK, ROW],
    "highest": None,
    "optimism": 0.0,
    "more_examples": [],
    "front": ["b", "a"],
    "against_baseline": None,
    "baseline": "random:256",
    "warnings": [],
    "agreement": [],
}


def behind(delta: float, low: float, high: float) -> dict[str, Any]:
    return {"cheapest": CHEAP | {"behind": {"delta": delta, "low": low, "high": high}}}


def nothing_cheaper(n: int | None) -> dict[str, Any]:
    more = {"encoder": "b", "spec": "b", "n": n, "power": 0.8}
    return {"cheapest": ROW | {"behind": NONE}, "nothing_cheaper": more}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "b with int8 vectors of 256 dimensions scores the same as a, is 40 times faster"),
        ({}, "b | quantise:int8,mine"),
        ({"encoders": [QUICK, BUSY]}, "scores the same as a, at 1/6 of the size."),
        (
            {
                "ties": [],
                "limits": {"margin": 1.5},
                "cheapest": ROW
                | {"dtype": "int8", "bytes_per_vector": 384.0, "spec": "a | x"}
                | {"behind": {"delta": -0.5, "low": -1.25, "high": 0.25}},
            },
            "less than 1.5 points against its full vectors, at a quarter of the size. It scores "
            "0.50 points less (95 % interval of the difference −1.25 to +0.25).",
        ),
        (nothing_cheaper(400), "2 points. With about 400 more examples like these, b would be"),
        (nothing_cheaper(400), "with 80 % probability."),
        (nothing_cheaper(None), "Nothing cheaper is shown to lose less than 2 points."),
        (behind(0.001, -1.0, 2.0), "the same on average (95 % interval of the difference −1.00"),
        (behind(-2.5, -9.0, 5.0), "2.50 points less (95 % interval of the difference −9.00 to"),
        (behind(0.25, -3.0, 4.0), "0.25 points more (95 % interval"),
        (
            {"more_examples": [PAIR | {"n": 1200, "power": 0.8}]},
            "About 1,200 more examples like these would tell a and b apart with 80 %",
        ),
        ({"more_examples": [PAIR | {"n": None, "power": 0.48}]}, "20 times as many"),
        ({"more_examples": [PAIR | {"n": None, "power": 0.48}]}, "only with 48 %"),
    ],
)
def test_sentences(changes: dict[str, Any], said: str) -> None:
    """By how much something is cheaper, what is shown of it, and what more examples would show."""
    assert said in " ".join(words.sentences(SHEET | changes))


OVER = {"score": 79.0, "delta": 1.0, "low": -1.0, "high": 3.0, "beaten": False}
RANDOM = {"against_baseline": OVER, "more_examples": [PAIR | {"n": 1200, "power": 0.8}]}


@pytest.mark.parametrize(
    ("changes", "unsaid"),
    [
        ({"more_examples": [PAIR | {"n": None, "power": 0.81}]}, ("more examples", "as many")),
        ({"encoders": [QUICK, BUSY]}, ("times faster",)),
        (RANDOM, ("smaller", "more examples")),
    ],
)
def test_what_is_not_said(changes: dict[str, Any], unsaid: tuple[str, ...]) -> None:
    """Nothing of a handful of examples, of times on a busy machine, or of a tie with noise."""
    assert not [text for text in unsaid if text in " ".join(words.sentences(SHEET | changes))]


@pytest.mark.parametrize(
    ("changes", "headline"),
    [
        ({}, "a ties with b: take b"),
        (nothing_cheaper(None), "a ties with b: take a"),
        ({"ties": [], "cheapest": ROW}, "a is best"),
        (RANDOM, "No encoder is better than random words on these 300 examples"),
        ({"encoders": [ROW]}, "a is the only one to choose"),
        *(
            ({"best": None, "warnings": [{"code": code, "message": ""}]}, f"Undecided: {why}")
            for code, why in (*words.OPEN.items(), ("leak", "nothing was scored"))
        ),
    ],
)
def test_headlines(changes: dict[str, Any], headline: str) -> None:
    assert words.headline(SHEET | changes) == headline


@pytest.mark.parametrize(
    ("changes", "rows"),
    [
        (nothing_cheaper(None), [("a", "384", "Pareto front"), ("b", "256", "Pareto front")]),
        (RANDOM, [("a", "384", "Pareto front"), ("b", "256", "Pareto front")]),
        (
            {
                "cheapest": CHEAP | {"dim": 128, "spec": "b | dims:128,first"},
                "baseline": "a",
                "front": ["b"],
            },
            [
                ("a", "384", "baseline"),
                ("b", "256", "Pareto front"),
                ("b", "128 int8", "cheapest within 2 points"),
            ],
        ),
    ],
)
def test_the_table(changes: dict[str, Any], rows: list[tuple[str, ...]]) -> None:
    """The smallest form is a row of its own where it is not one of the encoders as they are."""
    _, found = words.table(SHEET | changes)
    assert [(row[0], row[5], row[-1]) for row in found] == rows
