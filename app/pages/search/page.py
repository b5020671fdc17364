"""The page *Search*: sentences of a collection by meaning, example, words or pattern."""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import takewhile
from typing import Any

import gradio as gr

import theodolite.app.surfaces.web as web
from theodolite.app import formats
from theodolite.app.blocks import Nothing, Progress
from theodolite.app.pages.data import choices as collections
from theodolite.app.pages.encoders import choices
from theodolite.app.pages.search import published, service
from theodolite.app.pages.search.answer import QUERY, SearchSpec, answer, shipped_hits
from theodolite.app.spec import parameters
from theodolite.app.web import address, background_call, parts
from theodolite.app.web.controls import Answer, Controls, Values, on, on_load, shape
from theodolite.app.web.parts import ALWAYS_LAST, HIDE_PROGRESS
from theodolite.app.web.progress import signature
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import LIVE

TITLE = "Search"
PATH = "search"
PUBLISHED = published.PUBLISHED
POLL_SECONDS = 1
MAX_SHOWN = 100
MAX_QUERIES = 10
MAX_CHARACTERS = 2000
"""Most characters of a query: addresses are limited."""
MAX_TYPED = 2 * MAX_CHARACTERS
"""Most characters that the box takes: all stand in the address, with which every call is made."""
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
    "max_length": MAX_TYPED,
    "elem_classes": ["t-wide"],
}
FOCUS = """() => {
  const box = document.querySelector("#query textarea");
  if (document.activeElement !== document.body || !matchMedia("(pointer: fine)").matches) return;
  box.focus({ preventScroll: true });
  box.select();
}"""
"""One types at once, in place of what stands there; on a phone it would open the keyboard."""
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
        default=QUERY,
        most=(MAX_QUERIES, MAX_CHARACTERS),
    ),
    data=replace(collections.COLLECTION, name="data"),
    encoders=replace(
        choices.ENCODERS,
        name="encoders",
        key="encoder",
        hint="Choose from the list, or write one such as fuse(bm25, minilm) and press Enter.",
    ),
    k=web.control(_FIELDS["k"], maximum=MAX_SHOWN),
    least=web.control(_FIELDS["least"], step=0.05, placeholder="any"),
    unlike=replace(
        web.control(_FIELDS["unlike"], placeholder="Optional", visible=False, **LINES),
        most=(MAX_QUERIES, MAX_CHARACTERS),
    ),
    only=replace(
        web.control(_FIELDS["only"], choices=[], value=[], multiselect=True),
        box=gr.Dropdown,
        default=(),
    ),
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    controls = Controls(*CONTROLS)
    options = {"info": None, "allow_custom_value": False} if workspace.read_only else {}
    with parts.bar(TITLE, DESCRIPTION):
        query, unlike = controls.render("queries"), controls.render("unlike")
        go = gr.Button("Search", variant="primary", elem_id="search-button")
        place = controls.render("data")
        with parts.more():
            controls.render("encoders", **options)
            controls.render("by", "k", "least", "only", "chunks")
            pick = gr.Button("Use a random sentence", size="md", elem_id="pick")
            examples = {
                gr.Button(f"SimCSE table 10: {word}", size="md", visible=False): text
                for word, text in TABLE_10.items()
            }
    notice = parts.notice()
    hits = web.answer(elem_id="hits", elem_classes=["t-answer"])
    timer = gr.Timer(POLL_SECONDS, active=False)
    seen = controls.add("seen", gr.State([]))
    chips, chips_changed = choices.watch(controls["encoders"])
    asking, outputs = _Asking(workspace, hits, timer, seen), [hits, timer, seen]

    def load(request: gr.Request) -> Answer:
        flickr = gr.update(visible=FLICKR in workspace.catalog.names())
        values = _fill(workspace, controls.from_address(request), request)
        updates = {controls[name]: value for name, value in values.items()}
        updates[chips] = choices.joined(values["encoders"])
        return updates | dict.fromkeys(examples, flickr)

    def filter_of(collection: str, only: list[str] | None, chunks: str | None) -> Answer:
        return {
            controls["only"]: _only(workspace, collection, only or ()),
            controls["chunks"]: _chunks(workspace, collection, chunks or ""),
        }

    def draw(collection: str) -> Answer:
        sentences, _ = workspace.catalog.sentences(collection)
        return {query: random.choice(sentences)[:MAX_CHARACTERS]}

    opened = on_load(load, [*controls.values(), *examples, chips], notice)
    on(opened.then, asking.reopen, controls, outputs, notice, **ALWAYS_LAST)
    opened.then(None, js=FOCUS)
    other = on(
        place.input,
        filter_of,
        [place, controls["only"], controls["chunks"]],
        [controls["only"], controls["chunks"]],
        notice,
        **ALWAYS_LAST,
    )
    drawn = on(pick.click, draw, [place], [query], notice, **HIDE_PROGRESS)
    usual = {place: FLICKR, controls["by"]: "meaning", controls["only"]: []}
    tried = [
        on(
            button.click,
            lambda text=text: {query: text} | usual,
            None,
            [query, *usual],
            notice,
            **HIDE_PROGRESS,
        )
        for button, text in examples.items()
    ]
    asks = [go.click, controls["only"].input, chips_changed]
    asks += [box.submit for box in (query, unlike, *map(controls.get, ("k", "least", "chunks")))]
    for event in (asks, *(before.then for before in (other, drawn, *tried))):
        on(event, asking.search, controls, outputs, notice, **ALWAYS_LAST)
    on(timer.tick, asking.poll, controls, outputs, notice, **HIDE_PROGRESS)
    shape(partial(_shape, controls, pick), {controls["by"]: LABELS})
    controls.keep()


