"""The sentence above the scores says what they say."""

from __future__ import annotations

import pytest

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


PAPER = row("paper", 90, 90, published=True)


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([row("first", 2, 2), row("second", 1, 1), PAPER], "first has * on all 2 tasks"),
        ([row("a", 2, 1), row("b", 1, 2)], "a and b each have * on 1 of 2 tasks"),
        ([row("both", 2), row("all", 2)], "both and all each have * on 1 task"),
        ([row("a", 2, 2), row("b", 1, None)], "3 of 4 scores computed"),
        ([row("a", 2), row("b", None)], "1 of 2 scores computed"),
        ([row("more", 1, 99), row("better", 2)], "better has * on 1 task, the one that they share"),
        (
            [row("whole", 60, 60), row("second", 50, 50), row("one", 99)],
            "whole has * on all 2 tasks",
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
    said = views.headline([*TASKS, MEAN], rows)
    assert expected.replace("*", "the highest score") in said
    assert bool(said) is bool(expected)


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
