"""The groups of tasks on Evaluate, and the protocols that the plan names."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.engine.tasks.test_registry import mteb_folder
from theodolite.app.pages.evaluate import suites, views
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.workspace import Workspace
from theodolite.engine.tasks import MTEB_HERE


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """A store over a folder with a set for retrieval and one to classify."""
    return Workspace(tmp_path / "store", mteb_folder(tmp_path / "data"))


def test_tasks_stand_in_the_group_of_their_type(workspace: Workspace) -> None:
    """And those of MTEB's types make up a suite."""
    here = suites.groups(workspace)
    assert (here["retrieval"], here["few_shot"]) == (["mine"], ["banking77/few-shot"])
    assert suites.members(MTEB_HERE, here) == ["banking77/few-shot", "mine"]
    assert suites.matching(here, ["mine", "banking77/few-shot"], "") == MTEB_HERE


def test_the_plan_names_the_protocol_of_the_data(workspace: Workspace) -> None:
    """A task of its data set's name is scored by the kind of the data, not taken for pairs."""
    job = EvaluateJob.of(workspace, ["random:8"], "mine")
    assert job.protocol_of("mine", workspace.catalog).name == "mteb-v2"
    assert job.keys(workspace.catalog) == [("random:8", "mine", 42)]
    cards = views.cards(workspace, job)
    assert "mteb-v2" in cards and "simcse-2021" not in cards
