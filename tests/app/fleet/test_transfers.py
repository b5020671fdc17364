"""Files and words through the database of a fleet: whole, once, and gone on with."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from theodolite.store import StoreError, transfers
from theodolite.store.fleet import Postgres as Database
from theodolite.store.fleet import Reports
from theodolite.store.transfers import Damaged, Transfers

CONTENT = bytes(range(256)) * 10


@pytest.fixture
def shared(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database through which chunks of 1,000 bytes go."""
    monkeypatch.setattr(transfers, "CHUNK", 1000)
    made = Database(database, "fleet")
    yield made
    made.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Three chunks."""
    made = tmp_path / "model.safetensors"
    made.write_bytes(CONTENT)
    return made


DIGEST = hashlib.sha256(CONTENT).hexdigest()


def rows(shared: Database) -> list[tuple[int, int]]:
    """Number and bytes of every chunk."""
    found = shared.rows("SELECT number, length(data) AS size FROM theodolite.chunks ORDER BY 1")
    return [(row["number"], row["size"]) for row in found]


def test_a_file_goes_through_in_chunks(shared: Database, file: Path, tmp_path: Path) -> None:
    """Sent twice it is there once; what was forgotten is not to be had."""
    moving = Transfers(shared)
    moving.send(DIGEST, file)
    moving.send(DIGEST, file)
    assert rows(shared) == [(0, 1000), (1, 1000), (2, 560)]
    to = tmp_path / "there" / "model.safetensors"
    moving.fetch(DIGEST, len(CONTENT), to)
    assert to.read_bytes() == CONTENT
    moving.forget([DIGEST])
    assert rows(shared) == []
    moving.fetch(DIGEST, len(CONTENT), to)  # it is here
    with pytest.raises(Damaged):
        moving.fetch(DIGEST, len(CONTENT), tmp_path / "other")


def test_both_ways_go_on_where_they_were(shared: Database, file: Path, tmp_path: Path) -> None:
    """What a killed process left of the file counts, up to the last whole chunk."""
    moving = Transfers(shared)
    moving.send(DIGEST, file)
    shared.rows("DELETE FROM theodolite.chunks WHERE number = 1")
    to = tmp_path / "model"
    with pytest.raises(Damaged):
        moving.fetch(DIGEST, len(CONTENT), to)
    moving.send(DIGEST, file)
    shared.rows("DELETE FROM theodolite.chunks WHERE number = 0")  # is not asked for again
    with (tmp_path / "model.arriving").open("ab") as part:
        part.write(b"torn")
    moving.fetch(DIGEST, len(CONTENT), to)
    assert to.read_bytes() == CONTENT


def test_damage_is_found(shared: Database, file: Path, tmp_path: Path) -> None:
    """In a chunk, and in the whole."""
    moving = Transfers(shared)
    moving.send(DIGEST, file)
    shared.rows("UPDATE theodolite.chunks SET data = 'x' WHERE number = 1")
    with pytest.raises(Damaged, match="damaged"):
        moving.fetch(DIGEST, len(CONTENT), tmp_path / "model")
    moving.send(DIGEST, file)  # what was damaged goes again
    moving.fetch(DIGEST, len(CONTENT), tmp_path / "model")
    assert (tmp_path / "model").read_bytes() == CONTENT
    moving.send("0" * 64, file)
    with pytest.raises(Damaged):
        moving.fetch("0" * 64, len(CONTENT), tmp_path / "other")


def test_what_nobody_uses_goes(shared: Database, file: Path) -> None:
    """After a day."""
    moving = Transfers(shared)
    moving.send(DIGEST, file)
    moving.clean()
    assert len(rows(shared)) == 3
    shared.rows("UPDATE theodolite.chunks SET used = now() - interval '25 hours'")
    moving.clean()
    assert rows(shared) == []


def test_words_come_in_their_order_and_once(shared: Database) -> None:
    """Of the units that were asked for; NaN is no number in JSON."""
    reports = Reports(shared)
    reports.add("a-1", [("log", {"lines": ["one"]}), ("stepped", {"loss": float("nan")})])
    reports.add("b-1", [("log", {"lines": ["other"]})])
    received = reports.of(["a-1"])
    assert [(one["kind"], one["data"]) for one in received] == [
        ("log", {"lines": ["one"]}),
        ("stepped", {"loss": None}),
    ]
    reports.kept([one["id"] for one in received])
    assert reports.of(["a-1"]) == []
    reports.ask(["b-1"], "stop")
    assert (reports.asked("a-1"), reports.asked("b-1")) == ("", "stop")
    reports.forget("b-")
    assert reports.of(["b-1"]) == []
    assert reports.asked("b-1") == ""


def test_an_error_of_ours_is_no_absence(shared: Database) -> None:
    """What the database refuses is said with its own words."""
    with pytest.raises(StoreError, match="no_such_table"):
        shared.rows("SELECT * FROM no_such_table")
    with psycopg.connect(shared._url) as other:
        assert other.execute("SELECT 1").fetchone() == (1,)
