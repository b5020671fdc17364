"""The page *Evaluate*: choose encoders and tasks, start a run, follow it, come back to it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import gradio as gr

from theodolite.app.components.actions import actions
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate import costs, service, suites, views
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.evaluate.service import seeds_within, whole_number
from theodolite.app.pages.evaluate.suites import GROUPS
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS, ONE_AT_A_TIME
from theodolite.app.workspace import Workspace
from theodolite.engine.protocols import MAX_SEEDS, OF_TASKS
from theodolite.engine.tasks import STARTER

TITLE = "Evaluate"
PATH = "evaluate"
DESCRIPTION = (
    "Evaluate encoders on tasks. The run continues in the background: you can close the tab "
    "and come back to the same address later."
)
CONTROLS = (
    choices.ENCODERS,
    *(
        Control(
            name,
            label,
            gr.CheckboxGroup,
            (),
            hint,
            (),
            {"show_select_all": True, "elem_id": f"tasks-{name}"},
            key="task" if name == "others" else name,
        )
        for name, (label, hint) in GROUPS.items()
    ),
    Control(
        "protocol",
        "Protocol",
        gr.Dropdown,
        "",
        "All settings that affect a score. Its card is at the end of the page.",
        [("Each task's own", ""), *((name, name) for name in OF_TASKS)],
        {"filterable": False},
    ),
    Control(
        "seed",
        "Seed",
        gr.Number,
        hint="Empty: each protocol's own.",
        options={"precision": 0, "minimum": 0},
    ),
    Control(
        "seeds",
        "Seeds",
        gr.Number,
        EvaluateJob.seeds,
        "Number of consecutive seeds: together they show how far a score varies by chance.",
        options={"precision": 0, "minimum": 1, "maximum": MAX_SEEDS},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION), parts.more("Protocol and seeds"):
        controls.render("protocol", "seed", "seeds")
    with gr.Row(elem_classes=["t-desk"]):
        with gr.Column(scale=5, min_width=320):
            controls.render("encoder")
            spec, spec_note, add = _adding(workspace)
            suite = gr.Radio(
                [(label, name) for name, label in suites.LABELS.items()],
                value=None,
                label="Tasks",
                elem_id="suite",
            )
            members = parts.static("", elem_id="members")
            with gr.Accordion("Single tasks", open=False, elem_id="single"):
                controls.render(*GROUPS)
        asked_for = list(controls.values())
        with gr.Column(scale=4, min_width=320, elem_classes=["t-beside", "t-answer"]):
            summary = parts.static("", elem_id="plan")
            with gr.Row(visible=not workspace.read_only, elem_classes="t-go"):
                go = gr.Button("Evaluate", variant="primary", elem_id="evaluate")
                cost = gr.Button("Estimate the cost", elem_id="cost")
            estimate = parts.static("", elem_id="estimate")
            if workspace.read_only:
                said_no = "Visitors cannot start runs here. On your own machine, use the command."
                parts.static(parts.say(said_no))
            notice = parts.notice()
            panel = RunPanel(workspace)
    run = controls.add("run", panel.run)
    results = actions(elem_id="results")
    cards = parts.static("", elem_id="protocols")
    page = _Page(workspace, controls, suite, run, (members, cards, summary, results))
    inputs, shown = {**controls, "suite": suite}, [suite, *page.views]
    on_load(page.load, [*asked_for, run, *shown], notice)
    again = (page.show, inputs, shown, notice)
    on([*(box.input for box in asked_for), panel.moved.change], *again, **ALWAYS_LAST)
    picked = on(suite.input, page.pick, inputs, asked_for, notice, **ALWAYS_LAST)
    on(picked.then, *again, **ALWAYS_LAST)
    controls.keep()
    if workspace.read_only:
        return

    def guess(values: Values) -> Iterator[Answer]:
        """Estimate the cost, with timed runs of a few seconds."""
        choices.need(values.encoder)
        for html in views.estimating(
            costs.estimates(workspace, service.ready(workspace, _job(values)))
        ):
            yield {estimate: html}

    def added(text: str, chosen: list[str]) -> Answer:
        name = encoders.add(workspace, text)["name"]
        ticked = list(dict.fromkeys([*chosen, name]))
        return {controls["encoder"]: choices.filled(workspace, ticked), spec: "", spec_note: ""}

    on(cost.click, guess, inputs, [estimate], notice, **HIDE_PROGRESS)
    on(go.click, page.start, inputs, [run], notice, **HIDE_PROGRESS)
    on(results.act, page.again, inputs, [run], notice, **HIDE_PROGRESS)
    named = on(
        [add.click, spec.submit],
        added,
        [spec, controls["encoder"]],
        [controls["encoder"], spec, spec_note],
        notice,
        **HIDE_PROGRESS,
    )
    on(named.then, *again, **ALWAYS_LAST)


class _Page:
    """The event handlers of the page.

    Attributes:
        views: components of the suite's members, protocol cards, plan and results.
    """

    def __init__(
        self, workspace: Workspace, controls: Controls, suite: Any, run: Any, views: tuple[Any, ...]
    ) -> None:
        self._workspace = workspace
        self._controls = controls
        self._suite = suite
        self._run = run
        self.views = views

    def _drawn(self, made: EvaluateJob, chosen: str) -> dict[Any, Any]:
        workspace = self._workspace
        here = suites.groups(workspace, made.tasks)
        drawn = (
            views.members(chosen, here, made.tasks),
            views.cards(workspace, made),
            views.summary(workspace, made),
            views.results(workspace, made),
        )
        return {self._suite: chosen, **dict(zip(self.views, drawn, strict=True))}

    def load(self, request: gr.Request) -> Answer:
        """Fill the controls from the address."""
        made, controls = _job_of_address(self._workspace, request), self._controls
        here = suites.groups(self._workspace, made.tasks)
        listed = [task for names in here.values() for task in names if task in made.tasks]
        made = replace(made, tasks=tuple(listed))
        wanted = address.first(request, "suite", suites.OWN)
        return {
            controls["encoder"]: choices.filled(self._workspace, made.encoders),
            **_ticked(controls, here, made.tasks),
            controls["protocol"]: made.protocol or "",
            controls["seed"]: made.seed,
            controls["seeds"]: made.seeds,
            self._run: address.first(request, "run"),
            **self._drawn(made, suites.matching(here, made.tasks, made.protocol or "", wanted)),
        }

    def show(self, values: Values) -> Answer:
        """Show the evaluation of the current controls, and the suite that matches its tasks."""
        made, now = _job(values), values.suite
        if now != suites.OWN or made.tasks:
            here = suites.groups(self._workspace, made.tasks)
            now = suites.matching(here, made.tasks, made.protocol or "", now)
        return self._drawn(made, now)

    def pick(self, values: Values) -> Answer:
        """Tick the members of a suite, under a protocol that covers them."""
        if values.suite == suites.OWN:
            return None
        here = suites.groups(self._workspace)
        boxes = _ticked(self._controls, here, suites.members(values.suite, here))
        tasks = [task for box in boxes.values() for task in box["value"]]
        under = suites.protocol_for(self._workspace, values.suite, tasks, values.protocol or "")
        return {self._controls["protocol"]: under, **boxes}

    def start(self, values: Values) -> Answer:
        """Queue the evaluation, and follow its run."""
        choices.need(values.encoder)
        return {self._run: service.start(self._workspace, _job(values))}

    def again(self, values: Values, event: PageEvent) -> Answer:
        """Evaluate one result again."""
        encoder, task, seed = views.key_of(event.id)
        made = EvaluateJob((encoder,), (task,), values.protocol or None, seed)
        return {self._run: service.start(self._workspace, made)}


def _adding(workspace: Workspace) -> tuple[Any, Any, Any]:
    """A box to add an encoder by its spec, which is validated while typing."""
    with gr.Row(visible=not workspace.read_only):
        spec = gr.Textbox(
            label="Add one by its spec",
            elem_id="spec",
            scale=4,
            max_lines=1,
            placeholder="hf:BAAI/bge-small-en-v1.5, wordllama | whiten:starter,64, …",
            html_attributes=gr.InputHTMLAttributes(spellcheck=False, autocapitalize="none"),
        )
        add = gr.Button("Add", size="md", elem_id="add-spec")
    spec_note = parts.static("", elem_id="spec-said")
    spec.change(views.spec_read, spec, spec_note, **ONE_AT_A_TIME)
    return spec, spec_note, add


def _ticked(
    controls: Controls, here: dict[str, list[str]], wanted: Sequence[str]
) -> dict[Any, Any]:
    """Updates of the checkboxes of single tasks."""
    return {
        controls[kind]: gr.update(
            choices=names, value=[task for task in names if task in wanted], visible=bool(names)
        )
        for kind, names in here.items()
    }


def _job_of_address(workspace: Workspace, request: gr.Request) -> EvaluateJob:
    """The evaluation in the address, or that of its run if it names nothing else."""
    wanted = [
        task
        for name in ("task", *GROUPS)
        for value in address.every(request, name)
        for task in value.split(",")
    ]
    suite = address.first(request, "suite")
    wanted += suites.members(suite, suites.groups(workspace))
    run = address.first(request, "run")
    if run and not wanted and not address.every(request, "encoder"):
        made = service.job_of_run(workspace, run)
        if made is not None:
            return made
    return EvaluateJob(
        tuple(choices.from_address(workspace, request, choices.names(workspace))),
        tuple(wanted or STARTER),
        _protocol(address.first(request, "protocol"), suite),
        whole_number(address.first(request, "seed")),
        seeds_within(address.first(request, "seeds")),
    )


def _protocol(name: str, suite: str) -> str | None:
    """The protocol in the address; SentEval's suite implies its own protocol."""
    if name in OF_TASKS:
        return name
    return "senteval" if suite == "senteval" else None


def _job(values: Values) -> EvaluateJob:
    """The evaluation from the values of the controls."""
    tasks = tuple(task for name in GROUPS for task in getattr(values, name))
    seeds = seeds_within(values.seeds)
    return EvaluateJob(
        tuple(values.encoder), tasks, values.protocol or None, whole_number(values.seed), seeds
    )
