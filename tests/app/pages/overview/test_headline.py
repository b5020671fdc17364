"""The sentence above the scores says what they say."""

from __future__ import annotations

from app.components.heatmap import Cell, HeatmapColumn, HeatmapRow
from app.pages.overview import views

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
