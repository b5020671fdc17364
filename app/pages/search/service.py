"""Sentences of a collection by meaning, example, words or pattern: for the page and the command."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from app.pages.search.searchable import Searchable, whole
from app.typed import Typed
from engine.encoders.base import Progress

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace

UNLIKE = 0.5
"""Weight of the examples to be unlike, beside 1 for those to be like."""
SENTENCES_A_SECOND = 100_000
"""How many sentences a harmless pattern is through in a second, on a slow machine."""

_few_patterns = threading.Semaphore(2)
"""Each pattern keeps a processor busy, perhaps for all the time it has."""


@dataclass(frozen=True)
class Hit:
    """One sentence found.

    Attributes:
        index: its place in the collection's distinct sentences.
        sentence: its text.
        cosine: to the query; None where words were looked for.
        span: (start, end) of the words found in it.
    """

    index: int
    sentence: str
    cosine: float | None
    span: tuple[int, int] | None = None


@dataclass(frozen=True, eq=False)
class Limits:
    """What may be found.

    Attributes:
        k: at most so many.
        least: the least cosine; None for any.
        among: int64, positions to choose from; None for all.
    """

    k: int
    least: float | None = None
    among: np.ndarray | None = None


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
    return nearest_in(whole(workspace, spec, collection, progress), queries, limits)


def nearest_in(opened: Searchable, queries: Sequence[str], limits: int | Limits) -> list[list[Hit]]:
    """As `nearest`, of what is there of a collection.

    Raises:
        UserError: for a query that cannot be used.
    """
    from engine.errors import UserError

    if not queries or not all(query.strip() for query in queries):
        raise UserError("The query is empty.", "Write a sentence or a few words.")
    return _found(opened, Typed(opened.encoder).encode(list(queries)), limits)


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
    return _found(whole(workspace, spec, collection), points, limits)


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
    return alike_in(whole(workspace, spec, collection, progress), like, unlike, limits)


def alike_in(
    opened: Searchable, like: Sequence[str], unlike: Sequence[str], limits: int | Limits
) -> list[Hit]:
    """As `alike`, of what is there of a collection.

    Raises:
        UserError: no example to be like.
    """
    import numpy as np

    from engine.errors import UserError
    from engine.search.index import unit_rows

    if not any(text.strip() for text in like):
        raise UserError("There is no example.", "Write at least one sentence to be like.")
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
    from engine.errors import UserError

    if not words:
        raise UserError("The query is empty.", "Write the words to look for.")
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


def properties(workspace: Workspace, collection: str) -> dict[str, dict[str, np.ndarray]]:
    """What sentences of a collection can be chosen by: property -> value -> positions.

    A sentence that occurs with several labels is found under each.

    Raises:
        UserError: an unknown collection.
    """
    import numpy as np

    from engine.datasets.types import LabelledPairs, LabelledSentences, ScoredPairs

    data = workspace.catalog.load(collection)
    columns: dict[str, Sequence[str]] = {}
    if isinstance(data, LabelledSentences):
        columns["label"] = data.labels
        if data.splits:
            columns["split"] = data.splits
        texts = data.sentences
    elif isinstance(data, ScoredPairs):
        columns["part"] = [n for n, part in data.parts.items() for _ in range(2 * len(part.left))]
        texts = data.sentences
    elif isinstance(data, LabelledPairs):
        texts = [data.sentences[i] for side in (data.left, data.right) for i in side]
        columns = {"label": [*data.labels, *data.labels], "split": [*data.splits, *data.splits]}
    sentences, _ = workspace.catalog.sentences(collection)
    place = {sentence: i for i, sentence in enumerate(sentences)}
    found: dict[str, dict[str, np.ndarray]] = {}
    for name, values in columns.items():
        held: dict[str, set[int]] = {}
        for text, value in zip(texts, values, strict=True):
            held.setdefault(str(value), set()).add(place[text])
        if len(held) > 1:
            found[name] = {v: np.array(sorted(ids), np.int64) for v, ids in held.items()}
    return found
