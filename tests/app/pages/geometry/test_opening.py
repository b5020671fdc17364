"""What Geometry and Distributions begin with, where nobody named a data set."""

from __future__ import annotations

from pathlib import Path

from tests.fakes.results import invent
from theodolite.app.pages.geometry import densities
from theodolite.app.pages.geometry import service as geometry
from theodolite.app.workspace import Workspace


def test_geometry_begins_with_sts_b_once_it_was_measured(data_root: Path, tmp_path: Path) -> None:
    """Before, with what ships."""
    workspace = Workspace(tmp_path / "store", data_root)
    assert geometry.opening(workspace) == "starter-pairs"
    geometry.measure(workspace, "random:8", "STSBenchmark")
    assert geometry.opening(workspace) == "STSBenchmark"
    workspace.close()


def test_geometry_without_a_data_folder(workspace: Workspace) -> None:
    """The starter set's pairs."""
    assert geometry.opening(workspace) == "starter-pairs"


def test_distributions_begin_with_sts_b_once_it_was_measured(workspace: Workspace) -> None:
    """Before, with the starter set's; without either, with the first."""
    tasks = ["mine", "StarterSTS", "STSBenchmark"]
    assert densities.opening(workspace, tasks) == "StarterSTS"
    invent(workspace, "random:8", "STSBenchmark", 0.7)
    assert densities.opening(workspace, tasks) == "STSBenchmark"
    assert densities.opening(workspace, ["mine"]) == "mine"
