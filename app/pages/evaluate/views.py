"""Views of the page Evaluate: the plan, cost and results of an evaluation, as HTML."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from theodolite.app import formats
from theodolite.app.components import protocol_card
from theodolite.app.components.actions import button
from theodolite.app.endpoints import in_words
from theodolite.app.metrics import metric
from theodolite.app.pages.board import service as board
from theodolite.app.pages.evaluate import costs, service, suites
from theodolite.app.pages.evaluate.job import EvaluateJob, Key
from theodolite.app.web import address, parts
from theodolite.app.workspace import Workspace
from theodolite.engine import encoders, protocols
from theodolite.engine.errors import UserError
from theodolite.engine.stats import spread
from theodolite.engine.tasks import MTEB_HERE

READ_BYTES = 4_000_000
"""Data that is read to say which texts will be cut, while a person chooses."""
ABOUT = {
    "starter": "Small, written for this app and included in it.",
    "sts": "Spearman of the cosine and the gold score; nothing is trained.",
    "transfer": "A classifier is trained on the vectors, as in SimCSE's table of transfer tasks.",
    "senteval": "Every task of SentEval that trains a model. STS-B and SICK-R are the trained "
    "regressor here, not the cosine.",
    "probing": "What can be predicted from the vectors about the form of a sentence.",
    MTEB_HERE: "All sets in the data folder except scored pairs, each scored as MTEB scores its "
    "type, by our own code.",
    "others": "Your uploads, and all other available sets of scored pairs or for probing.",
    "all": "Every task whose data is available.",
    suites.OWN: "Choose single tasks below.",
}


def spec_read(text: str) -> str:
    """The canonical form of a spec, or its error."""
    if not text.strip():
        return ""
    try:
        name = str(encoders.parse(text))
    except UserError as error:
        return f'<p class="t-small t-wrong" role="status">{escape(str(error))}</p>'
    return (
        f'<p class="t-small t-muted" role="status">Reads as <span class="t-spec">{escape(name)}'
        '</span>. <a href="./encoders">Encoders</a> has a form for every option.</p>'
    )


def members(suite: str, here: dict[str, list[str]], ticked: Sequence[str]) -> str:
    """The description of a suite and its members, greyed without files, and where files belong."""
    present = {task for names in here.values() for task in names}
    names = suites.members(suite, here) or list(ticked)
    chips = "".join(
        f"<li>{escape(name)}</li>"
        if name in present
        else f'<li class="t-absent">{escape(name)} <small>no files</small></li>'
        for name in names
    )
    lacking = [name for name in names if name not in present]
    where = ""
    if lacking:
        where = (
            '<p class="t-small t-muted">What has no files here belongs in the data folder that '
            "--data or THEODOLITE_DATA names, in SentEval's layout"
            + (
                "; COCO comes with <code>theodolite data import-coco</code>"
                if "ImageCaptionRetrieval" in lacking
                else ""
            )
            + ".</p>"
        )
    if not names and suite in ("others", MTEB_HERE):
        where = parts.say("No other data is available yet. Add your own files on the page Data.")
    about = f'<p class="t-muted">{escape(ABOUT[suite])}</p>'
    listed = f'<ul class="t-members" aria-label="Tasks chosen">{chips}</ul>' if chips else ""
    return f'<div class="t-suite">{about}{listed}{where}</div>'


def summary(workspace: Workspace, requested: EvaluateJob) -> str:
    """The evaluation that the button would start, and the equivalent command."""
    if not requested.encoders or not requested.tasks:
        lacking = "an encoder" if not requested.encoders else "a task"
        return f'<p class="t-muted">Tick {lacking} to go on.</p>'
    job = service.possible(workspace, requested)
    left_out = _left_out(requested, job)
    if not job.tasks:
        return f'<div class="t-plan">{left_out}</div>'
    keys = _by_task(workspace, job)
    known = len(set(keys) & {_key(r) for r in service.rows(workspace, job) if r["error"] is None})
    seeds = f", {job.seeds} seeds if anything is random" if job.seeds > 1 else ""
    product = (
        f"{formats.plural(len(job.encoders), 'encoder')} on "
        f"{formats.plural(len(job.tasks), 'task')}{seeds}: {formats.plural(len(keys), 'result')}"
    )
    stored = "none of them in the store yet"
    if known:
        stored = f"{known} of {len(keys)} already in the store, not computed again"
    warned = parts.warn(service.warnings(workspace, job.encoders, job.tasks, READ_BYTES))
    return (
        f'<div class="t-plan">{left_out}{warned}'
        f'<p role="status">{product}, {stored}.</p>'
        f"{parts.command(shlex.split(service.command(job)))}</div>"
    )


def _left_out(requested: EvaluateJob, job: EvaluateJob) -> str:
    """A sentence on the tasks that the protocol does not cover."""
    lacking = [task for task in requested.tasks if task not in job.tasks]
    if not lacking:
        return ""
    text = (
        f"{requested.protocol} does not say how to score {', '.join(lacking)}, so they are left "
        "out. Choose another protocol, or each task's own."
    )
    return f'<div class="t-notice t-warn"><p>{escape(text)}</p></div>'


def cards(workspace: Workspace, job: EvaluateJob) -> str:
    """The collapsed card of every protocol in use."""
    used: dict[str, list[str]] = {}
    for task in service.possible(workspace, job).tasks:
        used.setdefault(job.protocol_of(task, workspace.catalog).name, []).append(task)
    if job.protocol and not used:
        used = {job.protocol: []}
    return "".join(
        f'<details class="t-protocol"><summary>Protocol <strong>{escape(name)}</strong> '
        f"<span>{escape(_some(tasks))}</span></summary>{protocol_card.card(name)}</details>"
        for name, tasks in used.items()
        if name in protocols.PROTOCOLS
    )


def _some(tasks: Sequence[str]) -> str:
    """The first six names, and the number of the others."""
    more = f" and {len(tasks) - 6} more" if len(tasks) > 6 else ""
    return ", ".join(tasks[:6]) + more


def results(workspace: Workspace, requested: EvaluateJob) -> str:
    """The stored results; errors have a button to try again.

    A task with several seeds is one row, with the score of the first seed and the spread over all.
    """
    job = service.possible(workspace, requested)
    stored = service.rows(workspace, job)
    found = {_key(row): row for row in stored}
    keys = _by_task(workspace, job)
    there = [key for key in keys if key in found]
    if not there:
        return ""
    spreads = spread.spreads(stored)
    first = {key[:2]: key for key in reversed(there) if found[key]["error"] is None}
    shown = [key for key in there if found[key]["error"] is not None or first[key[:2]] == key]
    rows = [
        _row(found[key], spreads.get((*key[:2], found[key]["protocol"])), workspace.read_only)
        for key in shown
    ]
    heads: tuple[str, ...] = (
        *("Task", "Encoder", "Score", "Spread", "Metric", "Examples", "Protocol", "Time"),
    )
    numbers: tuple[int, ...] = (2, 5, 7)
    if not any(row[3] for row in rows):
        heads, rows = heads[:3] + heads[4:], [row[:3] + row[4:] for row in rows]
        numbers = (2, 4, 6)
    under = {"protocol": job.protocol} if job.protocol else {}
    links = "".join(
        f'<a class="t-button" href="{escape(address.link(path, **state))}">{label}</a>'
        for label, path, state in (
            ("Compare them", "compare", {"encoder": job.encoders, "task": job.tasks} | under),
            ("Rank them", "board", {"suite": board.suite_of(workspace, job.tasks)} | under),
            ("See all scores", "", {}),
        )
    )
    left = len(keys) - len(there)
    more = f'<p class="t-muted">{formats.plural(left, "result")} not there yet.</p>' if left else ""
    table = parts.table(heads, rows, "Results", numbers, stacked=True)
    return f'{parts.heading("Results")}{table}{more}<p class="t-actions">{links}</p>'


def _by_task(workspace: Workspace, job: EvaluateJob) -> list[Key]:
    """Keys of all results of a job, task by task."""
    return sorted(job.keys(workspace.catalog), key=lambda key: job.tasks.index(key[1]))


def _row(row: Mapping[str, Any], over: spread.Spread | None, read_only: bool) -> tuple[str, ...]:
    task = escape(row["task"])
    name = f'<span class="t-spec">{escape(row["encoder"])}</span>'
    protocol, seconds = escape(row["protocol"]), formats.duration(row["seconds"])
    if row["error"] is None:
        moved = ""
        if over is not None:
            moved = (
                f"{escape(spread.words(over))}<br><small>mean {formats.score(over.mean)}, "
                f"{formats.score(over.lowest)} to {formats.score(over.highest)}</small>"
            )
        facts = (escape(metric(dict(row))), formats.count(row["n"]))
        return (task, name, formats.score(row["score"]), moved, *facts, protocol, seconds)
    hint = f"<br><small>{escape(row['hint'])}</small>" if row["hint"] else ""
    about = f"Evaluate {row['encoder']} on {row['task']} again"
    again = "" if read_only else button("Try again", "again", key_text(row), about=about)
    problem = f'<span class="t-run-error">{escape(row["error"])}</span>{hint}'
    none = formats.MISSING
    return (task, name, none, "", f"{problem} {again}", none, protocol, seconds)


def _key(row: Mapping[str, Any]) -> Key:
    return row["encoder"], row["task"], row["seed"]


def key_text(row: Mapping[str, Any]) -> str:
    """An encoder, a task and a seed as one text, separated by line breaks, which none contains."""
    return "\n".join((row["encoder"], row["task"], str(row["seed"])))


def key_of(text: str) -> Key:
    """Parse the encoder, task and seed from `key_text`."""
    match text.split("\n"):
        case [encoder, task, seed] if seed.isascii() and seed.isdecimal() and len(seed) <= 10:
            return encoder, task, int(seed)
    raise UserError(f"There is no result {text[:40]!r} here.", "Reload the page.", code="stale")


def estimating(steps: Iterator[costs.Step]) -> Iterator[str]:
    """Yield the estimates so far as HTML, below a progress bar."""
    found: list[costs.Estimate] = []
    started = time.monotonic()
    for share, what, made in steps:
        if made is not None:
            found.append(made)
        left = ""
        if share > 0:
            left = formats.time_left((time.monotonic() - started) * (1 - share) / share)
        message = ", ".join(text for text in (f"Inspecting {what}" if what else "", left) if text)
        rows = estimates(found) if found else ""
        bar = parts.progress_bar(share, "Estimate")
        yield f'{bar}<p class="t-muted t-small" role="status">{escape(message)}</p>{rows}'
    yield estimates(found) if found else ""


def estimates(found: Sequence[costs.Estimate]) -> str:
    """The estimates as an HTML table."""
    rows = [_estimate(estimate) for estimate in found]
    if len(found) > 1:
        rows.append(
            (
                "<strong>All, one after the other</strong>",
                formats.count(sum(e.results for e in found)),
                formats.count(sum(e.new for e in found)),
                costs.roughly(sum(e.encoding for e in found)),
                costs.roughly(sum(e.training for e in found)),
                costs.roughly(sum(e.seconds for e in found)),
                costs.rough_size(max(e.memory for e in found)),
                costs.rough_size(sum(e.disk for e in found)),
            )
        )
    heads = (
        "Encoder",
        "Results",
        "New sentences",
        "Encoding",
        "Training and scoring",
        "In all",
        "Memory",
        "Disk",
    )
    numbers = range(1, len(heads))
    return (
        f"{parts.table(heads, rows, 'Estimated cost', numbers, sortable=False, stacked=True)}"
        '<p class="t-small t-muted">Estimated from short runs on this machine, as busy as it is '
        "now: mostly within a factor of two. Memory comes on top of the program and the model. "
        "What is in the store already costs nothing.</p>"
    )


def _estimate(estimate: costs.Estimate) -> tuple[str, ...]:
    words = costs.row_in_words(estimate)
    name, error = f'<span class="t-spec">{escape(estimate.encoder)}</span>', estimate.error
    if error is not None:
        none = (formats.MISSING,) * 7
        return (f'{name}<br><small class="t-run-error">{escape(error)}</small>', *none)
    sent = "".join(f"<br><small>Sends {escape(s)}</small>" for s in in_words(estimate.sending))
    return (name + sent, *(str(words[key]) for key in list(words)[1:-1]))
