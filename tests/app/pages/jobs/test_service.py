"""What can be done with a background run, and who works: the same on every list."""

import pytest

from tests.app.fleet.conftest import database, postgres
from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from theodolite.app.fleet.address import VARIABLE
from theodolite.app.pages.jobs import service, views, workers
from theodolite.app.surfaces import document
from theodolite.app.workspace import Workspace
from theodolite.store.fleet import Fleet


def queued(workspace: Workspace, kind: str = "evaluate", title: str = "a run") -> str:
    """A run that waits."""
    return workspace.store.runs.create(kind, {"title": title}, title)


@pytest.mark.parametrize(
    ("kind", "state", "asked", "actions"),
    [
        ("evaluate", "queued", None, ["cancel"]),
        ("evaluate", "running", None, ["cancel"]),
        ("train-decoder", "running", None, ["stop", "cancel"]),
        ("train-decoder", "running", "stop", ["cancel"]),
        ("train", "cancelled", "stop", ["retry", "remove"]),
        ("evaluate", "partly failed", None, ["retry", "remove"]),
        ("evaluate", "done", None, ["remove"]),
    ],
)
def test_what_can_be_done_follows_the_state(
    kind: str, state: str, asked: str | None, actions: list[str]
) -> None:
    """Only a training has a best to keep, and is asked for it once; what waits can be moved."""
    run = {"kind": kind, "state": state, "asked": asked}
    assert service.possible(run) == actions
    before = ["next"] if state == "queued" else []
    assert service.possible(run, others_wait=True) == [*before, *actions]


def test_what_does_not_fit_the_state_is_said(workspace: Workspace) -> None:
    """Somebody else may have been quicker: nothing is claimed that was not done."""
    run = queued(workspace)
    workspace.store.runs.start(run, 1, "local-0", ["a part"])
    for action in ("retry", "remove", "stop", "next", "explode"):
        with refused("conflict", run, action):
            service.act(workspace, action, run)
    workspace.store.runs.cancel(run)
    with refused("conflict", run, "cancel"):
        service.act(workspace, "cancel", run)
    waiting = queued(workspace, "train")
    service.act(workspace, "stop", waiting)  # it has nothing to keep yet
    assert workspace.store.runs.get(waiting)["state"] == "cancelled"


@pytest.mark.parametrize("action", ["next", "stop", "cancel", "retry", "remove"])
def test_visitors_are_offered_and_allowed_nothing(workspace: Workspace, action: str) -> None:
    """Permission is asked where it is done, whichever page it comes from; titles are no markup."""
    run = queued(workspace, "train", "<b>{}</b>")
    assert "&lt;b&gt;{}&lt;/b&gt;" in views.buttons(workspace, workspace.store.runs.get(run))
    workspace.read_only = True
    assert views.buttons(workspace, workspace.store.runs.get(run)) == ""
    with refused("denied"):
        service.act(workspace, action, run)
    with refused("denied"):
        service.evaluate_again(workspace, run, 0)


__all__ = ["database", "postgres"]

HOSTILE = "<b>x</b>"


def shown(found: workers.Workers) -> str:
    """What the page has of it."""
    return "".join(map(str, document.pieces(found.blocks())))


@pytest.fixture(autouse=True)
def no_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless a test names one."""
    monkeypatch.delenv(VARIABLE, raising=False)


def test_the_local_worker(workspace: Workspace) -> None:
    """What it does and what waits for it."""
    assert workers.now(workspace).workers == []
    workspace.store.workers.beat("local-0")
    runs, title = workspace.store.runs, f"at work {HOSTILE}"
    run = runs.create("evaluate", {}, title)
    runs.start(run, 1, "local-0", ["one", "two"])
    runs.progress(run, 1, 0.5, "half way")
    runs.create("evaluate", {"title": "later"}, "later")
    found = workers.now(workspace)
    (one,) = found.workers
    doing = ("local-0", True, 0.25, f"{title}: half way")
    assert (one.slot, one.local, one.share, one.doing) == doing
    assert "the data set starter-pairs" in one.has
    assert [(row.title, row.why) for row in found.waiting] == [("later", "waiting for its turn")]
    assert HOSTILE not in shown(found)


def test_a_fleet(workspace: Workspace, database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its workers and homes, what each has, and what nobody can do; visitors see none of it."""
    monkeypatch.setenv(VARIABLE, database)
    fleet = Fleet(database, "fleet")
    about = {"slot": "gpu-1", "host": HOSTILE, "pid": 7, "machine": "H100, 8 cores, 64 GB"}
    has = {"takes": ["train"], "has": ["an address for files (--files)", "the data set MR (aaaa)"]}
    doing = {"unit": "u", "label": "MR", "message": "update 3 of 9", "share": 0.3, "since": 1.0}
    fleet.beat({**about, **has, **doing})
    fleet.announce("run-1-", "lab", "sweep", 3, "No worker has TREC.")
    found = workers.now(workspace)
    (one,), (waiting,) = found.workers, found.waiting
    assert (one.slot, one.local, one.doing) == ("gpu-1", False, "MR: update 3 of 9")
    assert (waiting.home, waiting.parts, waiting.why) == ("lab", 3, "No worker has TREC.")
    html = shown(found)
    assert HOSTILE not in html and "H100, 8 cores, 64 GB" in html and "MR (aaaa)" in html
    rows = objects(theodolite("workers", "--store", str(workspace.store.folder), "--json"))
    assert [row["kind"] for row in rows] == ["worker", "waiting"]
    workspace.read_only = True
    assert workers.now(workspace).workers == []
    fleet.close()


def test_a_fleet_that_does_not_answer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Is said, and the worker here is shown all the same."""
    monkeypatch.setenv(VARIABLE, "postgresql://lab:s3cret@127.0.0.1:1/fleet")
    workspace.store.workers.beat("local-0")
    found = workers.now(workspace)
    assert "does not answer" in found.problem and len(found.workers) == 1
    assert "s3cret" not in shown(found)
