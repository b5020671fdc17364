"""Stored results: the table of scores, one result in full, and removal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.components import protocol_card
from theodolite.app.components.actions import button
from theodolite.app.components.heatmap import Cell, HeatmapColumn, HeatmapRow
from theodolite.app.examples import results
from theodolite.app.metrics import AGGREGATIONS, metric
from theodolite.app.pages.evaluate import job
from theodolite.app.results import under_own_protocol
from theodolite.app.web import address, parts
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.protocols.published import (
    TABLE_B3,
    TABLE_E1,
    TABLE_INFERSENT,
    TABLE_MAIN,
    Published,
)
from theodolite.engine.stats import spread
from theodolite.engine.stats.agreement import shared
from theodolite.engine.stats.bootstrap import average, main_sample, resample_all
from theodolite.engine.tasks import SUITES, in_order
from theodolite.store import StoreError
from theodolite.store.results import REPAIR

MAX_NUMBERS = 20
"""Most numbers of a result that are shown unfolded."""
MAX_FIRST = 3
"""Most encoders named as the best; if more are tied, none is named."""
SUITE_LABELS = {"starter": "starter", "sts": "STS", "transfer": "transfer"}
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
    '<p class="t-muted t-small">StarterSTS, StarterTopics and StarterSearch are computed on the '
    "starter set, which was written for this app. Its grades follow a written rubric; agreement "
    "between people was not measured.</p>"
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


def table(workspace: Workspace) -> tuple[list[HeatmapColumn], list[HeatmapRow]]:
    """Columns and rows of the overview: listed encoders, then published ones."""
    from theodolite.engine import tasks

    listed = workspace.store.encoders.list()
    stored = workspace.store.results.table(encoders=[row["name"] for row in listed])
    found, moved = under_own_protocol(stored), spread.spreads(stored)
    lost = workspace.store.results.missing(found.values())
    waiting = job.waiting(workspace)
    ships = results.scores(workspace, {owner for owner, _ in waiting})
    shown = {task for _, task in (*found, *waiting)}
    columns = [_column(name) for name in in_order(sorted(shown))]
    # Only suites of one metric: `senteval` scores STS-B by a trained regressor, not the cosine.
    suites = {suite: [n for n in tasks.SUITES[suite] if n in shown] for suite in SUITE_LABELS}
    suites = {suite: names for suite, names in suites.items() if len(names) > 1}
    columns += [
        HeatmapColumn(
            f"average:{suite}",
            f"Mean, {SUITE_LABELS[suite]}",
            f"Plain mean over those of {', '.join(tasks.SUITES[suite])} that the encoders with a "
            f"mean share{', whose metrics differ' if suite == 'starter' else ''}. "
            "Compared only with means over the same tasks.",
            "average",
        )
        for suite in suites
    ]
    rows = []
    for encoder in listed:
        name = encoder["name"]
        cells = {
            task: _cell(row, moved.get((name, task, row["protocol"])), row["id"] in lost)
            for (owner, task), row in found.items()
            if owner == name
        }
        for owner, task in waiting:
            if owner == name and (task not in cells or cells[task].score is None):
                cells[task] = _awaited(ships.get((owner, task)))
        rows.append(HeatmapRow(name, cells, note=_note(encoder["info"])))
    for suite, names in suites.items():
        _add_means(rows, suite, names)
    return columns, rows + _published(shown)


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
            _finding(mine, tasks) or text,
            f"{text} here so far. Those in italics ship with Theodolite and will be replaced "
            "by yours.",
            beside=f" {parts.SHIPPED}",
        )
    text, check = _finding(mine, tasks), 'See <a href="./compare">Compare</a> for whether this is '
    return parts.heading(text, html=f"{check}significant.") if text else ""


def _finding(rows: Sequence[HeatmapRow], tasks: Sequence[str]) -> str:
    """Name the encoders with the highest score on most of the tasks that they share.

    Empty if too many are tied, or no two share a task.
    """
    scores = _scores(rows, tasks)
    names, over = shared(scores)
    if len(names) < 2:
        return ""
    best = {task: max(scores[name][task] for name in names) for task in over}
    wins = {name: sum(scores[name][task] == best[task] for task in over) for name in names}
    most = max(wins.values())
    first = [name for name, number in wins.items() if number == most]
    if len(first) > MAX_FIRST:
        return ""
    where = formats.plural(len(over), "task")
    if len(over) > 1:
        where = f"{'all' if most == len(over) else f'{most} of'} {where}"
    if len(over) < len({task for row in rows for task in tasks if task in row.cells}):
        where += " that they share" if len(over) > 1 else ", the one that they share"
    has = "has" if len(first) == 1 else "each have"
    return f"{formats.listed(first)} {has} the highest score on {where}"


def _column(name: str) -> HeatmapColumn:
    from theodolite.engine import tasks

    task = tasks.TASKS.get(name)
    about = task.description if task else ""
    if name in tasks.STARTER:
        about += " Written for this app."
    short = {"STSBenchmark": "STS-B", "SICKRelatedness": "SICK-R"}
    return HeatmapColumn(name, short.get(name, name), about)


def _note(info: dict[str, Any]) -> str:
    facts = []
    if info.get("dim"):
        facts.append(f"{formats.count(info['dim'])} dimensions")
    if info.get("parameters"):
        facts.append(f"{formats.compact(info['parameters'])} parameters")
    return ", ".join(facts)


def _cell(row: Mapping[str, Any], over: spread.Spread | None, lost: bool) -> Cell:
    when = ("evaluated", formats.ago(row["created"]))
    if row["error"] is not None:
        facts = [("error", row["error"]), ("what to do", row["hint"]), when]
        return Cell(result=row["id"], facts=tuple(f for f in facts if f[1]), state="error")
    facts = [
        ("metric", metric(row)),
        *((("seeds", spread.words(over)),) if over else ()),
        *((("unreadable", f"its values per example are lost. {REPAIR}"),) if lost else ()),
        ("examples", formats.count(row["n"])),
        ("protocol", row["protocol"]),
        ("time", formats.duration(row["seconds"])),
        when,
    ]
    score = None if row["score"] != row["score"] else row["score"]  # nan: shown as missing
    text = spread.words(over) if over else ""
    note = "unreadable" if lost else ""
    return Cell(score=score, result=row["id"], facts=tuple(facts), note=note, spread=text)


def _awaited(shipped: float | None) -> Cell:
    """A cell that is waiting for its result, with the shipped score if there is one."""
    facts = (("shipped example", "ships with Theodolite"), ("here", "waiting"))
    return Cell(shipped, facts=facts if shipped is not None else (), state="waiting")


def _scores(rows: Sequence[HeatmapRow], tasks: Sequence[str]) -> dict[str, dict[str, float]]:
    """Encoder -> task -> score, of the encoders that are not waiting for one of these tasks."""
    found = {}
    for row in rows:
        cells = {task: row.cells[task] for task in tasks if task in row.cells}
        if not any(cell.state == "waiting" and cell.score is None for cell in cells.values()):
            found[row.name] = {t: c.score for t, c in cells.items() if c.score is not None}
    return found


def _add_means(rows: Sequence[HeatmapRow], suite: str, tasks: Sequence[str]) -> None:
    """Add the means over the tasks of a suite that the encoders which get one share."""
    scores = _scores(rows, tasks)
    names, over = shared(scores)
    for row in rows:
        if row.name in names:
            mean = average({task: scores[row.name][task] for task in over}, SUITES[suite])
            facts = (("mean of", ", ".join(mean.tasks)), ("tasks", mean.label))
            waits = any(row.cells[task].state == "waiting" for task in over)
            row.cells[f"average:{suite}"] = Cell(
                mean.score,
                facts=facts,
                note=mean.label,
                over=",".join(mean.tasks),
                state="waiting" if waits else "",
            )


def _published(shown: set[str]) -> list[HeatmapRow]:
    """Rows of published tables with a score in one of the shown columns."""
    printed = (*TABLE_MAIN, *TABLE_B3, *TABLE_E1, *TABLE_INFERSENT)
    return [_published_row(row) for row in printed if shown & set(row.scores)]


def _published_row(row: Published) -> HeatmapRow:
    weighted = row.aggregation == "wmean"
    facts = (
        ("printed in", row.table),
        *((("aggregation", AGGREGATIONS[row.aggregation]),) if row.aggregation else ()),
        ("training", row.training),
        *((("taken there from", row.origin),) if row.origin else ()),
        ("evaluated here", "no"),
    )
    # STS-B and SICK-R have no subsets, so both tables print the same kind of number for them.
    cells = {
        task: Cell(score, facts=facts, over="wmean" if weighted and task.startswith("STS1") else "")
        for task, score in row.scores.items()
    }
    over = ",".join(row.scores) + ("; wmean" if weighted else "")
    if row.average is not None:
        suite = "sts" if row.aggregation else "transfer"
        cells[f"average:{suite}"] = Cell(row.average, facts=facts, note="7 of 7 tasks", over=over)
    where = "weighted means" if weighted else row.table.partition(" (")[0]
    return HeatmapRow(row.model, cells, note=f"{row.training}, {where}", published=True)


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


RESAMPLES = 500


def stored(
    workspace: Workspace,
    encoders: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    protocols: Sequence[str] | None = None,
    ids: Collection[int] | None = None,
) -> list[dict[str, Any]]:
    """All results that match the filters, older versions included."""
    from theodolite.engine.encoders import parse

    names = [str(parse(spec)) for spec in encoders] if encoders else None
    rows = workspace.store.results.table(
        encoders=names, tasks=tasks or None, protocols=protocols or None, all_versions=True
    )
    if not ids:
        return rows
    if unknown := sorted(set(ids) - {row["id"] for row in rows}):
        raise UserError(
            f"There is no such result: {unknown[0]}.", "`results list` shows all.", code="unknown"
        )
    return [row for row in rows if row["id"] in ids]


def remove(workspace: Workspace, rows: Sequence[dict[str, Any]]) -> int:
    """Remove results permanently; return the bytes of their values per example."""
    workspace.refuse_visitors()
    size = sum(workspace.store.results.sizes(rows).values())
    workspace.store.results.remove([row["id"] for row in rows])
    return size


@lru_cache(maxsize=4096)
def _interval(workspace: Workspace, result_id: int) -> tuple[float, float] | None:
    from theodolite.engine.stats.intervals import interval

    details = workspace.store.results.by_id(result_id)["details"]
    examples = workspace.store.results.examples(result_id)
    try:
        sample = main_sample(examples, details)
    except (ValueError, LookupError):
        return None
    (drawn,) = resample_all([sample], RESAMPLES)
    low, high = interval(drawn.draws[None], [drawn.units])
    return float(low[0]), float(high[0])


def interval(workspace: Workspace, result_id: int) -> list[float] | None:
    """95 % bootstrap interval of a main score, in points; cached, since results never change.

    None if there is none, or its values cannot be read; the latter is not cached, as they may be
    restored.
    """
    try:
        found = _interval(workspace, int(result_id))
    except StoreError:
        return None
    return None if found is None else list(found)
