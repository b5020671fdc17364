"""The page *Diagnose*: what a decoder gives back of new sentences, beside two baselines."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import gradio as gr

from app.components.chart import chart
from app.pages.diagnose import figures, views
from app.web import address, parts
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS, ONE_AT_A_TIME
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Diagnose"
PATH = "diagnose"
DESCRIPTION = (
    "Decode sentences that a decoder never saw, and measure what came back: which words, in which "
    "order. The figures say something only where they are apart from those of two baselines."
)
USUAL = "usual"
METRICS = ("token_f1", "bleu", "id", "perm", "id_perm", "round_trip")
POLL_SECONDS = 2


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    own = not workspace.read_only
    with gr.Row(visible=own):
        encoder = gr.Dropdown([], label="Encoder", elem_id="diagnosed", min_width=220,
                              info="With its decoder.")  # fmt: skip
        text = gr.Dropdown([], label="Sentences of", elem_id="diagnosed-text", min_width=220,
                           allow_custom_value=own,
                           info="Those it learned from are left out.")  # fmt: skip
        number = gr.Textbox("1000", label="How many", max_lines=1, elem_id="diagnosed-number",
                            min_width=110, info="At most.")  # fmt: skip
    command = parts.static("", elem_id="command", visible=own)
    with gr.Row(visible=own, elem_classes=["t-tight"]):
        go = gr.Button("Diagnose", variant="primary", elem_id="start")
    notice = parts.notice()
    running = parts.static("", elem_id="running")
    pick = gr.Dropdown([], label="Diagnosis", elem_id="pick", visible=False)
    table = parts.static("", elem_id="figures")
    metric = gr.Dropdown([], label="By the length of the sentence", elem_id="metric",
                         filterable=False, visible=False)  # fmt: skip
    drawn = chart(elem_id="by-length", height=figures.HEIGHT)
    samples = parts.static("", elem_id="samples")
    across = parts.static("", elem_id="across")
    seen = gr.State([])
    asked = [encoder, text, number]
    shown = [table, metric, drawn, samples]
    listed = [running, pick, across, seen]

    def load(request: gr.Request) -> tuple[Any, ...]:
        return _loaded(workspace, request)

    def described(name: str | None, source: str | None, many: str) -> str:
        return _command(name, source, many)

    def start(name: str | None, source: str | None, many: str) -> tuple[Any, ...]:
        said = _start(workspace, name, source, many)
        return (*views.listed(workspace, None), parts.say(said, "t-good"))

    def picked(result: str | None, what: str | None) -> tuple[Any, ...]:
        return views.shown(workspace, result, what, METRICS)

    def drawn_anew(result: str | None, what: str | None) -> Any:
        return views.by_length(workspace, result, what)

    def poll(known: list[Any], result: str | None) -> tuple[Any, ...]:
        if views.marks(workspace) == known:
            return tuple(gr.skip() for _ in listed)
        return views.listed(workspace, result, known)

    opened = parts.on_load(parts.telling(load, len(asked) + len(listed)), None,
                           [*asked, *listed, notice])  # fmt: skip
    opened.then(described, asked, command, **ONE_AT_A_TIME)
    gr.on([box.change for box in asked], described, asked, command, **ONE_AT_A_TIME)
    go.click(parts.telling(start, len(listed)), asked, [*listed, notice], **HIDE_PROGRESS)
    pick.change(parts.telling(picked, len(shown)), [pick, metric], [*shown, notice], **ALWAYS_LAST)
    metric.input(parts.telling(drawn_anew, 1), [pick, metric], [drawn, notice], **ALWAYS_LAST)
    parts.poll(POLL_SECONDS, opened, poll, [seen, pick], listed)
    address.keep({"encoder": encoder, "in": text, "result": pick}, {"in": USUAL})


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """The form as the address has it, and the diagnosis it names, else the newest."""
    from app.pages.diagnose import service
    from app.pages.train import decoders, materials

    known = decoders.encoders(workspace)
    encoder = address.first(request, "encoder") or next(iter(known), "")
    text = address.first(request, "in", USUAL)
    texts = [("One new to it", USUAL),
             ("Kept apart in training", service.KEPT_APART),
             *materials.texts(workspace)]  # fmt: skip
    if text not in [name for _, name in texts]:
        texts.append((text, text))
    offered = list(dict.fromkeys([*known, *([encoder] if encoder else [])]))
    return (
        gr.update(choices=offered, value=encoder or None),
        gr.update(choices=texts, value=text),
        gr.skip(),
        *views.listed(workspace, address.first(request, "result") or None,
                      encoder=address.first(request, "encoder")),
    )  # fmt: skip


def _asked(name: str | None, source: str | None, many: str) -> tuple[str, str | None, int]:
    """What was chosen.

    Raises:
        UserError: no encoder, or a number that is none.
    """
    if not name:
        raise UserError("No encoder has a decoder yet.", "Train one on Train decoder.")
    text = str(many or "").strip().replace(",", "")
    if not text.isdecimal():
        raise UserError(f"{text[:40]!r} is no number of sentences.", "Write one such as 1000.")
    return name, None if source in (None, "", USUAL) else str(source), int(text)


def _command(name: str | None, source: str | None, many: str) -> str:
    """The command that does the same, with a button to copy it; nothing while it cannot be."""
    try:
        encoder, text, number = _asked(name, source, many)
    except UserError:
        return ""
    words = ["theodolite", "diagnose", encoder, *(["--in", text] if text else [])]
    words += ["--sentences", str(number)] if number != 1000 else []
    return parts.command(words)


def _start(workspace: Workspace, name: str | None, source: str | None, many: str) -> str:
    """Queue the diagnosis; what was done, in words."""
    from app.jobs.submit import queue
    from app.pages.diagnose.service import DiagnoseJob

    workspace.refuse_visitors()
    encoder, text, number = _asked(name, source, many)
    queue(workspace, DiagnoseJob.of(workspace, encoder, text, number))
    return "Queued. It is shown here when it is done."
