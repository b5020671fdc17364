import base64
import io
import json
import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from tests.errors import refused
from theodolite.engine.results import Result, Score
from theodolite.store import Store, results
from theodolite.store.check import check


def result(**changes) -> dict:
    """A result as the engine gives it, as a plain mapping."""
    scores = (
        Score("test", "all", "spearman", 81.5, 1379, main=True),
        Score("test", "all", "pearson", 80.25, 1379),
        Score("all", None, "uniformity", -2.5, 2000, unit="nats"),
    )
    examples = {"cosine": np.linspace(-1, 1, 5), "part": np.zeros(5, np.int16)}
    given = Result("minilm", "f1", 384, "STSBenchmark", "simcse-2021", 0, "d1", scores, examples)
    return vars(given) | {"scores": [vars(score) for score in scores]} | changes


def failed(**changes) -> dict:
    """The same question, with an error for an answer."""
    return result(scores=[], examples={}, error="It gave NaN.", hint="Try float32.", **changes)


def test_a_result_comes_back_as_it_was(store: Store) -> None:
    """Numbers, arrays with their types, and details with NumPy's scalars."""
    number = store.results.put(result(details={"parts": ("a", "b"), "n": np.int64(2)}))
    row = store.results.by_id(number)
    assert row == row | {
        "score": 81.5,
        "metric": "spearman",
        "split": "test",
        "aggregation": "all",
        "details": {"parts": ["a", "b"], "n": 2},
    }
    arrays = store.results.examples(number)
    assert arrays["part"].dtype == np.int16
    np.testing.assert_array_equal(arrays["cosine"], np.linspace(-1, 1, 5), strict=True)
    # A correlation that is not defined is neither an error nor zero.
    scores = [vars(Score("test", "all", "spearman", math.nan, 3, main=True))]
    other = store.results.put(result(scores=scores, task="NaN"))
    of_nan = store.results.table(tasks=["NaN"]) + store.results.scores(other)
    assert all(math.isnan(row["score"]) for row in (*of_nan, store.results.by_id(other)))
    rows = Result(**result(scores=tuple(Score(**s) for s in result()["scores"]))).rows()
    assert store.results.scores(number) == rows, "what the engine gives the command line"


def test_many_results_are_read_at_once(store: Store) -> None:
    """The same numbers and details as one by one; an id that is not there is left out."""
    first = store.results.put(result(details={"znorm": True}))
    second = store.results.put(result(encoder="other"))
    found = store.results.in_full([first, second, 999])
    assert found.keys() == {first, second}
    assert found[first]["details"] == {"znorm": True}
    head = ("encoder", "fingerprint", "task", "protocol", "seed")
    assert found[second]["scores"] == [
        {key: value for key, value in row.items() if key not in head}
        for row in store.results.scores(second)
    ]
    assert store.results.in_full([]) == {}


def test_a_success_never_changes(store: Store) -> None:
    """Put again under its key, other numbers and an error change nothing."""
    number = store.results.put(result())
    other = [vars(Score("test", "all", "spearman", 1.0, 1, main=True))]
    assert [store.results.put(one) for one in (result(scores=other), failed())] == [number] * 2
    assert [row["score"] for row in store.results.table()] == [81.5]
    assert len(store.results.scores(number)) == 3


@pytest.mark.parametrize(
    "error",
    [
        pytest.param({}, id="under the same key"),
        pytest.param({"fingerprint": "", "data_hash": ""}, id="when nothing could be read"),
    ],
)
def test_an_error_gives_way_to_a_success(store: Store, error: dict[str, str]) -> None:
    """Its row is replaced, and its id is not used again."""
    first = store.results.put(failed(**error))
    assert [(r["error"], r["hint"]) for r in store.results.table()] == [
        ("It gave NaN.", "Try float32.")
    ]
    assert store.results.put(result()) > first
    assert [(r["score"], r["error"]) for r in store.results.table(all_versions=True)] == [
        (81.5, None)
    ]


def test_the_edition_changes_with_every_result(store: Store) -> None:
    """Also where a success takes the place of an error, and where one goes."""
    puts = [partial(store.results.put, given) for given in (failed(), result(), result(task="T"))]
    seen = {store.results.edition()}
    for change in (*puts, lambda: store.results.remove([2]), puts[1]):
        change()
        seen.add(store.results.edition())
    assert len(seen) == 6


def test_a_result_can_be_removed(store: Store) -> None:
    """With its numbers, and its values where no other result has the same."""
    first = store.results.put(result())
    second = store.results.put(result(task="STS12"))
    assert store.results.sizes(store.results.table())[first] > 100
    assert store.results.remove([first, 99]) == 1
    assert len(store.results.examples(second)) == 2
    assert store.results.remove([second]) == 1
    assert store.results.table() == [*store.results.folder.iterdir()] == []
    assert store.database.rows("SELECT * FROM scores") == []
    assert store.results.put(result()) > second
    assert check(store) == []


