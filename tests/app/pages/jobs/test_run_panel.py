"""How soon a page that follows a run notices that it moves."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace

import pytest

from theodolite.app.pages.jobs import run_panel
from theodolite.app.pages.jobs.run_panel import moved, wait_for_move
from theodolite.app.workspace import Workspace


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[Callable[[], object]]:
    """What happens while an answer waits, one at each look; a look too many is an IndexError."""
    left: list[Callable[[], object]] = []
    clock = SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda _: left.pop(0)())
    monkeypatch.setattr(run_panel, "time", clock)
    return left


def test_an_answer_waits_for_a_unit_or_the_end_of_the_run(
    workspace: Workspace, steps: list[Callable[[], object]]
) -> None:
    """A share of a unit is no move: it is shown with the next answer."""
    runs = workspace.store.runs
    run = runs.create("project", {}, "a map")
    runs.start(run, 1, "local-0", ["the first", "the second"])
    known = moved(runs.get(run))
    steps += [lambda: runs.progress(run, 1, 0.5, "half"), lambda: runs.end_unit(run, 0, 1.0)]
    wait_for_move(workspace, run, known)
    assert steps == []
    wait_for_move(workspace, run, known)
    steps += [lambda: None, lambda: runs.finish(run, 1, "done")]
    wait_for_move(workspace, run, moved(runs.get(run)))
    assert steps == []
    wait_for_move(workspace, run, moved(runs.get(run)))


def test_an_answer_does_not_wait_for_ever(
    workspace: Workspace, steps: list[Callable[[], object]], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = workspace.store.runs.create("project", {}, "a map")
    times = iter([0.0, 0.0, run_panel.WAIT_SECONDS])
    monkeypatch.setattr(run_panel.time, "monotonic", times.__next__)
    steps.append(lambda: None)
    wait_for_move(workspace, run, moved(workspace.store.runs.get(run)))
    assert steps == []
