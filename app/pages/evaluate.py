"""The page *Evaluate*: choose encoders and tasks, start, follow, come back."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import address, parts, protocol_card
from app.components.actions import actions
from app.pages import choices, plan
from app.pages.following import Following
from app.pages.plan import Plan
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Evaluate"
PATH = "evaluate"
LEAD = (
    "Measure encoders on tasks. It runs in the background: close the tab, come back to the same "
    "address and find it done."
)
GROUPS = {
    "starter": ("Starter set", "Written by us, small, ships with the app."),
    "sts": ("STS, the seven of SimCSE's tables", "Spearman of cosine and gold score."),
    "senteval": ("SentEval: transfer and probing", "A classifier is trained on the vectors."),
    "others": ("Other scored pairs and uploads", "Every set of scored pairs is a task."),
}


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, LEAD)
    encoders = choices.encoder_box()
    spec, said, add = _adding(workspace)
    groups = {
        name: gr.CheckboxGroup([], label=label, info=info, show_select_all=True,
                               elem_id=f"tasks-{name}", visible=name in ("starter", "sts"))
        for name, (label, info) in GROUPS.items()
    }  # fmt: skip
    absent = parts.static("", elem_id="absent")
    cards = parts.static("", elem_id="protocols")
    with gr.Accordion("Seed", open=False):
        seed = gr.Number(None, label="Seed", precision=0, minimum=0, elem_id="seed",
                         info="Empty: each protocol's own. It draws the folds.")  # fmt: skip
    summary = parts.static("", elem_id="plan")
    go = gr.Button("Evaluate", variant="primary", elem_id="evaluate",
                   visible=not workspace.read_only)  # fmt: skip
    if workspace.read_only:
        parts.static(parts.say("Visitors cannot start runs here. The command does it elsewhere."))
    notice = parts.notice()
    following = Following(workspace)
    results = actions(elem_id="results")

    controls = [encoders, *groups.values(), seed]
    views = [summary, results]
    quiet = {"show_progress": "hidden"}

    def load(request: gr.Request) -> tuple[Any, ...]:
        run = address.first(request, "run")
        chosen, wanted, number = _asked(workspace, request, run)
        here = plan.task_groups(workspace, wanted)
        ticked = [[task for task in names if task in wanted] for names in here.values()]
        boxes = [
            gr.update(choices=names, value=value, visible=bool(names))
            for names, value in zip(here.values(), ticked, strict=True)
        ]
        return (
            choices.filled(workspace, chosen), *boxes, number, run, _absent(here), _cards(here),
            *_views(workspace, _plan(chosen, *ticked, number)),
        )  # fmt: skip

    def changed(*values: Any) -> tuple[str, str]:
        return _views(workspace, _plan(*values))

    def start(*values: Any) -> tuple[str, str, str]:
        made = _plan(*values)
        choices.need(made.encoders)
        if not made.tasks:
            raise UserError("No task was chosen.", "Tick at least one.")
        run = workspace.queue_evaluation(made.encoders, made.tasks, seed=made.seed)
        return run, *_views(workspace, made)

    def again(number: Any, event: gr.EventData) -> str:
        name, task = event.id.split("\n")
        return workspace.queue_evaluation([name], [task], seed=_seed(number))

    def added(text: str, chosen: list[str]) -> tuple[Any, ...]:
        name = workspace.add_encoder(text)["name"]
        return choices.filled(workspace, list(dict.fromkeys([*chosen, name]))), "", ""

    parts.on_load(
        parts.telling(load, 11), None,
        [encoders, *groups.values(), seed, following.run, absent, cards, *views, notice],
    )  # fmt: skip
    gr.on(
        [*(box.input for box in controls), following.moved.change],
        parts.telling(changed, 2), controls, [*views, notice], trigger_mode="always_last", **quiet,
    )  # fmt: skip
    if not workspace.read_only:
        go.click(
            parts.telling(start, 3), controls, [following.run, *views, notice],
            scroll_to_output=True, **quiet,
        )  # fmt: skip
        results.act(parts.telling(again, 1), seed, [following.run, notice], **quiet)
        named = gr.on([add.click, spec.submit], parts.telling(added, 3), [spec, encoders],
                      [encoders, spec, said, notice], **quiet)  # fmt: skip
        named.then(parts.telling(changed, 2), controls, [*views, notice], **quiet)
    boxes = {"task" if name == "others" else name: box for name, box in groups.items()}
    address.keep({"encoder": encoders, **boxes, "seed": seed, "run": following.run})


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
    spec.change(_checked, spec, said, show_progress="hidden", trigger_mode="always_last")
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


def _asked(
    workspace: Workspace, request: gr.Request, run: str
) -> tuple[list[str], list[str], int | None]:
    """Encoders, tasks and seed of the address; of its run when it names nothing else."""
    from engine.tasks import STARTER

    wanted = [
        task
        for name in ("task", *GROUPS)
        for value in address.every(request, name)
        for task in value.split(",")
    ]
    number = address.first(request, "seed")
    seed = int(number) if number.isdecimal() else None
    if run and not wanted and not address.every(request, "encoder"):
        spec = workspace.store.runs.get(run)["spec"]
        return list(spec.get("encoders", [])), list(spec.get("tasks", [])), spec.get("seed")
    chosen = choices.asked(workspace, request, choices.names(workspace))
    return chosen, wanted or list(STARTER), seed


def _plan(encoders: list[str], *chosen: Any) -> Plan:
    """A plan of the page's controls: encoders, the tasks of each group, the seed."""
    *groups, seed = chosen
    return Plan(tuple(encoders), tuple(task for names in groups for task in names), _seed(seed))


def _seed(value: Any) -> int | None:
    return None if value is None or value == "" else int(value)


def _views(workspace: Workspace, made: Plan) -> tuple[str, str]:
    return plan.summary(workspace, made), plan.results(workspace, made)


def _absent(here: dict[str, list[str]]) -> str:
    """Which of the seven have no files here, and where these would belong."""
    from engine.tasks import SEVEN

    missing = [name for name in SEVEN if name not in here["sts"]]
    if not missing:
        return ""
    return (
        f'<p class="t-small t-muted">No files here for {escape(", ".join(missing))}: they belong '
        "in the data folder that --data or THEODOLITE_DATA names, in SentEval's layout.</p>"
    )


def _cards(here: dict[str, list[str]]) -> str:
    """The card of every protocol that a task here is measured under."""
    from engine import protocols
    from engine.tasks import TASKS

    used: dict[str, list[str]] = {}
    for names in here.values():
        for name in names:
            if name in TASKS:
                used.setdefault(TASKS[name].protocol, []).append(name)
    return "".join(
        f'<details class="t-protocol"><summary>Protocol <strong>{escape(name)}</strong> '
        f"<span>{escape(', '.join(tasks))}</span></summary>{protocol_card.card(name)}</details>"
        for name, tasks in used.items()
        if name in protocols.PROTOCOLS
    )
