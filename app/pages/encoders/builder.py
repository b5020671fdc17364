"""The controls that build a spec: source, pooling, further sources, steps."""

import json
from typing import Any
from urllib.parse import quote

import gradio as gr

from theodolite.app.web import parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load, shape
from theodolite.app.web.parts import HIDE_PROGRESS
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders.spec import MODELS, POOLINGS, TASK_DATA

SOURCES = {
    "hf": ("Hugging Face model", "Id on the hub", "BAAI/bge-small-en-v1.5"),
    "dir": ("Folder", "Folder with a model", "/models/my-encoder"),
    "mteb": ("MTEB model", "Name in MTEB's registry", "intfloat/multilingual-e5-small"),
    "words": ("Word vectors", "File with GloVe, word2vec or fastText vectors", "/data/glove.txt"),
    "vectors": ("Computed vectors", "File .npy or .parquet with its sentences", "/data/x.parquet"),
    "api": (
        "Endpoint",
        "URL of an OpenAI-compatible API, and after # the model",
        "https://api.openai.com/v1#text-embedding-3-small",
    ),
    "minilm": ("MiniLM", "", ""),
    "wordllama": ("WordLlama", "", ""),
    "random": ("Random words", "Dimensions", "256"),
}
"""Source -> its label, the label of its value, if it has one, and an example of that."""
NO_SOURCE = ("", "", "")
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
OWN_SENTENCES = ("the task's own sentences", TASK_DATA)
LEFT_TO_MODEL = "the model's own"
OF_MODELS = ("pooling", "prompt", "query_prompt")
"""Options of the sources in `MODELS`."""
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


HIDDEN = {"visible": False}
POOLING = HIDDEN | {"min_width": 280}
WRITTEN = POOLING | {"elem_classes": ["t-mono"], "max_lines": 1}
CONTROLS = (
    Control(
        "before",
        "Joined with (empty it to undo)",
        options=HIDDEN | {"elem_classes": ["t-mono"], "max_lines": 1},
    ),
    Control(
        "source", "Source", gr.Radio, choices=[(row[0], kind) for kind, row in SOURCES.items()]
    ),
    Control("value", "Id on the hub", options=HIDDEN),
    # Two controls: the choices of one must not change while an event is in flight.
    Control(
        "pooling",
        "Pooling",
        gr.Dropdown,
        LEFT_TO_MODEL,
        "How token vectors become one vector.",
        [LEFT_TO_MODEL, *POOLINGS],
        POOLING,
    ),
    Control(
        "averaging",
        "Pooling of words",
        gr.Dropdown,
        "avg",
        "How word vectors become one vector.",
        AVERAGES,
        POOLING,
    ),
    Control(
        "learnt",
        "Pooling learns from",
        gr.Dropdown,
        LEARNT_ON,
        "Sentences whose words are counted",
        [LEARNT_ON],
        POOLING,
    ),
    Control(
        "prompt",
        "Prompt",
        options=WRITTEN,
        hint="Before every sentence: a text, the name of one of the model's prompts, or @task.",
    ),
    Control("query_prompt", "Query prompt", options=WRITTEN, hint="Used instead before queries."),
    Control(
        "steps",
        "Steps after pooling",
        gr.CheckboxGroup,
        (),
        choices=[(label, step) for step, label in STEPS.items()],
    ),
    Control(
        "fitted",
        "Fitted on",
        gr.Dropdown,
        TASK_DATA,
        choices=[OWN_SENTENCES],
        options=HIDDEN,
    ),
)
"""The controls that `compose` reads."""


def build(workspace: Workspace) -> tuple[Controls, gr.Button]:
    """Lay out the controls.

    Returns:
        The controls, and the button that joins another source.
    """
    controls = Controls(*CONTROLS)
    with gr.Group():
        controls.render("before", "source")
        with gr.Row():
            controls.render("value", "pooling", "averaging", "learnt", "prompt", "query_prompt")
    join = gr.Button("Join another source", elem_id="join", interactive=False)
    with gr.Group():
        controls.render("steps", "fitted")
    notice = parts.notice()
    before, source, value, averaging = (
        controls[name] for name in ("before", "source", "value", "averaging")
    )

    def fields_of(kind: str | None, average: str) -> dict[Any, Any]:
        """Show only the fields of a source."""
        _, label, example = SOURCES.get(kind or "", NO_SOURCE)
        return {
            value: gr.update(visible=bool(label), label=label, placeholder=example),
            **{controls[name]: gr.update(visible=kind in MODELS) for name in OF_MODELS},
            averaging: gr.update(visible=kind in WORDS),
            controls["learnt"]: gr.update(visible=_learns(kind, average)),
        }

    def joined(values: Values) -> Answer:
        """Put the chosen source before the next one, and reset the choice."""
        return {before: gr.update(value=sources(values), visible=True), source: None, value: ""}

    def load(_: gr.Request) -> Answer:
        names = workspace.catalog.names()
        return {
            controls["learnt"]: gr.update(choices=[LEARNT_ON, *names]),
            controls["fitted"]: gr.update(choices=[OWN_SENTENCES, *names]),
        }

    shape(fields_of, {source: [None, *SOURCES], averaging: [name for _, name in AVERAGES]})
    controls["steps"].change(None, controls["steps"], controls["fitted"], js=_FITTED_JS)
    on(join.click, joined, controls, [before, source, value], notice, **HIDE_PROGRESS)
    on_load(load, [controls["learnt"], controls["fitted"]], notice)
    return controls, join


def _learns(kind: str | None, pooling: str) -> bool:
    return kind in WORDS and (pooling == "gem" or (pooling == "sif" and kind != "words"))


def source(values: Values) -> str:
    """Write one source; empty while the choices describe none. Hidden boxes are empty."""
    kind, value = values.source, (values.value or "").strip()
    fields = SOURCES.get(kind, NO_SOURCE)[1]
    if kind not in SOURCES or (fields and not value):
        return ""
    text = f"{kind}:{quote(value, safe='/:@~._-# ')}" if fields else str(kind)
    if kind in MODELS:
        options = {name: getattr(values, name) for name in OF_MODELS}
        query = "&".join(
            f"{name}={quote(text, safe='/:@._-')}"
            for name, text in options.items()
            if text and text != LEFT_TO_MODEL
        )
        return f"{text}?{query}" if query else text
    if kind not in WORDS or values.averaging == "avg":
        return text
    learns = _learns(kind, values.averaging)
    data = f"&data={quote(values.learnt, safe='@/:._-')}" if learns else ""
    return f"{text}?pooling={values.averaging}{data}"


def sources(values: Values) -> str:
    """Write all sources joined so far, the one being chosen last."""
    return " + ".join(text for text in ((values.before or "").strip(), source(values)) if text)


def compose(values: Values) -> str:
    """Write the spec that the choices of `build` describe; empty while they describe none."""
    written = sources(values)
    if not written:
        return ""
    data = quote(values.fitted, safe="@/:._-")
    arguments = {"center": f":{data}", "whiten": f":{data}", "drop": f":1,{data}", "normalise": ""}
    steps = [step + arguments[step] for step in STEPS if step in values.steps]
    return " | ".join([written, *steps])
