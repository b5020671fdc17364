"""The page *Train decoder*: a form, its command, the estimated time, and training progress."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app import decoders, formats
from theodolite.app.components import word_diff
from theodolite.app.components.actions import actions, button
from theodolite.app.components.card import card as laid_out
from theodolite.app.components.chart import chart
from theodolite.app.pages.jobs import service as jobs
from theodolite.app.pages.jobs import views as jobs_views
from theodolite.app.pages.train import choices, service
from theodolite.app.pages.train.form import Form, Updates
from theodolite.app.pages.train.settings import Values
from theodolite.app.pages.trainings import figures
from theodolite.app.pages.trainings import row as training
from theodolite.app.web import address, parts, progress
from theodolite.app.web.controls import Answer, Control, on, on_load, poll
from theodolite.app.web.events import PageEvent
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.engine.decoding.differing import differing
from theodolite.engine.decoding.presets import default_texts
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.decoders import DecoderInfo
    from theodolite.app.pages.trainings.service import Curves, TrainingRun
    from theodolite.app.workspace import Workspace

TITLE = "Train decoder"
PATH = "train-decoder"
CLOSED = (
    "Training is disabled here: it would take computing time from all visitors. The form and "
    "its command are the same as on your own machine."
)
DESCRIPTION = (
    "Train a decoder for an encoder: a language model that reconstructs a sentence from its "
    "vector alone. It runs in the background, and its progress is shown below."
)
POLL_SECONDS = 2
LISTED = 20
HEIGHT = 300
MARGIN = {"l": 64, "r": 16, "t": 34, "b": 44}
LOSS = "loss, nats per token"
INTO_VIEW = "(read) => { if (read) document.querySelector('#card').scrollIntoView(); }"


OWN = (
    Control(
        "encoder",
        "Encoder",
        gr.Dropdown,
        choices=(),
        hint="The encoder whose vectors are decoded.",
        options={"elem_id": "decoder-encoder"},
    ),
    Control(
        "train",
        "Text",
        gr.Dropdown,
        choices=(),
        hint="Training texts.",
        options={"elem_id": "decoder-train", "multiselect": True},
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    form = Form(service.DecoderTraining(workspace), "decoder", OWN, deciding=["architecture"])
    form.place_bar(TITLE, DESCRIPTION)
    own = not workspace.read_only
    with gr.Row(elem_classes="t-desk"):
        with gr.Column(scale=5, min_width=320):
            form.controls.render("encoder", allow_custom_value=own)
            files = {"info": "Data sets, or the path of a file with one sentence per line."}
            form.controls.render("train", allow_custom_value=own, **(files if own else {}))
            form.place_settings()
        with gr.Column(scale=3, min_width=320, elem_classes=["t-beside", "t-answer"]):
            form.place_side()
    followed = _Followed(workspace)

    def fill(values: Values) -> Updates:
        known = choices.encoders(workspace)
        encoder = values.get("encoder") or known[0]
        train = values.get("train") or list(default_texts(workspace.catalog))
        return {
            "encoder": {"choices": list(dict.fromkeys([*known, encoder])), "value": encoder},
            "train": {"choices": decoders.texts(workspace, train), "value": train},
        }

    form.wire(fill, done="Queued. Its progress is shown below.")
    followed.wire(form.started)


class _Followed:
    """Below the form: all trainings of decoders, and the curves of the opened one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        hint = "Click a name to follow it. Training continues when this page is closed."
        parts.section("Decoders in training", hint)
        self._notice = parts.notice()
        self._listing = actions(elem_id="decoders")
        self._curve = chart(height=HEIGHT, elem_id="curve")
        self._samples = parts.static("", elem_id="samples")
        self._installed = actions(elem_id="installed")
        self._removed = parts.notice()
        self._card = parts.static("", elem_id="card")
        self._read = gr.Textbox(visible="hidden", label="Card", elem_id="read")
        self._opened = gr.Textbox(visible="hidden", label="Opened", elem_id="opened")
        self._seen = gr.State([])

    def wire(self, begun: Any) -> None:
        """Attach the events; `begun` is the box that receives the id of each started run."""
        opened, read = self._opened, self._read

        def load(request: gr.Request) -> Answer:
            run, named = address.first(request, "run"), address.first(request, "card")
            return {
                read: named,
                self._card: _card(self._workspace, named),
                **self._drawn(run),
            }

        def polled(run: str, known: list[Any]) -> Answer:
            return None if _marks(self._workspace, run) == known else self._shown(run)

        shown = [self._listing, self._curve, self._samples, self._installed, self._seen]
        views_of_run = [opened, *shown]
        loaded = on_load(load, [read, self._card, *views_of_run], self._notice)
        # A poll in flight while another run is opened must not reopen the previous one.
        poll(POLL_SECONDS, loaded, polled, [opened, self._seen], shown)
        on(self._listing.act, self._act, [opened], views_of_run, self._notice, **HIDE_PROGRESS)
        on(
            self._installed.act,
            self._handle,
            [read],
            [read, self._card, self._installed],
            self._removed,
            **HIDE_PROGRESS,
        )
        read.change(None, read, js=INTO_VIEW)
        on(begun.change, self._drawn, [begun], views_of_run, self._notice, **ALWAYS_LAST)
        address.keep({"run": opened, "card": read})

    def _drawn(self, run: str) -> dict[Any, Any]:
        """Updates that open a run, with everything shown of it."""
        return {self._opened: run, **self._shown(run)}

    def _shown(self, run: str) -> dict[Any, Any]:
        """Updates of everything shown of a run, and of the lists."""
        shown = [self._listing, self._curve, self._samples, self._installed, self._seen]
        return dict(zip(shown, _drawn(self._workspace, run), strict=True))

    def _act(self, run: str, event: PageEvent) -> Answer:
        """Answer a button of the list of trainings."""
        message = ""
        if event.act == "open":
            run = "" if event.id == run else event.id
        else:
            message = jobs.act(self._workspace, event.act, event.id)
        return {**self._drawn(run), self._notice: parts.say(message) if message else ""}

    def _handle(self, read: str, event: PageEvent) -> Answer:
        """Answer a button of the list of decoders."""
        workspace = self._workspace
        if event.act == "card":
            read = "" if event.id == read else event.id
            return {self._read: read, self._card: _card(workspace, read)}
        text = decoders.removal_notice(decoders.remove(workspace, event.id))
        card = _card(workspace, read)
        return {
            self._read: read if card else "",
            self._card: card,
            self._installed: _installed(workspace),
            self._removed: parts.say(text),
        }


