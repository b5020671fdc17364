"""What can be done with a background run, and what is said of it: the same on every list."""

from __future__ import annotations

import pytest

from tests.errors import refused
from theodolite.app.pages.jobs import service, views
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store import StoreError


def queued(workspace: Workspace, kind: str = "evaluate", title: str = "a run") -> str:
    """A run that waits."""
    return workspace.store.runs.create(kind, {"title": title}, title)


def begun(workspace: Workspace, kind: str) -> str:
    """A run at work."""
    run = queued(workspace, kind)
    workspace.store.runs.start(run, 1, "local-0", ["a part"])
    return run


def test_runs_and_workers_are_counted(workspace: Workspace) -> None:
    """What is over counts no more."""
    for title in ("one", "two"):
        queued(workspace, title=title)
    begun(workspace, "train")
    workspace.store.runs.cancel(begun(workspace, "sweep"))
    assert service.counts(workspace.store) == (2, 1, 0)


def test_what_can_be_done_follows_the_state(workspace: Workspace) -> None:
    """From waiting to over; only a training has a best to keep, and is asked for it once."""
    runs = workspace.store.runs
    for kind, first in (("evaluate", []), ("train-decoder", ["stop"])):
        run = queued(workspace, kind)
        assert service.possible(runs.get(run)) == ["cancel"]
        assert service.possible(runs.get(run), others_wait=True) == ["next", "cancel"]
        runs.start(run, 1, "local-0", ["a part"])
        assert service.possible(runs.get(run)) == [*first, "cancel"]
        if first:
            service.stop(workspace, run)
            assert service.possible(runs.get(run)) == ["cancel"]
        service.cancel(workspace, run)
        assert service.possible(runs.get(run)) == ["retry", "remove"]
        service.retry(workspace, run)
        assert service.possible(runs.get(run)) == ["cancel"]
        runs.start(run, 2, "local-0", ["a part"])
        runs.finish(run, 2, "done")
        assert service.possible(runs.get(run)) == ["remove"]
        service.remove(workspace, run)
        with pytest.raises(StoreError, match="no run"):
            runs.get(run)


def test_what_does_not_fit_the_state_is_said(workspace: Workspace) -> None:
    """Somebody else may have been quicker: nothing is claimed that was not done."""
    run = begun(workspace, "evaluate")
    for action, code in (
        ("retry", "conflict"),
        ("remove", "conflict"),
        ("stop", "wrong-kind"),
        ("next", "stale"),
    ):
        with refused(code, run):
            service.act(workspace, action, run)
    workspace.store.runs.cancel(run)
    with refused("stale", run):
        service.act(workspace, "cancel", run)
    with refused("unknown", "explode"):
        service.act(workspace, "explode", run)


@pytest.mark.parametrize("action", [*service.ACTIONS])
def test_visitors_are_offered_and_allowed_nothing(workspace: Workspace, action: str) -> None:
    """Permission is asked where it is done, whichever page it comes from."""
    run = begun(workspace, "train")
    visiting = Workspace(workspace.store.folder, read_only=True)
    assert views.buttons(visiting, visiting.store.runs.get(run)) == ""
    with pytest.raises(UserError, match="change nothing"):
        service.act(visiting, action, run)
    with pytest.raises(UserError, match="change nothing"):
        service.evaluate_again(visiting, run, 0)
    visiting.close()


def test_every_action_has_a_button(workspace: Workspace) -> None:
    """With the title in what is read out, whatever is in it."""
    run = dict(workspace.store.runs.get(queued(workspace, title="<b>{}</b>")))
    for state, offered in (("queued", ["next", "cancel"]), ("failed", ["retry", "remove"])):
        shown = views.buttons(workspace, run | {"state": state}, others_wait=True)
        assert [action for action in service.ACTIONS if f'data-act="{action}"' in shown] == offered
        assert "&lt;b&gt;{}&lt;/b&gt;" in shown


def test_an_empty_queue_says_what_comes_and_how_it_is_begun(workspace: Workspace) -> None:
    """Each command that stands there can be typed as it is, and queues."""
    from typer.main import get_command

    from theodolite.app.cli import app

    shown = views.nothing(visitor=False)
    for _, path, _, command in views._BEGUN:
        assert f'href="./{path}"' in shown and command in shown
        _, verb, *words = command.split()
        with get_command(app).commands[verb].make_context(verb, words) as context:  # type: ignore[attr-defined]
            assert context.params["queue"]
    assert "does not start runs" in views.nothing(visitor=True)
