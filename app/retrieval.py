"""Nearest neighbours of a query in a collection: the search page and `theodolite search`."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from engine.encoders.base import Progress, sentence_key

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.encoders.base import Encoder
    from engine.encoders.cached import CachedEncoder
    from engine.neighbours import Index

INDEXES_IN_MEMORY = 6
SMALL = 500
"""So many sentences are encoded at once, in a second or two; more become a background run."""

_indexes: OrderedDict[tuple[str, str], tuple[Index, list[str]]] = OrderedDict()
_lock = threading.Lock()


@dataclass(frozen=True)
class Hit:
    """One neighbour: its place in the collection, its text and its cosine to the query."""

    index: int
    sentence: str
    cosine: float


def nearest(
    workspace: Workspace,
    spec: str,
    collection: str,
    queries: Sequence[str],
    k: int,
    progress: Progress | None = None,
) -> list[list[Hit]]:
    """Return the k nearest sentences of the collection for each query, nearest first.

    Sentences that occur twice are searched once. The index stays in memory for the next query.

    Raises:
        UserError: for an encoder, a collection or a query that cannot be used.
    """
    from engine.errors import UserError

    if not queries or not all(query.strip() for query in queries):
        raise UserError("The query is empty.", "Write a sentence or a few words.")
    index, sentences = _index(workspace, spec, collection, progress)
    vectors = workspace.load(spec).encode(list(queries))
    cosines, ids = index.search(vectors, k)
    return [
        [
            Hit(int(i), sentences[i], float(cosine))
            for i, cosine in zip(row, scores, strict=True)
            if i >= 0
        ]
        for row, scores in zip(ids, cosines, strict=True)
    ]


def missing(workspace: Workspace, spec: str, collection: str) -> int:
    """How many sentences of the collection the model still has to encode.

    Steps after the model cost next to nothing; of several models the one that lacks most counts.
    A file of vectors has nothing to encode.
    """
    sentences, _ = workspace.catalog.sentences(collection)
    keys = [sentence_key(sentence) for sentence in sentences]
    sources = _sources(workspace.load(spec))
    return max((_uncached(source, keys) for source in sources), default=0)


def _sources(encoder: Encoder) -> Iterator[CachedEncoder]:
    from engine.encoders.cached import CachedEncoder
    from engine.encoders.concat import Concatenated
    from engine.encoders.steps import Stepped

    if isinstance(encoder, Stepped):
        yield from _sources(encoder.encoder)
    elif isinstance(encoder, Concatenated):
        for part in encoder.parts:
            yield from _sources(part)
    elif isinstance(encoder, CachedEncoder):
        yield encoder


def _uncached(source: CachedEncoder, keys: Sequence[bytes]) -> int:
    found, _ = source.cache.get(source.fingerprint, keys, source.dim)
    return int((~found).sum())


def _index(
    workspace: Workspace, spec: str, collection: str, progress: Progress | None
) -> tuple[Index, list[str]]:
    from engine.neighbours import Index

    sentences, data_hash = workspace.catalog.sentences(collection)
    encoder = workspace.load(spec)
    key = (encoder.fingerprint, data_hash)
    with _lock:
        if key in _indexes:
            _indexes.move_to_end(key)
            return _indexes[key]
    entry = (Index(encoder.encode(sentences, progress)), sentences)
    with _lock:
        _indexes[key] = entry
        while len(_indexes) > INDEXES_IN_MEMORY:
            _indexes.popitem(last=False)
    return entry
