"""The page *Search*: sentences of a collection by meaning, example, words or pattern."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app.blocks import Nothing, Progress
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.search import example, filters, job, published, service
from theodolite.app.pages.search.answer import SearchSpec, answer
from theodolite.app.pages.search.service import MAX_CHARACTERS, MAX_QUERIES
from theodolite.app.spec import parameters
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, Controls, Values, on, on_load, shape
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.web.progress import signature
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

TITLE = "Search"
PATH = "search"
PUBLISHED = published.PUBLISHED
POLL_SECONDS = 1
MAX_SHOWN = 100
TABLE_10 = {
    "boat": "A man riding a small boat in a harbor.",
    "dog": "A dog runs on the green grass near a wooden fence.",
}
"""The queries of SimCSE's table 10, which searches Flickr30k's captions."""
FLICKR = "flickr30k"
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
LINES: dict[str, Any] = {
    "lines": 1,
    "max_lines": MAX_QUERIES,
    "max_length": 2 * MAX_CHARACTERS,
    "elem_classes": ["t-wide"],
}
_FIELDS = {parameter.name: parameter for parameter in parameters(SearchSpec)}
CONTROLS = web.controls(
    SearchSpec,
    without=["index"],
    queries=replace(
        web.control(
            _FIELDS["queries"],
            placeholder=LABELS["meaning"][1],
            elem_id="query",
            **LINES | {"elem_classes": ["t-wide", "t-bare"]},
        ),
        default=example.QUERY,
    ),
    data=replace(collections.COLLECTION, name="data"),
    encoders=replace(choices.ENCODERS, name="encoders", key="encoder"),
    k=web.control(_FIELDS["k"], maximum=MAX_SHOWN),
    least=web.control(_FIELDS["least"], step=0.05, placeholder="any"),
    unlike=web.control(_FIELDS["unlike"], placeholder="Optional", visible=False, **LINES),
    only=replace(
        web.control(_FIELDS["only"], choices=[], value=[], multiselect=True),
        box=gr.Dropdown,
        default=(),
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    with parts.bar(TITLE, DESCRIPTION):
        controls.render("queries", "unlike")
        go = gr.Button("Search", variant="primary", elem_id="search-button")
        controls.render("data")
        with parts.more():
            controls.render("encoders", "by", "k", "least", "only")
            pick = gr.Button("Pick one from the collection", size="md", elem_id="pick")
            examples = {
                gr.Button(f"SimCSE table 10: {word}", size="md", visible=False): text
                for word, text in TABLE_10.items()
            }
    notice = parts.notice()
    hits = web.answer(elem_id="hits", elem_classes=["t-answer"])
    timer = gr.Timer(POLL_SECONDS, active=False)
    seen = controls.add("seen", gr.State([]))
    outputs = [hits, timer, seen]

    def load(request: gr.Request) -> Answer:
        flickr = gr.update(visible=_has(workspace, FLICKR))
        return _fill(workspace, controls, request) | dict.fromkeys(examples, flickr)

    def changed(parts_of_answer: Sequence[Any]) -> Answer:
        return dict(zip(outputs, parts_of_answer, strict=True))

    def search(values: Values) -> Iterator[Answer]:
        yield from map(changed, _answers(workspace, values, start=True))

    def reopen(values: Values) -> Iterator[Answer]:
        yield from map(changed, _reopened(workspace, values))

    def poll(values: Values) -> Answer:
        if signature(job.runs(workspace, values.data)) == values.seen:
            return None
        *_, last = _answers(workspace, values, start=False)
        return changed(last)

    def filter_of(collection: str) -> Answer:
        return {controls["only"]: _only(workspace, collection)}

    def draw(collection: str) -> Answer:
        sentences, _ = workspace.catalog.sentences(collection)
        return {controls["queries"]: random.choice(sentences)[:MAX_CHARACTERS]}

    opened = on_load(load, [*controls.values(), *examples], notice)
    on(opened.then, reopen, controls, outputs, notice, **ALWAYS_LAST)
    place, query = controls["data"], controls["queries"]
    other = on(place.input, filter_of, [place], [controls["only"]], notice, **ALWAYS_LAST)
    drawn = on(pick.click, draw, [place], [query], notice, **HIDE_PROGRESS)
    named = {place: FLICKR, controls["by"]: "meaning", controls["only"]: []}
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
        controls["encoders"].input,
    ]
    for event in (asks, *(before.then for before in (other, drawn, *tried))):
        on(event, search, controls, outputs, notice, **ALWAYS_LAST)
    on(timer.tick, poll, controls, outputs, notice, **HIDE_PROGRESS)
    shape(lambda by: _shaped(controls, pick, by), {controls["by"]: LABELS})
    controls.keep()


def _has(workspace: Workspace, dataset: str) -> bool:
    return any(info.name == dataset for info in workspace.catalog.list())


def _fill(workspace: Workspace, controls: Controls, request: gr.Request) -> dict[Any, Any]:
    """The values of the controls from the address."""
    values = controls.from_address(request)
    place, collection = collections.filled(workspace, values.data)
    near = values.by in ("meaning", "examples")
    filled = vars(values) | {
        "queries": "\n".join(address.every(request, "q")) or (example.QUERY if near else ""),
        "unlike": "\n".join(address.every(request, "unlike")),
        "data": collection,
        "only": _only(workspace, place, values.only),
        "encoders": choices.filled(workspace, choices.from_address(workspace, request)),
    }
    return {controls[name]: value for name, value in filled.items()}


def _only(workspace: Workspace, collection: str, wanted: Any = ()) -> dict[str, Any]:
    """The update of the label filter for a collection."""
    offered = filters.offered(workspace, collection)
    valid = [text for text in wanted if text in offered]
    return gr.update(choices=offered, value=valid, visible=bool(offered))


def _shaped(controls: Controls, pick: gr.Button, by: str) -> dict[Any, Any]:
    """Updates that show only the controls a search mode uses."""
    label, placeholder = LABELS[by]
    near = gr.update(visible=by in ("meaning", "examples"))
    return {
        controls["queries"]: gr.update(label=label, placeholder=placeholder),
        controls["unlike"]: gr.update(visible=by == "examples"),
        **dict.fromkeys((controls["least"], controls["encoders"], pick), near),
    }


def _spec(values: Values) -> SearchSpec:
    """The search that the controls describe."""
    query, by = service.mode_of(values.queries, values.by)
    near = by in ("meaning", "examples")
    return SearchSpec(
        service.lines(query),
        values.data,
        choices.need(values.encoders or ()) if near else (),
        values.k,
        by,
        service.lines(values.unlike or "") if by == "examples" else (),
        values.least,
        values.only or (),
    )


def _answers(
    workspace: Workspace, values: Values, *, start: bool, opening: bool = False
) -> Iterator[tuple[str, Any, list[Any]]]:
    """Yield the hits as they become ready, an update of the timer, and the marks of the runs.

    Args:
        workspace: the workspace.
        values: of the controls.
        start: whether encoding and indexing runs may be started.
        opening: whether hits that ship are shown.
    """
    spec = _spec(values)

    def do(needed: Any) -> bool:
        if start:
            job.start(workspace, needed)
        return False

    known = example.known(workspace, spec) if opening else {}
    for one in answer(workspace, spec, do, shipped=known):
        runs = job.runs(workspace, spec.data)
        waits = one.waits and any(run["state"] in LIVE for run in runs)
        yield web.value(one.blocks()), gr.update(active=waits), signature(runs)
    for column in one.columns_of_hits if start else ():
        # One that failed, or searched a part while its run is under way, is none to count.
        if column.is_encoder and column.hits and not isinstance(column.status, Progress):
            job.count_search(workspace, column.name, spec.data)


def _reopened(workspace: Workspace, values: Values) -> Iterator[tuple[str, Any, list[Any]]]:
    """Answer on page load: an empty query is no error, and no run is started."""
    if values.queries.strip():
        yield from _answers(workspace, values, start=False, opening=True)
    else:
        yield web.value([Nothing("No query", "Write one above.")]), gr.update(active=False), []
