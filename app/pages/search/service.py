"""Sentences of a collection by vectors, words or pattern; used by other pages too."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from theodolite.app import formats
from theodolite.app.blocks import Hit, Spans
from theodolite.app.pages.search.searchable import Searchable, open_collection
from theodolite.app.typed import Typed
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace

UNLIKE = 0.5
"""Weight of the negative examples; that of the positive ones is 1."""
SENTENCES_A_SECOND = 100_000
"""Sentences per second that an ordinary pattern searches on a slow machine."""

MAX_QUERIES = 10
MAX_CHARACTERS = 2000
"""Most characters of a query on the page: addresses are limited. The box takes twice as many."""

_few_patterns = threading.Semaphore(2)
"""Limits simultaneous patterns: each may occupy a processor until its timeout."""


@dataclass(frozen=True, eq=False)
class Limits:
    """Limits of the hits.

    Attributes:
        k: most hits.
        least: minimum cosine; None for any.
        among: int64, positions to search; None for all.
    """

    k: int
    least: float | None = None
    among: np.ndarray | None = None


def mode_of(text: str, mode: str) -> tuple[str, str]:
    """Return query text and mode; quotes or slashes around the text override the mode `meaning`.

    >>> mode_of('"a boat"', "meaning"), mode_of("/boats?/", "meaning"), mode_of("/x", "words")
    (('"a boat"', 'words'), ('boats?', 'pattern'), ('/x', 'words'))
    """
    written = text.strip()
    if mode == "meaning" and len(written) > 2 and "\n" not in written:
        if written[0] == written[-1] == '"':
            return written, "words"
        if written[0] == written[-1] == "/":
            return written[1:-1], "pattern"
    return text, mode


def lines(text: str) -> list[str]:
    """Split the text of a box into queries, one per line."""
    found = [line.strip() for line in text.splitlines() if line.strip()]
    longest = max(map(len, found), default=0)
    if len(found) > MAX_QUERIES or longest > MAX_CHARACTERS:
        raise UserError(
            f"{formats.plural(len(found), 'query', 'queries')}, the longest of "
            f"{formats.plural(longest, 'character')}, is too much for one page.",
            f"Ask at most {MAX_QUERIES} of at most {MAX_CHARACTERS:,} characters, one per line.",
            code="too-large",
        )
    return found


def nearest(
    workspace: Workspace,
    spec: str,
    collection: str,
    queries: Sequence[str],
    limits: int | Limits,
    progress: Progress | None = None,
) -> list[list[Hit]]:
    """Return the nearest sentences of the collection for each query, nearest first.

    Duplicate sentences are searched once. The vectors stay in memory for the next query.
    """
    return nearest_in(open_collection(workspace, spec, collection, progress), queries, limits)


def nearest_in(opened: Searchable, queries: Sequence[str], limits: int | Limits) -> list[list[Hit]]:
    """As `nearest`, in an opened collection."""
    from theodolite.engine.encoders import query_side

    if not queries or not all(query.strip() for query in queries):
        raise UserError("The query is empty.", "Write a sentence or a few words.", code="missing")
    return _search(opened, Typed(query_side(opened.encoder)).encode(list(queries)), limits)


def around(
    workspace: Workspace, spec: str, collection: str, points: np.ndarray, limits: int | Limits
) -> list[list[Hit]]:
    """Return the nearest sentences of the collection for points of the space, nearest first."""
    return _search(open_collection(workspace, spec, collection), points, limits)


def alike(
    workspace: Workspace,
    spec: str,
    collection: str,
    like: Sequence[str],
    unlike: Sequence[str],
    limits: int | Limits,
    progress: Progress | None = None,
) -> list[Hit]:
    """Return the sentences near some examples and away from others, without the examples.

    The query is the mean direction of the former minus half that of the latter (Rocchio 1971).
    """
    return alike_in(open_collection(workspace, spec, collection, progress), like, unlike, limits)


def alike_in(
    opened: Searchable, like: Sequence[str], unlike: Sequence[str], limits: int | Limits
) -> list[Hit]:
    """As `alike`, in an opened collection."""
    import numpy as np

    from theodolite.engine.search.index import unit_rows

    if not any(text.strip() for text in like):
        raise UserError("No example given.", "Write at least one example sentence.", code="missing")
    query = unit_rows(Typed(opened.encoder).encode(list(like))).mean(axis=0)
    if unlike:
        query = query - UNLIKE * unit_rows(Typed(opened.encoder).encode(list(unlike))).mean(axis=0)
    wide = limits if isinstance(limits, Limits) else Limits(limits)
    known = {*like, *unlike}
    more = replace(wide, k=wide.k + len(known))
    (hits,) = _search(opened, query[None].astype(np.float32), more)
    return [hit for hit in hits if hit.sentence not in known][: wide.k]


def _search(opened: Searchable, vectors: np.ndarray, limits: int | Limits) -> list[list[Hit]]:
    wide = limits if isinstance(limits, Limits) else Limits(limits)
    cosines, ids = opened.index.search(vectors, wide.k, wide.among)
    return [
        [
            Hit(int(i), opened.sentences[i], float(cosine))
            for i, cosine in zip(row, scores, strict=True)
            if i >= 0 and (wide.least is None or cosine >= wide.least)
        ]
        for row, scores in zip(ids, cosines, strict=True)
    ]


def containing(
    workspace: Workspace, collection: str, words: str, limits: Limits
) -> tuple[list[Hit], int]:
    """Return the first sentences that contain all words, in any order, and how many do.

    Case is ignored, and quotes make a phrase of several words.
    """
    terms = [phrase or word for phrase, word in _TERM.findall(words.casefold())]
    patterns = [_whole_words(term) for term in terms if term.strip()]
    if not patterns:
        raise UserError("The query is empty.", "Write the words to search for.", code="missing")
    found = []
    for i, sentence in _candidates(workspace, collection, limits):
        folded = sentence.casefold()
        matches = [m for pattern in patterns if (m := pattern.search(folded))]
        if len(matches) == len(patterns):
            # ß folds to ss: then the positions differ, and nothing is marked
            spans = sorted(m.span() for m in matches) if len(folded) == len(sentence) else ()
            found.append((i, tuple(spans)))
    return _first(workspace, collection, found, limits)


_TERM = re.compile(r'"([^"]*)"?|([^\s"]+)')
_BORDERED = r"[^\W\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
"""Letters and digits of the scripts that put spaces between words."""


def _whole_words(term: str) -> re.Pattern[str]:
    """A pattern for a word or phrase that neither begins nor ends inside a word."""
    before, after = (re.match(_BORDERED, term[end]) for end in (0, -1))
    text = r"\s+".join(map(re.escape, term.split()))
    return re.compile((r"(?<!\w)" if before else "") + text + (r"(?!\w)" if after else ""))


def matching(
    workspace: Workspace, collection: str, pattern: str, limits: Limits
) -> tuple[list[Hit], int]:
    """Return the first sentences in which a regular expression matches, and how many do."""
    chosen = list(_candidates(workspace, collection, limits))
    found = matches(pattern, [sentence for _, sentence in chosen])
    spans = [(chosen[i][0], ((start, end),)) for i, start, end in found]
    return _first(workspace, collection, spans, limits)


def matches(pattern: str, sentences: Sequence[str]) -> list[tuple[int, int, int]]:
    """`engine.search.regex.matching` with a timeout by number of sentences, two calls at a time."""
    from theodolite.engine.search import regex

    seconds = regex.SECONDS + len(sentences) / SENTENCES_A_SECOND
    with _few_patterns:
        return regex.matching(pattern, sentences, seconds=seconds)


def _candidates(workspace: Workspace, collection: str, limits: Limits) -> Iterator[tuple[int, str]]:
    sentences, _ = workspace.catalog.sentences(collection)
    if limits.among is None:
        yield from enumerate(sentences)
    else:
        yield from ((int(i), sentences[i]) for i in limits.among)


def _first(
    workspace: Workspace, collection: str, found: Sequence[tuple[int, Spans]], limits: Limits
) -> tuple[list[Hit], int]:
    sentences, _ = workspace.catalog.sentences(collection)
    return [Hit(i, sentences[i], None, spans) for i, spans in found[: limits.k]], len(found)
