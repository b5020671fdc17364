"""What can be done with a background run, and what is said of it: the same on every list."""

from __future__ import annotations

import pytest

from tests.errors import refused
from theodolite.app.pages.jobs import service, views
from theodolite.app.workspace import Workspace


def queued(workspace: Workspace, kind: str = "evaluate", title: str = "a run") -> str:
    """A run that waits."""
    return workspace.store.runs.create(kind, {"title": title}, title)


def begun(workspace: Workspace, kind: str) -> str:
    """A run at work."""
    run = queued(workspace, kind)
    workspace.store.runs.start(run, 1, "local-0", ["a part"])
    return run


def test_runs_and_workers_are_counted(workspace: Workspace) -> None:
    """What is over counts no more; a training that waits is over when it is to stop."""
    for title in ("one", "two"):
        queued(workspace, title=title)
    begun(workspace, "train")
    workspace.store.runs.cancel(begun(workspace, "sweep"))
    service.stop(workspace, queued(workspace, "train", "another"))
    assert service.counts(workspace.store) == (2, 1, 0)


@pytest.mark.parametrize(("kind", "first"), [("evaluate", []), ("train-decoder", ["stop"])])
def test_what_can_be_done_follows_the_state(
    workspace: Workspace, kind: str, first: list[str]
) -> None:
    """From waiting to over; only a training has a best to keep, and is asked for it once."""
    runs, run = workspace.store.runs, queued(workspace, kind)

    def possible(**how: bool) -> list[str]:
        return service.possible(runs.get(run), **how)

    assert (possible(), possible(others_wait=True)) == (["cancel"], ["next", "cancel"])
    runs.start(run, 1, "local-0", ["a part"])
    assert possible() == [*first, "cancel"]
    for action in first:
        service.act(workspace, action, run)
        assert possible() == ["cancel"]
    service.cancel(workspace, run)
    assert possible() == ["retry", "remove"]
    service.retry(workspace, run)
    assert possible() == ["cancel"]
    runs.start(run, 2, "local-0", ["a part"])
    runs.finish(run, 2, "done")
    assert possible() == ["remove"]
    service.remove(workspace, run)
    assert runs.list() == []


def test_what_does_not_fit_the_state_is_said(workspace: Workspace) -> None:
    """Somebody else may have been quicker: nothing is claimed that was not done."""
    run = begun(workspace, "evaluate")
    codes = {"retry": "conflict", "remove": "conflict", "stop": "wrong-kind", "next": "stale"}
    for action, code in codes.items():
        with refused(code, run):
            service.act(workspace, action, run)
    workspace.store.runs.cancel(run)
    for action, code, named in (("cancel", "stale", run), ("explode", "unknown", "explode")):
        with refused(code, named):
            service.act(workspace, action, run)


@pytest.mark.parametrize("action", [*service.ACTIONS])
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
