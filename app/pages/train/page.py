"""The page *Train*: the form of an encoder's training, and sweeps over its settings."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.blocks import Block, Fold, Table
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.data import service as uploads
from theodolite.app.pages.data.job import MineSpec
from theodolite.app.pages.jobs.run_panel import RunPanel
from theodolite.app.pages.train.form import CLOSED, FOLLOW, NONE, OWN, PLAIN_TEXT, Form, Values
from theodolite.app.pages.train.job import READING, SweepSpec, TrainJob, first_examples
from theodolite.app.spec import parameters, words
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values as Namespace, on, shape
from theodolite.app.web.parts import HIDE_PROGRESS, ONE_AT_A_TIME
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import describe
from theodolite.engine.encoders.facts import column_prompts
from theodolite.engine.encoders.spec import transformer_of
from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import Setting, settings
from theodolite.engine.training.examples import FILES
from theodolite.engine.training.from_scratch import shape_of
from theodolite.engine.training.losses import LOSSES
from theodolite.engine.training.presets import STARTER, default_dev, presets
from theodolite.engine.training.spec import BASE, SIDED, TrainSpec

__all__ = ["CLOSED", "PATH", "TITLE", "build"]
TITLE = "Train"
PATH = "train"
DESCRIPTION = (
    "Train a sentence encoder with SimCSE or a loss of sentence-transformers. It runs in the "
    "background, with its curves on Trainings; the trained encoder is added to the encoders."
)
OBJECTIVES = (
    ("Supervised SimCSE: pairs with the same meaning, with hard negatives", "sup"),
    ("A loss of sentence-transformers: for pairs, triplets, scores, labels or a teacher", "st"),
    ("Unsupervised SimCSE: a sentence and itself under another dropout", "unsup"),
    ("Next sentence: a sentence and the one that follows it", "next-sentence"),
    ("Masked language modelling: pretrain a model of your own", "mlm"),
    ("Static: distil an encoder into a vector for each token, hundreds of times as fast", "static"),
)
NEW = "new:layers=4,hidden=256,heads=4,vocab=8000"
"""A small BERT with random weights."""
TRAINABLE = ("minilm", "hf", "dir")
_PAIRS = ("pairs", "labelled-pairs", "triplets", "retrieval", "parallel")
FITTING = {
    "sup": _PAIRS,
    "next-sentence": ("sentences",),
    "pairs": _PAIRS,
    "triplets": ("labelled-pairs", "triplets"),
    "scored": ("pairs", "labels"),
    "labelled-pairs": ("labelled-pairs", "labels"),
    "labelled": ("labels",),
}
"""Objective, or data of a loss -> kinds of data sets that it trains on; others take any."""
LONG = 150
"""Letters of a sentence of an example."""
MAX_LABELS = 6
"""Labels of runs in the preview of a sweep."""


class EncoderForm(Form):
    """The form of `theodolite train`."""

    job_type = TrainJob
    own = (
        Control("objective", "Objective", gr.Radio, "unsup", choices=OBJECTIVES),
        Control(
            "base",
            "Base",
            gr.Dropdown,
            choices=(),
            hint="An installed encoder, hf:NAME, dir:FOLDER, or new:… for a small BERT from "
            "scratch.",
        ),
        Control(
            "train",
            "Training data",
            gr.Dropdown,
            choices=(),
            hint="A data set, or the path of a file, which can be larger than memory; several "
            "with commas between.",
        ),
    )
    out = "my-encoder"
    following = ("train", "prompts")
    _last_examples: tuple[dict[str, Any], list[Block]] = ({}, [])

    def presets(self) -> Sequence[Any]:
        """Presets for this machine, and the paper's."""
        return presets(self.workspace.catalog)

    def defaults(self) -> dict[str, Any]:
        """The defaults, with an installed dev set."""
        return super().defaults() | {"dev": default_dev(self.workspace.catalog) or NONE}

    def offer(self, values: Values) -> Mapping[str, tuple[Sequence[Any], Any]]:
        """The bases, the data sets that fit the objective, own uploads first, and the dev sets."""
        bases = [
            row["name"]
            for row in self.workspace.store.encoders.list()
            if row["info"].get("kind") in TRAINABLE and not set("|+?") & set(row["name"])
        ]
        base = values["base"] or [*bases, "minilm"][0]
        objective, train = values["objective"] or "unsup", values["train"] or STARTER
        known = {info.name: info.kind for info in self.workspace.catalog.list()}
        wants = LOSSES[values["loss"]].data if objective == "st" else objective
        fitting = [name for name in known if known[name] in FITTING.get(wants, known.values())]
        uploads = [name for name in fitting if name.startswith("upload:")]
        sets = dict.fromkeys([*uploads, STARTER, *fitting, train])
        scored = [name for name in known if known[name] == "pairs"]
        dev = values["dev"] if values["dev"] in scored else NONE
        own = self._prompts_of(base, sided=wants in SIDED)
        return {
            "objective": (OBJECTIVES, objective),
            "base": ([*dict.fromkeys([*bases, "minilm", NEW, base])], base),
            "train": ([("Starter set" if n == STARTER else n, n) for n in sets], train),
            "dev": ([*scored, ("none: no scores, the last weights are kept", NONE)], dev),
            "prompts": ([(own, BASE), *[(NONE, NONE)] * (own != NONE)], values["prompts"]),
        }

    def spec(self, values: Values) -> TrainSpec:
        """The spec that the form describes."""
        spec: TrainSpec = super().spec(values)
        read_base: Any = shape_of if spec.base.startswith("new:") else transformer_of
        read_base(spec.base)
        return spec

    def plan(self, spec: TrainSpec) -> dict[str, str]:
        """The data, the duration, the selection of the best weights, and the output."""
        most = f", at most {formats.plural(spec.limit, 'example')}" if spec.limit else ""
        reads = f"{'The starter set' if spec.train == STARTER else spec.train}{most}."
        if spec.objective == "static":
            return {
                "Distils": f"{spec.base}, into a vector of {spec.dims} numbers for each token.",
                "Reads": reads,
                "Compares": f"Base and result on {spec.dev}." if spec.dev else "No scores.",
                "Result": "An encoder, listed as soon as it is made.",
            }
        passes = formats.plural(spec.steps, "step") if spec.steps else f"{spec.epochs:g} × the data"
        keeps = f"The best weights on {spec.dev}, evaluated every {spec.dev_every} steps."
        together = f", in {spec.processes} processes" if spec.processes > 1 else ""
        loss = LOSSES[spec.loss]
        learns = {"Learns": f"{loss.about}. From {loss.needs}."} if spec.objective == "st" else {}
        return learns | {
            "Starts from": self._start_of(spec),
            "Reads": reads,
            "Trains for": f"{passes}, {spec.batch_size} examples per batch{together}.",
            "Keeps": keeps if spec.dev else "The last weights.",
            "Result": "An encoder, listed as soon as it is trained; its curves are on Trainings.",
        }

    def examples(self, values: Values) -> list[Block]:
        """The first examples of each file and data set, under their columns."""
        own = settings(TrainSpec)
        options = {name: own[name].read(str(values[name])) for name in READING}
        inputs = {"train": values["train"], **options}
        known, blocks = self._last_examples
        if known == inputs:  # files may be large, and most settings do not matter to them
            return blocks
        tables_by_name = first_examples(self.workspace, **inputs)
        tables = [
            Table("examples", columns, [[formats.shorten(c, LONG) for c in row] for row in rows])
            for columns, *rows in tables_by_name.values()
        ]
        blocks = [Fold("First examples", tables)] if tables else []
        self._last_examples = inputs, blocks
        return blocks

    def _start_of(self, spec: TrainSpec) -> str:
        """The base, and which of its settings the training changes."""
        info = describe(spec.base) if self._may_read(spec.base) else {}
        own, most = info.get("pooling"), info.get("max_tokens") or 0
        pooled = f", with its own pooling, {own}" if own else ""
        if spec.pooling not in ("base", own):
            pooled = f", with pooling {spec.pooling}" + (
                f" instead of its own, {own}" if own else ""
            )
        keeps = spec.head == "mlp" and spec.objective not in ("mlm", "st")
        layer = ", and a new dense layer that stays" if keeps else ""
        facts = [f"{spec.base}{pooled}{layer}"]
        if spec.max_length < most:
            facts.append(f"Training reads {spec.max_length} of its {most} tokens")
        own = self._prompts_of(spec.base, sided=spec.has_sides)
        if own != NONE and spec.objective != "mlm":
            put = "stand before the columns" if spec.prompts == BASE else "are left out"
            facts.append(f"Its prompts {put}: {own}")
        return ". ".join(facts) + "."

    def _control(self, setting: Setting, first: Values) -> Control:
        control = super()._control(setting, first)
        if setting.name != "prompts":
            return control
        typed = {"filterable": True, "allow_custom_value": True, "min_width": 300}
        return replace(control, choices=(), options={**control.options, **typed})

    def _may_read(self, base: str) -> bool:
        """Whether the files of a base are read: those of a new one do not exist."""
        listed = not self.workspace.read_only or base in self.workspace.store.encoders.names()
        return listed and not base.startswith("new:")

    def _prompts_of(self, base: str, *, sided: bool) -> str:
        """The prompts of a base by column, as one types them."""
        try:
            prompts = column_prompts(base, sided=sided) if self._may_read(base) else ("",)
        except UserError:  # the plan says what is wrong with it
            return NONE
        if not prompts:
            return "those of the base, once it is downloaded"
        return " | ".join(map(str.strip, prompts)) if any(prompts) else NONE


