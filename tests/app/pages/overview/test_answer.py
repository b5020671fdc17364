"""The overview's sentence, its means, and results whose per-example values are gone or damaged."""

import shutil
from pathlib import Path

import pytest

from tests.fakes.command_line import theodolite
from tests.fakes.stores import evaluate_all, invent, put, starter_store
from tests.fakes.workers import work_off
from theodolite.app.blocks import Finding
from theodolite.app.components.heatmap import Cell, HeatmapColumn, HeatmapRow
from theodolite.app.pages.compare.answer import CompareSpec, compare
from theodolite.app.pages.evaluate.job import queue_evaluation, repair
from theodolite.app.pages.geometry.sections import read as distributions
from theodolite.app.pages.overview import answer
from theodolite.app.workspace import Workspace
from theodolite.store.check import check

TASKS = [HeatmapColumn("A", "A"), HeatmapColumn("B", "B")]
MEAN = "average:sts"


def row(name: str, *scores: float | None, published: bool = False) -> HeatmapRow:
    """Scores on the first tasks; a missing one is waiting."""
    cells = {
        column.key: Cell(score) if score is not None else Cell(state="waiting")
        for column, score in zip(TASKS, scores, strict=False)
    }
    return HeatmapRow(name, cells | {MEAN: Cell(99.0)}, published=published)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (
            [row("first", 2, 2), row("second", 1, 1), row("paper", 90, 90, published=True)],
            "first has * on 2 of 2 tasks",
        ),
        ([row("a", 2, 1), row("b", 1, 2)], "a and b each have * on 1 of 2 tasks"),
        ([row("both", 2), row("all", 2)], "both and all each have * on 1 of 1 task"),
        ([row("a", 2, 2), row("b", 1, None)], "3 of 4 scores computed"),
        ([row("a", 2), row("b", None)], "1 of 2 scores computed"),
        ([row("more", 1, 99), row("better", 2)], "better has * on 1 of 1 task that all share"),
        (
            [row("whole", 60, 60), row("second", 50, 50), row("one", 99)],
            "Of whole and second, whole has * on 2 of 2 tasks",
        ),
        ([], ""),
        ([row("alone", 1, 1)], ""),
        ([row(name, 1, 1) for name in "abcd"], ""),
    ],
)
def test_who_has_the_highest_scores(rows: list[HeatmapRow], expected: str) -> None:
    """Published rows and means do not count, nor a task that one alone has; a draw names both.

    Nobody is first alone or among four; while some wait, it counts.
    """
    blocks = answer.headline([*TASKS, HeatmapColumn(MEAN, "Mean", kind="average")], rows)
    said = [block.text for block in blocks if isinstance(block, Finding)]
    assert said == ([expected.replace("*", "the highest score")] if expected else [])


def test_a_mean_is_over_what_all_that_have_one_share(workspace: Workspace) -> None:
    """The one that lacks a task has none, nor has one that is still being evaluated."""
    for name in ("random:8", "random:16", "random:32", "random:64"):
        workspace.store.encoders.add(name)
        for year in (12, 13, 14)[: 1 if name == "random:32" else 3]:
            put(workspace.store, name, f"STS{year}", year / 1.0, "simcse-2021")
    queue_evaluation(workspace, ["random:64"], ["STS15"])
    rows = [row for row in answer.table(workspace)[1] if not row.published]
    cells = {row.name: row.cells[MEAN] for row in rows if MEAN in row.cells}
    assert {name: (cell.score, cell.over, cell.note) for name, cell in cells.items()} == (
        dict.fromkeys(("random:8", "random:16"), (13.0, "STS12,STS13,STS14", "3 of 7 tasks"))
    )


A, B, C = "random:16", "random:24", "random:32"
TASK, OTHER = "StarterSTS", "StarterTopics"


def torn(file: Path) -> None:
    """Half of it is left."""
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


