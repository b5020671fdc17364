"""The page *Search*: one query, each encoder's nearest sentences in a column of its own."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import gradio as gr

from app import address, formats, parts, retrieval
from app.components.hits import Column, columns, hits
from app.pages import choices
from app.pages.following import card
from engine.errors import UserError
from store.runs import LIVE

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Search"
PATH = "search"
FIRST = ("minilm", "wordllama", "random:256")
SMALL = 500
"""So many sentences are encoded at once, in a second or two; more become a background run."""
MOST_QUERIES = 10
MOST_CHARACTERS = 2000
"""Of a query. The box takes twice as many in all: they stand in the address, which has limits."""
POLL_SECONDS = 1
TABLE_10 = {
    "boat": "A man riding a small boat in a harbor.",
    "dog": "A dog runs on the green grass near a wooden fence.",
}
"""The queries of SimCSE's table 10, asked of Flickr30k's captions there."""
LEAD = (
    "One query, each encoder's nearest sentences by cosine in its own column. A letter marks "
    "what several of them found; hover or focus it to see its twins."
)


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, LEAD)
    with gr.Row():
        query = gr.Textbox(
            label="Query", placeholder="A sentence; shift and enter for another line", lines=1,
            max_lines=MOST_QUERIES, max_length=2 * MOST_CHARACTERS, elem_id="query",
            scale=4, min_width=300,
        )  # fmt: skip
        collection = gr.Dropdown([], label="Collection", elem_id="collection", scale=2)
        k = gr.Number(10, label="Nearest", minimum=1, maximum=100, precision=0, elem_id="k",
                      scale=0, min_width=110)  # fmt: skip
    encoders = choices.encoder_box()
    with gr.Row(elem_classes=["t-tight"]):
        go = gr.Button("Search", variant="primary", elem_id="search-button")
        pick = gr.Button("Pick one from the collection", size="md", elem_id="pick")
        examples = [
            gr.Button(f"SimCSE table 10: {word}", size="md", visible=False) for word in TABLE_10
        ]
    notice = parts.notice()
    nothing = parts.static("")
    found = hits(elem_id="hits")
    timer = gr.Timer(POLL_SECONDS, active=False)
    seen = gr.State([])
    controls = [query, collection, k, encoders]
    views = [nothing, found, timer, seen]

    def load(request: gr.Request) -> tuple[Any, ...]:
        names = [info.name for info in workspace.catalog.list()]
        named = address.first(request, "in")
        if named.startswith("hub:"):  # hub files are named, not listed
            names.append(named)
        asked = address.first(request, "k")
        flickr = gr.update(visible="flickr30k" in names)
        return (
            "\n".join(address.every(request, "q")),
            gr.update(choices=names, value=address.choice(request, "in", names, "starter-topics")),
            int(asked) if asked.isdecimal() and 0 < int(asked) <= 100 else 10,
            choices.filled(workspace, choices.asked(workspace, request, FIRST)),
            flickr,
            flickr,
        )

    def search(*values: Any) -> Iterator[tuple[Any, ...]]:
        yield from _search(workspace, *values, start=not workspace.read_only)

    def reopen(*values: Any) -> Iterator[tuple[Any, ...]]:
        yield from _reopen(workspace, *values)

    def poll(marks: list[Any], *values: Any) -> tuple[Any, ...]:
        if _marks(workspace, values[1]) == marks:
            return tuple(gr.skip() for _ in views)
        *_, last = _search(workspace, *values, start=False)
        return last

    def draw(name: str) -> str:
        sentences, _ = workspace.catalog.sentences(name)
        return random.choice(sentences)[:MOST_CHARACTERS]

    quiet = {"show_progress": "hidden"}
    searched = parts.telling(search, 4)
    opened = parts.on_load(parts.telling(load, 6), None, [*controls, *examples, notice])
    opened.then(parts.telling(reopen, 4), controls, [*views, notice], **quiet)
    gr.on([go.click, query.submit, collection.input, k.submit, encoders.input], searched, controls,
          [*views, notice], trigger_mode="always_last", **quiet)  # fmt: skip
    picked = pick.click(parts.telling(draw, 1), collection, [query, notice], **quiet)
    picked.then(searched, controls, [*views, notice], **quiet)
    for button, text in zip(examples, TABLE_10.values(), strict=True):
        button.click(
            lambda text=text: (text, "flickr30k"), None, [query, collection], **quiet
        ).then(searched, controls, [*views, notice], **quiet)
    timer.tick(parts.telling(poll, 4), [seen, *controls], [*views, notice], **quiet)
    address.keep({"q": query, "in": collection, "k": k, "encoder": encoders},
                 {"k": 10, "in": "starter-topics"})  # fmt: skip


def _reopen(workspace: Workspace, text: str, *values: Any) -> Iterator[tuple[Any, ...]]:
    """What a page opened by its address shows; what the address got wrong stays in the notice."""
    if not text.strip():
        hint = "Write one above, pick a sentence from the collection, or take an example."
        yield parts.empty("No query yet", hint), "", gr.update(active=False), [], gr.skip()
        return
    for found in _search(workspace, text, *values, start=False):
        yield (*found, gr.skip())


def _search(
    workspace: Workspace, text: str, collection: str, k: float, chosen: list[str], *, start: bool
) -> Iterator[tuple[Any, ...]]:
    """Columns as they become ready; those that wait for a background run are looked at again."""
    queries = _queries(text)
    names = choices.need(chosen)
    done = [Column(name, instead=_searching(name)) for name in names]
    for place, name in enumerate(names):
        yield "", columns(queries, done), gr.skip(), gr.skip()
        try:
            done[place] = _column(workspace, name, collection, queries, int(k or 10), start)
        except UserError as error:  # one encoder that fails leaves the others standing
            done[place] = Column(name, instead=parts.problem(error))
    waiting = any(run["state"] in LIVE for run in _runs(workspace, collection))
    marks = _marks(workspace, collection)
    yield "", columns(queries, done), gr.update(active=waiting), marks


def _searching(name: str) -> str:
    """A column whose turn is to come; the first search with a model loads it."""
    return (
        '<div class="t-run"><p class="t-muted">Searching; a model that is not loaded yet takes '
        f"some seconds.</p>{parts.bar(None, f'Searching with {name}')}</div>"
    )


def _queries(text: str) -> list[str]:
    """One query a line.

    Raises:
        UserError: none, or more and longer ones than a page can show.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if not lines:
        raise UserError("The query is empty.", "Write a sentence or a few words.")
    if len(lines) > MOST_QUERIES or max(map(len, lines)) > MOST_CHARACTERS:
        raise UserError(
            f"{formats.plural(len(lines), 'query', 'queries')}, the longest of "
            f"{formats.plural(max(map(len, lines)), 'character')}, is too much for one page.",
            f"Ask at most {MOST_QUERIES} of at most {MOST_CHARACTERS:,} characters, one a line.",
        )
    return list(dict.fromkeys(lines))


