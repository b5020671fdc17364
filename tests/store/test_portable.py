"""Results that travel from one store to another."""

import base64
import io
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.errors import refused
from tests.store.test_results import failed, result
from theodolite.store import Store, results

THIRD = 100 / 3


@pytest.fixture
def elsewhere(tmp_path: Path) -> Store:
    """Another store."""
    return Store.open(tmp_path / "elsewhere")


def sent(store: Store, number: int) -> dict[str, Any]:
    """Packed, written as strict JSON and read again."""
    packed: dict[str, Any] = json.loads(json.dumps(store.results.pack(number), allow_nan=False))
    return packed


def test_a_result_arrives_to_the_digit(store: Store, elsewhere: Store) -> None:
    """Scores, details, time and every value behind them; NaN as well."""
    given = result(details={"parts": ["a"], "note": "é"}, seconds=0.1 + 0.2)
    given["scores"][0]["score"] = THIRD
    given["scores"][1]["score"] = math.nan
    given["examples"]["cosine"] = np.random.default_rng(0).normal(size=1000)
    number = store.results.put(given)
    other = elsewhere.results.keep(sent(store, number))
    here, there = store.results.by_id(number), elsewhere.results.by_id(other)
    assert {**here, "id": 0, "created": 0} == {**there, "id": 0, "created": 0}
    np.testing.assert_equal(elsewhere.results.scores(other), store.results.scores(number))
    values = elsewhere.results.examples(other)
    for name, array in store.results.examples(number).items():
        np.testing.assert_array_equal(values[name], array, strict=True)


def test_what_arrives_twice_is_kept_once(store: Store, elsewhere: Store) -> None:
    """Under its key, whoever measured it again."""
    packed = sent(store, store.results.put(result()))
    first = elsewhere.results.keep(packed)
    assert elsewhere.results.keep(packed | {"seconds": 99.0}) == first
    assert elsewhere.results.by_id(first)["seconds"] == packed["seconds"]
    assert len(elsewhere.results.table(all_versions=True)) == 1


def test_a_failure_travels_too(store: Store, elsewhere: Store) -> None:
    """And gives way to a success, as one that happened here."""
    elsewhere.results.keep(sent(store, store.results.put(failed())))
    (row,) = elsewhere.results.table()
    assert (row["error"], row["hint"]) == ("It gave NaN.", "Try float32.")
    elsewhere.results.keep(sent(store, store.results.put(result())))
    assert [row["error"] for row in elsewhere.results.table(all_versions=True)] == [None]


def packed_array(array: np.ndarray) -> dict[str, str]:
    """Examples as a result has them when it travels."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, correct=array)
    return {"examples": base64.b64encode(buffer.getvalue()).decode()}


@pytest.mark.parametrize(
    "changed",
    [
        {"scores": None},
        {"scores": [{"score": 1.0}]},
        {"examples": "no base64"},
        {"examples": base64.b64encode(b"no zip").decode()},
        packed_array(np.array([{"a": 1}], dtype=object)),
        packed_array(np.zeros(2**17)),
    ],
    ids=["no scores", "half a score", "no base64", "no zip", "to unpickle", "a bomb of a kilobyte"],
)
def test_what_is_no_result_is_refused(
    store: Store, elsewhere: Store, changed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words; nothing is unpickled, unpacked without bounds, or kept."""
    monkeypatch.setattr(results, "_MAX_BYTES", 2**16)
    packed = sent(store, store.results.put(result()))
    with refused("damaged"):
        elsewhere.results.keep(packed | changed)
    assert elsewhere.results.table() == []
