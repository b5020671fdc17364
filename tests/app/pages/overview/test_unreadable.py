"""Results whose per-example values are gone or damaged: shown as such, evaluated again, no more."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.fakes.results import invent
from tests.fakes.workers import work_off
from theodolite.app.cli import app
from theodolite.app.pages.compare import board as compare_board
from theodolite.app.pages.compare import service as comparison
from theodolite.app.pages.compare import table as compare_table
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate import results
from theodolite.app.pages.evaluate.service import repair
from theodolite.app.pages.geometry import densities, distributions
from theodolite.app.pages.overview import service, views
from theodolite.app.workspace import Workspace

A, B, C = "random:16", "random:24", "random:32"
TASK, OTHER = "StarterSTS", "StarterTopics"


def gone(file: Path) -> None:
    """Nothing is left."""
    file.unlink()


def torn(file: Path) -> None:
    """Half of it is left."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.fixture(params=[gone, torn])
def harm(request: pytest.FixtureRequest) -> Callable[[Path], None]:
    """Each way in which a file is lost."""
    return request.param


@pytest.fixture
def evaluated(workspace: Workspace) -> Workspace:
    """Three encoders on two tasks."""
    encoders.ensure_listed(workspace, (A, B, C))
    for encoder, task in itertools.product((A, B, C), (TASK, OTHER)):
        results.evaluated(workspace, encoder, task)
    return workspace


def file_of(workspace: Workspace, encoder: str, task: str = TASK) -> Path:
    """Where the values of a result lie."""
    (row,) = workspace.store.results.table(encoders=[encoder], tasks=[task])
    return workspace.store.results.folder / row["examples"]


def test_a_comparison_stands_without_it(evaluated: Workspace, harm) -> None:
    """Its score is shown and said to be unreadable; the other encoder and task are tested."""
    harm(file_of(evaluated, B))
    report = comparison.compare(evaluated, [A, B, C])
    assert report.unreadable == {(B, TASK)}
    assert report.cells[B, TASK]["score"] is not None
    assert set(report.differences) == {(C, TASK), (B, OTHER), (C, OTHER)}
    assert report.common == (OTHER,)
    assert set(report.groups[TASK]) == {A, C}
    assert "store check --repair" in report.warnings[0]
    fields = {(row["encoder"], row["task"]): row["unreadable"] for row in report.rows()}
    assert [pair for pair, lost in fields.items() if lost] == [(B, TASK)]
    for table in (compare_table.table, compare_board.table):
        assert table(report, [], {}).count("unreadable") == 1


def test_a_comparison_with_an_unreadable_baseline(evaluated: Workspace, harm) -> None:
    """Nothing is tested on its task, everything on the others."""
    harm(file_of(evaluated, A))
    report = comparison.compare(evaluated, [A, B, C])
    assert set(report.differences) == {(B, OTHER), (C, OTHER)}
    assert set(report.groups[TASK]) == {B, C}


def test_the_overview_stands_without_it(evaluated: Workspace) -> None:
    """The cell says so; its score stands, its interval is not known."""
    file_of(evaluated, B).unlink()
    _, rows = views.table(evaluated)
    cells = {row.name: row.cells[TASK] for row in rows}
    assert {name: cell.note for name, cell in cells.items()} == {A: "", B: "unreadable", C: ""}
    assert cells[B].score is not None
    assert "--repair" in dict(cells[B].facts)["unreadable"]
    lost, kept = (cells[name].result for name in (B, C))
    assert service.interval(evaluated, lost or 0) is None
    assert service.interval(evaluated, kept or 0) is not None
    assert "--repair" in views.card(evaluated, lost or 0)
    assert "--repair" not in views.card(evaluated, kept or 0)


def test_distributions_stand_without_it(evaluated: Workspace, harm) -> None:
    """What cannot be read can be evaluated again there."""
    harm(file_of(evaluated, B))
    found = densities.distributions(evaluated, [A, B], TASK)
    assert set(found) == {A}
    assert densities.unreadable(evaluated, [A, B], TASK, found) == [B]
    shown = distributions._shown(evaluated, [A, B], TASK)
    assert "cannot be read" in shown["missing"]
    assert "Not measured" not in shown["missing"]
    assert shown["measure"]["value"] == f"Measure 1 encoder on {TASK}"
    assert shown["picture"], "the other encoder is drawn"


def test_it_is_queued_again_and_evaluated(evaluated: Workspace, harm) -> None:
    """Once; its new row takes the place of the old, and what was shown before is whole again."""
    before: dict[str, Any] = evaluated.store.results.table(encoders=[B], tasks=[TASK])[0]
    harm(file_of(evaluated, B))
    comparison.compare(evaluated, [A, B])
    done = repair(evaluated)
    assert (len(done.runs), done.left) == (1, ())
    assert repair(evaluated).runs == done.runs
    work_off(evaluated, done.runs[0])
    (after,) = evaluated.store.results.table(encoders=[B], tasks=[TASK], all_versions=True)
    assert after["score"] == before["score"]
    assert after["id"] > before["id"]
    assert comparison.compare(evaluated, [A, B]).unreadable == frozenset()
    assert evaluated.store.check() == []
    assert repair(evaluated).runs == ()


def test_one_that_cannot_be_measured_again_keeps_its_scores(workspace: Workspace, harm) -> None:
    """It is said which, and an error does not take the place of its score."""
    row = invent(workspace, B, "gone-data", 0.8, protocol="senteval")
    harm(file_of(workspace, B, "gone-data"))
    done = repair(workspace)
    assert done.runs == ()
    assert "gone-data" in done.left[0]
    failed = {**row, "scores": [], "examples": {}, "error": "No data.", "hint": ""}
    assert workspace.store.results.put(failed) == row["id"]


def test_the_command_repairs(evaluated: Workspace, harm) -> None:
    """It exits with 1, as something was found."""
    harm(file_of(evaluated, B))
    given = ["store", "check", "--repair", "--store", str(evaluated.store.folder)]
    done = CliRunner().invoke(app, given)
    assert done.exit_code == 1
    (run,) = evaluated.store.runs.list()
    assert f"Queued again as {run['id']}" in done.stderr
    assert run["spec"]["tasks"] == [TASK]
