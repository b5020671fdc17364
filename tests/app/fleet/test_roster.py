"""The database of a fleet: slots that one process fills, units, and what each says of itself."""

import json
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from tests.app.fleet.conftest import Postgres
from tests.errors import refused
from tests.waiting import wait_until
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.coordinator import Coordinator, _SentRun
from theodolite.app.fleet.needs import lacking
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.jobs import workers
from theodolite.app.workspace import Workspace
from theodolite.store import fleet as roster
from theodolite.store.fleet import FleetAway, Reports, Roster, Units
from theodolite.store.fleet import Postgres as Database

HAS = {"data": {"MR": "abc"}, "cores": 2}


@pytest.fixture
def two(database: str) -> Iterator[tuple[Roster, Roster]]:
    """What two processes have of one fleet."""
    made = Roster(Database(database, "fleet")), Roster(Database(database, "fleet"))
    yield made
    for one in made:
        one.close()


def test_a_slot_is_filled_once(two: tuple[Roster, Roster]) -> None:
    """And is free as soon as its process is gone, however it went."""
    one, other = two
    assert one.fill("lab-1")
    assert one.fill("lab-1")
    assert not other.fill("lab-1")
    assert other.fill("lab-2")
    one.close()
    wait_until(lambda: other.fill("lab-1"))


def test_what_a_worker_says(two: tuple[Roster, Roster]) -> None:
    """Is read by all; it starts once, however often it is heard of."""
    one, other = two
    assert other.list() == []
    one.seen("lab-1", "lab", 7, HAS, {})
    (first,) = other.list()
    one.seen("lab-1", "lab", 7, None, {"unit": "u", "share": 0.5})
    (again,) = other.list()
    assert first["started"] == again["started"]
    assert (again["slot"], again["host"], again["pid"]) == ("lab-1", "lab", 7)
    assert (again["has"], again["doing"]) == (HAS, {"unit": "u", "share": 0.5})
    one.seen("lab-1", "lab", 8, HAS, {})
    assert other.list()[0]["started"] > first["started"]
    one.gone("lab-1")
    assert other.list() == []


def test_who_is_gone(two: tuple[Roster, Roster], monkeypatch: pytest.MonkeyPatch) -> None:
    """A slot that nobody holds, after a while; not one that is held or was just heard of."""
    one, other = two
    one.fill("held")
    one.seen("let-go", "lab", 7, HAS, {})
    assert other.forsaken(["held", "let-go", "never"]) == {"never"}
    monkeypatch.setattr(roster, "FORSAKEN", 0.0)
    assert other.forsaken(["held", "let-go"]) == {"let-go"}
    assert one.fill("let-go")  # to look is not to take


def test_a_unit_is_claimed_once(database: str) -> None:
    """By priority and age, by who may; by its worker again after a crash, until it is answered."""
    units = Units(Database(database, "fleet"))
    units.add("late", "evaluate", "3", {"n": 1}, priority=1)
    units.add("only-b", "evaluate", "3", {}, slots=["b"])
    units.add("old", "evaluate", "2", {})
    units.add("other", "train", "3", {})
    units.add("first", "evaluate", "3", {"n": float("nan"), "text": "a\0b"})
    units.add("first", "evaluate", "3", {"again": True})
    name, given = units.claim("a", ["evaluate"], "3") or ("", "")
    assert (name, json.loads(given)["text"]) == ("first", "a\0b")
    assert units.claim("b", ["evaluate"], "3") == ("only-b", "{}")
    assert units.claim("a", ["evaluate"], "3") == (name, given)
    assert units.of(["first"])["first"]["starts"] == 2
    assert [units.word("first", slot) for slot in "ab"] == ["", None]
    units.ask(["first"], "stop")
    assert units.word("first", "a") == "stop"
    units.answer("first", "b", {"not": "ours"})
    assert units.of(["first"])["first"]["answer"] is None
    units.answer("first", "a", {"score": 1.5})
    assert json.loads(units.of(["first"])["first"]["answer"] or "") == {"score": 1.5}
    assert units.claim("a", ["evaluate"], "3") == ("late", '{"n": 1}')
    assert units.claim("c", ["evaluate"], "3") is None
    units.remove(["late"])
    assert units.word("late", "a") is None
    units.remove_all("o")
    assert set(units.of(["old", "other", "only-b", "first"])) == {"first"}


def test_reports_come_in_their_order_and_once(database: str) -> None:
    """Of the units that were asked for; NaN is no number in JSON."""
    shared = Database(database, "fleet")
    reports = Reports(shared)
    reports.add("a-1", [("log", {"lines": ["one"]}), ("stepped", {"loss": float("nan")})])
    reports.add("b-1", [("log", {"lines": ["other"]})])
    received = reports.of(["a-1"])
    assert [(one["kind"], one["data"]) for one in received] == [
        ("log", {"lines": ["one"]}),
        ("stepped", {"loss": None}),
    ]
    reports.remove([one["id"] for one in received])
    assert reports.of(["a-1"]) == []
    Units(shared).remove_all("b-")
    assert reports.of(["b-1"]) == []
    with pytest.raises(FleetAway, match="no_such_table"):
        shared.rows("SELECT * FROM no_such_table")


