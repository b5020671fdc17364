"""The page *Train*: a form, the equivalent command, the estimated cost, and the start."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.pages.train import ablations, choices, service
from theodolite.app.pages.train.form import NO_SPELLCHECK, Form, Updates
from theodolite.app.pages.train.settings import ENCODER, NONE, OBJECTIVES, Values
from theodolite.app.pages.train.sweep import LEAVE, Sweep
from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, on
from theodolite.engine.datasets.dialect import ENDINGS
from theodolite.engine.training.presets import STARTER

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Train"
PATH = "train"
CLOSED = (
    "Training is disabled here: it would take computing time from all visitors. The form and "
    "its command are the same as on your own machine."
)
DESCRIPTION = (
    "Train a sentence encoder with the objectives of SimCSE. It runs in the background, with "
    "its curves on Trainings; the trained encoder is added to the encoders."
)
OBJECTIVE = Control("objective", "Objective", gr.Radio, "unsup", choices=OBJECTIVES)
BASES = (
    Control(
        "base_kind",
        "Base",
        gr.Radio,
        "known",
        options={"elem_id": "base-kind"},
        choices=(("Installed", "known"), ("A new small BERT", "new"), ("By its spec", "spec")),
    ),
    Control("known", "Encoder", gr.Dropdown, choices=(), options={"elem_id": "base-known"}),
    Control(
        "base_spec",
        "Spec",
        default="",
        options={
            "elem_id": "base-spec",
            "elem_classes": ["t-mono"],
            "visible": False,
            "placeholder": "hf:bert-base-uncased, dir:/models/mine",
            **NO_SPELLCHECK,
        },
    ),
)
SIZES = tuple(
    Control(
        name,
        label,
        default=str(usual),
        options={"elem_id": f"new-{name}", "min_width": 110, "max_lines": 1},
    )
    for name, label, usual in choices.NEW
)
DATA = (
    Control(
        "source",
        "Data",
        gr.Radio,
        "here",
        choices=(
            ("Data sets", "here"),
            ("Upload a file", "upload"),
            ("A file on this machine", "file"),
        ),
    ),
    Control("dataset", "Data set", gr.Dropdown, choices=()),
    Control(
        "file",
        "Its path",
        default="",
        hint="Read line by line, so it can be larger than memory.",
        options={
            "elem_classes": ["t-mono"],
            "visible": False,
            **NO_SPELLCHECK,
            "placeholder": "/data/wikipedia.txt, /data/nli_for_simcse.csv",
        },
    ),
)
DECIDING = (
    "objective",
    "base_kind",
    "source",
    "steps",
    "dev",
    "hard_negatives",
    "mlm_weight",
    "augmentation",
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    training = service.EncoderTraining(workspace)
    form = Form(training, "train", [OBJECTIVE], [*BASES, *SIZES, *DATA], DECIDING)
    form.place_bar(TITLE, DESCRIPTION)
    with gr.Row(elem_classes="t-desk"):
        with gr.Column(scale=5, min_width=320):
            parts.section("Objective")
            form.controls.render("objective")
            _place_base(form)
            upload = _place_data(form, workspace)
            parts.section("Settings")
            form.place_settings()
            sweep = Sweep(workspace)
            ablations.build(workspace)
        with gr.Column(scale=3, min_width=320, elem_classes=["t-beside", "t-answer"]):
            form.place_side()

    form.wire(
        lambda values: _filled(workspace, values), lambda values: _shape(workspace, values), _whole
    )
    if upload is not None:

        def take_in(chosen: SimpleNamespace) -> Answer:
            name = choices.taken_in(workspace, chosen.upload)
            return {
                **form.reshape(chosen, source="here", dataset=name),
                upload: None,
                form.notice: parts.say(f"Added as {name}.", "t-good"),
            }

        on(
            upload.upload,
            take_in,
            {**form.inputs, "upload": upload},
            [*form.shaped, upload],
            form.notice,
            show_progress_on=upload,
        )
    form.started.change(None, form.started, js=LEAVE)
    sweep.wire(form)


def _place_base(form: Form) -> None:
    parts.section("Model")
    form.aside.render("base_kind", "known")
    with gr.Row(visible=False) as form.boxes["new"]:
        form.aside.render(*(control.name for control in SIZES))
    form.aside.render("base_spec")


def _place_data(form: Form, workspace: Workspace) -> Any | None:
    """Place the choice of data; return the upload box, None for visitors."""
    parts.section("Training data")
    own = not workspace.read_only
    offered = form.aside.declared["source"].choices or ()
    form.aside.render("source", choices=offered if own else offered[:1], visible=own)
    form.aside.render("dataset")
    upload = None
    with gr.Column(visible=False) as form.boxes["uploading"]:
        if own:
            about = "One sentence per line, or a table with sent0, sent1, hard_neg; also .gz"
            upload = gr.File(
                label=about, file_types=[*ENDINGS, ".gz"], height=120, elem_id="upload"
            )
    form.aside.render("file")
    return upload


def _filled(workspace: Workspace, values: Values) -> Updates:
    """Updates of the page's own controls for the values of a spec."""
    known, sets = choices.bases(workspace), choices.datasets(workspace)
    scored = choices.scored_sets(workspace)
    base, train = values.get("base") or known[0], values.get("train") or STARTER
    kind = "known" if base in known else "new" if base.startswith("new:") else "spec"
    here = train in [name for _, name in sets]
    return {
        "objective": {"value": values.get("objective") or "unsup"},
        "base_kind": {"value": kind},
        "known": {"choices": known, "value": base if kind == "known" else known[0]},
        **{name: {"value": size} for name, size in choices.sizes(base).items()},
        "base_spec": {"value": base if kind == "spec" else ""},
        "source": {"value": "here" if here else "file"},
        "dataset": {"choices": sets, "value": train if here else STARTER},
        "file": {"value": "" if here else train},
        "dev": {
            "choices": [*scored, *ENCODER["dev"].choices],
            "value": values["dev"] if values["dev"] in scored else NONE,
        },
    }


def _shape(workspace: Workspace, values: Values) -> Updates:
    """Show the controls that apply, and the data sets that fit the objective."""
    offered = choices.datasets(workspace, values["objective"])
    chosen = values["dataset"]
    fits = chosen in [name for _, name in offered]
    source, kind = values["source"], values["base_kind"]
    return {
        "known": {"visible": kind == "known"},
        "new": {"visible": kind == "new"},
        "base_spec": {"visible": kind == "spec"},
        "dataset": {
            "choices": offered,
            "value": chosen if fits else STARTER,
            "visible": source == "here",
        },
        "uploading": {"visible": source == "upload"},
        "file": {"visible": source == "file"},
    }


def _whole(values: Values) -> Values:
    """The values as typed, with `base` and `train` made from them."""
    kind = values["base_kind"]
    base = (
        choices.new_base(values)
        if kind == "new"
        else values["known" if kind == "known" else "base_spec"]
    )
    train = values.get({"here": "dataset", "file": "file"}.get(values["source"], ""))
    return {**values, "base": str(base or "").strip(), "train": str(train or "").strip()}
