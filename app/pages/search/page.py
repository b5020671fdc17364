"""The page *Search*: sentences of a collection by meaning, example, words or pattern."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import gradio as gr

from theodolite.app.components.hits import hits
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.search import example, filters, freezing, service, views
from theodolite.app.pages.search.service import MAX_CHARACTERS, MAX_QUERIES, SearchSpec
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Control, Controls, Values, on, on_load, shape
from theodolite.app.web.frozen import Frozen
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Search"
PATH = "search"
FROZEN = Frozen(views=freezing.views, files={freezing.SEARCH: freezing.files}, build=freezing.build)
POLL_SECONDS = 1
MAX_SHOWN = 100
TABLE_10 = {
    "boat": "A man riding a small boat in a harbor.",
    "dog": "A dog runs on the green grass near a wooden fence.",
}
"""The queries of SimCSE's table 10, which searches Flickr30k's captions."""
FLICKR = "flickr30k"
MODES = [
    ("Meaning", "meaning"),
    ("Examples", "examples"),
    ("Words", "words"),
    ("Pattern", "pattern"),
]
LABELS = {
    "meaning": ("Query", 'A sentence, "exact words", or a /pattern/'),
    "examples": (
        "Similar to these, one per line",
        "Example sentences; Shift+Enter for another line",
    ),
    "words": ("Words", 'All of these words, in any order; "quotes" for a phrase'),
    "pattern": ("Regular expression", r"\bboats?\b"),
}
DESCRIPTION = (
    "One query, and each encoder's nearest sentences by cosine in its own column. A letter "
    "marks sentences that several of them found; hover or focus it to see where."
)
LINES = {
    "lines": 1,
    "max_lines": MAX_QUERIES,
    "max_length": 2 * MAX_CHARACTERS,
    "elem_classes": ["t-wide"],
}
CONTROLS = (
    Control("mode", "Search by", gr.Radio, SearchSpec.mode, choices=MODES),
    collections.COLLECTION,
    Control(
        "query",
        LABELS["meaning"][0],
        gr.Textbox,
        example.QUERY,
        key="q",
        options={
            "placeholder": LABELS["meaning"][1],
            **LINES,
            "elem_classes": ["t-wide", "t-bare"],
        },
    ),
    Control(
        "unlike",
        "Unlike these, one per line",
        gr.Textbox,
        "",
        options={"placeholder": "Optional", "visible": False, **LINES},
    ),
    Control(
        "only",
        "Filter by label",
        gr.Dropdown,
        (),
        options={"choices": [], "value": [], "multiselect": True},
    ),
    Control(
        "k",
        "Top k",
        gr.Number,
        SearchSpec.k,
        options={"minimum": 1, "maximum": MAX_SHOWN, "precision": 0},
    ),
    Control(
        "least",
        "Minimum cosine",
        gr.Number,
        options={"minimum": -1, "maximum": 1, "step": 0.05, "placeholder": "any"},
    ),
    choices.ENCODERS,
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("query", "unlike")
        go = gr.Button("Search", variant="primary", elem_id="search-button")
        controls.render("collection")
        with parts.more():
            controls.render("encoder", "mode", "k", "least", "only")
            pick = gr.Button("Pick one from the collection", size="md", elem_id="pick")
            examples = {
                gr.Button(f"SimCSE table 10: {word}", size="md", visible=False): text
                for word, text in TABLE_10.items()
            }
    notice = parts.notice()
    shown = {
        "nothing": parts.static(""),
        "hits": hits(elem_id="hits", elem_classes=["t-answer"]),
        "timer": gr.Timer(POLL_SECONDS, active=False),
    }
    shown["seen"] = controls.add("seen", gr.State([]))
    outputs = [*shown.values()]

    def load(request: gr.Request) -> Answer:
        found = _fill(workspace, controls, request)
        flickr = gr.update(visible=_has(workspace, FLICKR))
        return found | dict.fromkeys(examples, flickr)

    def changed(named: Mapping[str, Any]) -> Answer:
        return {shown[name]: value for name, value in named.items()}

    def search(values: Values) -> Iterator[Answer]:
        answers = views.answer(workspace, _spec(values), start=True)
        yield from map(changed, answers)

    def reopen(values: Values) -> Iterator[Answer]:
        yield from map(changed, _reopened(workspace, values))

    def poll(values: Values) -> Answer:
        if views.marks(workspace, values.collection) == values.seen:
            return None
        *_, last = views.answer(workspace, _spec(values), start=False)
        return changed(last)

    def filter_of(collection: str) -> Answer:
        return {controls["only"]: _only(workspace, collection)}

    def draw(collection: str) -> Answer:
        sentences, _ = workspace.catalog.sentences(collection)
        return {controls["query"]: random.choice(sentences)[:MAX_CHARACTERS]}

    opened = on_load(load, [*controls.values(), *examples], notice)
    on(opened.then, reopen, controls, outputs, notice, **ALWAYS_LAST)
    place, query = controls["collection"], controls["query"]
    other = on(place.input, filter_of, [place], [controls["only"]], notice, **ALWAYS_LAST)
    drawn = on(pick.click, draw, [place], [query], notice, **HIDE_PROGRESS)
    named = {place: FLICKR, controls["mode"]: "meaning", controls["only"]: []}
    tried = [
        on(
            button.click,
            lambda text=text: {query: text} | named,
            None,
            [query, *named],
            notice,
            **HIDE_PROGRESS,
        )
        for button, text in examples.items()
    ]
    boxes = [query, controls["unlike"], controls["k"], controls["least"]]
    asks = [
        go.click,
        *(box.submit for box in boxes),
        controls["only"].input,
        controls["encoder"].input,
    ]
    for event in (asks, *(before.then for before in (other, drawn, *tried))):
        on(event, search, controls, outputs, notice, **ALWAYS_LAST)
    on(shown["timer"].tick, poll, controls, outputs, notice, **HIDE_PROGRESS)
    shape(lambda mode: _shaped(controls, pick, mode), {controls["mode"]: LABELS})
    controls.keep()


def _has(workspace: Workspace, dataset: str) -> bool:
    return any(info.name == dataset for info in workspace.catalog.list())


def _fill(workspace: Workspace, controls: Controls, request: gr.Request) -> dict[Any, Any]:
    """The values of the controls from the address."""
    values = controls.from_address(request)
    place, collection = collections.filled(workspace, values.collection)
    found = vars(values) | {
        "query": "\n".join(address.every(request, "q")) or _usual(values.mode),
        "unlike": "\n".join(address.every(request, "unlike")),
        "collection": collection,
        "only": _only(workspace, place, values.only),
        "encoder": choices.filled(workspace, choices.from_address(workspace, request)),
    }
    return {controls[name]: value for name, value in found.items()}


def _usual(mode: str) -> str:
    """The default query; empty for words and patterns."""
    return example.QUERY if mode in ("meaning", "examples") else ""


def _only(workspace: Workspace, collection: str, wanted: Any = ()) -> dict[str, Any]:
    """The update of the label filter for a collection."""
    offered = filters.offered(workspace, collection)
    kept = [text for text in wanted if text in offered]
    return gr.update(choices=offered, value=kept, visible=bool(offered))


def _shaped(controls: Controls, pick: gr.Button, mode: str) -> dict[Any, Any]:
    """Updates that show only the controls a search mode uses."""
    label, placeholder = LABELS[mode]
    near = gr.update(visible=mode in ("meaning", "examples"))
    return {
        controls["query"]: gr.update(label=label, placeholder=placeholder),
        controls["unlike"]: gr.update(visible=mode == "examples"),
        **dict.fromkeys((controls["least"], controls["encoder"], pick), near),
    }


def _spec(values: Values) -> SearchSpec:
    """The search that the controls describe."""
    query, mode = service.mode_of(values.query, values.mode)
    return service.spec(
        service.lines(query),
        values.collection,
        mode=mode,
        k=values.k,
        least=values.least,
        only=values.only or (),
        unlike=service.lines(values.unlike or ""),
        encoders=values.encoder or (),
    )


def _reopened(workspace: Workspace, values: Values) -> Iterator[dict[str, Any]]:
    """Answer on page load: an empty query is no error, and no run is started."""
    if values.query.strip():
        spec = _spec(values)
        known = example.known(workspace, spec)
        yield from views.answer(workspace, spec, start=False, known=known)
        return
    yield {
        "nothing": parts.empty("No query", "Write one above."),
        "hits": "",
        "timer": gr.update(active=False),
        "seen": [],
    }