def test_a_database_that_cannot_hold_every_text(
    postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is refused when a worker or a home joins, with the command that makes one that can."""
    address = postgres.make(f"ascii_{time.monotonic_ns()}", "SQL_ASCII")
    monkeypatch.setenv("THEODOLITE_FLEET", address)
    for join in (
        Address.parse(None).verify,
        lambda: Roster(Database(address, "fleet")).fill("lab-1"),
    ):
        with refused("unsupported", "SQL_ASCII") as caught:
            join()
        assert "createdb --encoding UTF8" in caught.value.hint
        assert not isinstance(caught.value, FleetAway), "it will not pass"


ODD = (
    None,
    [],
    7,
    "text",
    {"only": 7, "data": ["MR"], "packages": {"mteb": 1}, "files": None},
    {"unit": 1, "share": "half", "label": [], "since": "now"},
)


def test_rows_that_are_not_as_expected_harm_nobody(
    two: tuple[Roster, Roster], database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever a worker or a home of another version writes, the others are read as ever."""
    one, other = two
    one.seen("lab-1", "lab", 7, HAS, {"unit": "u", "share": 0.5})
    one.home_seen("home", "lab", [{"title": "a", "wait": 2, "said": "b"}])
    with psycopg.connect(database, autocommit=True) as connection:
        for number, odd in enumerate(ODD):
            row = {"name": f"odd-{number}", "text": json.dumps(odd)}
            for values in (
                "workers VALUES (%(name)s, 'lab', 7, now(), now(), %(text)s, %(text)s)",
                "homes VALUES (%(name)s, 'lab', now(), %(text)s)",
                "reports (unit, kind, data) VALUES (%(name)s, 'log', %(text)s)",
            ):
                connection.execute(f"INSERT INTO theodolite.{values}".encode(), row)
    members = other.list()
    assert [
        (member["has"], member["doing"]) for member in members if member["slot"] == "lab-1"
    ] == [(HAS, {"unit": "u", "share": 0.5})]
    needs = {"data": {"MR": "abc"}, "packages": [], "files": False}
    able = [member["slot"] for member in members if not lacking(needs, member["has"])]
    assert able == ["lab-1"]
    monkeypatch.setenv("THEODOLITE_FLEET", database)
    workspace = Workspace(tmp_path / "store")
    found = workers.now(workspace)
    assert len(found.workers) == 1 + len(ODD)
    assert [run.title for run in found.waiting] == ["a"]
    assert "lab-1" in str(found.blocks())
    run = workspace.store.runs.create("train", {}, "train")
    units = {f"odd-{number}": {"position": 0} for number in range(len(ODD))}
    Coordinator(workspace, Address.parse(database))._hear(run, units)  # type: ignore[arg-type]
    assert Reports(Database(database, "fleet")).of(list(units)) == []


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {"outcome": 3},
        {"damaged": 7},
        {"outcome": {"seconds": 1}},
        {
            "outcome": {"seconds": 0.0, "error": None, "hint": "", "made": 1},
            "results": [],
            "reports": [],
            "folder": None,
            "slot": "lab-1",
        },
    ],
)
def test_an_answer_that_cannot_be_read_fails_its_unit(
    database: str, tmp_path: Path, answer: object
) -> None:
    """The run goes on with the others."""
    workspace = Workspace(tmp_path / "store")
    job = EvaluateJob(("random:8",), ("StarterSTS", "StarterTopics"))
    run_id = workspace.store.runs.create(job.kind, job.to_spec(), job.title)
    workspace.store.runs.start(run_id, 1, "local-0", job.units())
    home = Coordinator(workspace, Address.parse(database))
    unit = workspace.store.runs.units(run_id)[0]
    sent = _SentRun(workspace.store.runs.get(run_id), 1, job)
    for _ in range(3):  # what was damaged is sent again, twice
        home._keep(sent, unit, json.dumps(answer))
    states = [unit["state"] for unit in workspace.store.runs.units(run_id)]
    assert states == ["failed", "waiting"]


def test_a_database_that_is_away(postgres: Postgres, two: tuple[Roster, Roster]) -> None:
    """Is said in words; when it is back all goes on, and the slot is taken anew."""
    one, other = two
    one.fill("lab-1")
    postgres.stop()
    try:
        with pytest.raises(FleetAway):
            one.fill("lab-1")
    finally:
        postgres.start()
    assert one.fill("lab-1")
    assert not other.fill("lab-1")
