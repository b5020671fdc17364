"""The choices that write a spec: source, pooling, what it is joined with, steps."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import gradio as gr

from app.web import parts

if TYPE_CHECKING:
    from app.workspace import Workspace

# What is offered: label, source, what its value is, and an example.
SOURCES = (
    ("Hugging Face model", "hf", "Id on the hub", "BAAI/bge-small-en-v1.5"),
    ("Folder", "dir", "Folder with a model", "/models/my-encoder"),
    ("Word vectors", "words", "File with GloVe, word2vec or fastText vectors", "/data/glove.txt"),
    ("Computed vectors", "vectors", "File .npy or .parquet with its sentences", "/data/x.parquet"),
    ("MiniLM", "minilm", "", ""),
    ("WordLlama", "wordllama", "", ""),
    ("Random words", "random", "Dimensions", "256"),
)
STEPS = {
    "center": "Centre: subtract the mean",
    "whiten": "Whiten: equal spread in every direction",
    "drop": "Drop the strongest direction",
    "normalise": "Normalise: length 1",
}
FITTED = ("center", "whiten", "drop")
_FITTED_JS = (
    "(steps) => ({__type__: 'update', "
    f"visible: steps.some((step) => {json.dumps(FITTED)}.includes(step))}})"
)
THE_TASK = "@task"
LEFT_TO_MODEL = "the model's own"
MODELS = ("hf", "dir", "minilm")
WORDS = ("words", "wordllama", "random")
LEARNT_ON = "starter"
AVERAGES = (
    ("Mean", "avg"),
    ("Max", "max"),
    ("SIF: rare words count more", "sif"),
    ("Power means: mean, cubic, max, min", "pmean"),
    ("GEM: what each word adds", "gem"),
    ("Hierarchical: max over windows of words", "hier"),
)


def build(workspace: Workspace) -> tuple[list[Any], gr.Button]:
    """Lay out the choices.

    Returns:
        The controls that `compose` reads, and the button that joins another source.
    """
    from engine.encoders.spec import POOLINGS

    with gr.Group():
        before = gr.Textbox(
            label="Joined with (empty it to undo)", visible=False, elem_id="before",
            elem_classes=["t-mono"], max_lines=1,
        )  # fmt: skip
        source = gr.Radio(
            [(label, kind) for label, kind, _, _ in SOURCES], value=None, elem_id="source",
            label="Source",
        )  # fmt: skip
        with gr.Row():
            value = gr.Textbox(label="Id on the hub", elem_id="value", visible=False)
            # Two boxes: the choices of one must not change while an event is on its way.
            pooling = gr.Dropdown(
                [LEFT_TO_MODEL, *POOLINGS], value=LEFT_TO_MODEL, label="Pooling", visible=False,
                info="How token vectors become one vector.", elem_id="pooling", min_width=280,
            )  # fmt: skip
            averaging = gr.Dropdown(
                AVERAGES, value="avg", label="Pooling of words", visible=False,
                info="How word vectors become one vector.", elem_id="averaging", min_width=280,
            )  # fmt: skip
            learnt = gr.Dropdown(
                [LEARNT_ON], value=LEARNT_ON, label="Pooling learns from", visible=False,
                info="Sentences whose words are counted.", elem_id="learnt", min_width=280,
            )  # fmt: skip
    join = gr.Button("Join another source", elem_id="join", interactive=False)
    with gr.Group():
        steps = gr.CheckboxGroup(
            [(label, step) for step, label in STEPS.items()], label="Steps after it",
            elem_id="steps",
        )  # fmt: skip
        fitted_on = gr.Dropdown(
            [("the task's own sentences", THE_TASK)], value=THE_TASK, label="Fitted on",
            visible=False, elem_id="fitted",
        )  # fmt: skip
    chosen = [source, value, pooling, averaging, learnt, before]
    kinds = [None, *(kind for _, kind, _, _ in SOURCES)]
    averages = [name for _, name in AVERAGES]
    parts.shape(_asked, {source: kinds}, [value, pooling, averaging])
    parts.shape(lambda kind, average: [gr.update(visible=_learns(kind, average))],
                {source: kinds, averaging: averages}, [learnt])  # fmt: skip
    steps.change(None, steps, fitted_on, js=_FITTED_JS)

    def joined(*choices: Any) -> tuple[Any, ...]:
        """Put the chosen source before the next one; the choice starts again."""
        return gr.update(value=sources(*choices), visible=True), None, ""

    join.click(joined, chosen, [before, source, value], show_progress="hidden")
    parts.on_load(lambda: _datasets(workspace), None, [learnt, fitted_on])
    return [*chosen, steps, fitted_on], join


def _datasets(workspace: Workspace) -> tuple[Any, Any]:
    names = [info.name for info in workspace.catalog.list()]
    task = ("the task's own sentences", THE_TASK)
    return gr.update(choices=[LEARNT_ON, *names]), gr.update(choices=[task, *names])


def _asked(kind: str | None) -> tuple[Any, ...]:
    """What a source asks for, and no more."""
    row = next((row for row in SOURCES if row[1] == kind), None)
    wanted = bool(row and row[2])
    return (
        gr.update(visible=wanted, label=row[2] if row else "", placeholder=row[3] if row else ""),
        gr.update(visible=kind in MODELS),
        gr.update(visible=kind in WORDS),
    )


def _learns(kind: str | None, pooling: str) -> bool:
    return kind in WORDS and (pooling == "gem" or (pooling == "sif" and kind != "words"))


def source(kind: str | None, value: str | None, pooling: str, averaging: str, learnt: str) -> str:
    """Write one source; empty while the choices describe none. A hidden box has no text."""
    row = next((row for row in SOURCES if row[1] == kind), None)
    value = (value or "").strip()
    if row is None or (row[2] and not value):
        return ""
    text = f"{kind}:{quote(value, safe='/:@~._- ')}" if row[2] else str(kind)
    if kind in MODELS and pooling != LEFT_TO_MODEL:
        return f"{text}?pooling={pooling}"
    if kind not in WORDS or averaging == "avg":
        return text
    data = f"&data={quote(learnt, safe='@/:._-')}" if _learns(kind, averaging) else ""
    return f"{text}?pooling={averaging}{data}"


def sources(*choices: Any) -> str:
    """Write all sources joined so far, the one being chosen last: `source`'s and those before."""
    *chosen, before = choices
    return " + ".join(text for text in ((before or "").strip(), source(*chosen)) if text)


def compose(*choices: Any) -> str:
    """Write the spec that the choices of `build` describe; empty while they describe none."""
    *chosen, steps, data = choices
    written = sources(*chosen)
    if not written:
        return ""
    data = quote(data, safe="@/:._-")
    arguments = {"center": f":{data}", "whiten": f":{data}", "drop": f":1,{data}", "normalise": ""}
    return " | ".join([written, *(step + arguments[step] for step in STEPS if step in steps)])
