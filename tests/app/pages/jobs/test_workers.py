"""Who works, here and in a fleet: the page's rows and the verb's."""

import json

import pytest
from typer.testing import CliRunner

from tests.app.fleet.conftest import database, postgres
from theodolite.app.cli import app
from theodolite.app.fleet.address import VARIABLE
from theodolite.app.pages.jobs import workers, workers_views
from theodolite.app.workspace import Workspace
from theodolite.store.fleet import Postgres as Database
from theodolite.store.fleet import Roster

__all__ = ["database", "postgres"]

HOSTILE = "<b>x</b>"
HAS = {
    "only": ["train"],
    "data": {"MR": "a" * 32, "TREC": ""},
    "devices": ["H100"],
    "cores": 8,
    "memory": 64_000_000_000,
    "packages": {"mteb": "2"},
    "out": ["s3://lab"],
}


@pytest.fixture(autouse=True)
def no_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a test names one."""
    monkeypatch.delenv(VARIABLE, raising=False)


def run(workspace: Workspace, title: str, slot: str | None = None) -> None:
    """A run that waits, or that a worker is at."""
    runs = workspace.store.runs
    run_id = runs.create("evaluate", {"title": title}, title)
    if slot:
        runs.start(run_id, 1, slot, ["one", "two"])
        runs.progress(run_id, 1, 0.5, "half way")


def test_the_local_worker(workspace: Workspace) -> None:
    """What it does, what waits for it, and that a fleet is to be had."""
    assert workers.now(workspace).workers == ()
    assert "No worker is running" in workers_views.workers(workers.now(workspace))
    workspace.store.workers.seen("local-0")
    run(workspace, f"at work {HOSTILE}", "local-0")
    run(workspace, "later")
    found = workers.now(workspace)
    (one,) = found.workers
    assert (one.slot, one.local, one.share) == ("local-0", True, 0.25)
    assert one.doing == f"at work {HOSTILE}: half way"
    assert "starter-pairs" in one.has["data"]
    assert [(row.title, row.why) for row in found.waiting] == [("later", workers.TURN)]
    shown = workers_views.workers(found) + workers_views.waiting(found)
    assert HOSTILE not in shown
    assert "--fleet" in workers_views.homes(found)


def test_a_fleet(workspace: Workspace, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its workers and homes, what each has, and what nobody can do; visitors see none of it."""
    monkeypatch.setenv(VARIABLE, database)
    roster = Roster(Database(database, "fleet"))
    doing = {"unit": "u", "label": "MR", "message": "update 3 of 9", "share": 0.3, "since": 1.0}
    roster.seen("gpu-1", HOSTILE, 7, HAS, doing)
    roster.home_seen("lab", "lab", [{"title": "sweep", "wait": 3, "said": "No worker has TREC."}])
    found = workers.now(workspace)
    (one,) = found.workers
    assert (one.slot, one.local, one.doing) == ("gpu-1", False, "MR: update 3 of 9")
    assert list(found.homes) == ["lab"]
    assert [(row.home, row.parts, row.why) for row in found.waiting] == [
        ("lab", 3, "No worker has TREC.")
    ]
    shown = workers_views.workers(found)
    assert HOSTILE not in shown
    for text in ("H100, 8 cores, 64 GB", "s3://lab", f'title="{"a" * 32}"', "MR"):
        assert text in shown
    given = ["workers", "--store", str(workspace.store.folder), "--json"]
    rows = [json.loads(row) for row in CliRunner().invoke(app, given).stdout.splitlines()]
    assert [row["kind"] for row in rows] == ["worker", "home", "waiting"]
    workspace.read_only = True
    assert workers.now(workspace).workers == ()
    roster.close()


def test_a_fleet_that_does_not_answer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is said, and the worker here is shown all the same."""
    monkeypatch.setenv(VARIABLE, "postgresql://lab:s3cret@127.0.0.1:1/fleet")
    workspace.store.workers.seen("local-0")
    found = workers.now(workspace)
    assert "does not answer" in found.problem
    assert len(found.workers) == 1
    assert "s3cret" not in workers_views.status(found) + workers_views.workers(found)
