"""The workspace: what is evaluated once, what is kept, and what is said when it goes wrong."""

from unittest.mock import Mock

import pytest

from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.encoders.service import names
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation, welcome
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine.errors import UserError
from theodolite.store.errors import StoreFull

A, B = "random:32", "random:96"


def test_a_spec_that_cannot_be_read_costs_nothing(workspace: Workspace) -> None:
    """It is refused before anything is computed or queued."""
    with pytest.raises(UserError):
        EvaluateJob.of(workspace, [A, "minilmm"], ["StarterSTS"])
    with pytest.raises(UserError):
        queue_evaluation(workspace, [A, "minilmm"])
    assert workspace.store.results.table() == [] and workspace.store.runs.list() == []


def test_a_new_store_is_welcomed_once(workspace: Workspace) -> None:
    """The first runs measure each starter encoder on the starter set; they are not queued twice."""
    runs = [workspace.store.runs.get(run) for run in welcome(workspace)]
    assert [run["spec"]["encoders"] for run in runs] == [[name] for name in STARTER_ENCODERS]
    assert welcome(workspace) == []
    assert len(workspace.store.runs.list()) == len(STARTER_ENCODERS)
    asked = workspace.store.runs.get(queue_evaluation(workspace, [A], ["StarterSTS"]))
    assert all(run["priority"] > asked["priority"] for run in runs)


def test_what_ships_is_listed_before_the_app_was_ever_started(workspace: Workspace) -> None:
    """Verbs that take the listed encoders leave none of them out; one that is removed stays so."""
    evaluated(workspace, "wordllama", "StarterSTS")
    encoders.ensure_listed(workspace, ["wordllama"])
    assert set(names(workspace)) == set(STARTER_ENCODERS)
    encoders.remove(workspace, "random:256")
    assert names(workspace) == ["wordllama", "minilm"]
    welcome(workspace)
    assert encoders.names(workspace) == ["wordllama", "minilm"]


def test_a_full_disk_does_not_hide_what_is_listed(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The list is shown without what could not be added."""
    workspace.store.encoders.add(A, {"dim": 32})
    monkeypatch.setattr(workspace.store.database, "change", Mock(side_effect=StoreFull("Full.")))
    assert encoders.names(workspace) == [A]
