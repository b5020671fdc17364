"""The page *Evaluate*: choose encoders and tasks, start a run, follow it, come back to it."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats, suites
from theodolite.app.blocks import Block, Link, Links, Progress, Text
from theodolite.app.components import protocol_card
from theodolite.app.jobs.kinds import job_of
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.evaluate import costs, service
from theodolite.app.pages.evaluate.answer import table
from theodolite.app.pages.evaluate.job import EvaluateJob, Key, start
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.results import Row
from theodolite.app.spec import parameters
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.encoders import parse
from theodolite.engine.protocols import OF_TASKS
from theodolite.engine.stats import spread
from theodolite.engine.tasks import STARTER

TITLE = "Evaluate"
PATH = "evaluate"
DESCRIPTION = (
    "Evaluate encoders on tasks. The run continues in the background: you can close the tab "
    "and come back to the same address later."
)
_FIELDS = {parameter.name: parameter for parameter in parameters(EvaluateJob)}
CONTROLS = (
    *web.controls(
        EvaluateJob,
        encoders=Control(
            "encoders",
            "Encoders",
            gr.Dropdown,
            (),
            "Choose from the list, or write a spec such as wordllama | whiten:starter,64 and press "
            "Enter.",
            (),
            {"multiselect": True, "allow_custom_value": True},
            key="encoder",
        ),
        tasks=Control(
            "tasks",
            "Single tasks",
            gr.Dropdown,
            (),
            "Write a name or a family, such as retrieval, to find them.",
            (),
            {"multiselect": True},
            key="task",
        ),
        protocol=Control(
            "protocol",
            "Protocol",
            gr.Dropdown,
            "",
            "All settings that affect a score. Its card is at the end of the page.",
            [("Each task's own", ""), *((name, name) for name in OF_TASKS)],
            {"filterable": False},
        ),
        seed=web.control(_FIELDS["seed"], "Empty: each protocol's own."),
        seeds=web.control(_FIELDS["seeds"], "Consecutive ones: they show how a score varies."),
    ),
    Control(
        "suite",
        "Tasks",
        gr.Radio,
        choices=[(label, name) for name, label in service.LABELS.items()],
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION), parts.more("Protocol and seeds"):
        controls.render("protocol", "seed", "seeds")
    with gr.Row(elem_classes=["t-desk"]):
        with gr.Column(scale=5, min_width=320):
            controls.render("encoders")
            controls.render("suite")
            about = parts.static("", elem_id="about-suite")
            controls.render("tasks")
        with gr.Column(scale=4, min_width=320, elem_classes=["t-beside", "t-answer"]):
            plan = parts.static("", elem_id="plan")
            with gr.Row(visible=not workspace.read_only, elem_classes="t-go"):
                go = gr.Button("Evaluate", variant="primary", elem_id="evaluate")
                cost = gr.Button("Estimate the cost", elem_id="cost")
            estimate = web.answer(elem_id="estimate")
            if workspace.read_only:
                no_runs = "Visitors cannot start runs here. On your own machine, use the command."
                parts.static(parts.say(no_runs))
            notice = parts.notice()
            panel = RunPanel(workspace)
    results = web.answer(elem_id="results")
    cards = parts.static("", elem_id="protocols")
    declared, views_of_job = list(controls.values()), [about, plan, results, cards]
    run = controls.add("run", panel.run)

    def load(request: gr.Request) -> Answer:
        values, here = _opened(workspace, controls, request)
        values.encoders = choices.filled(workspace, values.encoders)
        values.tasks = _offer(here, values.tasks)
        return {controls[name]: value for name, value in vars(values).items()}

    def show(values: Values) -> Answer:
        job = _job(values)
        return {
            about: _about(values.suite or service.OWN, service.tasks_here(workspace)),
            plan: _plan(workspace, job),
            results: web.value(_results(workspace, job)),
            cards: _cards(workspace, job),
        }

    def pick(values: Values) -> Answer:
        return {controls[name]: value for name, value in _members(workspace, values).items()}

    def begin(values: Values) -> Answer:
        choices.need(values.encoders)
        return {run: start(workspace, service.ready(workspace, _job(values)))}

    def guess(values: Values) -> Iterator[Answer]:
        choices.need(values.encoders)
        for blocks in _estimating(workspace, service.ready(workspace, _job(values))):
            yield {estimate: web.value(blocks)}

    again = (show, controls, views_of_job, notice)
    opened = on_load(load, [*declared, run], notice)
    picked = on(
        controls["suite"].input,
        pick,
        controls,
        [controls["protocol"], controls["tasks"]],
        notice,
        **ALWAYS_LAST,
    )
    own = {controls["suite"]: service.OWN}
    edited = on(controls["tasks"].input, lambda: own, None, own, notice, **HIDE_PROGRESS)
    asks = [controls[name].input for name in ("protocol", "seed", "seeds")]
    asks.append(controls["encoders"].change)  # a spec that is written fires no other event
    on([*asks, panel.moved.change], *again, **ALWAYS_LAST)
    for before in (opened, picked, edited):
        on(before.then, *again, **ALWAYS_LAST)
    controls.keep()
    if workspace.read_only:
        return
    on(cost.click, guess, controls, [estimate], notice, **HIDE_PROGRESS)
    on(go.click, begin, controls, [run], notice, **HIDE_PROGRESS)


def _members(workspace: Workspace, values: Values) -> dict[str, Any]:
    """The members of a suite in the list of tasks, under a protocol that covers them."""
    if values.suite == service.OWN:
        return {}
    here = service.tasks_here(workspace)
    tasks = [task for task in service.members(values.suite, here) if task in here]
    under = service.protocol_for(workspace, values.suite, tasks, values.protocol or "")
    return {"protocol": under, "tasks": _offer(here, tasks)}


def _estimating(workspace: Workspace, job: EvaluateJob) -> Iterator[list[Block]]:
    """Yield the estimates so far, by timed runs of a few seconds, and what is being looked at."""
    begun, found = time.monotonic(), costs.Estimates(())
    for share, what, one in costs.estimates(workspace, job):
        if one is not None:
            found = replace(found, estimates=(*found.estimates, one))
        words = [f"Inspecting {what}"] if what else []
        if share > 0:
            words.append(formats.time_left((time.monotonic() - begun) * (1 - share) / share))
        yield [Progress(", ".join(words)), *found.blocks()]
    yield found.blocks()


def _offer(here: dict[str, str], tasks: list[str]) -> Any:
    """An update of the list of tasks, each with its family."""
    return gr.update(choices=[(f"{name} · {here[name]}", name) for name in here], value=tasks)


def _opened(
    workspace: Workspace, controls: Controls, request: gr.Request
) -> tuple[Values, dict[str, str]]:
    """The evaluation in the address, or that of its run if it names nothing else; all tasks."""
    values = controls.from_address(request)
    values.run = address.first(request, "run")
    tasks = [task for text in values.tasks for task in text.split(",")]
    if values.run and not tasks and not address.every(request, "encoder"):
        job = job_of(workspace.store.runs.get(values.run))
        if isinstance(job, EvaluateJob):
            vars(values).update({one.name: getattr(job, one.name) for one in _FIELDS.values()})
            tasks = list(job.tasks)
    else:
        values.encoders = choices.from_address(workspace, request, choices.names(workspace))
    if values.suite not in (None, service.OWN) and not tasks:
        tasks = service.members(values.suite, service.tasks_here(workspace))
    if values.suite == "senteval" and not values.protocol:
        values.protocol = "senteval"
    tasks = tasks or list(STARTER)
    here = service.tasks_here(workspace, tasks)
    values.tasks = [task for task in here if task in tasks]
    values.protocol = values.protocol or ""
    values.suite = values.suite or service.matching(here, values.tasks, values.protocol)
    return values, here


def _job(values: Values) -> EvaluateJob:
    """The evaluation that the controls describe."""
    job = web.spec_of(EvaluateJob, values)
    names = [str(parse(spec)) for spec in job.encoders]
    return replace(job, encoders=names, protocol=job.protocol or None)


READ_BYTES = 4_000_000
"""Data that is read to say which texts will be cut, while a person chooses."""


def _about(suite: str, here: Mapping[str, str]) -> str:
    """What a suite is, which of its tasks have no files, and where files belong."""
    names = service.members(suite, here)
    lacking = [name for name in names if name not in here]
    text = service.ABOUT[suite]
    if lacking:
        text += (
            f" No files here: {', '.join(lacking)}. They belong in the data folder that --data or "
            "THEODOLITE_DATA names, in SentEval's layout."
        )
    if not names and suite != service.OWN:
        text += " None is available yet. Add your own files on the page Data."
    return f'<p class="t-small t-muted">{protocol_card.code(text)}</p>'


def _plan(workspace: Workspace, requested: EvaluateJob) -> str:
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


def _cards(workspace: Workspace, requested: EvaluateJob) -> str:
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


def _results(workspace: Workspace, requested: EvaluateJob) -> Iterator[Block]:
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
    suite = suites.suite_of(workspace, job.tasks)
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
