"""How soon a page that follows a run notices that it moves."""

from __future__ import annotations

import threading
import time

import pytest

from theodolite.app.pages.jobs import run_panel
from theodolite.app.pages.jobs.run_panel import moved, wait_for_move
from theodolite.app.workspace import Workspace

LONG = 20.0
"""Seconds that even a busy machine takes for nothing else."""


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answers wait longer than usual, so that the end of a wait says what ended it."""
    monkeypatch.setattr(run_panel, "WAIT_SECONDS", LONG)


def waited(workspace: Workspace, run: str, known: str) -> float:
    """Seconds that an answer waits for a run."""
    began = time.monotonic()
    wait_for_move(workspace, run, known)
    return time.monotonic() - began


def test_an_answer_waits_for_the_end_of_the_run(workspace: Workspace) -> None:
    """And no longer: a page shows a map in the moment that it is there."""
    runs = workspace.store.runs
    run = runs.create("project", {}, "a map")
    runs.start(run, 1, "local-0", ["a part"])
    known = moved(runs.get(run))
    threading.Timer(0.2, lambda: runs.finish(run, 1, "done")).start()
    assert 0.2 <= waited(workspace, run, known) < LONG
    assert moved(runs.get(run)) != known
    assert waited(workspace, run, known) < LONG
    assert waited(workspace, run, moved(runs.get(run))) < LONG


def test_a_unit_that_is_done_is_a_move(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A share of a unit is none: it is shown with the next answer."""
    runs = workspace.store.runs
    run = runs.create("project", {}, "a map")
    runs.start(run, 1, "local-0", ["the first", "the second"])
    known = moved(runs.get(run))
    runs.progress(run, 1, 0.5, "half of it")
    with monkeypatch.context() as hasty:
        hasty.setattr(run_panel, "WAIT_SECONDS", 0.3)
        assert waited(workspace, run, known) >= 0.3
    runs.end_unit(run, 0, 1.0)
    assert waited(workspace, run, known) < LONG
