"""Views of the page Evaluate: the plan, the protocols and the results of an evaluation."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from html import escape

from theodolite.app import formats
from theodolite.app.blocks import Block, Link, Links, Text
from theodolite.app.components import protocol_card
from theodolite.app.pages.board import service as board
from theodolite.app.pages.evaluate import service, suites
from theodolite.app.pages.evaluate.answer import table
from theodolite.app.pages.evaluate.job import EvaluateJob, Key
from theodolite.app.results import Row
from theodolite.app.web import parts
from theodolite.app.workspace import Workspace
from theodolite.engine import encoders, protocols
from theodolite.engine.errors import UserError
from theodolite.engine.stats import spread

READ_BYTES = 4_000_000
"""Data that is read to say which texts will be cut, while a person chooses."""


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


def about(suite: str, here: Mapping[str, str]) -> str:
    """What a suite is, which of its tasks have no files, and where files belong."""
    names = suites.members(suite, here)
    lacking = [name for name in names if name not in here]
    text = suites.ABOUT[suite]
    if lacking:
        text += (
            f" No files here: {', '.join(lacking)}. They belong in the data folder that --data or "
            "THEODOLITE_DATA names, in SentEval's layout."
        )
        if "ImageCaptionRetrieval" in lacking:
            text += " COCO comes with `theodolite data import-coco`."
    if not names and suite != suites.OWN:
        text += " None is available yet. Add your own files on the page Data."
    return f'<p class="t-small t-muted">{protocol_card.code(text)}</p>'


def plan(workspace: Workspace, requested: EvaluateJob) -> str:
    """The evaluation that the button would start, and the equivalent command."""
    if not requested.encoders or not requested.tasks:
        lacking = "an encoder" if not requested.encoders else "a task"
        return f'<p class="t-muted">Choose {lacking} to go on.</p>'
    job = service.covered(workspace, requested)
    warnings = service.warnings(workspace, job.encoders, job.tasks, READ_BYTES)
    if left_out := [task for task in requested.tasks if task not in job.tasks]:
        warnings.insert(
            0,
            f"{requested.protocol} does not say how to score {', '.join(left_out)}, so they are "
            "left out. Choose another protocol, or each task's own.",
        )
    warned = parts.warn(warnings)
    if not job.tasks:
        return f'<div class="t-plan">{warned}</div>'
    keys = set(job.keys(workspace.catalog))
    rows = [row for row in service.rows(workspace, job) if _key(row) in keys]
    known = sum(row["error"] is None for row in rows)
    seeds = f", {job.seeds} seeds if anything is random" if job.seeds > 1 else ""
    stored = "none of them in the store yet"
    if known:
        stored = f"{known} of {len(keys)} already in the store, not computed again"
    if failed := len(rows) - known:
        stored += f"; {failed} failed before and would be tried again"
    text = (
        f"{formats.plural(len(job.encoders), 'encoder')} on "
        f"{formats.plural(len(job.tasks), 'task')}{seeds}: {formats.plural(len(keys), 'result')}, "
        f"{stored}."
    )
    command = parts.command(shlex.split(service.command(job)))
    return f'<div class="t-plan">{warned}<p role="status">{escape(text)}</p>{command}</div>'


def cards(workspace: Workspace, requested: EvaluateJob) -> str:
    """The collapsed card of every protocol in use."""
    job = service.covered(workspace, requested)
    used: dict[str, list[str]] = {job.protocol: []} if job.protocol else {}
    for task in job.tasks:
        used.setdefault(job.protocol_of(task, workspace.catalog).name, []).append(task)
    return "".join(
        f'<details class="t-protocol"><summary>Protocol <strong>{escape(name)}</strong> '
        f"<span>{escape(formats.listed(tasks, 6))}</span></summary>"
        f"{protocol_card.card(name)}</details>"
        for name, tasks in used.items()
        if name in protocols.PROTOCOLS
    )


def results(workspace: Workspace, requested: EvaluateJob) -> Iterator[Block]:
    """The stored results; of several seeds the first, with the spread over all."""
    job = service.covered(workspace, requested)
    stored = service.rows(workspace, job)
    rows = {_key(row): row for row in stored}
    keys = sorted(job.keys(workspace.catalog), key=lambda key: job.tasks.index(key[1]))
    there = [key for key in keys if key in rows]
    if not there:
        return
    first = {key[:2]: key for key in reversed(there) if rows[key]["error"] is None}
    shown = [rows[key] for key in there if rows[key]["error"] or first[key[:2]] == key]
    yield Text("Results")
    yield table(shown, spread.spreads(stored))
    if left := len(keys) - len(there):
        yield Text("", f"{formats.plural(left, 'result')} not there yet.")
    under = {"protocol": job.protocol} if job.protocol else {}
    suite = board.suite_of(workspace, job.tasks)
    compared: Mapping[str, Sequence[str]] = {"encoder": job.encoders, "task": job.tasks}
    yield Links(
        [
            Link("Compare them", "compare", {**compared, **under}),
            Link("Rank them", "board", {"suite": suite, **under}),
            Link("See all scores", ""),
        ]
    )


def _key(row: Row) -> Key:
    return row["encoder"], row["task"], row["seed"]
