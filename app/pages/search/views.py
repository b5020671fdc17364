"""What the page Search shows: columns of hits, or how far what they wait for is."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import gradio as gr

from app import formats
from app.components.hits import Column, columns
from app.jobs.kinds import spec_of, versioned
from app.pages.encoders import choices
from app.pages.jobs.run_panel import card
from app.pages.search import searchable
from app.pages.search import service as retrieval
from app.web import address, parts
from engine.errors import UserError
from store.runs import LIVE

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np

    from app.workspace import Workspace

Mode = Literal["meaning", "examples", "words", "pattern"]
OFTEN = 3
"""A large collection that was searched so often gets an index."""
_asked: Counter[tuple[Path, str, str]] = Counter()
"""Searches of large collections by (store, encoder, collection)."""
MOST_QUERIES = 10
MOST_CHARACTERS = 2000
"""Of a query. The box takes twice as many in all: they stand in the address, which has limits."""


@dataclass(frozen=True)
class Question:
    """What the controls ask.

    Attributes:
        text: queries, examples, words or a pattern, as `mode` says; queries one a line.
        unlike: examples to be unlike, one a line.
        k: at most so many hits a column.
        least: the least cosine; None for any.
        only: `property: value`, what sentences must have; of one property any of its values.
        encoders: one column each, for `meaning` and `examples`.
    """

    text: str
    collection: str
    mode: Mode
    k: int
    least: float | None
    only: tuple[str, ...]
    unlike: str
    encoders: tuple[str, ...]


def answer(workspace: Workspace, asked: Question, *, start: bool) -> Iterator[tuple[Any, ...]]:
    """Columns as they become ready; those that wait for a background run are looked at again.

    Yields:
        (what stands when there is nothing, the columns, the timer, the marks of the runs).
    """
    queries = lines(asked.text)
    among = _among(workspace, asked)
    limits = retrieval.Limits(asked.k, asked.least, among)
    if asked.mode in ("words", "pattern"):
        yield "", _by_words(workspace, asked, queries, limits), gr.update(active=False), []
        return
    names = choices.need(asked.encoders)
    unlike = lines(asked.unlike) if asked.unlike.strip() else []
    title = [_examples(queries, unlike)] if asked.mode == "examples" else queries
    more = _more(asked, queries, unlike)
    done = [Column(name, instead=_searching(name)) for name in names]
    for place, name in enumerate(names):
        yield "", columns(title, done, more), gr.skip(), gr.skip()
        try:
            done[place] = _column(workspace, name, asked, queries, unlike, limits, start)
        except UserError as error:  # one encoder that fails leaves the others standing
            done[place] = Column(name, instead=parts.problem(error))
    live = any(run["state"] in LIVE for run in _runs(workspace, asked.collection))
    waiting = live and any(column.instead or column.above for column in done)
    seen = marks(workspace, asked.collection)
    yield _without(among), columns(title, done, more), gr.update(active=waiting), seen


def lines(text: str) -> list[str]:
    """One query a line.

    Raises:
        UserError: none, or more and longer ones than a page can show.
    """
    found = [line.strip() for line in text.splitlines() if line.strip()]
    if not found:
        raise UserError("The query is empty.", "Write a sentence or a few words.")
    if len(found) > MOST_QUERIES or max(map(len, found)) > MOST_CHARACTERS:
        raise UserError(
            f"{formats.plural(len(found), 'query', 'queries')}, the longest of "
            f"{formats.plural(max(map(len, found)), 'character')}, is too much for one page.",
            f"Ask at most {MOST_QUERIES} of at most {MOST_CHARACTERS:,} characters, one a line.",
        )
    return list(dict.fromkeys(found))


def offered(workspace: Workspace, collection: str, most: int = 500) -> list[str]:
    """What sentences can be chosen by, `label: sport`; of very many values the commonest."""
    held = [
        (len(ids), f"{name}: {value}")
        for name, values in retrieval.properties(workspace, collection).items()
        for value, ids in values.items()
    ]
    if len(held) > most:
        held = sorted(held, key=lambda item: -item[0])[:most]
    return [text for _, text in held]


def _among(workspace: Workspace, asked: Question) -> np.ndarray | None:
    """Positions that have what is asked for."""
    import numpy as np

    if not asked.only:
        return None
    held = retrieval.properties(workspace, asked.collection)
    wanted: dict[str, list[np.ndarray]] = {}
    for text in asked.only:
        name, _, value = text.partition(": ")
        if value not in held.get(name, {}):
            raise UserError(
                f"No sentence of {asked.collection} has {text[:80]!r}.", "Take it out of Only."
            )
        wanted.setdefault(name, []).append(held[name][value])
    found: np.ndarray | None = None
    for arrays in wanted.values():
        either = np.unique(np.concatenate(arrays))
        found = either if found is None else np.intersect1d(found, either)
    return found


def _without(among: np.ndarray | None) -> str:
    if among is not None and not len(among):
        return parts.empty("No sentence has all of that", "Take something out of Only.")
    return ""


def _by_words(
    workspace: Workspace, asked: Question, queries: Sequence[str], limits: retrieval.Limits
) -> str:
    """One column: which words stand where is no matter of encoders."""
    find = retrieval.containing if asked.mode == "words" else retrieval.matching
    blocks = []
    for query in queries:
        begun = time.perf_counter()
        hits, total = find(workspace, asked.collection, query, limits)
        took = time.perf_counter() - begun
        name = "sentences with these words" if asked.mode == "words" else "sentences that match"
        said = f"{total:,} found" + (
            f", the first {len(hits)} are shown" if total > len(hits) else ""
        )
        column = Column(name, [hits], took, note=said, instead="" if hits else _nothing(asked.mode))
        blocks.append(columns([query], [column], _more(asked, [], [])))
    return "".join(blocks)


def _nothing(mode: str) -> str:
    hint = "Shorten it." if mode == "words" else "Case does not matter; spaces do."
    return f'<div class="t-notice"><p><strong>None.</strong></p><p>{hint}</p></div>'


def _examples(like: Sequence[str], unlike: Sequence[str]) -> str:
    said = f"Like {formats.plural(len(like), 'example')}"
    return said + (f", unlike {formats.plural(len(unlike), 'example')}" if unlike else "")


def _more(asked: Question, like: Sequence[str], unlike: Sequence[str]) -> Any:
    """Links beside a hit: more sentences like it, or fewer."""
    examples = asked.mode == "examples"

    def links(sentence: str) -> list[tuple[str, str]]:
        mine = list(like) if examples else []
        where = {"in": asked.collection, "encoder": list(asked.encoders), "mode": "examples",
                 "only": list(asked.only), "k": str(asked.k),
                 "least": None if asked.least is None else str(asked.least)}  # fmt: skip
        found = [("more like this", {"q": [*mine, sentence], "unlike": list(unlike)})]
        if examples:
            found.append(("less like this", {"q": mine, "unlike": [*unlike, sentence]}))
        return [(words, address.link("search", **where, **what)) for words, what in found]

    return links


def _searching(name: str) -> str:
    """A column whose turn is to come; the first search with a model loads it."""
    return (
        '<div class="t-run"><p class="t-muted">Searching; a model that is not loaded yet takes '
        f"some seconds.</p>{parts.bar(None, f'Searching with {name}')}</div>"
    )


def _column(
    workspace: Workspace, name: str, asked: Question, queries: Sequence[str],
    unlike: Sequence[str], limits: retrieval.Limits, start: bool,
) -> Column:  # fmt: skip
    """Search, among what is encoded so far where that is not all, and start what is to be done."""
    opened = searchable.so_far(workspace, name, asked.collection)
    waiting = ""
    if undone(opened, asked.collection):
        waiting = _waiting(workspace, name, asked.collection, opened, start)
        if not opened.index.size or opened.needs_index:
            return Column(name, instead=waiting)
    begun = time.perf_counter()
    if not waiting:
        opened = searchable.whole(workspace, name, asked.collection)
    if asked.mode == "examples":
        found = [retrieval.alike_in(opened, queries, unlike, limits)]
    else:
        found = retrieval.nearest_in(opened, queries, limits)
    took = time.perf_counter() - begun
    if waiting:
        n = len(opened.sentences)
        note = f"The best of {n - opened.lacking:,} sentences so far; there are {n:,}."
        return Column(name, found, took, note=note, above=waiting)
    if start:
        _count(workspace, name, asked.collection, opened)
    instead = "" if any(found) else _none_near(asked)
    return Column(name, found, took, instead, _note(workspace, asked.collection, opened))


def _none_near(asked: Question) -> str:
    if asked.least is None:
        return _nothing("words")
    least = f"{asked.least:g}".replace("-", "−")
    return (
        f'<div class="t-notice"><p><strong>None has a cosine of {least} or more.</strong></p>'
        "<p>Lower the least cosine, or clear it.</p></div>"
    )


def _count(workspace: Workspace, name: str, collection: str, opened: searchable.Searchable) -> None:
    """Have an index made for a large collection that is asked often."""
    from app.pages.search import indexes

    if workspace.read_only or not opened.is_exact or not indexes.is_large(len(opened.sentences)):
        return
    key = (workspace.store.folder, name, collection)
    _asked[key] += 1
    if _asked[key] == OFTEN:
        indexes.queue(workspace, name, collection)


def _note(workspace: Workspace, collection: str, opened: searchable.Searchable) -> str:
    """For a collection searched by lists, what that costs and saves."""
    from app.pages.search import indexes

    if opened.is_exact:
        return ""
    _, data_hash = workspace.catalog.sentences(collection)
    built = indexes.facts(workspace, opened.encoder.fingerprint, data_hash)
    if built is None:
        return ""
    return (
        f"By lists: {built.probed} of {built.lists:,} are looked into and "
        f"{built.recall:.1%} of the true 10 nearest found ({built.asked} asked), in "
        f"{built.indexed_ms:.1f} ms instead of {built.exact_ms:.0f} ms."
    )


def _spec(name: str, collection: str) -> dict[str, Any]:
    return versioned("encode", {"encoder": name, "dataset": collection})


def _run(workspace: Workspace, name: str, collection: str) -> dict[str, Any] | None:
    """The last encoding of this collection with this encoder."""
    spec = _spec(name, collection)
    return next((run for run in _runs(workspace, collection) if spec_of(run) == spec), None)


def _runs(workspace: Workspace, collection: str) -> list[dict[str, Any]]:
    """Encodings and indexings of a collection, the newest first."""
    return [
        dict(run)
        for run in workspace.store.runs.list()
        if run["kind"] in ("encode", "index") and spec_of(run)["dataset"] == collection
    ]


def marks(workspace: Workspace, collection: str) -> list[Any]:
    """What must change before waiting columns are drawn anew."""
    from app.web.progress import signature

    return signature(_runs(workspace, collection))


def undone(opened: searchable.Searchable, collection: str) -> str:
    """What has to be done before all of a collection is searched, in words; else nothing."""
    if opened.needs_index:
        n = len(opened.sentences)
        return f"{collection} has {n:,} sentences and no index by this encoder yet."
    if opened.lacking <= searchable.SMALL:
        return ""
    lacking = formats.plural(opened.lacking, "sentence")
    return f"{lacking} of {collection} are not encoded by it yet."


def _waiting(
    workspace: Workspace, name: str, collection: str, opened: searchable.Searchable, start: bool
) -> str:
    """What an encoder has yet to do before all of the collection is searched, and how far it is."""
    from app.pages.search import indexes

    last = _run(workspace, name, collection)
    if start and (last is None or last["state"] not in LIVE):
        if opened.needs_index:
            indexes.queue(workspace, name, collection)
        else:
            title = f"Encode {collection} with {name}"
            workspace.jobs.enqueue("encode", _spec(name, collection), title=title, priority=-1)
        last = _run(workspace, name, collection)
    if last is not None and last["state"] != "done":
        return card(last)
    hint = (
        "This demonstration does not start runs: choose another collection or encoder."
        if workspace.read_only
        else "Press Search to do that in the background; it is kept for every later search."
    )
    lacking = escape(undone(opened, collection))
    return f'<div class="t-notice"><p><strong>{lacking}</strong></p><p>{hint}</p></div>'
