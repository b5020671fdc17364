"""The page *Train decoder*: a form, its command, its time, and the decoder as it learns."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import formats
from app.components.actions import actions
from app.components.chart import chart
from app.pages.jobs import service as jobs
from app.pages.train import decoder_form as form
from app.pages.train import decoder_list as at_hand
from app.pages.train import decoder_views as views
from app.pages.train import form_parts
from app.pages.train.decoder_form import BY_NAME, FIELDS, NAMES, OWN
from app.web import address, background_call, parts
from app.web.events import PageEvent
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS, ONE_AT_A_TIME
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.decoding.estimate import DecoderEstimate

TITLE = "Train decoder"
PATH = "train-decoder"
DESCRIPTION = (
    "Train a decoder for an encoder: a language model that says a sentence again from its vector "
    "alone. It runs in the background, and what it has learned so far is shown below."
)
POLL_SECONDS = 2
INTO_VIEW = "(read) => { if (read) document.querySelector('#card').scrollIntoView(); }"


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    with gr.Row(elem_classes="t-desk"):
        with gr.Column(scale=5, min_width=320):
            preset, about, controls = _controls(workspace)
        with gr.Column(scale=3, min_width=320, elem_classes="t-beside"):
            side = form_parts.Side(workspace, "Measure the time it takes")
    asked = [controls[name] for name in NAMES]
    followed = _Followed(workspace)

    def load(request: gr.Request) -> tuple[Any, ...]:
        return form.load(workspace, request)

    def typed(*values: Any) -> tuple[Any, ...]:
        return _described(workspace, dict(zip(NAMES, values, strict=True)))

    look = {"fn": parts.telling(typed, 4), "inputs": asked,
            "outputs": [preset, about, side.command, side.said, side.notice],
            **ONE_AT_A_TIME}  # fmt: skip
    filled = [preset, about, *asked]
    parts.on_load(parts.telling(load, len(filled)), None, [*filled, side.notice]).then(**look)
    preset.input(
        parts.telling(form.picked, 1 + len(BY_NAME)), preset,
        [about, *(controls[name] for name in BY_NAME), side.notice], **ALWAYS_LAST,
    ).then(**look)  # fmt: skip
    # `change`, not `input`: a text that is pasted or filled in counts as well.
    gr.on([control.change for control in asked], **look)
    kinds = [kind for _, kind in BY_NAME["architecture"].choices]
    parts.shape(lambda kind: [gr.update(visible=kind == "causal")],
                {controls["architecture"]: kinds}, [controls["base"]])  # fmt: skip
    begun = side.wire(controls, _start, _estimated)
    followed.wire(begun)
    address.keep({"preset": preset, **controls}, form.usual() | {"preset": "ours"})


def _controls(workspace: Workspace) -> tuple[Any, Any, dict[str, Any]]:
    """The preset, a word on it, and every control by name."""
    made: dict[str, Any] = {}
    own = not workspace.read_only
    made["encoder"] = gr.Dropdown([], label="Encoder", elem_id="decoder-encoder",
                                  info="Whose vectors are decoded.",
                                  allow_custom_value=own)  # fmt: skip
    made["train"] = gr.Dropdown(
        [], label="Text", elem_id="decoder-train", multiselect=True, allow_custom_value=own,
        info="What it learns from: data sets, or the path of a file with one sentence a line."
        if own else "What it learns from.",
    )  # fmt: skip
    preset = gr.Dropdown([], label="Preset", elem_id="preset", filterable=False,
                         info="Settings to begin with.")  # fmt: skip
    about = parts.static("", elem_id="preset-about")
    _fields([field for field in FIELDS if field.group != form.FOLD], made)
    with gr.Accordion("Sizes, optimiser, machine", open=False, elem_id="fold-decoder"):
        _fields([field for field in FIELDS if field.group == form.FOLD], made)
    return preset, about, {name: made[name] for name in NAMES}


def _fields(fields: list[form_parts.Field], made: dict[str, Any]) -> None:
    with gr.Row(elem_classes="t-fields"):
        made.update(form_parts.boxes(fields, "decoder", choice=220, text=130))
    made.update(form_parts.ticks(fields, "decoder"))


class _Followed:
    """Below the form: every training of a decoder, and the course of the one that is opened."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        parts.section("Decoders in training", "Press a name to follow it. Work goes on when this "
                      "page is closed.")  # fmt: skip
        self._notice = parts.notice()
        self._listing = actions(elem_id="decoders")
        self._curve = chart(height=views.HEIGHT, elem_id="curve")
        self._samples = parts.static("", elem_id="samples")
        self._at_hand = actions(elem_id="at-hand")
        self._removed = parts.notice()
        self._card = parts.static("", elem_id="card")
        self._read = gr.Textbox(visible="hidden", label="Card", elem_id="read")
        self._opened = gr.Textbox(visible="hidden", label="Opened", elem_id="opened")
        self._seen = gr.State([])
        self._views = [self._listing, self._curve, self._samples, self._at_hand, self._seen]

    def wire(self, begun: Any) -> None:
        """Attach the events; `begun` is a box that gets the id of each run that is started."""
        workspace, shown = self._workspace, [self._opened, *self._views]

        def load(request: gr.Request) -> tuple[Any, ...]:
            run, read = address.first(request, "run"), address.first(request, "card")
            return read, at_hand.card(workspace, read), run, *views.drawn(workspace, run)

        def poll(run: str, known: list[Any]) -> tuple[Any, ...]:
            if views.marks(workspace, run) == known:
                return tuple(gr.skip() for _ in self._views)
            return views.drawn(workspace, run)

        def act(run: str, event: PageEvent) -> tuple[Any, ...]:
            said = ""
            if event.act == "open":
                run = "" if event.id == run else event.id
            else:
                said = jobs.act(workspace, event.act, event.id)
            return run, *views.drawn(workspace, run), parts.say(said) if said else ""

        def handle(read: str, event: PageEvent) -> tuple[Any, ...]:
            if event.act == "card":
                read = "" if event.id == read else event.id
                return read, at_hand.card(workspace, read), gr.skip()
            said = at_hand.removed(workspace, event.id)
            card = at_hand.card(workspace, read)
            return read if card else "", card, at_hand.listing(workspace), parts.say(said)

        def follow(run: str) -> tuple[Any, ...]:
            return run, *views.drawn(workspace, run)

        every = [self._read, self._card, *shown]
        loaded = parts.on_load(parts.telling(load, len(every)), None, [*every, self._notice])
        parts.poll(POLL_SECONDS, loaded, poll, [self._opened, self._seen], self._views)
        self._listing.act(parts.telling(act, len(shown)), self._opened, [*shown, self._notice],
                          **HIDE_PROGRESS)  # fmt: skip
        self._at_hand.act(parts.telling(handle, 3), self._read,
                          [self._read, self._card, self._at_hand, self._removed],
                          **HIDE_PROGRESS)  # fmt: skip
        self._read.change(None, self._read, js=INTO_VIEW)
        begun.change(
            parts.telling(follow, len(shown)), begun, [*shown, self._notice], **ALWAYS_LAST
        )
        address.keep({"run": self._opened, "card": self._read})


