"""Which of several results of an encoder on a task counts, by hand."""

from itertools import count

import pytest

from theodolite.app import results

A, B, C = "random:16", "random:32", "random:64"
_ids = count(1)


def row(encoder: str, protocol: str, seed: int = 1111, task: str = "MR", **more) -> results.Row:
    """A result; each is newer than the one before."""
    fields = {"score": 50.0, "error": None, "data_hash": "d1", "id": next(_ids)}
    return {"encoder": encoder, "task": task, "protocol": protocol, "seed": seed} | fields | more


OTHER_SEED = row(A, "senteval", 7)
OWN = row(A, "senteval")
NEWEST_SEED = row(A, "senteval", 8)
OTHER_PROTOCOL = row(A, "pitfalls")
FAILED = row(B, "senteval", error="No data.", score=None)
UPLOAD = row(A, "mteb-v2", 42, "upload:x")


@pytest.mark.parametrize(
    ("rows", "cells"),
    [
        ([OTHER_SEED, OWN, NEWEST_SEED, OTHER_PROTOCOL], [OWN]),
        ([OTHER_SEED, NEWEST_SEED], [NEWEST_SEED]),
        ([OTHER_PROTOCOL, FAILED], [FAILED]),
        ([UPLOAD, OTHER_PROTOCOL | {"task": "upload:y"}], [UPLOAD, {}]),
    ],
)
def test_under_the_tasks_own_protocol(rows: list[results.Row], cells: list[results.Row]) -> None:
    """Its own seed, else the newest; another protocol only where the type is not known by name."""
    found = list(results.under_own_protocol(rows).values())
    assert len(found) == len(cells) and all(one in found for one in cells if one)


@pytest.mark.parametrize(
    ("given", "protocol", "under"),
    [
        ({"senteval": 1, "pitfalls": 2}, "", "senteval"),
        ({"senteval-fast": 1, "pitfalls": 2}, "", "pitfalls"),
        ({"senteval": 1, "pitfalls": 2}, "pitfalls", "pitfalls"),
        ({"senteval": 1}, "pitfalls", None),
        ({"senteval-fast": 1, "mteb-2.26.24": 2}, "", "senteval-fast"),
        ({"mteb-2.26.24": 1}, "", "mteb-2.26.24"),
    ],
)
def test_one_protocol_for_all_of_a_task(
    given: dict[str, int], protocol: str, under: str | None
) -> None:
    """Its own, else that of most results; mteb's own code only where nothing else is."""
    rows = [row(f"random:{n}", name) for name, number in given.items() for n in range(number)]
    cells = results.under_one_protocol(rows, protocol)
    assert {one["protocol"] for one in cells.values()} == ({under} if under else set())


def test_the_question_that_most_encoders_answered() -> None:
    """One more seed of one encoder, or newer data, ends no comparison."""
    rows = [row(A, "senteval", 7), row(A, "senteval"), row(B, "senteval", 7), row(C, "senteval")]
    rows += [row(C, "senteval", 7), row(A, "senteval", 7, data_hash="d2")]
    assert {one["seed"] for one in results.of_most_encoders(rows).values()} == {7}
    cells = results.of_one_question(rows, [A, B, C])
    assert {key[2]: (one["seed"], one["data_hash"]) for key, one in cells.items()} == dict.fromkeys(
        (A, B, C), (7, "d1")
    )
    assert results.of_one_question([*rows, FAILED], [B])["senteval", "MR", B] is rows[2]