@dataclass(frozen=True)
class _Asking:
    """Answers the page's controls.

    Attributes:
        workspace: with the collections.
        hits: the component of the answer.
        timer: polls while a run is under way.
        seen: marks of the runs that were shown.
    """

    workspace: Workspace
    hits: Any
    timer: Any
    seen: Any

    def search(self, values: Values, request: gr.Request) -> Iterator[Answer]:
        """Answer, and start what has to be computed."""
        yield from self._latest(request, self._answers(values, start=True))

    def reopen(self, values: Values, request: gr.Request) -> Iterator[Answer]:
        """Answer with what there is; an empty query is no error when a page is opened."""
        if values.queries.strip():
            yield from self._latest(request, self._answers(values, opening=True))
        else:
            yield {self.hits: web.value([Nothing("No query", "Write one above.")])}

    def poll(self, values: Values) -> Answer:
        """Answer again if a run has got further."""
        runs = service.runs(self.workspace, _spec(values).collections.values())
        if signature(runs) == values.seen:
            return None
        *_, last = self._answers(values)
        return last

    def _latest(self, request: gr.Request, answers: Iterator[Answer]) -> Iterator[Answer]:
        """The answers until the tab asks something else: events of several controls overlap."""
        is_stale = background_call.ask(request.session_hash)
        return takewhile(lambda _: not is_stale(), answers)

    def _answers(
        self, values: Values, *, start: bool = False, opening: bool = False
    ) -> Iterator[Answer]:
        """Yield the hits as they become ready; runs may be started, and hits that ship shown."""
        workspace, spec = self.workspace, _spec(values)

        def do(needed: Any) -> bool:
            if start:
                service.start(workspace, needed)
            return False

        known = shipped_hits(workspace, spec) if opening else {}
        for one in answer(workspace, spec, do, shipped=known):
            runs = service.runs(workspace, spec.collections.values())
            waits = one.waits and any(run["state"] in LIVE for run in runs)
            yield {
                self.hits: web.value(one.blocks()),
                self.timer: gr.update(active=waits),
                self.seen: signature(runs),
            }
        for column in one.columns_of_hits if start else ():
            # One that failed, or searched a part while its run is under way, is none to count.
            if column.is_encoder and column.hits and not isinstance(column.status, Progress):
                service.count_search(workspace, column.name, spec.collections[column.chunks])


def _shape(controls: Controls, pick: gr.Button, by: str) -> dict[Any, Any]:
    """Updates that show only the controls a search mode uses."""
    label, placeholder = LABELS[by]
    near = gr.update(visible=by in ("meaning", "examples"))
    return {
        controls["queries"]: gr.update(label=label, placeholder=placeholder),
        controls["unlike"]: gr.update(visible=by == "examples"),
        **dict.fromkeys((controls["least"], controls["encoders"], pick), near),
    }


def _fill(workspace: Workspace, values: Values, request: gr.Request) -> dict[str, Any]:
    """The values of the controls from the address."""
    place, collection = collections.fill(workspace, values.data)
    near = values.by in ("meaning", "examples")
    return vars(values) | {
        "queries": "\n".join(address.every(request, "q")) or (QUERY if near else ""),
        "unlike": "\n".join(address.every(request, "unlike")),
        "data": collection,
        "only": _only(workspace, place, values.only),
        "chunks": _chunks(workspace, place, values.chunks),
        "encoders": choices.fill(workspace, choices.from_address(workspace, request), rankers=True),
    }


def _only(workspace: Workspace, collection: str, value: Any = ()) -> dict[str, Any]:
    """The update of the label filter for a collection."""
    offered = service.filters_of(workspace, collection)
    valid = [text for text in value if text in offered]
    return gr.update(choices=offered, value=valid, visible=bool(offered))


def _chunks(workspace: Workspace, collection: str, value: str = "") -> dict[str, Any]:
    """The update of the ways to cut documents for a collection; no other is cut."""
    cut = not workspace.read_only and isinstance(workspace.catalog.load(collection), Retrieval)
    return gr.update(value=value if cut else "", visible=cut)


def _spec(values: Values) -> SearchSpec:
    """The search that the controls describe; quotes or slashes around a query say how it is meant.

    A `"boat"` is searched for by its words, and a `/boats?/` is a pattern.
    """
    text, by = values.queries.strip(), values.by
    if by == "meaning" and len(text) > 2 and "\n" not in text and text[0] == text[-1]:
        by = {'"': "words", "/": "pattern"}.get(text[0], by)
        text = text[1:-1] if by == "pattern" else text
    near = by in ("meaning", "examples")
    return SearchSpec(
        _lines(text),
        values.data,
        choices.need(values.encoders or ()) if near else (),
        values.k,
        by,
        _lines(values.unlike or "") if by == "examples" else (),
        values.least,
        values.only or (),
        chunks=values.chunks or "",
    )


def _lines(text: str) -> list[str]:
    """The queries in a box, one per line."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    longest = max(map(len, lines), default=0)
    if len(lines) > MAX_QUERIES or longest > MAX_CHARACTERS:
        most = f"{formats.plural(longest, 'character')}{' or more' * (len(text) >= MAX_TYPED)}"
        subject = f"{len(lines)} queries, the longest of {most}, are"
        raise UserError(
            f"{subject if len(lines) > 1 else f'A query of {most} is'} too much for one page.",
            f"Ask at most {MAX_QUERIES} of at most {MAX_CHARACTERS:,} characters, one per line.",
            code="too-large",
        )
    return lines