_FIELDS = {parameter.name: parameter for parameter in parameters(SweepSpec)}


def _dropdown(name: str, none: str) -> Control:
    control = web.control(_FIELDS[name], filterable=False)
    choices = [(none, ""), *(control.choices or ())]
    return replace(control, box=gr.Dropdown, choices=choices, default="")


SWEEP = web.controls(
    SweepSpec,
    vary=web.control(
        _FIELDS["vary"],
        "One field per line, with its values; to draw from, also a range: 0.01..0.2, or "
        "1e-6..1e-4:log.",
        elem_id="sweep-values",
        elem_classes=["t-mono"],
        placeholder="temperature = 0.01, 0.05, 0.1",
        **PLAIN_TEXT | {"lines": 3, "max_lines": 8},
    ),
    draw=web.control(_FIELDS["draw"], "0: every combination.", minimum=0),
    ablation=_dropdown("ablation", "none"),
    scale=_dropdown("scale", "as above"),
)


_MINING = {parameter.name: parameter for parameter in parameters(MineSpec)}
MINE = (
    web.control(_MINING["negatives"], "The most for each pair."),
    replace(
        web.control(
            _MINING["relative_margin"],
            "0.05: at least 5 % less alike than the partner, since what is nearly as close is "
            "probably right.",
            step=0.01,
        ),
        default=0.05,
    ),
    web.control(
        _MINING["documents"], "A data set whose texts may be negatives too; empty: partners alone."
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    own, form = not workspace.read_only, EncoderForm(workspace)
    with form.layout(TITLE, DESCRIPTION):
        form.controls.render("objective")
        parts.section("Model and data")
        form.controls.render("base", "train", allow_custom_value=own)
        files = [*FILES, ".gz"]
        upload = gr.UploadButton(
            "Upload a file", file_types=files, elem_id="upload", size="md", visible=own
        )
        parts.static(
            '<p class="t-small t-muted">One sentence per line, or a table with sent0, sent1, '
            "hard_neg; also .gz.</p>",
            visible=own,
        )
        with gr.Accordion("Mine hard negatives", open=False, elem_id="mine", visible=False) as mine:
            mining = Mining(workspace)
        parts.section("Settings")
        form.place_settings()
        with gr.Accordion("Try several values at once", open=False, elem_id="sweep", visible=own):
            preview_on = _place_sweep(form)
    preview_on(form.reviewed.then)

    def keep(values: Namespace) -> Answer:
        """Add an uploaded file to the data sets, under a name that is free, and train on it."""
        workspace.refuse_visitors()
        if not values.upload:
            raise UserError("No file was given.", "Choose one.", code="missing")
        path = Path(values.upload)
        name = uploads.free_name(workspace, path.name)
        with uploads.bring([path]) as brought:
            file = brought.path
            mapping = uploads.mapping_of(file, None, None)
            row = uploads.keep(workspace, file, file.name, name, mapping, brought.notes)
        train = f"upload:{row['name']}"
        return _choose(form, values, train, f"Added as {train}.")

    mining.connect(form)
    shape(
        lambda objective: {mine: gr.update(visible=own and objective in ("sup", "st"))},
        {form.controls["objective"]: [value for _, value in OBJECTIVES]},
    )
    inputs = {**form.controls, "upload": upload}
    filled = [form.controls["train"], form.controls["preset"]]
    on(upload.upload, keep, inputs, filled, form.notice, show_progress_on=upload)


def _choose(form: EncoderForm, values: Namespace, train: str, message: str) -> Answer:
    """Train on a data set that was just added."""
    choices, _ = form.offer(vars(values) | {"train": train})["train"]
    return {
        form.controls["train"]: gr.update(choices=choices, value=train),
        form.controls["preset"]: OWN,
        form.notice: parts.say(message, "t-good"),
    }


class Mining:
    """The fold that makes triplets of the chosen pairs, by the base."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace, self.controls = workspace, Controls(*MINE)
        parts.static(
            '<p class="t-small t-muted">Each of the pairs chosen above gets texts that the base '
            "takes for near ones and that are none of its partners. They become a data set of "
            "triplets, which is then chosen.</p>"
        )
        with gr.Row(elem_classes="t-fields"):
            self.controls.render(*self.controls.declared, min_width=150)
        self.go = gr.Button("Mine", elem_id="start-mining")
        self.notice = parts.notice()
        self.panel = RunPanel(workspace)

    def connect(self, form: EncoderForm) -> None:
        """Attach the events: the form's values say what is mined, and it gets the triplets."""
        inputs = {**form.controls, **self.controls, "run": self.panel.run}
        on(self.go.click, self._start, inputs, [self.panel.run], self.notice, **HIDE_PROGRESS)

        def choose(values: Namespace) -> Answer:
            run = self.workspace.store.runs.get(values.run) if values.run else None
            if run is None or run["state"] != "done":
                return None
            data_set = MineSpec.from_spec(run["spec"]).result_name
            return _choose(form, values, data_set, f"{data_set} is chosen.")

        moved, filled = self.panel.moved.change, [form.controls["train"], form.controls["preset"]]
        on(moved, choose, inputs, filled, form.notice, **HIDE_PROGRESS)

    def _start(self, values: Namespace) -> Answer:
        if not values.train:
            raise UserError("No pairs are chosen.", "Choose training data.", code="missing")
        pairs = "starter-pairs" if values.train == STARTER else values.train
        stem = pairs.partition(",")[0].rpartition("/")[2].removeprefix("upload:")
        spec = MineSpec(
            pairs=pairs,
            name=uploads.free_name(self.workspace, f"{uploads.name_for(stem)}-mined"),
            encoder="minilm" if values.base.startswith("new:") else values.base,
            **{name: getattr(values, name) for name in self.controls},
        )
        return {self.panel.run: queue(self.workspace, spec)}


def _place_sweep(form: EncoderForm) -> Callable[[Any], None]:
    """Lay out the fold of a sweep, whose trainings share the other values of the form.

    Returns:
        Has an event update the preview.
    """
    controls, workspace = Controls(*SWEEP), form.workspace
    controls.render("vary")
    with gr.Row(elem_classes="t-fields"):
        controls.render("draw", "draw_seed", min_width=150)
    with gr.Row(elem_classes="t-fields"):
        controls.render("ablation", min_width=320)
        controls.render("scale", "seeds", min_width=150)
    preview = parts.static("", elem_id="sweep-preview")
    go = gr.Button("Start the sweep", elem_id="start-sweep")
    notice = parts.notice()
    started = gr.Textbox(visible="hidden", label="Sweep", elem_id="started-sweep")
    inputs = {**controls, **form.controls}

    def sweep(values: Namespace) -> SweepSpec:
        fields: dict[str, Any] = {one.name: getattr(values, one.name) or None for one in SWEEP}
        lines = (values.vary or "").splitlines()
        fields["vary"] = [re.sub(r"\s*([=,:])\s*", r"\1", line.strip()) for line in lines if line]
        return SweepSpec(**fields)

    def show(values: Namespace) -> Answer:
        if not (values.vary.strip() or values.ablation):
            return {preview: ""}
        base, spec = form.spec(vars(values)), sweep(values)
        labels = spec.job(workspace, base).units()
        more = [f"and {len(labels) - MAX_LABELS} more"] if len(labels) > MAX_LABELS else []
        items = [f"<li>{escape(label)}</li>" for label in [*labels[:MAX_LABELS], *more]]
        command = [*form.command(base), *words(spec)]
        command[1] = "sweep"
        return {
            preview: f'<p role="status">{formats.plural(len(labels), "run")}, one after the other:'
            f'</p><ul class="t-members">{"".join(items)}</ul>{parts.command(command)}'
        }

    def start(values: Namespace) -> Answer:
        return {started: queue(workspace, sweep(values).job(workspace, form.spec(vars(values))))}

    def preview_on(events: Any) -> None:
        on(events, show, inputs, [preview], notice, **ONE_AT_A_TIME)

    preview_on([box.change for box in controls.values()])
    on(go.click, start, inputs, [started], notice, **HIDE_PROGRESS)
    started.change(None, started, js=FOLLOW)
    return preview_on
