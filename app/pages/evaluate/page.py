"""The page *Evaluate*: choose encoders and tasks, start a run, follow it, come back to it."""

import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats, suites
from theodolite.app.blocks import Block, Caveat, Caveats, Code, Fold, Link, Links, Text
from theodolite.app.jobs.kinds import job_of
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.evaluate.answer import protocol_card, table
from theodolite.app.pages.evaluate.estimate import estimate
from theodolite.app.pages.evaluate.job import EvaluateJob, Key, start
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.results import Row
from theodolite.app.spec import parameters
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.errors import UserError
from theodolite.engine.given import names_in
from theodolite.engine.protocols import OF_TASKS
from theodolite.engine.rankers import parse
from theodolite.engine.stats import spread
from theodolite.engine.tasks import (
    MTEB_HERE,
    PROBING,
    SEVEN,
    STARTER,
    SUITES,
    TASKS,
    Task,
    available,
    in_order,
)
from theodolite.store.errors import NoSuchRun

TITLE = "Evaluate"
PATH = "evaluate"
DESCRIPTION = (
    "Evaluate encoders on tasks. The run continues in the background: you can close the tab "
    "and come back to the same address later."
)
READ_BYTES = 4_000_000
"""Data that is read to say which texts will be cut, while a person chooses."""
OWN = "own"


class Suite(NamedTuple):
    """A suite of tasks as the page offers it.

    Attributes:
        label, about: what it is.
        families: whose tasks it has, if it is not one of `SUITES`.
    """

    label: str
    about: str
    families: Sequence[str] = ()


MAX_ENCODERS = 100
OTHERS = "Other data"
_BUILT_IN = {"Starter set": STARTER, "Similarity": SEVEN, "Probing": PROBING, "Transfer": TASKS}
_BY_TYPE = {
    "few-shot": "Few-shot classification",
    "clustering": "Clustering",
    "pair-classification": "Pair classification",
    "document-retrieval": "Retrieval",
    "reranking": "Reranking",
    "bitext": "Bitext mining",
    "summarization": "Summarization",
}
FAMILIES = ("Starter set", "Similarity", "Transfer", "Probing", *_BY_TYPE.values(), OTHERS)
OFFERED = {
    "starter": Suite("Starter set", "Small, written for this app and included in it."),
    "sts": Suite(
        "The 7 STS tasks", "Spearman of the cosine and the gold score; nothing is trained."
    ),
    "transfer": Suite(
        "The 7 transfer tasks of SimCSE's table 7",
        "A classifier is trained on the vectors, as in SimCSE's table of transfer tasks.",
    ),
    "senteval": Suite(
        "SentEval, the full list",
        "Every task of SentEval that trains a model. STS-B and SICK-R are the trained regressor "
        "here, not the cosine.",
    ),
    "probing": Suite(
        "The 10 probing tasks",
        "What can be predicted from the vectors about the form of a sentence.",
    ),
    MTEB_HERE: Suite(
        "All MTEB-type data on this machine",
        "All sets in the data folder except scored pairs, each scored as MTEB scores its type, by "
        "our own code.",
        (*_BY_TYPE.values(),),
    ),
    "others": Suite(
        OTHERS,
        "Uploads, and all other available sets of scored pairs or for probing.",
        (OTHERS,),
    ),
    "all": Suite("All available", "Every task whose data is available.", FAMILIES),
    OWN: Suite("My own choice", "Choose single tasks below."),
}


def tasks_here(workspace: Workspace) -> dict[str, str]:
    """Tasks with available data -> the family of each, family by family."""
    tasks = {task.name: task for task in available(workspace.catalog)}
    families = {name: _family(tasks[name]) for name in in_order(tasks)}
    return dict(sorted(families.items(), key=lambda item: FAMILIES.index(item[1])))


def _family(task: Task) -> str:
    own = task.dataset.startswith(("upload:", "hub:"))
    usual = OTHERS if own else _BY_TYPE.get(task.type, OTHERS)
    return next((family for family, names in _BUILT_IN.items() if task.name in names), usual)


