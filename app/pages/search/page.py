"""The page *Search*: sentences of a collection by meaning, example, words or pattern."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, get_args

import gradio as gr

from app.components.hits import hits
from app.pages.encoders import choices
from app.pages.search import views as search_columns
from app.pages.search.views import MOST_CHARACTERS, MOST_QUERIES, Mode, Question
from app.web import address, parts
from app.web.parts import ALWAYS_LAST, HIDE_PROGRESS

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Search"
PATH = "search"
POLL_SECONDS = 1
MOST_HITS = 100
TABLE_10 = {
    "boat": "A man riding a small boat in a harbor.",
    "dog": "A dog runs on the green grass near a wooden fence.",
}
"""The queries of SimCSE's table 10, asked of Flickr30k's captions there."""
MODES = [("Meaning", "meaning"), ("Examples", "examples"), ("Words", "words"),
         ("Pattern", "pattern")]  # fmt: skip
LABELS = {
    "meaning": ("Query", "A sentence; shift and enter for another line"),
    "examples": ("Like these, one a line", "Sentences to be like; shift and enter for another"),
    "words": ("Words", "Text that stands in the sentence, whatever the case"),
    "pattern": ("Regular expression", r"\bboats?\b"),
}
DESCRIPTION = (
    "One query, each encoder's nearest sentences by cosine in its own column. A letter marks "
    "what several of them found; hover or focus it to see its twins."
)
DEFAULTS = {"mode": "meaning", "k": 10, "in": "starter-topics"}


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE, DESCRIPTION)
    with gr.Row():
        mode = gr.Radio(MODES, value="meaning", label="Search by", elem_id="mode", min_width=320)
        collection = gr.Dropdown([], label="Collection", elem_id="collection", min_width=240)
    with gr.Row():
        query = gr.Textbox(
            label=LABELS["meaning"][0], placeholder=LABELS["meaning"][1], lines=1,
            max_lines=MOST_QUERIES, max_length=2 * MOST_CHARACTERS, elem_id="query", scale=4,
            min_width=300,
        )  # fmt: skip
        unlike = gr.Textbox(
            label="Not like those, one a line", placeholder="May stay empty", lines=1,
            max_lines=MOST_QUERIES, max_length=2 * MOST_CHARACTERS, elem_id="unlike", scale=4,
            min_width=300, visible=False,
        )  # fmt: skip
    with gr.Row():
        only = gr.Dropdown([], label="Only", multiselect=True, elem_id="only", min_width=260,
                           scale=4)  # fmt: skip
        k = gr.Number(10, label="At most", minimum=1, maximum=MOST_HITS, precision=0, elem_id="k",
                      scale=1, min_width=110)  # fmt: skip
        least = gr.Number(None, label="Least cosine", minimum=-1, maximum=1, step=0.05,
                          elem_id="least", scale=1, min_width=130, placeholder="any")  # fmt: skip
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
    controls = [query, collection, mode, k, least, only, unlike, encoders]
    views = [nothing, found, timer, seen]
    shaped = [query, unlike, least, encoders, pick]

    def load(request: gr.Request) -> tuple[Any, ...]:
        return _loaded(workspace, request)

    def search(*values: Any) -> Iterator[tuple[Any, ...]]:
        asked = _question(*values)
        yield from search_columns.answer(workspace, asked, start=not workspace.read_only)

    def reopen(text: str, *values: Any) -> Iterator[tuple[Any, ...]]:
        """A page just opened is no reason to ask for a query, nor to work long."""
        if not text.strip():
            hint = "Write one above, pick a sentence from the collection, or take an example."
            yield parts.empty("No query yet", hint), "", gr.update(active=False), []
            return
        yield from search_columns.answer(workspace, _question(text, *values), start=False)

    def poll(marks: list[Any], *values: Any) -> tuple[Any, ...]:
        if search_columns.marks(workspace, values[1]) == marks:
            return tuple(gr.skip() for _ in views)
        *_, last = search_columns.answer(workspace, _question(*values), start=False)
        return last

    searched = parts.telling(search, 4)
    opened = parts.on_load(parts.telling(load, 10), None, [*controls, *examples, notice])
    opened.then(parts.telling(reopen, 4), controls, [*views, notice], **ALWAYS_LAST)
    gr.on([go.click, query.submit, unlike.submit, k.submit, least.submit, only.input,
           encoders.input], searched, controls, [*views, notice],
          **ALWAYS_LAST)  # fmt: skip
    parts.shape(_shape, {mode: [way for _, way in MODES]}, shaped)
    collection.input(
        parts.telling(partial(_only, workspace), 1), collection, [only, notice], **ALWAYS_LAST
    ).then(searched, controls, [*views, notice], **ALWAYS_LAST)
    picked = pick.click(
        parts.telling(partial(_drawn, workspace), 1), collection, [query, notice], **HIDE_PROGRESS
    )
    picked.then(searched, controls, [*views, notice], **ALWAYS_LAST)
    for button, text in zip(examples, TABLE_10.values(), strict=True):
        button.click(
            lambda text=text: (text, "flickr30k", "meaning", []), None,
            [query, collection, mode, only], **HIDE_PROGRESS,
        ).then(searched, controls, [*views, notice], **ALWAYS_LAST)  # fmt: skip
    timer.tick(parts.telling(poll, 4), [seen, *controls], [*views, notice], **HIDE_PROGRESS)
    address.keep(
        {"q": query, "in": collection, "mode": mode, "k": k, "least": least, "only": only,
         "unlike": unlike, "encoder": encoders}, DEFAULTS,
    )  # fmt: skip


def _loaded(workspace: Workspace, request: gr.Request) -> tuple[Any, ...]:
    """The controls as the address has them."""
    names = [info.name for info in workspace.catalog.list()]
    named = address.first(request, "in")
    if named.startswith("hub:"):  # hub files are named, not listed
        names.append(named)
    place = address.choice(request, "in", names, "starter-topics")
    way = address.choice(request, "mode", list(get_args(Mode)), "meaning")
    flickr = gr.update(visible="flickr30k" in names)
    asked = address.first(request, "k")
    return (
        "\n".join(address.every(request, "q")),
        gr.update(choices=names, value=place),
        way,
        int(asked) if asked.isdecimal() and 0 < int(asked) <= MOST_HITS else 10,
        _cosine(address.first(request, "least")),
        _only(workspace, place, address.every(request, "only")),
        "\n".join(address.every(request, "unlike")),
        choices.filled(workspace, choices.asked(workspace, request)),
        flickr,
        flickr,
    )


def _shape(way: str) -> tuple[Any, ...]:
    """Only the controls that matter to a way of searching are shown."""
    label, placeholder = LABELS[way]
    near = way in ("meaning", "examples")
    return (
        gr.update(label=label, placeholder=placeholder),
        gr.update(visible=way == "examples"),
        gr.update(visible=near),
        gr.update(visible=near),
        gr.update(visible=near),
    )


def _question(
    text: str, collection: str, mode: Mode, k: float | None, least: float | None,
    only: list[str] | None, unlike: str, encoders: list[str],
) -> Question:  # fmt: skip
    """The controls as a question; an event may be sent with any number in it."""
    many = min(MOST_HITS, max(1, int(k or 10)))
    return Question(
        text, collection, mode if mode in get_args(Mode) else "meaning", many, least,
        tuple(only or ()), unlike or "", tuple(encoders or ()),
    )  # fmt: skip


def _cosine(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) and -1 <= value <= 1 else None


def _drawn(workspace: Workspace, collection: str) -> str:
    sentences, _ = workspace.catalog.sentences(collection)
    return random.choice(sentences)[:MOST_CHARACTERS]


def _only(workspace: Workspace, collection: str, wanted: Sequence[str] = ()) -> Any:
    """The properties a collection's sentences can be chosen by."""
    offered = search_columns.offered(workspace, collection)
    kept = [text for text in wanted if text in offered]
    return gr.update(choices=offered, value=kept, visible=bool(offered))