@pytest.mark.parametrize(
    "other",
    [
        {"fingerprint": "f2"},
        {"task": "STS12"},
        {"protocol": "senteval"},
        {"seed": 1},
        {"data_hash": "d2"},
        {"encoder": "dir:/same/weights"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_every_part_of_the_key_tells_results_apart(store: Store, other: dict) -> None:
    """And `get` finds each."""
    a, b = store.results.put(result()), store.results.put(result(**other))
    assert a != b
    assert store.results.get(**{name: result(**other)[name] for name in results.KEY})["id"] == b


def test_the_table_keeps_what_was_measured_when_nothing_can_be_read(store: Store) -> None:
    """A folder that is gone today does not hide yesterday's score; a NaN and new weights do."""
    number = store.results.put(result())
    store.results.put(failed(fingerprint="", data_hash=""))
    assert [row["id"] for row in store.results.table()] == [number]
    for new in (failed(fingerprint="f2"), result(fingerprint="f3")):
        number = store.results.put(new)
        assert [row["id"] for row in store.results.table()] == [number]
    assert len(store.results.table(all_versions=True)) == 2


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"encoders": ["a"]}, {("a", "STS12"), ("a", "STS13")}),
        ({"tasks": ["STS13"]}, {("a", "STS13"), ("b", "STS13")}),
        ({"encoders": ["b"], "tasks": ["STS13"]}, {("b", "STS13")}),
        ({"encoders": []}, set()),
        ({"protocols": ["other"]}, set()),
        ({"seeds": [0], "encoders": ["b"]}, {("b", "STS12"), ("b", "STS13")}),
    ],
)
def test_the_table_can_be_narrowed(store: Store, filters: dict, expected: set) -> None:
    """By each part of the key."""
    for encoder in "ab":
        for task in ("STS12", "STS13"):
            store.results.put(result(encoder=encoder, task=task))
    assert {(row["encoder"], row["task"]) for row in store.results.table(**filters)} == expected


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (result(scores=[]), "got 0"),
        (result(error="and yet"), "got both"),
        (result(examples={"x": np.array([{}], object)}), "objects"),
    ],
)
def test_what_is_no_result_is_refused(store: Store, bad: dict, words: str) -> None:
    """Nothing of it is kept."""
    with pytest.raises(ValueError, match=words):
        store.results.put(bad)
    assert store.results.table() == []


def test_a_damaged_file_of_values_is_said_plainly(store: Store) -> None:
    """The scores still stand."""
    number = store.results.put(result())
    (path,) = store.results.folder.glob("*.npz")
    path.write_bytes(path.read_bytes()[:50])
    with refused("damaged", number):
        store.results.examples(number)
    assert len(store.results.scores(number)) == 3


def test_threads_that_put_one_result_make_one_row(store: Store) -> None:
    """Steps run at least once; what they write is there exactly once."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(store.results.put, [result()] * 8))
    assert len(store.results.table(all_versions=True)) == 1
    assert len(list(store.results.folder.glob("*"))) == 1


# --- results that travel from one store to another ---


@pytest.fixture
def elsewhere(tmp_path: Path) -> Store:
    """Another store."""
    return Store.open(tmp_path / "elsewhere")


def sent(store: Store, number: int) -> dict:
    """Packed, written as strict JSON and read again."""
    return json.loads(json.dumps(store.results.pack(number), allow_nan=False))


def test_a_result_arrives_to_the_digit(store: Store, elsewhere: Store) -> None:
    """Scores, details, time and every value behind them; NaN as well."""
    given = result(details={"parts": ["a"], "note": "é"}, seconds=0.1 + 0.2)
    given["scores"][0]["score"] = 100 / 3
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
    elsewhere.results.keep(sent(store, store.results.put(failed())))
    (row,) = elsewhere.results.table()
    assert (row["error"], row["hint"]) == ("It gave NaN.", "Try float32.")


def packed_array(array: np.ndarray) -> dict[str, str]:
    """Examples as a result has them when it travels."""
    np.savez_compressed(buffer := io.BytesIO(), correct=array)
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
def test_what_arrives_and_is_no_result_is_refused(
    store: Store, elsewhere: Store, changed: dict, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In words; nothing is unpickled, unpacked without bounds, or kept."""
    monkeypatch.setattr(results, "_MAX_BYTES", 2**16)
    packed = sent(store, store.results.put(result()))
    with refused("damaged"):
        elsewhere.results.keep(packed | changed)
    assert elsewhere.results.table() == []
