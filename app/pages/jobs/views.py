"""Runs as HTML: a list entry, its buttons, its card on the page that started it, its parts."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.components.actions import button
from theodolite.app.names import labelled
from theodolite.app.pages.jobs import service
from theodolite.app.web import parts, progress
from theodolite.app.workspace import Workspace
from theodolite.store.run_rows import UnitRow, at_work

_LABELS = {
    "next": ("Run next", "Run {} next"),
    "stop": ("Stop, keep the best", "Stop {} now and keep the best"),
    "cancel": ("Cancel", "Cancel {}"),
    "retry": ("Retry", "Retry {}"),
    "remove": ("Remove", "Remove {} with its events and log; its results are kept"),
}
"""Action -> label of its button, and its accessible name."""
_BEGUN = (
    (
        "Evaluate",
        "evaluate",
        "Scores of encoders on tasks",
        "theodolite evaluate minilm wordllama --tasks starter --queue",
    ),
    (
        "Choose",
        "choose",
        "A sheet that shows which encoder suits your data",
        "theodolite choose reviews.csv --columns text=review,label=stars --queue",
    ),
    (
        "Map",
        "map",
        "A collection in two dimensions, with named regions",
        "theodolite project minilm starter-topics --queue",
    ),
    (
        "Search",
        "search",
        "A large collection encoded and indexed",
        "theodolite encode minilm --in starter-pairs --queue",
    ),
    (
        "Train",
        "train",
        "An encoder or a decoder; it resumes from its checkpoint after a crash",
        "theodolite train unsup minilm --train text.txt --out mine --queue",
    ),
)
"""Page, its address, what its jobs produce, and the equivalent command."""
_PARTS = {"running": "live", "failed": "bad", "left out": "", "waiting": "", "done": "good"}
"""State of a part -> kind of its tag, in the order in which they are listed."""


def empty_list(visitor: bool) -> str:
    """The placeholder of an empty list, with the pages and commands that queue runs."""
    text = (
        "This demonstration does not start runs."
        if visitor
        else "Jobs started on these pages or in a terminal are listed here, with progress, log and "
        "buttons. They continue when the page is closed."
    )
    rows = [
        (f'<a href="./{path}">{title}</a>', escape(what), f"<code>{escape(command)}</code>")
        for title, path, what, command in _BEGUN
    ]
    heads = ("Begun on", "Result", "In a terminal")
    table = parts.table(heads, rows, "What can be queued", stacked=True)
    return f'<div class="t-plan">{parts.heading("Nothing was queued yet", text)}{table}</div>'


def run_list(items: Iterable[str], label: str, css: str = "") -> str:
    """A list of runs; `items` come from `item`."""
    return f'<ul class="t-runs {css}" aria-label="{escape(label)}">{"".join(items)}</ul>'


def item(
    run: Mapping[str, Any],
    name: str,
    about: str,
    verbs: str,
    *,
    below: str = "",
    is_open: bool = False,
) -> str:
    """One run of a list: its state, progress, error and buttons; one that is done is a line.

    Args:
        run: its row in the store.
        name: HTML of its title, a button.
        about: plain text on its progress or outcome.
        verbs: HTML of its buttons.
        below: HTML below `about`.
        is_open: whether its details are shown.
    """
    if run["state"] == "done" and not is_open:
        css, verbs = "t-folded", ""
        body = f'{name} <span class="t-muted t-small">{escape(about)}</span>'
    else:
        css = "t-open" if is_open else ""
        gauge = progress.gauge(run) if run["state"] == "running" else ""
        failure = parts.failure(run["error"], run["hint"])
        body = f"{name}<p>{escape(about)}</p>{below}{gauge}{failure}"
    return (
        f'<li class="{css}"><div>{progress.tag(run)}</div><div>{labelled(body)}</div>'
        f'<div class="t-muted t-small">{formats.ago(run["created"])}</div>'
        f'<div class="t-verbs">{verbs}</div></li>'
    )


def about(run: Mapping[str, Any]) -> str:
    """The progress and current step of a run, or its outcome. Plain text."""
    text = progress.how_far(run)
    if run["state"] != "queued" and (now := progress.doing(run)):
        text += f". {now}"
    if run["state"] == "queued" and run["priority"]:
        text += f", priority {run['priority']} (lower runs earlier)"
    return text


def buttons(
    workspace: Workspace,
    run: Mapping[str, Any],
    *,
    others_wait: bool = False,
    without: Collection[str] = (),
) -> str:
    """Buttons of the actions possible in a run's current state; empty for visitors.

    Args:
        workspace: its store has the run.
        run: its row in the store.
        others_wait: whether other runs are waiting, which it could overtake.
        without: actions not to offer.
    """
    if workspace.read_only:
        return ""
    return "".join(
        button(label, action, run["id"], about=whole.format(run["title"]))
        for action in service.possible(run, others_wait)
        if action not in without
        for label, whole in [_LABELS[action]]
    )


def parts_of(run: Mapping[str, Any], units: Sequence[UnitRow], may_retry: bool) -> str:
    """Every part of a run: the running ones, then failed, left out, waiting and done."""
    if not units or (len(units) == 1 and units[0]["error"] is None):
        return ""
    units = labelled([*units])
    now = at_work(units) if run["state"] == "running" else set()
    rows = [("running" if unit["position"] in now else unit["state"], unit) for unit in units]
    rows.sort(key=lambda row: [*_PARTS].index(row[0]))
    count = Counter(unit["state"] for unit in units)
    counts = ", ".join(
        f"{count[state]} {'to do' if state == 'waiting' else state}"
        for state in ("done", "failed", "left out", "waiting")
        if count[state]
    )
    retry = may_retry and run["kind"] == "evaluate"
    return (
        f'<section class="t-parts" aria-label="Parts of the run"><h3>Parts <small>{counts}</small>'
        f'</h3><ul tabindex="0" aria-label="Parts">'
        f"{''.join(_part(state, unit, retry) for state, unit in rows)}</ul></section>"
    )


def _part(state: str, unit: UnitRow, retry: bool) -> str:
    error = again = ""
    if unit["error"]:
        error = f'<small class="t-run-error">{escape(unit["error"])} {escape(unit["hint"])}</small>'
        if retry:
            about = f"Try {unit['label']} again"
            again = button("Try again", "unit", str(unit["position"]), about=about)
    return (
        f"<li>{parts.tag(state, _PARTS[state])}<span>{escape(unit['label'])}{error}</span>{again}"
        f"<span>{'' if unit['seconds'] is None else formats.duration(unit['seconds'])}</span></li>"
    )


def detail(
    run: Mapping[str, Any], units: Sequence[UnitRow], log: Sequence[str], size: int, close: str
) -> str:
    """One run in full: its error, its parts, its log."""
    run = labelled(run)
    lines = "\n".join(log) if log else "Nothing written yet."
    return (
        f'<section class="t-card" aria-label="Run"><h2>{escape(run["title"])} '
        f"<small>{escape(run['state'])}</small></h2>{parts.failure(run['error'], run['hint'])}"
        f'<div class="t-two"><div>{parts_of(run, units, False)}</div><div><h3>Log</h3>'
        '<pre class="t-log" role="log" tabindex="0" aria-label="Log">'
        f'{escape(lines)}</pre><p class="t-muted t-small">Events and log take '
        f"{formats.size(size)}.</p></div></div>{close}</section>"
    )
