"""The plan of a choice, and the decision sheet, as HTML and a chart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlencode

from theodolite.app import formats
from theodolite.app.components.chart import drawing, plain
from theodolite.app.pages.choose import example, service, sheet, words
from theodolite.app.pages.choose.job import ChooseJob
from theodolite.app.pages.choose.sheet import Sheet
from theodolite.app.web import parts
from theodolite.app.web.figures import axis, draw, scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.store.hashing import to_json


def shown(workspace: Workspace, job: ChooseJob, *, running: bool = False) -> dict[str, Any]:
    """Plan, command, sheet, chart and tables of a job, by name."""
    made, answer = found(workspace, job)
    answered = drawn(answer, shipped=made is None) if answer else _waiting(running)
    return {
        "plan": " ".join(f"<span>{escape(text)}</span>" for text in service.plan(workspace, job)),
        "command": parts.command(service.command(job)),
        "files": _files(answer) if answer else "",
        **answered,
    }


def found(workspace: Workspace, job: ChooseJob) -> tuple[Sheet | None, Sheet | None]:
    """The stored sheet if any, and the one to show, which may be the shipped example."""
    made = sheet.stored(workspace, job)
    return made, made or (example.read(workspace) if job.dataset == example.DATA else None)


def _waiting(running: bool) -> dict[str, Any]:
    """A placeholder until there is a sheet."""
    hint = "It will appear here when the run is done." if running else "Press Choose to make one."
    return {
        "sheet": parts.empty("No decision yet", hint),
        "finding": "",
        "front": None,
        "numbers": "",
    }


def drawn(found: Sheet, *, shipped: bool = False) -> dict[str, Any]:
    """The sheet: the decision with its warnings, the chart, the numbers."""
    caption = words.front(found)
    return {
        "sheet": _said(found, shipped),
        "finding": parts.heading(caption, words.FRONT) if caption else "",
        "front": front(found),
        "numbers": _numbers(found),
    }


def _said(found: Sheet, shipped: bool) -> str:
    lead = "An example that ships with Theodolite." if shipped else ""
    lead = " ".join([lead, f"Decision sheet for {found['data']}.", *words.columns(found)]).strip()
    head = parts.heading(
        words.headline(found),
        lead,
        beside=f" {parts.SHIPPED}" if shipped else "",
    )
    items = "".join(f"<li>{_text(text)}</li>" for text in words.sentences(found))
    warned = "".join(
        f"<li>{parts.tag(one['code'].replace('_', ' '), 'warn')} {_text(one['message'])}</li>"
        for one in found["warnings"]
    )
    against = ""
    if warned:
        against = f'<h3>Before you rely on it</h3><ul class="t-cautions">{warned}</ul>'
    judge = ""
    if found["best"] is None:
        query = [("in", found["data"]), *(("encoder", row["encoder"]) for row in found["encoders"])]
        place = escape(f"./judge?{urlencode(query)}")
        judge = f'<p><a class="t-button" href="{place}">Judge by hand</a></p>'
    return f'<div class="t-sheet">{head}<ul>{items}</ul>{against}{judge}</div>'


def _text(text: str) -> str:
    """A sentence as HTML, without a line break between a number and its per cent sign."""
    return escape(text).replace(" %", "&nbsp;%")


def _files(found: Sheet) -> str:
    """Buttons that download the sheet as Markdown and JSON; *Report* makes the HTML."""
    return " ".join(
        f'<button type="button" class="t-link" data-name="decision-sheet{ending}" '
        f'data-text="{escape(text)}" data-press="save">{label}</button>'
        for label, ending, text in (
            ("Markdown", ".md", words.markdown(found)),
            ("JSON", ".json", to_json(found)),
        )
    )


def front(found: Sheet) -> Mapping[str, Any] | None:
    """Score against time with intervals, and the Pareto front; None below two encoders."""
    rows = [row for row in found["encoders"] if row["low"] is not None and row["ms_per_sentence"]]
    if len(rows) < 2:
        return None
    by = {row["encoder"]: row for row in rows}
    best = [name for name in found["front"] if name in by]
    line = scatter(
        x=[by[n]["ms_per_sentence"] for n in best],
        y=[by[n]["score"] for n in best],
        mode="lines",
        line={"color": SERIES[1], "width": 2, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
    marks = scatter(
        x=[row["ms_per_sentence"] for row in rows],
        y=[row["score"] for row in rows],
        mode="markers+text",
        text=[plain(formats.shorten(n, 24)) for n in by],
        textposition=_beside(rows),
        cliponaxis=False,
        showlegend=False,
        marker={"size": 13, "color": [SERIES[1] if n in best else SERIES[0] for n in by]},
        error_y={
            "type": "data",
            "symmetric": False,
            "thickness": 1.2,
            "color": SERIES[5],
            "array": [row["high"] - row["score"] for row in rows],
            "arrayminus": [row["score"] - row["low"] for row in rows],
        },
        customdata=[[plain(row["encoder"]), words.interval(row)] for row in rows],
        hovertemplate=(
            "%{customdata[0]}: %{y:.2f} (%{customdata[1]})<br>%{x:.3g} ms per "
            "sentence<extra></extra>"
        ),
    )
    figure = draw(
        [line, marks],
        axis("ms per sentence (log)", type="log", zeroline=False),
        axis(words.metric(found), zeroline=False),
        height=360,
        left=64,
    )
    columns = ["encoder", "ms per sentence", "score", "low", "high", "on the front"]
    table = [
        [r["encoder"], r["ms_per_sentence"], r["score"], r["low"], r["high"], r["encoder"] in best]
        for r in rows
    ]
    return drawing(
        figure,
        f"Score against the time of one sentence. {words.front(found)}.",
        name="theodolite-choice",
        columns=columns,
        rows=table,
    )


def _beside(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Text positions of names: beside their intervals, towards the middle, up and down by turns."""
    times = [math.log(row["ms_per_sentence"]) for row in rows]
    middle = (min(times) + max(times)) / 2
    ends = ("top", "bottom")
    return [
        f"{ends[at % 2]} {'left' if time > middle else 'right'}" for at, time in enumerate(times)
    ]


def _numbers(found: Sheet) -> str:
    """Every encoder, and the examples on which the finalists differ most."""
    heads, rows = words.table(found)
    cells = [[escape(cell) for cell in row] for row in rows]
    html = parts.heading("The numbers", words.measured_how(found))
    html += parts.table(heads, cells, "Encoders", range(1, len(heads) - 2), stacked=True)
    if found["differ"]:
        heads, rows = words.differing(found)
        pair = f"{found['differ']['a']} and {found['differ']['b']}"
        cells = [[f'<span dir="auto">{escape(cell)}</span>' for cell in row] for row in rows]
        html += parts.heading(f"Where {pair} differ most", words.differ(found))
        html += parts.table(heads, cells, f"Where {pair} differ most", (2, 3), stacked=True)
    return html