_ready: set[tuple[str, str]] = set()
"""(encoder, collection's hash) known to be in the cache: it never leaves it while we run."""


def _column(
    workspace: Workspace, name: str, collection: str, queries: Sequence[str], k: int, start: bool
) -> Column:
    """Search, or say how far the collection's encoding is, or start that."""
    _, data_hash = workspace.catalog.sentences(collection)
    if (name, data_hash) not in _ready:
        run = _run(workspace, name, collection)
        if run is not None and run["state"] in LIVE:
            return Column(name, instead=card(run))
        lacking = retrieval.missing(workspace, name, collection)
        if lacking > SMALL:
            return Column(name, instead=_waiting(workspace, name, collection, lacking, start))
        _ready.add((name, data_hash))
    begun = time.perf_counter()
    found = retrieval.nearest(workspace, name, collection, queries, k)
    return Column(name, found, time.perf_counter() - begun)


def _spec(name: str, collection: str) -> dict[str, Any]:
    return {"version": 1, "encoder": name, "dataset": collection}


def _run(workspace: Workspace, name: str, collection: str) -> dict[str, Any] | None:
    """The last encoding of this collection with this encoder."""
    spec = _spec(name, collection)
    return next((run for run in _runs(workspace, collection) if run["spec"] == spec), None)


def _runs(workspace: Workspace, collection: str) -> list[dict[str, Any]]:
    """Encodings of a collection, the newest first."""
    return [
        dict(run)
        for run in workspace.store.runs.list()
        if run["kind"] == "encode" and run["spec"].get("dataset") == collection
    ]


def _marks(workspace: Workspace, collection: str) -> list[Any]:
    """What must change before waiting columns are drawn anew."""
    from app.progress import signature

    return signature(_runs(workspace, collection))


def _waiting(workspace: Workspace, name: str, collection: str, lacking: int, start: bool) -> str:
    """The column of an encoder that has yet to encode the collection."""
    if start:
        title = f"Encode {collection} with {name}"
        workspace.jobs.enqueue("encode", _spec(name, collection), title=title, priority=-1)
    last = _run(workspace, name, collection)
    if last is not None and last["state"] != "done":
        return card(last)
    count = formats.plural(lacking, "sentence")
    hint = (
        "This demonstration does not start runs: choose another collection or encoder."
        if workspace.read_only
        else "Press Search to encode them in the background; they are kept for every later search."
    )
    return (
        f'<div class="t-notice"><p><strong>{count} of {escape(collection)} are not encoded '
        f"by it yet.</strong></p><p>{hint}</p></div>"
    )
