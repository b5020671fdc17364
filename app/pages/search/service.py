"""Sentences of a collection by meaning, example, words or pattern: for the page and the command.

A `SearchSpec` is what either asks; `hits_in` and `hits_of_text` answer it.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, get_args

from app import formats
from app.components.hit import Hit
from app.pages.search import filters
from app.pages.search.searchable import Searchable, open_collection, so_far
from app.typed import Typed
from app.vectors import SMALL
from engine.errors import UserError
from engine.progress import Progress

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace

UNLIKE = 0.5
"""Weight of the examples to be unlike, beside 1 for those to be like."""
SENTENCES_A_SECOND = 100_000
"""How many sentences a harmless pattern is through in a second, on a slow machine."""

Mode = Literal["meaning", "examples", "words", "pattern"]
DEFAULT = "starter-topics"
MOST_HITS = 1000
MOST_QUERIES = 10
MOST_CHARACTERS = 2000
"""Of a query on the page, whose address has limits; the box takes twice as many in all."""

_few_patterns = threading.Semaphore(2)
"""Each pattern keeps a processor busy, perhaps for all the time it has."""


@dataclass(frozen=True)
class SearchSpec:
    """What is looked for; made with `spec`.

    Attributes:
        queries: texts, examples, words or patterns, as `mode` says.
        collection: a data set.
        mode: how they are meant.
        k: at most so many hits, of each query and each encoder.
        least: minimum cosine; None for any.
        only: `property: value`, what sentences must have; of one property any of its values.
        unlike: for `examples`, sentences to be unlike.
        encoders: that are asked, for `meaning` and `examples`.
    """

    queries: tuple[str, ...]
    collection: str = DEFAULT
    mode: Mode = "meaning"
    k: int = 10
    least: float | None = None
    only: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    encoders: tuple[str, ...] = ()

    @property
    def is_near(self) -> bool:
        """Whether vectors are compared; words and patterns are no matter of encoders."""
        return self.mode in ("meaning", "examples")


@dataclass(frozen=True, eq=False)
class Limits:
    """What may be found.

    Attributes:
        k: at most so many.
        least: minimum cosine; None for any.
        among: int64, positions to choose from; None for all.
    """

    k: int
    least: float | None = None
    among: np.ndarray | None = None


def spec(
    queries: Sequence[str],
    collection: str = SearchSpec.collection,
    *,
    mode: str = SearchSpec.mode,
    k: float | None = SearchSpec.k,
    least: float | None = None,
    only: Sequence[str] = (),
    unlike: Sequence[str] = (),
    encoders: Sequence[str] = (),
) -> SearchSpec:
    """Check what is asked.

    Raises:
        UserError: an empty query, or a mode or a number that cannot be.
    """
    if mode not in get_args(Mode):
        raise UserError(
            f"There is no search mode {mode!r}.", f"Choose one of {', '.join(get_args(Mode))}."
        )
    if not queries or not all(query.strip() for query in queries):
        raise UserError("The query is empty.", "Write a sentence or a few words.")
    many = SearchSpec.k if k is None else int(k)
    if not 1 <= many <= MOST_HITS:
        raise UserError(f"The top {many} is not possible.", f"Choose from 1 to {MOST_HITS:,}.")
    if least is not None and not -1 <= least <= 1:
        raise UserError(f"{least} is not a cosine.", "Choose from −1 to 1, or leave it empty.")
    return SearchSpec(
        tuple(dict.fromkeys(queries)), collection, mode, many, least,  # type: ignore[arg-type]
        tuple(only), tuple(unlike) if mode == "examples" else (), tuple(encoders),
    )  # fmt: skip


def mode_of(text: str, mode: str) -> tuple[str, str]:
    """What is written in the box and what it means: marks around it say so as well as the control.

    >>> mode_of('"a boat"', "meaning"), mode_of("/boats?/", "meaning"), mode_of("/x", "words")
    (('a boat', 'words'), ('boats?', 'pattern'), ('/x', 'words'))
    """
    written = text.strip()
    if mode == "meaning" and len(written) > 2 and "\n" not in written:
        for mark, meant in (('"', "words"), ("/", "pattern")):
            if written[0] == written[-1] == mark:
                return written[1:-1], meant
    return text, mode


def lines(text: str) -> list[str]:
    """What stands in a box of the page, one query a line.

    Raises:
        UserError: more and longer ones than a page can show.
    """
    found = [line.strip() for line in text.splitlines() if line.strip()]
    longest = max(map(len, found), default=0)
    if len(found) > MOST_QUERIES or longest > MOST_CHARACTERS:
        raise UserError(
            f"{formats.plural(len(found), 'query', 'queries')}, the longest of "
            f"{formats.plural(longest, 'character')}, is too much for one page.",
            f"Ask at most {MOST_QUERIES} of at most {MOST_CHARACTERS:,} characters, one per line.",
        )
    return found


def limits_of(workspace: Workspace, query_spec: SearchSpec) -> Limits:
    """How many may be found, how near, and among which sentences.

    Raises:
        UserError: an unknown collection, or a property that none of its sentences has.
    """
    among = filters.among(workspace, query_spec.collection, query_spec.only)
    return Limits(query_spec.k, query_spec.least, among)


def hits_in(opened: Searchable, query_spec: SearchSpec, limits: Limits) -> list[list[Hit]]:
    """Hits by vectors, of what is there of a collection: a list a query, one for all examples.

    Raises:
        UserError: for a query that cannot be used.
    """
    if query_spec.mode == "examples":
        return [alike_in(opened, query_spec.queries, query_spec.unlike, limits)]
    return nearest_in(opened, query_spec.queries, limits)


def hits_of_text(
    workspace: Workspace, query_spec: SearchSpec, query: str, limits: Limits
) -> tuple[list[Hit], int]:
    """Hits by words or pattern, and how many there are in all.

    Raises:
        UserError: a pattern that cannot be read or takes too long.
    """
    find = containing if query_spec.mode == "words" else matching
    return find(workspace, query_spec.collection, query, limits)


def nearest(
    workspace: Workspace,
    spec: str,
    collection: str,
    queries: Sequence[str],
    limits: int | Limits,
    progress: Progress | None = None,
) -> list[list[Hit]]:
    """Return the nearest sentences of the collection for each query, nearest first.

    Sentences that occur twice are searched once. The vectors stay in memory for the next query.

    Args:
        workspace: where everything is.
        spec: an encoder.
        collection: a data set.
        queries: texts.
        limits: what may be found; a number is how many.
        progress: of the encoding of the collection.

    Raises:
        UserError: for an encoder, a collection or a query that cannot be used.
    """
    return nearest_in(open_collection(workspace, spec, collection, progress), queries, limits)


def nearest_in(opened: Searchable, queries: Sequence[str], limits: int | Limits) -> list[list[Hit]]:
    """As `nearest`, of what is there of a collection.

    Raises:
        UserError: for a query that cannot be used.
    """
    from engine.encoders import query_side

    if not queries or not all(query.strip() for query in queries):
        raise UserError("The query is empty.", "Write a sentence or a few words.")
    return _found(opened, Typed(query_side(opened.encoder)).encode(list(queries)), limits)


def around(
    workspace: Workspace, spec: str, collection: str, points: np.ndarray, limits: int | Limits
) -> list[list[Hit]]:
    """Return the nearest sentences of the collection for points of the space, nearest first.

    Args:
        workspace: where everything is.
        spec: an encoder.
        collection: a data set.
        points: float (n, dim), in the encoder's own scale.
        limits: what may be found; a number is how many.

    Raises:
        UserError: for an encoder or a collection that cannot be used.
    """
    return _found(open_collection(workspace, spec, collection), points, limits)


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

    The query is the mean direction of the former less half that of the latter (Rocchio 1971).

    Raises:
        UserError: as `nearest`, or no example to be like.
    """
    return alike_in(open_collection(workspace, spec, collection, progress), like, unlike, limits)