def members(suite: str, here: Mapping[str, str]) -> list[str]:
    """All tasks of a suite, including those without data; none of one's own choice."""
    families = OFFERED[suite].families
    return [task for task in here if here[task] in families] or list(SUITES.get(suite, ()))


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
        choices=[(suite.label, name) for name, suite in OFFERED.items()],
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION), parts.more("Protocol and seeds"):
        controls.render("protocol", "seed", "seeds")
    with gr.Row(elem_classes=["t-desk"]):
        with gr.Column(scale=5, min_width=320, elem_classes=["t-answer"]):
            options = {"info": None, "allow_custom_value": False} if workspace.read_only else {}
            controls.render("encoders", **options)
            controls.render("suite")
            about = web.answer(elem_id="about-suite")
            controls.render("tasks")
        with gr.Column(scale=4, min_width=320, elem_classes=["t-beside"]):
            plan = web.answer(elem_id="plan")
            with gr.Row(visible=not workspace.read_only, elem_classes="t-go"):
                go = gr.Button("Evaluate", variant="primary", elem_id="evaluate")
                cost = gr.Button("Estimate the cost", elem_id="cost")
            estimated = web.answer(elem_id="estimate")
            if workspace.read_only:
                no_runs = "Visitors cannot start runs here. On your own machine, use the command."
                parts.static(parts.say(no_runs))
            notice = parts.notice()
            panel = RunPanel(workspace)
    results = web.answer(elem_id="results")
    declared, outputs = list(controls.values()), [about, plan, results]
    run = controls.add("run", panel.run)

    def load(request: gr.Request) -> Answer:
        values = _from_address(workspace, controls, request)
        values.encoders = choices.fill(workspace, values.encoders, rankers=True)
        values.tasks = _offer(tasks_here(workspace), values.tasks)
        return {controls[name]: value for name, value in vars(values).items()}

    def show(values: Values) -> Answer:
        asked = _job(values)
        job = asked.covered(workspace)
        return {
            about: web.value(_about(values.suite or OWN, tasks_here(workspace))),
            plan: web.value(_plan(workspace, asked, job)),
            results: web.value(_results(workspace, job)),
        }

    def pick(values: Values) -> Answer:
        return {controls[name]: value for name, value in _members(workspace, values).items()}

    def begin(values: Values) -> Answer:
        return {run: start(workspace, _ready(workspace, values))}

    def guess(values: Values) -> Iterator[Answer]:
        for answer in estimate(workspace, _ready(workspace, values)):
            yield {estimated: web.value(answer.blocks())}

    again = (show, controls, outputs, notice)
    suite, own = controls["suite"], {controls["suite"]: OWN}
    opened = on_load(load, [*declared, run], notice)
    filled = [controls["protocol"], controls["tasks"]]
    picked = on(suite.input, pick, controls, filled, notice, **ALWAYS_LAST)
    edited = on(controls["tasks"].input, lambda: own, None, own, notice, **HIDE_PROGRESS)
    asks = [controls[name].input for name in ("protocol", "seed", "seeds")]
    # A spec that is written fires no other event than `change`.
    on([*asks, controls["encoders"].change, panel.moved.change], *again, **ALWAYS_LAST)
    for before in (opened, picked, edited):
        on(before.then, *again, **ALWAYS_LAST)
    controls.keep()
    if not workspace.read_only:
        on(cost.click, guess, controls, [estimated], notice, **HIDE_PROGRESS)
        on(go.click, begin, controls, [run], notice, **HIDE_PROGRESS)


def _members(workspace: Workspace, values: Values) -> dict[str, Any]:
    """The members of a suite in the list of tasks, under a protocol that covers them."""
    if values.suite in (None, OWN):
        return {}
    here = tasks_here(workspace)
    tasks = [task for task in members(values.suite, here) if task in here]
    job = EvaluateJob((), tasks, values.protocol or None)
    # SentEval scores STS-B and SICK-R with a trained regressor, not by their own protocol.
    usual = "senteval" if values.suite == "senteval" else ""
    covers = job.covered(workspace) == job and (values.protocol or not usual)
    return {"protocol": values.protocol if covers else usual, "tasks": _offer(here, tasks)}


def _ready(workspace: Workspace, values: Values) -> EvaluateJob:
    """The evaluation to start, if it has an encoder and a task that the protocol scores."""
    choices.need(values.encoders, most=MAX_ENCODERS)
    if not values.tasks:
        raise UserError("No task chosen.", "Choose a suite or single tasks.", code="missing")
    job = _job(values).covered(workspace)
    if not job.tasks:
        raise UserError(
            "The protocol covers none of these tasks.",
            "Choose another protocol.",
            code="unsupported",
        )
    return job.resolve(workspace)


def _offer(here: Mapping[str, str], tasks: Sequence[str]) -> Any:
    """An update of the list of tasks, each with its family."""
    every = [(f"{name} · {here[name]}", name) for name in here]
    others = [task for task in tasks if task not in here]  # of the hub, or as the plan says unknown
    selection = [*(task for task in here if task in tasks), *others]
    return gr.update(choices=[*every, *others], value=selection)


def _from_address(workspace: Workspace, controls: Controls, request: gr.Request) -> Values:
    """The evaluation in the address, or that of its run if it names nothing else."""
    values = controls.from_address(request)
    values.run = address.first(request, "run")
    values.tasks = [*names_in(*values.tasks)]
    job = None
    if values.run and not values.tasks and not address.every(request, "encoder"):
        with suppress(NoSuchRun):  # as the panel of the run says
            job = job_of(workspace.store.runs.get(values.run))
    if isinstance(job, EvaluateJob):
        vars(values).update({name: getattr(job, name) for name in _FIELDS})
    else:
        usual = choices.names(workspace)
        usual = usual if len(usual) <= choices.MAX_ENCODERS else []
        values.encoders = choices.from_address(workspace, request, usual, MAX_ENCODERS)
    values.suite = values.suite or (OWN if values.tasks else "starter")
    if not values.tasks:
        here = tasks_here(workspace)
        values.tasks = [task for task in members(values.suite, here) if task in here]
    if values.suite == "senteval" and not values.protocol:
        values.protocol = "senteval"
    values.protocol = values.protocol or ""
    return values


