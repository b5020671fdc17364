"""The sentence above the scores says what they say."""

from __future__ import annotations

from tests.fakes.measured import put
from theodolite.app.components.heatmap import Cell, HeatmapColumn, HeatmapRow
from theodolite.app.pages.evaluate.job import queue_evaluation
from theodolite.app.pages.overview import views
from theodolite.app.workspace import Workspace

TASKS = [HeatmapColumn("A", "A"), HeatmapColumn("B", "B")]
MEAN = HeatmapColumn("average:x", "Mean", kind="average")


def row(name: str, *scores: float | None, published: bool = False) -> HeatmapRow:
    """Scores on the first tasks; a missing one is waiting."""
    cells = {
        column.key: Cell(score) if score is not None else Cell(state="waiting")
        for column, score in zip(TASKS, scores, strict=False)
    }
    return HeatmapRow(name, cells | {MEAN.key: Cell(99.0)}, published=published)


def said(*rows: HeatmapRow) -> str:
    """The headline of a table."""
    return views.headline([*TASKS, MEAN], rows)


def test_the_best_of_all_tasks_and_of_some() -> None:
    """Published rows and means do not count; a draw names both."""
    printed = row("paper", 90, 90, published=True)
    assert "first has the highest score on all 2 tasks" in said(
        row("first", 2, 2), row("second", 1, 1), printed
    )
    assert "first and second each have the highest score on 1 of 2 tasks" in said(
        row("first", 2, 1), row("second", 1, 2)
    )
    assert "both and all each have the highest score on 1 task" in said(
        row("both", 2), row("all", 2)
    )


def test_nobody_is_first_alone_or_among_many() -> None:
    """One encoder, no scores, or four that share it."""
    assert said() == "" == said(row("alone", 1, 1))
    assert said(*(row(name, 1, 1) for name in "abcd")) == ""


def test_while_some_wait_it_counts() -> None:
    """What was never asked for does not count."""
    assert "3 of 4 scores computed" in said(row("a", 2, 2), row("b", 1, None))
    assert "1 of 2 scores computed" in said(row("a", 2), row("b", None))


def test_only_what_is_shared_decides() -> None:
    """A task that one alone has makes nobody win, and is in nobody's mean."""
    rows = [row("more", 1, 99), row("better", 2)]
    assert "better has the highest score on 1 task, the one that they share" in said(*rows)
    rows = [row("whole", 60, 60), row("second", 50, 50), row("one", 99)]
    assert "whole has the highest score on all 2 tasks" in said(*rows)


def test_a_mean_is_over_what_all_that_have_one_share(workspace: Workspace) -> None:
    """The one that lacks a task has none, nor has one that is still being evaluated."""
    three = ("STS12", "STS13", "STS14")
    for name in ("random:8", "random:16", "random:32", "random:64"):
        workspace.store.encoders.add(name)
        for task in three[: 1 if name == "random:32" else 3]:
            put(workspace.store, name, task, 50.0, "simcse-2021")
    queue_evaluation(workspace, ["random:64"], ["STS15"])
    _, rows = views.table(workspace)
    means = {row.name: row.cells.get("average:sts") for row in rows if not row.published}
    assert {name: mean and mean.over for name, mean in means.items()} == {
        "random:8": "STS12,STS13,STS14",
        "random:16": "STS12,STS13,STS14",
        "random:32": None,
        "random:64": None,
    }
