"""Files and words through the database of a fleet: whole, once, and gone on with."""

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from theodolite.store import StoreError, transfers
from theodolite.store.fleet import Postgres as Database
from theodolite.store.fleet import Reports
from theodolite.store.transfers import Damaged, Transfers

CONTENT = bytes(range(256)) * 10
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def shared(database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    """A database through which chunks of 1,000 bytes go."""
    monkeypatch.setattr(transfers, "CHUNK", 1000)
    made = Database(database, "fleet")
    yield made
    made.close()


@pytest.fixture
def moving(shared: Database, tmp_path: Path) -> Transfers:
    """What has sent a file, twice."""
    made = Transfers(shared)
    (tmp_path / "sent").write_bytes(CONTENT)
    for _ in range(2):
        made.send(DIGEST, tmp_path / "sent")
    return made


def rows(shared: Database) -> list[int]:
    """Bytes of every chunk."""
    found = shared.rows("SELECT length(data) AS size FROM theodolite.chunks ORDER BY number")
    return [row["size"] for row in found]


def test_a_file_goes_through_in_chunks(shared: Database, moving: Transfers, tmp_path: Path) -> None:
    """Once; what was forgotten, or that nobody used for a day, is not to be had."""
    assert rows(shared) == [1000, 1000, 560]
    to = tmp_path / "there" / "model.safetensors"
    moving.fetch(DIGEST, len(CONTENT), to)
    assert to.read_bytes() == CONTENT
    moving.clean()
    assert len(rows(shared)) == 3
    shared.rows("UPDATE theodolite.chunks SET used = now() - interval '25 hours'")
    moving.clean()
    assert rows(shared) == []
    moving.send(DIGEST, to)
    moving.forget([DIGEST])
    assert rows(shared) == []
    moving.fetch(DIGEST, len(CONTENT), to)  # it is here
    moving.send("0" * 64, to)
    for digest in (DIGEST, "0" * 64):  # one is gone, one is not the hash of what came
        with pytest.raises(Damaged):
            moving.fetch(digest, len(CONTENT), tmp_path / "other")


@pytest.mark.parametrize("harm", ["DELETE FROM", "UPDATE"])
def test_what_did_not_arrive_is_sent_again(
    shared: Database, moving: Transfers, tmp_path: Path, harm: str
) -> None:
    """Both ways go on where they were: what a killed process left counts, in whole chunks."""
    changed = "SET data = 'x'" if harm == "UPDATE" else ""
    shared.rows(f"{harm} theodolite.chunks {changed} WHERE number = 1")
    to = tmp_path / "model"
    with pytest.raises(Damaged):
        moving.fetch(DIGEST, len(CONTENT), to)
    assert not to.exists()
    moving.send(DIGEST, tmp_path / "sent")
    shared.rows("DELETE FROM theodolite.chunks WHERE number = 0")  # is not asked for again
    with (tmp_path / "model.arriving").open("ab") as part:
        part.write(b"torn")
    moving.fetch(DIGEST, len(CONTENT), to)
    assert to.read_bytes() == CONTENT


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