def _job(values: Values) -> EvaluateJob:
    """The evaluation that the controls describe."""
    job = web.spec_of(EvaluateJob, values)
    names = [str(parse(spec)) for spec in job.encoders]
    return replace(job, encoders=names, protocol=job.protocol or None)


def _about(suite: str, here: Mapping[str, str]) -> list[Block]:
    """What a suite is, which of its tasks have no files, and where files belong."""
    names, text = members(suite, here), OFFERED[suite].about
    missing = [name for name in names if name not in here]
    if missing:
        text += (
            f" No files here: {', '.join(missing)}. They belong in the data folder that --data or "
            "THEODOLITE_DATA names, in SentEval's layout."
        )
    elif not names and suite != OWN:
        text += " None is available yet. Add your own files on the page Data."
    return [Text("", text)]


def _plan(workspace: Workspace, asked: EvaluateJob, job: EvaluateJob) -> list[Block]:
    """The evaluation that the button would start, and the equivalent command.

    Args:
        workspace: its store has results.
        asked: what is chosen.
        job: that without the tasks that its protocol does not score.
    """
    if not asked.encoders or not asked.tasks:
        return [Text("", f"Choose {'a task' if asked.encoders else 'an encoder'} to go on.")]
    warnings = job.warnings(workspace, READ_BYTES)
    if left_out := [task for task in asked.tasks if task not in job.tasks]:
        warnings.append(
            f"{job.protocol} does not say how to score {', '.join(left_out)}, so they are left "
            "out. Choose another protocol, or each task's own."
        )
    caveats = Caveats([Caveat(text) for text in warnings])
    if not job.tasks:
        return [caveats]
    keys = set(job.keys(workspace.catalog))
    rows = [row for row in _rows(workspace, job) if _key(row) in keys]
    failed = sum(row["error"] is not None for row in rows)
    stored = len(rows) - failed
    words = f"{stored} already stored and not computed again" if stored else "none stored yet"
    text = (
        f"{formats.plural(len(job.encoders), 'encoder')} on "
        f"{formats.plural(len(job.tasks), 'task')}: {formats.plural(len(keys), 'result')}, {words}"
    )
    text += f"; {failed} failed before and would be tried again." if failed else "."
    return [caveats, Text("", text), Code([shlex.join(job.command())])]


def _rows(workspace: Workspace, job: EvaluateJob) -> list[dict[str, Any]]:
    """Stored results of these encoders and tasks under the job's protocols, with any seed."""
    rows = workspace.store.results.table(encoders=job.encoders, tasks=job.tasks)
    names = {task: job.protocol_of(task, workspace.catalog).name for task in job.tasks}
    return [row for row in rows if row["protocol"] == names[row["task"]]]


def _key(row: Row) -> Key:
    return row["encoder"], row["task"], row["seed"]


def _results(workspace: Workspace, job: EvaluateJob) -> Iterator[Block]:
    """The stored results, of several seeds the first with the spread over all; protocols."""
    stored = _rows(workspace, job)
    rows = {_key(row): row for row in stored}
    keys = sorted(job.keys(workspace.catalog), key=lambda key: job.tasks.index(key[1]))
    there = [key for key in keys if key in rows]
    first = {key[:2]: key for key in reversed(there) if rows[key]["error"] is None}
    visible = [rows[key] for key in there if rows[key]["error"] or first[key[:2]] == key]
    if visible:
        under = {"protocol": job.protocol} if job.protocol else {}
        compared: Mapping[str, Sequence[str]] = {"encoder": job.encoders, "task": job.tasks}
        left = f"{formats.plural(len(keys) - len(there), 'result')} not there yet."
        yield Text("Results", left if len(keys) > len(there) else "")
        yield table(visible, spread.spreads(stored))
        suite = suites.suite_of(workspace, job.tasks)
        yield Links(
            [
                Link("Compare them", "compare", {**compared, **under}),
                Link("Rank them", "board", {"suite": suite, **under}),
                Link("See all scores", ""),
            ]
        )
    used: dict[str, list[str]] = {}
    for task in job.tasks:
        used.setdefault(job.protocol_of(task, workspace.catalog).name, []).append(task)
    for name, tasks in used.items():
        if name in protocols.PROTOCOLS:
            title = f"Protocol {name}: {formats.listed(tasks, 6)}"
            yield Fold(title, protocol_card(name))
