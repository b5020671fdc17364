"""The page *Evaluate*: choose encoders and tasks, start, follow, come back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components.actions import actions
from app.jobs.kinds import job_of
from app.pages.encoders import choices
from app.pages.evaluate import plan, suites
from app.pages.evaluate.job import EvaluateJob, queue_evaluation
from app.pages.evaluate.plan import Plan
from app.pages.evaluate.suites import GROUPS
from app.pages.jobs.run_panel import RunPanel
from app.web import address, parts
from app.web.events import PageEvent
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS, ONE_AT_A_TIME
from engine.errors import UserError
from engine.protocols import MOST_SEEDS, OF_TASKS

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Evaluate"
PATH = "evaluate"
DESCRIPTION = (
    "Measure encoders on tasks. It runs in the background: close the tab, come back to the same "
    "address and find it done."
)
OWN_PROTOCOL = ("Each task's own", "")


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    encoders = choices.encoder_box()
    spec, said, add = _adding(workspace)
    suite = gr.Radio([(label, name) for name, label in suites.LABELS.items()], value=None,
                     label="Tasks", elem_id="suite")  # fmt: skip
    members = parts.static("", elem_id="members")
    groups = _single_tasks()
    protocol, seed, seeds = _protocol_and_seeds()
    cards = parts.static("", elem_id="protocols")
    summary = parts.static("", elem_id="plan")
    go, cost = _buttons(workspace)
    estimate = parts.static("", elem_id="estimate")
    if workspace.read_only:
        parts.static(parts.say("Visitors cannot start runs here. The command does it elsewhere."))
    notice = parts.notice()
    following = RunPanel(workspace)
    results = actions(elem_id="results")

    asked = [encoders, protocol, seed, seeds, *groups.values()]
    views = [members, cards, summary, results]

    def load(request: gr.Request) -> tuple[Any, ...]:
        return _loaded(workspace, request)

    def changed(name: str, *values: Any) -> tuple[Any, ...]:
        made = _plan(*values)
        now = name
        if name != suites.OWN or made.tasks:
            now = suites.matching(
                suites.groups(workspace, made.tasks), made.tasks, made.protocol, name
            )
        return now, *_views(workspace, made, now)

    def again(name: str, event: PageEvent) -> str:
        encoder, task, seed = _cell(event.id)
        return queue_evaluation(workspace, [encoder], [task], name or None, seed)

    def added(text: str, chosen: list[str]) -> tuple[Any, ...]:
        name = workspace.add_encoder(text)["name"]
        return choices.filled(workspace, list(dict.fromkeys([*chosen, name]))), "", ""

    parts.on_load(
        parts.telling(load, len(asked) + 6), None,
        [*asked, suite, following.run, *views, notice],
    )  # fmt: skip
    look = parts.telling(changed, 5)
    gr.on(
        [*(box.input for box in asked), following.moved.change],
        look, [suite, *asked], [suite, *views, notice], **ALWAYS_LAST,
    )  # fmt: skip
    suite.input(
        parts.telling(partial(_picked, workspace), 1 + len(groups)), [suite, protocol],
        [protocol, *groups.values(), notice], **ALWAYS_LAST,
    ).then(look, [suite, *asked], [suite, *views, notice], **ALWAYS_LAST)  # fmt: skip
    if not workspace.read_only:
        cost.click(
            parts.telling(partial(_estimated, workspace), 1),
            asked,
            [estimate, notice],
            **HIDE_PROGRESS,
        )
        go.click(
            parts.telling(partial(_start, workspace), 1),
            asked,
            [following.run, notice],
            scroll_to_output=True,
            **HIDE_PROGRESS,
        )
        results.act(parts.telling(again, 1), protocol, [following.run, notice], **HIDE_PROGRESS)
        named = gr.on([add.click, spec.submit], parts.telling(added, 3), [spec, encoders],
                      [encoders, spec, said, notice], **HIDE_PROGRESS)  # fmt: skip
        named.then(look, [suite, *asked], [suite, *views, notice], **ALWAYS_LAST)
    boxes = {"task" if name == "others" else name: box for name, box in groups.items()}
    address.keep(
        {"encoder": encoders, **boxes, "protocol": protocol, "seed": seed, "seeds": seeds,
         "run": following.run},
        {"seeds": 1},
    )  # fmt: skip


def _cell(id: str) -> tuple[str, str, int]:
    """Encoder, task and seed of a button beside a result.

    Raises:
        UserError: it is no such button's.
    """
    match id.split("\n"):
        case [encoder, task, seed] if seed.isascii() and seed.isdecimal() and len(seed) <= 10:
            return encoder, task, int(seed)
    raise UserError(f"There is no result {id[:40]!r} here.", "Load the page again.")


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """Fill the controls from the address."""
    run = address.first(request, "run")
    made = _asked(workspace, request, run)
    here = suites.groups(workspace, made.tasks)
    boxes, ticked = _boxes(here, made.tasks)
    made = replace(made, tasks=tuple(ticked))
    suite = suites.matching(
        here, ticked, made.protocol, address.first(request, "suite", suites.OWN)
    )
    return (
        choices.filled(workspace, made.encoders), made.protocol, made.seed, made.seeds, *boxes,
        suite, run, *_views(workspace, made, suite),
    )  # fmt: skip


def _picked(workspace: Workspace, suite: str, protocol: str) -> tuple[Any, ...]:
    """Tick the members of a suite, under a protocol that covers them."""
    if suite == suites.OWN:
        return tuple(gr.skip() for _ in (protocol, *GROUPS))
    here = suites.groups(workspace)
    boxes, ticked = _boxes(here, suites.members(suite, here))
    return suites.protocol_for(workspace, suite, ticked, protocol or ""), *boxes


def _ready(workspace: Workspace, *values: Any) -> Plan:
    """The plan, when there is anything to do.

    Raises:
        UserError: no encoder, no task, or none that the protocol covers.
    """
    made = _plan(*values)
    choices.need(made.encoders)
    if not made.tasks:
        raise UserError("No task was chosen.", "Choose a suite, or tick single tasks.")
    made = made.possible(workspace)
    if not made.tasks:
        raise UserError("The protocol covers none of these tasks.", "Choose another protocol.")
    return made


def _start(workspace: Workspace, *values: Any) -> str:
    """Queue what the plan says and return the run."""
    made = _ready(workspace, *values)
    return queue_evaluation(
        workspace, made.encoders, made.tasks, made.protocol or None, made.seed, seeds=made.seeds
    )


def _estimated(workspace: Workspace, *values: Any) -> Iterator[str]:
    """What it would cost, after a probe of a few seconds."""
    from app.pages.evaluate import costs

    workspace.refuse_visitors()
    made = _ready(workspace, *values)
    yield from costs.followed(
        costs.estimates(
            workspace, made.encoders, made.tasks, made.protocol or None, made.seed, made.seeds
        )
    )


def _single_tasks() -> dict[str, Any]:
    """The tasks one by one, by kind, out of sight until wanted."""
    with gr.Accordion("Single tasks", open=False, elem_id="single"):
        return {
            name: gr.CheckboxGroup([], label=label, info=info, show_select_all=True,
                                   elem_id=f"tasks-{name}")
            for name, (label, info) in GROUPS.items()
        }  # fmt: skip


def _buttons(workspace: Workspace) -> tuple[Any, Any]:
    with gr.Row(visible=not workspace.read_only, elem_classes="t-go"):
        go = gr.Button("Evaluate", variant="primary", elem_id="evaluate")
        cost = gr.Button("Estimate the cost", elem_id="cost")
    return go, cost


def _protocol_and_seeds() -> tuple[Any, Any, Any]:
    with gr.Row(equal_height=True):
        protocol = gr.Dropdown(
            [OWN_PROTOCOL, *((name, name) for name in OF_TASKS)], value="", label="Protocol",
            elem_id="protocol", filterable=False,
            info="The choices that move a score. Its card is below.",
        )  # fmt: skip
        seed = gr.Number(None, label="Seed", precision=0, minimum=0, elem_id="seed",
                         info="Empty: each protocol's own.")  # fmt: skip
        seeds = gr.Number(
            1, label="Seeds", precision=0, minimum=1, maximum=MOST_SEEDS, elem_id="seeds",
            info="How many in a row: together they say how far a score moves by chance.",
        )  # fmt: skip
    return protocol, seed, seeds


def _boxes(here: dict[str, list[str]], wanted: Sequence[str]) -> tuple[list[Any], list[str]]:
    """Updates of the boxes of single tasks, and what is ticked in all of them."""
    ticked = {kind: [task for task in names if task in wanted] for kind, names in here.items()}
    updates = [
        gr.update(choices=names, value=ticked[kind], visible=bool(names))
        for kind, names in here.items()
    ]
    return updates, [task for names in ticked.values() for task in names]


def _adding(workspace: Workspace) -> tuple[Any, Any, Any]:
    """A box for one more encoder that says while one writes whether it can be read."""
    with gr.Row(visible=not workspace.read_only):
        spec = gr.Textbox(
            label="Add one by its spec", elem_id="spec", scale=4, max_lines=1,
            placeholder="hf:BAAI/bge-small-en-v1.5, wordllama | whiten:starter,64, …",
            html_attributes=gr.InputHTMLAttributes(spellcheck=False, autocapitalize="none"),
        )  # fmt: skip
        add = gr.Button("Add", size="md", elem_id="add-spec")
    said = parts.static("", elem_id="spec-said")
    spec.change(_checked, spec, said, **ONE_AT_A_TIME)
    return spec, said, add


def _checked(text: str) -> str:
    """Whether a spec can be read, and how it is written canonically."""
    from engine import encoders

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


def _asked(workspace: Workspace, request: gr.Request, run: str) -> Plan:
    """The plan of the address; that of its run when it names nothing else."""
    from engine.tasks import STARTER

    wanted = [
        task
        for name in ("task", *GROUPS)
        for value in address.every(request, name)
        for task in value.split(",")
    ]
    suite = address.first(request, "suite")
    wanted += suites.members(suite, suites.groups(workspace))
    if run and not wanted and not address.every(request, "encoder"):
        job = job_of(workspace.store.runs.get(run))
        if isinstance(job, EvaluateJob):
            return Plan(job.encoders, job.tasks, job.seed, job.protocol or "", job.seeds)
    return Plan(
        tuple(choices.asked(workspace, request, choices.names(workspace))),
        tuple(wanted or STARTER),
        _whole(address.first(request, "seed")),
        _protocol(address.first(request, "protocol"), suite),
        min(max(_whole(address.first(request, "seeds")) or 1, 1), MOST_SEEDS),
    )


def _protocol(name: str, suite: str) -> str:
    """A protocol of the address; SentEval's list is that of its own protocol."""
    if name in OF_TASKS:
        return name
    return "senteval" if suite == "senteval" else ""


def _plan(encoders: list[str], protocol: str, seed: Any, seeds: Any, *groups: list[str]) -> Plan:
    """A plan of the page's controls."""
    return Plan(
        tuple(encoders), tuple(task for names in groups for task in names), _whole(seed),
        protocol or "", min(max(_whole(seeds) or 1, 1), MOST_SEEDS),
    )  # fmt: skip


def _whole(value: Any) -> int | None:
    text = "" if value is None else str(value)
    return int(float(text)) if text.replace(".", "", 1).isdecimal() else None


def _views(workspace: Workspace, made: Plan, suite: str) -> tuple[str, str, str, str]:
    """Members of the suite, cards, plan and results."""
    return (
        suites.shown(suite, suites.groups(workspace, made.tasks), made.tasks),
        plan.cards(workspace, made),
        plan.summary(workspace, made),
        plan.results(workspace, made),
    )
