"""The page *Train*: a form, the command it equals, what it will cost, and the start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.pages.train import fill as train_fill
from app.pages.train import form, form_parts
from app.pages.train import sweep as train_sweep
from app.pages.train.fill import NAMES, OWN
from app.pages.train.sweep import LEAVE
from app.web import address, background_call, parts
from app.web.parts import ALWAYS_LAST, ONE_AT_A_TIME
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.training.estimate import TrainEstimate
    from engine.training.spec import TrainSpec

TITLE = "Train"
PATH = "train"
DESCRIPTION = (
    "Train a sentence encoder with the objectives of SimCSE. It runs in the background, its curves "
    "are on Runs, and when it is done it stands among the encoders."
)
BASES = [("One at hand", "known"), ("A new small BERT", "new"), ("By its spec", "spec")]
SOURCES = [("Data here", "here"), ("Upload a file", "upload"), ("A file on this machine", "file")]
ENDINGS = [".txt", ".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".gz"]
LOOKED_AT = 1000
"""Examples of the data that are looked at before a run is queued."""


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    with gr.Row(elem_classes="t-desk"):
        with gr.Column(scale=5, min_width=320):
            preset = gr.Dropdown([], label="Preset", elem_id="preset", filterable=False,
                                 info="Settings to begin with: the paper's, or sane ones for this "
                                 "machine.")  # fmt: skip
            about = parts.static("", elem_id="preset-about")
            controls, boxes, upload = _controls(workspace)
            sweep = train_sweep.Sweep(workspace)
        with gr.Column(scale=3, min_width=320, elem_classes="t-beside"):
            side = form_parts.Side(workspace, "Estimate time and memory")
    asked = [controls[name] for name in NAMES]
    hidden = {
        name: gr.Textbox(visible="hidden", label=name, elem_id=f"kept-{name}")
        for name in ("base", "train")
    }
    state = [*hidden.values()]
    begun = gr.State(OWN)  # the preset that the form was filled with, left or not

    def load(request: gr.Request) -> tuple[Any, ...]:
        return train_fill.load(workspace, request)

    def picked(name: str) -> tuple[Any, ...]:
        return train_fill.picked(workspace, name)

    def typed(begun: str, *values: Any) -> tuple[Any, ...]:
        return _described(workspace, begun, dict(zip(NAMES, values, strict=True)))

    def shape(*values: Any) -> tuple[Any, ...]:
        return _shape(workspace, dict(zip(NAMES, values, strict=True)))

    filled = [preset, about, *asked, begun]
    look = parts.telling(typed, 6)
    seen = [preset, about, side.command, side.said, *state, side.notice]
    reshape = {"fn": shape, "inputs": asked, "outputs": [*boxes, *asked], **ONE_AT_A_TIME}
    opened = parts.on_load(parts.telling(load, len(filled)), None, [*filled, side.notice])
    chosen = preset.input(parts.telling(picked, len(filled) - 1), preset,
                          [*filled[1:], side.notice], **ALWAYS_LAST)  # fmt: skip
    for event in (opened, chosen):
        event.then(**reshape).then(look, [begun, *asked], seen, **ONE_AT_A_TIME)
    gr.on([controls[name].input for name in _DECIDING], **reshape).then(
        look, [begun, *asked], seen, **ONE_AT_A_TIME
    )
    # `change`, not `input`: a text that is pasted or filled in counts as well.
    gr.on([control.change for control in asked], look, [begun, *asked], seen, **ONE_AT_A_TIME)
    if upload is not None:
        kept = upload.upload(parts.telling(_taken_in(workspace), 3), upload,
                             [controls["source"], controls["dataset"], upload, side.notice],
                             show_progress_on=upload)  # fmt: skip
        kept.then(**reshape)
    started = side.wire(controls, _start, _estimated)
    started.change(None, started, js=LEAVE)
    sweep.wire(asked, lambda *values: _spec(dict(zip(NAMES, values, strict=True))), _check)
    address.keep(
        {"preset": preset, "objective": controls["objective"], **hidden, "dev": controls["dev"],
         **{name: controls[name] for name in form.BY_NAME}},
        form.usual() | {"objective": "unsup"},
    )  # fmt: skip


_DECIDING = ("objective", "base_kind", "source", "steps", "dev", "hard_negatives", "mlm_weight",
             "augmentation")  # fmt: skip
"""Controls whose value decides which others are shown."""


def _controls(workspace: Workspace) -> tuple[dict[str, Any], list[Any], Any]:
    """Every control by name, the boxes that come and go with a choice, and the upload."""
    made: dict[str, Any] = {}
    parts.section("What it learns")
    made["objective"] = gr.Radio(form.OBJECTIVES, value="unsup", label="Objective",
                                 elem_id="objective")  # fmt: skip
    parts.section("What is trained")
    made["base_kind"] = gr.Radio(BASES, value="known", label="Base", elem_id="base-kind")
    made["known"] = gr.Dropdown([], label="Encoder", elem_id="base-known")
    with gr.Row(visible=False) as new:
        for name, label, usual in form.NEW:
            made[name] = gr.Textbox(str(usual), label=label, max_lines=1, min_width=110,
                                    elem_id=f"new-{name}")  # fmt: skip
    made["base_spec"] = gr.Textbox(
        label="Spec", visible=False, max_lines=1, elem_id="base-spec", elem_classes=["t-mono"],
        placeholder="hf:bert-base-uncased, dir:/models/mine",
        html_attributes=gr.InputHTMLAttributes(spellcheck=False, autocapitalize="none"),
    )  # fmt: skip
    parts.section("What it learns from")
    sources = [pair for pair in SOURCES if pair[1] == "here" or not workspace.read_only]
    made["source"] = gr.Radio(sources, value="here", label="Data", elem_id="source",
                              visible=len(sources) > 1)  # fmt: skip
    made["dataset"] = gr.Dropdown([], label="Data set", elem_id="dataset")
    with gr.Column(visible=False) as uploading:
        upload = None
        if not workspace.read_only:
            upload = gr.File(label="One sentence a line, or a table with sent0, sent1, "
                             "hard_neg; .gz too", file_types=ENDINGS, height=120,
                             elem_id="upload")  # fmt: skip
    made["file"] = gr.Textbox(
        label="Its path", visible=False, max_lines=1, elem_id="file", elem_classes=["t-mono"],
        info="Read line by line, so it may be larger than memory.",
        placeholder="/data/wikipedia.txt, /data/nli_for_simcse.csv",
    )  # fmt: skip
    parts.section("How")
    folds: list[Any] = []
    for group, title in form.GROUPS.items():
        if title:
            with gr.Accordion(title, open=False, elem_id=f"fold-{group}") as fold:
                _fields(group, made)
            folds.append(fold)
        else:
            _fields(group, made)
    return {name: made[name] for name in NAMES}, [new, uploading], upload


def _fields(group: str, made: dict[str, Any]) -> None:
    """The controls of a group: boxes side by side, then ticks."""
    mine = [field for field in form.FIELDS if field.group == group]
    with gr.Row(elem_classes="t-fields"):
        if group == "dev":
            made["dev"] = gr.Dropdown([], label="Best weights by", elem_id="train-dev",
                                      info="A scored data set looked at on the way.",
                                      filterable=False, min_width=220)  # fmt: skip
        made.update(form_parts.boxes(mine, "train", choice=190, text=150))
    made.update(form_parts.ticks(mine, "train"))


def _shape(workspace: Workspace, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """Show what applies: the boxes, then every control in the order of NAMES."""
    shown = form.applying(values)
    visible = {
        "known": values["base_kind"] == "known",
        "base_spec": values["base_kind"] == "spec",
        "dataset": values["source"] == "here",
        "file": values["source"] == "file",
        **shown,
    }
    updates = {name: gr.update(visible=visible[name]) for name in visible}
    updates["dataset"] = train_fill.fitting(workspace, values) | updates["dataset"]
    return (
        gr.update(visible=values["base_kind"] == "new"),
        gr.update(visible=values["source"] == "upload"),
        *(updates.get(name, gr.skip()) for name in NAMES),
    )


def _base(values: Mapping[str, Any]) -> str:
    if values["base_kind"] == "new":
        return form.new_base([values[name] for name, _, _ in form.NEW])
    return str(values["known" if values["base_kind"] == "known" else "base_spec"] or "").strip()


def _train(values: Mapping[str, Any]) -> str:
    named = {"here": "dataset", "file": "file"}.get(values["source"], "")
    return str(values.get(named) or "").strip()


def _spec(values: Mapping[str, Any]) -> TrainSpec:
    """The spec of everything that was typed.

    Raises:
        UserError: what does not fit.
    """
    return form.spec(values["objective"], _base(values), _train(values), values)


def _described(workspace: Workspace, begun: str, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """The preset if it still is one, the command, what is wrong, base and data for the address.

    Controls that are filled one after the other leave a preset on the way and come back to it.
    """
    try:
        spec = _spec(values)
    except UserError as error:
        return OWN, "", "", form_parts.wrong(error), gr.skip(), gr.skip()
    still = train_fill.is_still(workspace, begun, spec, values)
    named = begun if still else OWN
    return (
        named,
        train_fill.about(workspace, named),
        train_sweep.command(spec),
        "",
        spec.base,
        spec.train,
    )


def _start(workspace: Workspace, values: Mapping[str, Any]) -> str:
    """Queue the run and return its id."""
    from app.pages.trainings import service as runs

    workspace.refuse_visitors()
    spec = _spec(values)
    _check(workspace, spec)
    return runs.queue(workspace, spec)


def _check(workspace: Workspace, spec: TrainSpec) -> None:
    """Look at the base and at the first examples before anything is queued.

    Raises:
        UserError: what cannot be trained, or not on.
    """
    from engine import encoders
    from engine.training.examples import open_examples

    if not spec.base.startswith("new:"):
        encoders.parse(spec.base)
    if spec.train.endswith(".gz"):
        return  # it would have to be unpacked first
    with TemporaryDirectory(prefix="theodolite-") as folder:
        open_examples(
            spec.train, spec.objective, workspace.catalog, hard_negatives=spec.hard_negatives,
            next_sentences=spec.next_sentences, limit=LOOKED_AT, folder=Path(folder),
        )  # fmt: skip


def _estimated(workspace: Workspace, values: Mapping[str, Any]) -> Iterator[str]:
    """What it will cost, after a probe of two seconds."""
    from engine.training.estimate import estimate

    workspace.refuse_visitors()
    spec = _spec(values)
    said = "Making a few updates on real batches; nothing is kept of them"
    for drawn, found in background_call.followed(lambda _: estimate(spec, workspace.catalog), said):
        yield drawn if found is None else _cost(found)


def _cost(found: TrainEstimate) -> str:
    each = formats.duration(found.seconds_a_step)
    facts = {
        "Time": f"about {formats.duration(found.seconds)} on {found.device}",
        "Memory": f"about {formats.size(found.bytes)}",
        "Updates": f"{formats.count(found.steps)} of {each}, on "
        f"{formats.plural(found.examples, 'example')}",
        "Speed": f"{found.sentences_per_second:,.0f} sentences a second",
    }
    if found.looks:
        facts["Looks"] = f"{formats.count(found.looks)} of {formats.duration(found.seconds_a_look)}"
    rows = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    return f'<dl class="t-facts" role="status">{rows}</dl>{parts.warn(found.notes)}'


def _taken_in(workspace: Workspace) -> Any:
    """A handler that keeps an uploaded file as a data set and chooses it."""

    def taken_in(file: str | None) -> tuple[Any, ...]:
        from app.pages.data import service as uploads

        workspace.refuse_visitors()
        if not file:
            raise UserError("There is no file to take in.", "Choose one.")
        path = Path(file)
        mapping = uploads.mapping_of(path, None, None)
        row = uploads.keep(workspace, path, path.name, _free(workspace, path.name), mapping)
        chosen = gr.update(choices=train_fill.datasets(workspace), value=f"upload:{row['name']}")
        return "here", chosen, None, parts.say(f"Taken in as upload:{row['name']}.", "t-good")

    return taken_in


def _free(workspace: Workspace, filename: str) -> str:
    """A name for an upload that is not taken."""
    from app.pages.data.form import name_for

    stem = name_for(filename)
    taken = {row["name"] for row in workspace.store.uploads.list()}
    names = [stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3))]
    return next(name for name in names if name not in taken)
