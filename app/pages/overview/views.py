"""What the first page says: the finding, a result in full, and how to begin, as HTML."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.components import protocol_card
from theodolite.app.components.actions import button
from theodolite.app.components.heatmap import HeatmapColumn, HeatmapRow
from theodolite.app.metrics import metric
from theodolite.app.pages.overview import service
from theodolite.app.web import address, parts
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.stats import spread
from theodolite.store.results import REPAIR

MAX_NUMBERS = 20
"""Most numbers of a result that are shown unfolded."""
STARTERS = (
    (
        "minilm",
        "a transformer trained on a billion sentence pairs: all-MiniLM-L6-v2",
        "shows what 23 million parameters can do",
    ),
    (
        "wordllama",
        "static word vectors taken from a large language model and averaged",
        "very fast, and no sense of word order",
    ),
    (
        "random:256",
        "a random vector for every word, added up",
        "the word-overlap baseline: whatever it achieves needs no meaning",
    ),
)
FOOTNOTE = (
    "StarterSTS, StarterTopics and StarterSearch are computed on the "
    "starter set, which was written for this app. Its grades follow a written rubric; agreement "
    "between people was not measured."
)
PAGES = (
    ("map", "Map", "2,040 sentences in two dimensions, coloured by topic"),
    ("search", "Search", "what each encoder considers similar"),
    ("decode", "Decode", "a sentence reconstructed from its vector alone"),
    ("compare", "Compare", "which differences are significant"),
)
ACTIONS = (
    '<a class="t-button t-primary" href="./evaluate">Evaluate</a> '
    '<a class="t-button" href="./encoders">Add an encoder</a>'
)


def headline(columns: Sequence[HeatmapColumn], rows: Sequence[HeatmapRow]) -> str:
    """Name the encoders with the highest score on most tasks, of those evaluated here.

    While evaluations are waiting, give the number of scores that are there; nobody is named, unless
    shipped scores stand in place of all others: the headline stays when the last one arrives.
    """
    mine = [row for row in rows if not row.published]
    tasks = [column.key for column in columns if column.kind == "task"]
    cells = [row.cells[task] for row in mine for task in tasks if task in row.cells]
    waiting = [cell for cell in cells if cell.state == "waiting"]
    if waiting:
        there = sum(cell.score is not None and cell.state != "waiting" for cell in cells)
        text = f"{there} of {formats.plural(there + len(waiting), 'score')} computed"
        if any(cell.score is None for cell in waiting):
            return parts.heading(text, "The others are being computed.")
        return parts.heading(
            service.finding(columns, rows) or text,
            f"{text} here so far. Those in italics ship with Theodolite and will be replaced "
            "by yours.",
            beside=f" {parts.SHIPPED}",
        )
    text = service.finding(columns, rows)
    check = 'See <a href="./compare">Compare</a> for whether this is significant.'
    return parts.heading(text, html=check) if text else ""


def card(workspace: Workspace, result_id: int) -> str:
    """One result in full, as HTML: its numbers, and the protocol it was computed under."""
    result = workspace.store.results.by_id(result_id)
    name = f'<span class="t-spec">{escape(result["encoder"])}</span>'
    title = f"<h2>{escape(result['task'])} <small>{name}</small></h2>"
    if result["error"] is not None:
        body = parts.problem(UserError(result["error"], result["hint"]))
    else:
        notes = list(result["details"].get("notes") or [])
        if not workspace.store.results.is_readable(result):
            notes.append(f"Its values per example cannot be read: no test can use them. {REPAIR}")
        body = _numbers(workspace.store.results.scores(result_id)) + _moved(workspace, result)
        body += parts.warn(notes)
    remove = ""
    if not workspace.read_only:
        size = formats.size(workspace.store.results.sizes([result])[result_id])
        about = f"Permanently remove this result of {result['encoder']} on {result['task']}"
        remove = button(
            "Remove this result", "remove", str(result_id), about=about, param=("result", "")
        )
        remove += f' <span class="t-muted t-small">{size} of values per example</span>'
    links = "".join(
        f'<a class="t-button" href="{escape(address.link(path, **state))}">{label}</a>'
        for label, path, state in (
            ("Compare encoders on it", "compare", {"task": result["task"]}),
            ("Cosine distributions", "distributions", {"encoder": result["encoder"]}),
        )
    )
    return (
        f'<section class="t-card" aria-label="Result">{title}<div class="t-two"><div>{body}'
        f'<p class="t-actions">{links}{remove}</p></div><div>{_protocol(result)}</div></div>'
        "</section>"
    )


def _moved(workspace: Workspace, result: dict[str, Any]) -> str:
    """The spread of the main score over seeds; empty for a single seed."""
    names = ("encoder", "task", "protocol")
    rows = workspace.store.results.table(
        **{f"{name}s": [result[name]] for name in names}, all_versions=True
    )
    same = [r for r in rows if all(r[k] == result[k] for k in ("fingerprint", "data_hash"))]
    over = spread.spreads(same).get(tuple(result[name] for name in names))
    if over is None:
        return ""
    return (
        f'<p class="t-spread"><strong>{escape(spread.words(over))}</strong>, mean '
        f"{formats.score(over.mean)}, from {formats.score(over.lowest)} to "
        f"{formats.score(over.highest)}. The numbers above are those of seed {result['seed']}.</p>"
    )


def _numbers(scores: Sequence[dict[str, Any]]) -> str:
    rows = [
        (
            escape(metric(score)) + (" " + parts.tag("main") if score["main"] else ""),
            escape(f"{formats.score(score['score'])} {score['unit'] or ''}".strip()),
            formats.count(score["n"]),
        )
        for score in scores
    ]
    head, numeric = ("Metric", "Score", "Examples"), (1, 2)
    first = parts.table(head, rows[:MAX_NUMBERS], "Numbers of this result", numeric)
    if len(rows) <= MAX_NUMBERS:
        return first
    rest = parts.table(head, rows[MAX_NUMBERS:], "Other numbers of this result", numeric)
    more = formats.plural(len(rows) - MAX_NUMBERS, "more number")
    return f"{first}<details><summary>{more}</summary>{rest}</details>"


def _protocol(result: dict[str, Any]) -> str:
    more = [
        ("seed used", str(result["seed"])),
        ("hash of the data", result["data_hash"][:12]),
        ("hash of the encoder", result["fingerprint"][:12]),
        *protocol_card.prompts(result["details"].get("prompts") or {}),
        *protocol_card.drawn(result["details"].get("dependent")),
    ]
    card = protocol_card.card(result["protocol"], more)
    return f"<h3>Protocol {escape(result['protocol'])}</h3>{card}"


def nothing() -> str:
    """The view without any results."""
    return parts.empty(
        "No results yet",
        "Choose encoders and tasks; the scores appear here as they are computed.",
        ("Evaluate", "./evaluate"),
    )


def welcome(rows: Sequence[HeatmapRow]) -> str:
    """The welcome for new users; empty once other encoders than the starters are listed."""
    names = {name for name, _, _ in STARTERS}
    evaluated = [row for row in rows if not row.published]
    if not evaluated or any(row.name not in names for row in evaluated):
        return ""
    items = "".join(
        f'<li><span class="t-spec">{escape(name)}</span><span>{escape(what)}</span>'
        f"<small>{escape(why)}</small></li>"
        for name, what, why in STARTERS
    )
    links = "".join(
        f'<li><a href="./{path}">{title}</a><small>{escape(what)}</small></li>'
        for path, title, what in PAGES
    )
    return (
        '<section class="t-welcome" aria-label="Welcome"><h2>Three encoders to start with</h2>'
        f"<ul>{items}</ul><p>They are evaluated first on the starter set: sentence pairs graded 0 "
        "to 5 and sentences in topics, <strong>written by us</strong> and small, so that there is "
        "something to see without a download. "
        '<a href="./encoders">Add an encoder of your own</a>, or '
        '<a href="./data">bring your data</a>.</p>'
        f'<h2>What they can show</h2><ul class="t-tour">{links}</ul>'
        '<button type="button" class="t-link" data-press="dismissWelcome">Hide this'
        "</button></section>"
    )
