"""The page *Encoders*: those that are kept, and a way to write a new one."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import gradio as gr

from app import address, formats, parts
from app.components.actions import actions, button
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Encoders"
PATH = "encoders"

# What the builder offers: label, source, what its value is, and an example.
SOURCES = (
    ("Hugging Face model", "hf", "Id on the hub", "BAAI/bge-small-en-v1.5"),
    ("Folder", "dir", "Folder with a model", "/models/my-encoder"),
    ("Word vectors", "words", "File with GloVe, word2vec or fastText vectors", "/data/glove.txt"),
    ("MiniLM", "minilm", "", ""),
    ("WordLlama", "wordllama", "", ""),
    ("Random words", "random", "Dimensions", "256"),
)
WITH_POOLING = ("hf", "dir", "minilm")
STEPS = {
    "center": "Centre: subtract the mean",
    "whiten": "Whiten: equal spread in every direction",
    "drop": "Drop the strongest direction",
    "normalise": "Normalise: length 1",
}
FITTED = ("center", "whiten", "drop")
THE_TASK = "@task"
LEFT_TO_MODEL = "the model's own"
KINDS = {
    "minilm": "transformer",
    "hf": "transformer",
    "dir": "transformer",
    "wordllama": "static vectors",
    "words": "word vectors",
    "borep": "random projection",
    "random": "baseline",
}


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(
        "Encoders",
        "An encoder turns text into vectors. It is written as a short text that works the same "
        "here, on the command line and in Python.",
    )
    notice = parts.notice()
    listing = actions(elem_id="encoders")
    checked = parts.static("", elem_id="poolings")
    parts.on_load(parts.telling(lambda: _listing(workspace), 1), None, [listing, notice])

    def act(event: gr.EventData) -> Iterator[tuple[Any, ...]]:
        if workspace.read_only:
            return
        if event.act == "remove":
            workspace.store.encoders.remove(event.id)
            yield _listing(workspace), "", parts.say(f"Removed {event.id}. Its results are kept.")
        elif event.act == "poolings":
            yield gr.skip(), "", parts.say(f"Measuring every pooling of {event.id} …")
            yield gr.skip(), _poolings(workspace, event.id)

    listing.act(parts.telling(act, 2), None, [listing, checked, notice],
                show_progress="hidden", concurrency_limit=1)  # fmt: skip
    if not workspace.read_only:
        _add(workspace, listing)


def _add(workspace: Workspace, listing: gr.HTML) -> None:
    """The form: a spec, and a builder that writes one."""
    parts.section(
        "Add an encoder",
        "Write its spec, or have it written by the choices below. Nothing is downloaded yet.",
    )
    with gr.Group():
        spec = gr.Textbox(
            label="Spec", placeholder="hf:bert-base-uncased?pooling=cls_before_pooler | normalise",
            elem_id="spec", elem_classes=["t-mono"], max_lines=1,
        )  # fmt: skip
    verdict = parts.static("", elem_id="verdict")
    add = gr.Button("Add encoder", variant="primary", elem_id="add")
    added = parts.notice()
    controls = _builder(workspace)

    gr.on([control.change for control in controls], _compose, controls, spec,
          show_progress="hidden")  # fmt: skip
    spec.change(parts.telling(_verdict, 1), spec, [verdict, added],
                show_progress="hidden", trigger_mode="always_last")  # fmt: skip
    address.keep({"spec": spec})

    def load(request: gr.Request) -> str:
        return address.first(request, "spec")

    parts.on_load(load, None, spec)

    def save(text: str) -> tuple[Any, ...]:
        row = workspace.add_encoder(text)
        return _listing(workspace), parts.say(f"Added {row['name']}.", "t-good")

    gr.on([add.click, spec.submit], parts.telling(save, 1), spec, [listing, added])


def _builder(workspace: Workspace) -> list[Any]:
    from engine.encoders.spec import POOLINGS

    with gr.Group():
        source = gr.Radio(
            [(label, kind) for label, kind, _, _ in SOURCES], value=None, elem_id="source",
            label="Source",
        )  # fmt: skip
        with gr.Row():
            value = gr.Textbox(label="Id on the hub", elem_id="value", visible=False)
            pooling = gr.Dropdown(
                [LEFT_TO_MODEL, *POOLINGS], value=LEFT_TO_MODEL, label="Pooling", visible=False,
                info="How token vectors become one vector.", elem_id="pooling",
            )  # fmt: skip
        steps = gr.CheckboxGroup(
            [(label, step) for step, label in STEPS.items()], label="Steps after it",
            elem_id="steps",
        )  # fmt: skip
        fitted_on = gr.Dropdown(
            [("the task's own sentences", THE_TASK)], value=THE_TASK, label="Fitted on",
            visible=False, elem_id="fitted",
        )  # fmt: skip

    def show(kind: str | None, chosen: list[str]) -> tuple[Any, ...]:
        row = next((row for row in SOURCES if row[1] == kind), None)
        wanted = bool(row and row[2])
        return (
            gr.update(
                visible=wanted, label=row[2] if row else "", placeholder=row[3] if row else ""
            ),
            gr.update(visible=kind in WITH_POOLING),
            gr.update(visible=any(step in FITTED for step in chosen)),
        )

    gr.on([source.change, steps.change], show, [source, steps], [value, pooling, fitted_on],
          show_progress="hidden")  # fmt: skip

    def datasets() -> Any:
        names = [info.name for info in workspace.catalog.list()]
        return gr.update(choices=[("the task's own sentences", THE_TASK), *names])

    parts.on_load(datasets, None, fitted_on)
    return [source, value, pooling, steps, fitted_on]


def _compose(
    kind: str | None, value: str, pooling: str, steps: list[str], data: str
) -> str | dict[str, Any]:
    """Write the spec that the builder describes; nothing while it describes none."""
    row = next((row for row in SOURCES if row[1] == kind), None)
    if row is None or (row[2] and not value.strip()):
        return gr.skip()
    text = f"{kind}:{quote(value.strip(), safe='/:@~._- ')}" if row[2] else str(kind)
    if kind in WITH_POOLING and pooling != LEFT_TO_MODEL:
        text += f"?pooling={pooling}"
    data = quote(data, safe="@/:._-")
    arguments = {"center": f":{data}", "whiten": f":{data}", "drop": f":1,{data}", "normalise": ""}
    return " | ".join([text, *(step + arguments[step] for step in STEPS if step in steps)])


def _verdict(text: str) -> str:
    """What is known of a spec before it is added."""
    from engine.encoders import describe

    if not text.strip():
        return ""
    try:
        info = describe(text)
    except UserError as error:
        hint = f"<p>{escape(error.hint)}</p>" if error.hint else ""
        return f'<div class="t-notice" role="status"><p>{escape(error.message)}</p>{hint}</div>'
    name = f'<p><span class="t-spec">{escape(info["spec"])}</span></p>'
    known = _facts(info)
    usable = info["available"] or info["kind"] == "hf"  # the hub's are downloaded later
    kind = "t-good" if usable else "t-warn"
    return (
        f'<div class="t-notice {kind}" role="status">{name}<p>{escape(known)}</p></div>'
        + parts.warn(info.get("warnings") or [])
    )


def _facts(info: dict[str, Any]) -> str:
    """One line of what is known."""
    kind = info.get("kind") or ""
    facts = [KINDS.get(kind, kind)]
    if info.get("dim"):
        facts.append(f"{formats.count(info['dim'])} dimensions")
    if info.get("parameters"):
        facts.append(f"{formats.compact(info['parameters'])} parameters")
    if info.get("bytes"):
        facts.append(formats.size(info["bytes"]))
    if info.get("pooling") and not info.get("why"):
        facts.append(f"pooling {info['pooling']}")
    if info.get("problem"):
        facts.append(info["problem"])
    return " · ".join(fact for fact in facts if fact)


def _listing(workspace: Workspace) -> str:
    kept = workspace.store.encoders.list()
    if not kept:
        return parts.empty("No encoders yet", "Add one below; three come with the starter set.")
    measured: dict[str, set[str]] = {}
    for row in workspace.store.results.table():
        if row["error"] is None:
            measured.setdefault(row["encoder"], set()).add(row["task"])
    rows = "".join(
        _entry(dict(row), len(measured.get(row["name"], ())), workspace.read_only) for row in kept
    )
    return f'<ul class="t-runs t-encoders" aria-label="Encoders">{rows}</ul>'


def _entry(row: dict[str, Any], tasks: int, read_only: bool) -> str:
    name, info = row["name"], row["info"]
    verbs = ""
    if not read_only:
        link = address.link("evaluate", encoder=name)
        verbs = f'<a class="t-button t-small-button" href="{escape(link)}">Evaluate</a>'
        if info.get("kind") in WITH_POOLING:
            verbs += button("Check poolings", "poolings", name, about=f"Check poolings of {name}")
        verbs += button("Remove", "remove", name, about=f"Remove {name}")
    why = "".join(
        f"<p>Pooling {escape(str(info.get('pooling')))}: {escape(reason)}</p>"
        for reason in info.get("why") or []
    )
    measured = f"measured on {formats.plural(tasks, 'task')}" if tasks else "not measured yet"
    return (
        f'<li><div><strong class="t-spec">{escape(name)}</strong><p>{escape(_facts(info))}</p>{why}'
        f"{parts.warn(info.get('warnings') or [])}</div>"
        f'<div class="t-muted t-small">{measured}</div><div class="t-verbs">{verbs}</div></li>'
    )


def _poolings(workspace: Workspace, name: str) -> str:
    """Measure every pooling of one encoder and show them, best first."""
    from app.pooling_check import check_on_dev

    source = name.split("|")[0].strip()
    measured_on, rows = check_on_dev(workspace, source)
    cells = [
        (f"<code>{escape(row['pooling'])}</code>", formats.score(row["spearman"])) for row in rows
    ]
    seconds = formats.duration(rows[0]["seconds"]) if rows else ""
    table = parts.table(("Pooling", "Spearman"), cells, "Poolings, the best first", (1,))
    return (
        f'<section class="t-card" aria-label="Poolings"><h2>Poolings '
        f'<small class="t-spec">{escape(source)}</small></h2>'
        f"<p>Measured on {escape(measured_on)} in {escape(seconds)}, all from one pass through the "
        f"model. Choose by this, then report on the test split.</p>{table}</section>"
    )
