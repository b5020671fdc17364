"""Explains seeming contradictions between tie letters and verdicts.

A verdict tests an encoder against the baseline, with Holm's correction over the tasks. The letters
of a task test all pairs of encoders on it, with Holm's correction over the pairs.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import comb
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theodolite.app.pages.compare.service import Comparison


def over(groups: Mapping[str, str]) -> int:
    """Number of pairs tested for the letters of one task."""
    return comb(len(groups), 2)


def note(report: Comparison, name: str, task: str | None, among: str = "row") -> str:
    """A note on what the letters test, where they differ from the verdict; else empty.

    Args:
        report: the comparison.
        name: an encoder with a verdict.
        task: its task; None for the mean.
        among: the part of the table that holds all encoders of a task: `row` or `column`.
    """
    groups = report.average_groups if task is None else report.groups.get(task, {})
    found = report.average_differences[name] if task is None else report.verdicts[name, task]
    mine, base = groups.get(name), groups.get(report.encoders[0])
    if mine is None or base is None or (mine == base) == (found.verdict == "tie"):
        return ""
    pairs = over(groups)
    what = f"this {among} alone" if pairs == 1 else f"all {pairs:,} pairs of this {among}"
    return f"tie letter: by a test of {what}"