def _installed(workspace: Workspace) -> str:
    """The installed decoders as a table; empty without any."""
    found = decoders.listed(workspace)
    if not found:
        return ""
    rows = [_cells(workspace, row) for row in found]
    heads = ["Encoder", "Decoder", "Training text", "Sentences", "Max words", "Since", "Card"]
    if not workspace.read_only:
        heads.append("Remove")
    named = "Installed decoders, the one in use first"
    table = parts.table(heads, rows, named, (3, 4), stacked=True)
    kept = (
        " Those that ship with the app cannot be removed."
        if any(row.shipped for row in found)
        else ""
    )
    lead = f"If an encoder has several, the first is used.{kept}"
    return parts.heading("Installed decoders", lead) + table


def _card(workspace: Workspace, name: str) -> str:
    """A decoder's card as HTML; empty for no name or an unknown one."""
    try:
        return laid_out(decoders.card_of(workspace, name)) if name else ""
    except UserError:  # links may be old
        return ""


def _cells(workspace: Workspace, row: DecoderInfo) -> list[str]:
    to = escape(address.link("decode", encoder=row.encoder))
    cells = [
        f'<a class="t-spec" href="{to}" aria-label="{escape(f"Decode with {row.encoder}")}">'
        f"{escape(row.encoder)}</a>",
        escape(decoders.ARCHITECTURES.get(row.architecture, row.architecture)),
        escape(row.trained_on or formats.MISSING),
        formats.count(row.sentences or None),
        formats.count(row.words or None),
        "ships with the app" if row.shipped else formats.ago(row.added),
        button("Read", "card", row.name, about=f"Read the card of {row.name}", kind="link"),
    ]
    return cells if workspace.read_only else [*cells, _removal(workspace, row)]