def alike_in(
    opened: Searchable, like: Sequence[str], unlike: Sequence[str], limits: int | Limits
) -> list[Hit]:
    """As `alike`, of what is there of a collection.

    Raises:
        UserError: no example to be like.
    """
    import numpy as np

    from engine.search.index import unit_rows

    if not any(text.strip() for text in like):
        raise UserError("No example given.", "Write at least one example sentence.")
    query = unit_rows(Typed(opened.encoder).encode(list(like))).mean(axis=0)
    if unlike:
        query = query - UNLIKE * unit_rows(Typed(opened.encoder).encode(list(unlike))).mean(axis=0)
    wide = limits if isinstance(limits, Limits) else Limits(limits)
    known = {*like, *unlike}
    more = replace(wide, k=wide.k + len(known))
    (hits,) = _found(opened, query[None].astype(np.float32), more)
    return [hit for hit in hits if hit.sentence not in known][: wide.k]


def _found(opened: Searchable, vectors: np.ndarray, limits: int | Limits) -> list[list[Hit]]:
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
    """Return the first sentences that hold some text, whatever the case, and how many do.

    Raises:
        UserError: no text, or a collection that cannot be used.
    """
    if not words:
        raise UserError("The query is empty.", "Write the words to search for.")
    wanted, spans = words.casefold(), []
    for i, sentence in _chosen(workspace, collection, limits):
        folded = sentence.casefold()
        start = folded.find(wanted)
        if start >= 0:  # ß folds to ss: then the places are others, and nothing is marked
            same = len(folded) == len(sentence)
            spans.append((i, start, start + len(wanted)) if same else (i, 0, 0))
    return _spanned(workspace, collection, spans, limits)


