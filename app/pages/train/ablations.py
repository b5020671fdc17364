"""The fold of the page *Train* that queues the rows of a table of the paper as one sweep."""

from __future__ import annotations

from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import formats
from theodolite.app.components.actions import actions, button
from theodolite.app.pages.train.sweep import LEAVE
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.training.ablations import Ablation
    from theodolite.engine.training.spec import TrainSpec

DESCRIPTION = (
    "Train every row of a table of SimCSE's paper, from a base and at a scale of your own, and see "
    "whether the differences point the same way. Tables are numbered as in its last version."
)
FIRST_SEED = 42
MAX_SEEDS = 5
DEFAULT_SCALE = "try"


def build(workspace: Workspace) -> None:
    """Lay out the fold; queued sweeps are followed on *Trainings*."""
    if workspace.read_only:
        return
    controls = _controls()
    with gr.Accordion("Ablations of the paper", open=False, elem_id="ablation") as fold:
        parts.static(f'<p class="t-small t-muted">{DESCRIPTION}</p>')
        with gr.Row(elem_classes="t-fields"):
            controls.render(*controls.declared)
        notice = parts.notice()
        # Filled at build time: an update on page load could overtake a choice of seeds.
        tables = actions(_tables(1), elem_id="ablations")
        queued = gr.Textbox(visible="hidden", label="Queued", elem_id="ablation-queued")

    def fill(values: Values) -> Answer:
        from theodolite.app.pages.train.choices import bases, datasets

        offered = bases(workspace)
        found = {"base": (offered, offered[0])} | {
            name: (datasets(workspace, of), _preset(workspace, of)["train"])
            for name, of in (("texts", "unsup"), ("pairs", "sup"))
        }
        return {
            controls[name]: gr.update(choices=choices, value=getattr(values, name) or usual)
            for name, (choices, usual) in found.items()
        }

    def queue(values: Values, event: PageEvent) -> Answer:
        return {queued: _queue(workspace, event.id, values)}

    filled = [controls[name] for name in ("base", "texts", "pairs")]
    on(fold.expand, fill, controls, filled, notice, **HIDE_PROGRESS)
    on(
        controls["seeds"].input,
        lambda n: {tables: _tables(int(n))},
        [controls["seeds"]],
        [tables],
        notice,
        **HIDE_PROGRESS,
    )
    on(tables.act, queue, controls, [queued], notice, **HIDE_PROGRESS)
    queued.change(None, queued, js=LEAVE)


def _controls() -> Controls:
    """Controls that the runs of every table share."""
    from theodolite.engine.training.ablations import SCALES

    def dropdown(name: str, label: str, hint: str | None = None) -> Control:
        return Control(
            name,
            label,
            gr.Dropdown,
            hint=hint,
            options={"choices": [], "elem_id": f"ablation-{name}", "min_width": 200},
        )

    return Controls(
        dropdown("base", "Base"),
        dropdown("texts", "Sentences", "For the unsupervised tables."),
        dropdown("pairs", "Pairs", "For the supervised ones."),
        Control(
            "scale",
            "Scale",
            gr.Radio,
            DEFAULT_SCALE,
            choices=[(found.label, name) for name, found in SCALES.items()],
            options={"elem_id": "ablation-scale"},
        ),
        Control(
            "seeds",
            "Seeds of each row",
            gr.Radio,
            "1",
            choices=[str(n) for n in range(1, MAX_SEEDS + 1)],
            options={"elem_id": "ablation-seeds"},
        ),
    )


def _preset(workspace: Workspace, objective: str) -> dict[str, Any]:
    """The fields of a spec that the presets for this machine set."""
    from theodolite.app.pages.train.service import EncoderTraining

    presets = EncoderTraining(workspace).presets()
    changes: dict[str, Any] = next(p.changes for p in presets if p.name == f"here-{objective}")
    return changes


def _tables(seeds: int) -> str:
    """Every table with its button."""
    from theodolite.engine.training.ablations import ABLATIONS

    items = "".join(_table(ablation, seeds) for ablation in ABLATIONS.values())
    return f'<ul class="t-runs t-tables" aria-label="Tables of the paper">{items}</ul>'


def _table(ablation: Ablation, seeds: int) -> str:
    runs = formats.plural(len(ablation.rows) * seeds, "run")
    go = button(
        f"Queue {runs}",
        "queue",
        ablation.name,
        about=f"Queue {runs}: Table {ablation.table}, {ablation.title}",
    )
    rows = "; ".join(row.label for row in ablation.rows)
    missing = f" Not here: {ablation.left_out}" if ablation.left_out else ""
    kind = "supervised" if ablation.objective == "sup" else "unsupervised"
    return (
        f"<li><div>Table {escape(ablation.table)}</div>"
        f"<div><strong>{escape(ablation.title)}</strong>"
        f' <span class="t-muted">{kind}</span><p>{escape(rows)}.{escape(missing)}</p></div>'
        f'<div class="t-verbs">{go}</div></li>'
    )


def _queue(workspace: Workspace, name: str, values: Values) -> str:
    """Queue a table; return the id of the sweep's run."""
    from theodolite.app.jobs import submit
    from theodolite.app.pages.train.sweep_job import SweepJob
    from theodolite.engine.training import ablations, sweeps
    from theodolite.engine.training.ablations import ABLATIONS, scaled

    if name not in ABLATIONS:
        raise UserError(
            f"There is no table {name[:40]!r}.", "Choose one of the list.", code="unknown"
        )
    ablation = ABLATIONS[name]
    spec = scaled(_spec(workspace, ablation, values), values.scale)
    drawn = range(FIRST_SEED, FIRST_SEED + int(values.seeds))
    children = sweeps.seeded(ablations.children(name, spec), drawn)
    title = f"Table {ablation.table}: {ablation.title.lower()}, {_shortly(spec)}"
    if len(drawn) > 1:
        title += f", {len(drawn)} seeds"
    return submit.queue(workspace, SweepJob.of(workspace, spec, children), title=title)


def _spec(workspace: Workspace, ablation: Ablation, values: Values) -> TrainSpec:
    """The spec that the rows change: this machine's preset with the chosen base and data."""
    from theodolite.engine.training.spec import TrainSpec

    preset = _preset(workspace, ablation.objective)
    data = values.pairs if ablation.objective == "sup" else values.texts
    if not values.base or not data:
        raise UserError("Base or data is missing.", "Choose both above the tables.", code="missing")
    spec = TrainSpec.from_dict(preset | {"base": values.base, "train": data, "out": ""})
    return replace(spec, micro_batch=None)


def _shortly(spec: TrainSpec) -> str:
    of = "all of" if spec.limit is None else f"{spec.limit:,} of"
    return f"{spec.base} on {of} {spec.train}"