def _removal(workspace: Workspace, row: DecoderInfo) -> str:
    """A removal button that first says what is deleted; a note for a shipped decoder."""
    if row.shipped:
        return '<span class="t-muted">cannot be removed</span>'
    about = f"{row.name}, the decoder of {row.encoder}"
    if decoders.inside(workspace, row.folder):
        text, label = (
            "Its files are in the store and will be permanently deleted.",
            "Delete its files",
        )
    else:
        text, label = "Its folder is yours and is not touched.", "Remove from the list"
    act = button(label, "remove", row.name, about=f"{label}: {about}")
    return (
        f'<details class="t-removal"><summary class="t-button t-small-button" '
        f'aria-label="{escape(f"Remove {about}")}">Remove</summary>'
        f"<p><strong>{escape(row.name)}</strong>. {escape(text)}</p>{act}</details>"
    )


def _drawn(workspace: Workspace, run: str) -> tuple[Any, ...]:
    """The list, the opened run's losses and samples, the installed decoders, the marks."""
    from theodolite.app.pages.trainings import service

    rows = service.table(workspace, LISTED, service.DECODERS)
    found = service.curves(workspace, run) if any(row.run == run for row in rows) else None
    return (
        _listing(workspace, rows, run),
        _losses(found) if found else None,
        _samples(found) if found else "",
        _installed(workspace),
        _marks(workspace, run),
    )


def _marks(workspace: Workspace, run: str) -> list[Any]:
    """State whose change redraws the page."""
    from theodolite.app.pages.trainings import service

    runs = workspace.store.runs.list(limit=LISTED, kinds=service.DECODERS)
    listed = [
        [*mark, row["asked"]] for mark, row in zip(progress.signature(runs), runs, strict=True)
    ]
    return [listed, run, service.cursor(workspace, run) if run else 0]


def _listing(workspace: Workspace, rows: list[TrainingRun], opened: str) -> str:
    """Every training, the newest first."""
    if not rows:
        return parts.empty(
            "No decoder trained yet",
            "Trainings appear here as soon as they are queued, with sample reconstructions.",
        )
    items = (_item(workspace, row, row.run == opened) for row in rows)
    return jobs_views.listing(items, "Trainings of decoders, newest first", "t-training")


def _item(workspace: Workspace, row: TrainingRun, opened: bool) -> str:
    run = workspace.store.runs.get(row.run)
    about = f"{row.title}, {row.state}: {'close' if opened else 'show'} its curves"
    name = button(row.title, "open", row.run, about=about, kind="link")
    return training.item(workspace, run, row, name, opened=opened)


def _losses(found: Curves) -> dict[str, Any] | None:
    """A chart of the losses by step; None before the first."""
    lines = []
    if found.steps:
        lines.append(
            figures.Curve(
                "training", [e["step"] for e in found.steps], [e["loss"] for e in found.steps]
            )
        )
    if found.evals:
        steps, values = ([e[name] for e in found.evals] for name in ("step", "loss"))
        best = steps[values.index(min(values))]
        lines.append(figures.Curve("held-out sentences", steps, values, 1, best))
    if not lines:
        return None
    return figures.curves_drawing(
        lines, LOSS, "decoder-loss", height=HEIGHT, showlegend=True, margin=MARGIN
    )


def _samples(found: Curves) -> str:
    """Reconstructions of a few held-out sentences at the last evaluation, differences marked."""
    notes = "".join(f"<li>{escape(note['message'])}</li>" for note in found.notes)
    noted = f'<ul class="t-noted" aria-label="Notes">{notes}</ul>' if notes else ""
    if not found.evals:
        return noted
    last = found.evals[-1]
    marked = word_diff.marked
    rows = "".join(
        f'<li><p class="t-given" dir="auto">{escape(given)}</p>'
        f'<p class="t-sentence" dir="auto">'
        f"{marked(differing(given, decoded)) or 'nothing'}</p></li>"
        for given, decoded in last["samples"]
    )
    lead = (
        f"Held-out sentences, and their reconstructions after {formats.count(last['step'])} "
        "updates."
    )
    return (
        f"{parts.heading('What it says so far', lead)}"
        f'<ul class="t-told t-samples" aria-label="Sentences and what came back">{rows}'
        f"</ul>{word_diff.LEGEND}{noted}"
    )
