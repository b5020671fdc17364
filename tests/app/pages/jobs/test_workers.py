"""Who works, here and in a fleet: the page's rows and the verb's."""

import pytest

from tests.app.fleet.conftest import database, postgres
from tests.fakes.command_line import objects, theodolite
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
    "files": "s3://lab",
}


@pytest.fixture(autouse=True)
def no_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a test names one."""
    monkeypatch.delenv(VARIABLE, raising=False)


def test_the_local_worker(workspace: Workspace) -> None:
    """What it does and what waits for it."""
    assert workers.now(workspace).workers == ()
    workspace.store.workers.seen("local-0")
    runs, title = workspace.store.runs, f"at work {HOSTILE}"
    run = runs.create("evaluate", {}, title)
    runs.start(run, 1, "local-0", ["one", "two"])
    runs.progress(run, 1, 0.5, "half way")
    runs.create("evaluate", {"title": "later"}, "later")
    found = workers.now(workspace)
    (one,) = found.workers
    assert (one.slot, one.local, one.share, one.doing) == (
        "local-0",
        True,
        0.25,
        f"{title}: half way",
    )
    assert "starter-pairs" in one.has["data"]
    assert [(row.title, row.why) for row in found.waiting] == [("later", workers.TURN)]
    assert HOSTILE not in workers_views.workers(found) + workers_views.waiting(found)


def test_a_fleet(workspace: Workspace, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its workers and homes, what each has, and what nobody can do; visitors see none of it."""
    monkeypatch.setenv(VARIABLE, database)
    roster = Roster(Database(database, "fleet"))
    doing = {"unit": "u", "label": "MR", "message": "update 3 of 9", "share": 0.3, "since": 1.0}
    roster.seen("gpu-1", HOSTILE, 7, HAS, doing)
    roster.home_seen("lab", "lab", [{"title": "sweep", "wait": 3, "said": "No worker has TREC."}])
    found = workers.now(workspace)
    (one,), (waiting,) = found.workers, found.waiting
    assert (one.slot, one.local, one.doing) == ("gpu-1", False, "MR: update 3 of 9")
    assert list(found.homes) == ["lab"]
    assert (waiting.home, waiting.parts, waiting.why) == ("lab", 3, "No worker has TREC.")
    shown = workers_views.workers(found)
    assert HOSTILE not in shown and "H100, 8 cores, 64 GB" in shown and "s3://lab" in shown
    rows = objects(theodolite("workers", "--store", str(workspace.store.folder), "--json"))
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
    assert "does not answer" in found.problem and len(found.workers) == 1
    assert "s3cret" not in workers_views.status(found) + workers_views.workers(found)