def matching(
    workspace: Workspace, collection: str, pattern: str, limits: Limits
) -> tuple[list[Hit], int]:
    """Return the first sentences in which a regular expression matches, and how many there are.

    Raises:
        UserError: a pattern that cannot be read or takes too long.
    """
    chosen = list(_chosen(workspace, collection, limits))
    found = matches(pattern, [sentence for _, sentence in chosen])
    spans = [(chosen[i][0], start, end) for i, start, end in found]
    return _spanned(workspace, collection, spans, limits)


def matches(pattern: str, sentences: Sequence[str]) -> list[tuple[int, int, int]]:
    """`engine.search.regex.matching` in a time that fits the number of sentences, few at once.

    Raises:
        UserError: a pattern that cannot be read or takes too long.
    """
    from engine.search import regex

    seconds = regex.SECONDS + len(sentences) / SENTENCES_A_SECOND
    with _few_patterns:
        return regex.matching(pattern, sentences, seconds=seconds)


def _chosen(workspace: Workspace, collection: str, limits: Limits) -> Iterator[tuple[int, str]]:
    sentences, _ = workspace.catalog.sentences(collection)
    if limits.among is None:
        yield from enumerate(sentences)
    else:
        yield from ((int(i), sentences[i]) for i in limits.among)


def _spanned(
    workspace: Workspace, collection: str, spans: Sequence[tuple[int, int, int]], limits: Limits
) -> tuple[list[Hit], int]:
    sentences, _ = workspace.catalog.sentences(collection)
    hits = [
        Hit(i, sentences[i], None, (start, end) if end else None)
        for i, start, end in spans[: limits.k]
    ]
    return hits, len(spans)


def lacking(workspace: Workspace, encoder: str, collection: str) -> str:
    """What has to be done before all of a collection is searched, in words; else nothing.

    Raises:
        UserError: for an encoder or a collection that cannot be used.
    """
    return undone(so_far(workspace, encoder, collection), collection)


def undone(opened: Searchable, collection: str) -> str:
    """What has to be done before all of a collection is searched, in words; else nothing."""
    if opened.needs_index:
        n = len(opened.sentences)
        return f"{collection} has {n:,} sentences, and no index for this encoder yet."
    if opened.lacking <= SMALL:
        return ""
    lacking = formats.plural(opened.lacking, "sentence")
    return f"{lacking} of {collection} are not yet encoded by it."
