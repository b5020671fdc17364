"""Advice as HTML: a summary line, and each point with its actions."""

from __future__ import annotations

from collections import Counter
from html import escape
from typing import TYPE_CHECKING

from theodolite.app import formats
from theodolite.app.components.actions import button
from theodolite.app.web import address, parts

if TYPE_CHECKING:
    from theodolite.app.pages.fair.points import Point
    from theodolite.app.pages.fair.service import Advice

TAGS = {"fine": "good", "look": "warn", "missing": ""}


def summary(advice: Advice) -> str:
    """The verdicts counted in a line, and the results left out of the numbers."""
    count: Counter[str] = Counter(point.verdict for point in advice.points)
    words = {
        "look": ("needs a look", "need a look"),
        "missing": ("lacks results", "lack results"),
        "fine": ("is fine", "are fine"),
    }
    counts = [f"{count[v]} {few[count[v] > 1]}" for v, few in words.items() if count[v]]
    whole = f"All {len(advice.points)} points {words[advice.points[0].verdict][1]}."
    text = whole if len(counts) == 1 else f"Of {len(advice.points)} points {', '.join(counts)}."
    return (
        f'<div class="t-section" role="status"><h2>{escape(text)}</h2></div>'
        f"{parts.warn(advice.cautions)}"
    )


def card(number: int, point: Point, read_only: bool) -> str:
    """One point: its verdict and sentences, and buttons for missing results."""
    words = "".join(f"<p>{escape(sentence)}</p>" for sentence in point.words)
    press = "" if read_only else _buttons(point)
    lines = "".join(
        f'<pre class="t-command" tabindex="0">{escape(run.command)}</pre>'
        for run in point.missing_runs
    )
    commands = (
        f'<details class="t-twin"><summary>{"" if read_only else "The same "}on the command line'
        f"</summary>{lines}</details>"
        if lines
        else ""
    )
    link = ""
    if point.see:
        link = f'<p><a href="{escape(address.link("compare"))}">{escape(point.see)}</a></p>'
    # The controls of sizes also decide what is measured, so they show before any result.
    shown = point.exhibits or (point.key == "size" and point.missing_runs)
    head = "t-point-head t-shown" if shown else "t-point-head"
    return (
        f'<div class="{head}"><h2><span>{number}</span> {escape(point.title)}</h2>'
        f"{parts.tag(point.verdict, TAGS[point.verdict])}</div>"
        f"{words}{link}{press}{commands}"
    )


def _buttons(point: Point) -> str:
    made = [
        button(f"Add {spec}", "add", spec, about=f"Add {spec} to the comparison")
        for spec in point.add
    ]
    if point.missing_runs:
        made.append(
            button(
                "Evaluate",
                "evaluate",
                point.key,
                about=f"Evaluate what is missing for {point.title}",
            )
        )
        runs = formats.plural(len(point.missing_runs), "run")
        count = formats.plural(point.missing, "result")
        made.append(f'<span class="t-muted t-small">{count} in {runs}</span>')
    return f'<p class="t-actions">{"".join(made)}</p>' if made else ""