@pytest.fixture(params=[Path.unlink, torn])
def harm(request: pytest.FixtureRequest):
    """Each way in which a file is lost."""
    return request.param


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of three encoders on two tasks."""
    made = starter_store(tmp_path_factory.mktemp("kept"))
    evaluate_all(made, (A, B, C), TASK, OTHER)
    made.close()
    return made.store.folder


@pytest.fixture
def evaluated(kept: Path, tmp_path: Path) -> Workspace:
    """A copy of it to harm."""
    shutil.copytree(kept, tmp_path / "store")
    return starter_store(tmp_path)


def file_of(workspace: Workspace, encoder: str, task: str = TASK) -> Path:
    """Where the values of a result lie."""
    (row,) = workspace.store.results.table(encoders=[encoder], tasks=[task])
    return workspace.store.results.folder / row["examples"]


@pytest.mark.parametrize(
    ("lost", "tested"),
    [(B, {(C, TASK), (B, OTHER), (C, OTHER)}), (A, {(B, OTHER), (C, OTHER)})],
)
def test_a_comparison_stands_without_it(
    evaluated: Workspace, harm, lost: str, tested: set[tuple[str, str]]
) -> None:
    """Its score is shown and said to be unreadable; what can be is tested."""
    harm(file_of(evaluated, lost))
    report = compare(evaluated, CompareSpec([A, B, C]))
    assert report.tests[TASK].unreadable == (lost,) and set(report.verdicts) == tested
    assert report.cells[lost, TASK]["score"] is not None and report.common == (OTHER,)
    assert set(report.tests[TASK].groups) == {A, B, C} - {lost}
    assert "store check --repair" in report.warnings()[0]
    rows = [(row["encoder"], row["task"]) for row in report.rows() if row.get("unreadable")]
    assert rows == [(lost, TASK)]


def test_the_overview_stands_without_it(evaluated: Workspace) -> None:
    """The cell says so; its score stands, its interval is not known."""
    file_of(evaluated, B).unlink()
    cells = {row.name: row.cells[TASK] for row in answer.table(evaluated)[1]}
    assert {name: cell.note for name, cell in cells.items()} == {A: "", B: "unreadable", C: ""}
    assert cells[B].score is not None
    intervals = {name: answer.interval(evaluated, cells[name].result or 0) for name in (B, C)}
    assert intervals[B] is None and intervals[C] is not None


def test_distributions_stand_without_it(evaluated: Workspace, harm) -> None:
    """What cannot be read can be evaluated again there."""
    harm(file_of(evaluated, B))
    known, (failure,) = distributions(evaluated, [A, B], TASK)
    assert set(known) == {A} and failure.error.code == "damaged" and B in str(failure.error)


def test_it_is_queued_again_and_evaluated(evaluated: Workspace, harm) -> None:
    """Once; its new row takes the place of the old, and what was shown before is whole again."""
    (before,) = evaluated.store.results.table(encoders=[B], tasks=[TASK])
    harm(file_of(evaluated, B))
    compare(evaluated, CompareSpec([A, B]))
    ((run,), left) = repair(evaluated)
    assert left == [] and repair(evaluated) == ([run], [])
    assert evaluated.store.runs.get(run)["spec"]["tasks"] == [TASK]
    work_off(evaluated, run)
    (after,) = evaluated.store.results.table(encoders=[B], tasks=[TASK], all_versions=True)
    assert after["score"] == before["score"] and after["id"] > before["id"]
    assert not compare(evaluated, CompareSpec([A, B])).tests[TASK].unreadable
    assert check(evaluated.store) == [] and repair(evaluated) == ([], [])


def test_one_that_cannot_be_measured_again_keeps_its_scores(workspace: Workspace) -> None:
    """It is said which, and an error does not take the place of its score."""
    row = invent(workspace, B, "gone-data", 0.8, protocol="senteval")
    torn(file_of(workspace, B, "gone-data"))
    done = repair(workspace)
    assert done[0] == [] and "gone-data" in done[1][0]
    failed = {**row, "scores": [], "examples": {}, "error": "No data.", "hint": ""}
    assert workspace.store.results.put(failed) == row["id"]


def test_the_command_repairs(evaluated: Workspace) -> None:
    """It exits with 1, as something was found."""
    torn(file_of(evaluated, B))
    given = ("store", "check", "--repair", "--store", str(evaluated.store.folder))
    output = theodolite(*given, code=1)[-1]
    assert evaluated.store.runs.list()[0]["id"] in output
