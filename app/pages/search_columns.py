"""What the page Search shows: columns of hits, or how far what they wait for is."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any, Literal

import gradio as gr

from app import address, formats, parts
from app.collection import retrieval
from app.components.hits import Column, columns
from app.jobs.kinds import spec_of, versioned
from app.pages import choices
from app.pages.following import card
from engine.errors import UserError
from store.runs import LIVE

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace

Mode = Literal["meaning", "examples", "words", "pattern"]
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
    waiting = any(run["state"] in LIVE for run in _runs(workspace, asked.collection))
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


_ready: set[tuple[str, str]] = set()
"""(encoder, collection's hash) known to be in the cache: it never leaves it while we run."""


def _column(
    workspace: Workspace, name: str, asked: Question, queries: Sequence[str],
    unlike: Sequence[str], limits: retrieval.Limits, start: bool,
) -> Column:  # fmt: skip
    """Search, or say how far the collection's encoding is, or start that."""
    sentences, data_hash = workspace.catalog.sentences(asked.collection)
    if (name, data_hash) not in _ready:
        run = _run(workspace, name, asked.collection)
        if run is not None and run["state"] in LIVE:
            return Column(name, instead=card(run))
        lacking = undone(workspace, name, asked.collection, len(sentences))
        if lacking:
            return Column(
                name, instead=_waiting(workspace, name, asked.collection, lacking, start)
            )  # fmt: skip
        _ready.add((name, data_hash))
    begun = time.perf_counter()
    if asked.mode == "examples":
        found = [retrieval.alike(workspace, name, asked.collection, queries, unlike, limits)]
    else:
        found = retrieval.nearest(workspace, name, asked.collection, queries, limits)
    took = time.perf_counter() - begun
    instead = "" if any(found) else _none_near(asked)
    return Column(name, found, took, instead, _note(workspace, name, asked.collection))


def _none_near(asked: Question) -> str:
    if asked.least is None:
        return _nothing("words")
    least = f"{asked.least:g}".replace("-", "−")
    return (
        f'<div class="t-notice"><p><strong>None has a cosine of {least} or more.</strong></p>'
        "<p>Lower the least cosine, or clear it.</p></div>"
    )


def _note(workspace: Workspace, name: str, collection: str) -> str:
    """For a collection searched by lists, what that costs and saves."""
    from app.collection import indexes
    from app.space import maps

    sentences, data_hash = workspace.catalog.sentences(collection)
    if not indexes.is_large(len(sentences)):
        return ""
    fingerprint = maps.bound(workspace, maps.Wanted(name, collection)).fingerprint
    built = indexes.facts(workspace, fingerprint, data_hash)
    if built is None:
        return ""
    return (
        f"By lists: {built.probed} of {built.lists:,} are looked into and "
        f"{built.recall:.1%} of the true 10 nearest found ({built.asked} asked), in "
        f"{built.indexed_ms:.1f} ms instead of {built.exact_ms:.0f} ms."
    )


def undone(workspace: Workspace, name: str, collection: str, n: int) -> str:
    """What has to be done before a search, in words; empty when nothing has."""
    from app.collection import indexes
    from app.space import maps

    lacking = retrieval.missing(workspace, name, collection)
    if lacking > retrieval.SMALL:
        return f"{formats.plural(lacking, 'sentence')} of {collection} are not encoded by it yet."
    if not indexes.is_large(n):
        return ""
    bound = maps.bound(workspace, maps.Wanted(name, collection))
    _, data_hash = workspace.catalog.sentences(collection)
    if indexes.facts(workspace, bound.fingerprint, data_hash) is not None:
        return ""
    return f"{collection} has {n:,} sentences and no index by this encoder yet."


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
    from app.progress import signature

    return signature(_runs(workspace, collection))


def _waiting(workspace: Workspace, name: str, collection: str, lacking: str, start: bool) -> str:
    """The column of an encoder that has yet to encode or index the collection."""
    from app.collection import indexes

    if start:
        sentences, _ = workspace.catalog.sentences(collection)
        if indexes.is_large(len(sentences)):
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
    return f'<div class="t-notice"><p><strong>{escape(lacking)}</strong></p><p>{hint}</p></div>'