def _described(workspace: Workspace, values: Mapping[str, Any]) -> tuple[Any, ...]:
    """The preset if it still is one, a word on it, the command, what is wrong or about the time."""
    from app.pages.train import decoder_estimates as estimates
    from app.pages.train.decoder_queue import command_of

    if not any(values[name] for name in ("encoder", "train", "words", "epochs")):
        return tuple(gr.skip() for _ in range(4))  # nothing is filled in yet
    try:
        spec = form.spec(values)
    except UserError as error:
        return OWN, "", "", form_parts.wrong(error)
    name = form.preset_of(values)
    took = formats.time_left(estimates.guess(workspace, spec).seconds).removesuffix(" left")
    time = (
        f'<p class="t-small" role="status">It takes <strong>{escape(took)}</strong>, going by the '
        "size of the text and what this machine showed before.</p>"
    )
    return name, form.about(name), parts.command(shlex.split(command_of(spec))), time


def _start(workspace: Workspace, values: Mapping[str, Any]) -> tuple[str, str]:
    """Queue the training; its id, and a word on it."""
    from app.pages.train import decoder_queue
    from engine.training.examples import is_file, open_examples

    workspace.refuse_visitors()
    spec = decoder_queue.whole(workspace, form.spec(values))
    for name in spec.train:
        if is_file(name) and not name.endswith(".gz"):  # that would have to be unpacked first
            open_examples(name, "mlm", workspace.catalog, limit=1000,
                          folder=workspace.store.folder)  # fmt: skip
    run = decoder_queue.queue_training(workspace, spec)
    return run, parts.say("Queued. It is followed below.", "t-good")


def _estimated(workspace: Workspace, values: Mapping[str, Any]) -> Iterator[str]:
    """What it will take, after a probe of some seconds."""
    from app.pages.train import decoder_estimates as estimates
    from app.pages.train import decoder_queue

    workspace.refuse_visitors()
    spec = decoder_queue.whole(workspace, form.spec(values))
    said = "Reading the text and making a few updates; nothing is kept of them"
    for drawn, found in background_call.followed(lambda _: estimates.probed(workspace, spec), said):
        yield drawn if found is None else _cost(found)


def _cost(found: DecoderEstimate) -> str:
    facts = {
        "Time": f"about {formats.duration(found.seconds)} on {found.device}",
        "Encoding": f"{formats.duration(found.encoding)} of it",
        "Sentences": formats.count(found.sentences),
        "Updates": formats.count(found.steps),
        "Weights": formats.compact(found.parameters),
        "Speed": f"{found.pieces_per_second:,.0f} pieces a second",
    }
    rows = "".join(f"<dt>{name}</dt><dd>{escape(fact)}</dd>" for name, fact in facts.items())
    return f'<dl class="t-facts" role="status">{rows}</dl>'
