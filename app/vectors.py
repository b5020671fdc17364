"""Vectors of collections, and the sentences that an encoder still has to encode."""

import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from theodolite.app import formats
from theodolite.app.recent import Recent
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders.base import Encoder, sentence_key
from theodolite.engine.encoders.cached import CachedEncoder
from theodolite.engine.encoders.finite import finite
from theodolite.engine.encoders.steps import SteppedEncoder
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.engine.rankers import Ranker

SMALL = 500
"""Up to this many sentences are encoded at once, in a second or two; more need a background run."""
BLOCK = 16_384
"""Sentences looked up or encoded at a time."""
PATIENCE_SECONDS, VISITORS_PATIENCE_SECONDS = 30.0, 4.0
PART = 128
"""Sentences encoded between two progress reports of `encode_missing`."""
_cache: Recent[tuple[str, str], np.ndarray] = Recent(2)
"""Vectors of collections by fingerprint and hash."""


def vectors(
    workspace: Workspace,
    encoder: str,
    dataset: str,
    progress: Progress | None = None,
) -> np.ndarray:
    """The vectors of a collection, float32 (n, dim), read-only; the last two stay in memory."""
    encoded_by = workspace.bound(encoder, dataset)
    sentences, data_hash = workspace.catalog.sentences(dataset)

    def encode_all() -> np.ndarray:
        rows = finite(encoded_by.encode(sentences, progress), sentences)
        rows.flags.writeable = False
        return rows

    return _cache.get((encoded_by.fingerprint, data_hash), encode_all)


def encode(workspace: Workspace, encoder: str, dataset: str, progress: Progress) -> None:
    """Compute the vectors of a collection into the cache, without keeping them in memory."""
    encoded_by = workspace.bound(encoder, dataset)
    sentences, _ = workspace.catalog.sentences(dataset)
    total = len(sentences)

    def moved(done: int, _: int) -> None:
        progress(start + done, total)

    for start in range(0, total, BLOCK):
        encoded_by.encode(sentences[start : start + BLOCK], moved)


class TooSlow(UserError):
    """Encoding would take longer than a page may wait; the vectors computed by then are cached.

    Attributes:
        left: estimated seconds for the rest.
    """

    def __init__(self, encoder: str, left: float) -> None:
        super().__init__(
            f"{encoder} has much left to encode: {formats.time_left(left)}.",
            "What it has encoded is kept: ask again, and it goes on from there.",
            code="too-large",
        )
        self.left = left


def encode_missing(
    workspace: Workspace, encoder: str, dataset: str
) -> Iterator[tuple[str, float | None, float | None]]:
    """Encode the sentences of a collection that the cache lacks, while a person waits.

    Yields:
        What is being done, the share that is done and the seconds left; None if unknown.

    Raises:
        TooSlow: encoding would take too long.
    """
    sentences, _ = workspace.catalog.sentences(dataset)
    patience = VISITORS_PATIENCE_SECONDS if workspace.read_only else PATIENCE_SECONDS
    yield f"Loading {encoder}; a model that has not been used yet takes some seconds", None, None
    models = list(sources(workspace.bound(encoder, dataset)))
    yield f"Looking for what {encoder} has encoded of {dataset}", None, None
    for model in models:
        missing = uncached(model, sentences)
        what = f"Encoding {formats.plural(len(missing), 'sentence')} of {dataset} with {model.name}"
        if missing:
            yield what, None, None
        began = time.monotonic()
        for start in range(0, len(missing), PART):
            model.encode(missing[start : start + PART])
            done = min(start + PART, len(missing))
            if not start:  # the first part also loaded the weights: leave it out of the estimate
                began = time.monotonic()
                continue
            left = (time.monotonic() - began) * (len(missing) - done) / (done - PART)
            if left > patience:
                raise TooSlow(encoder, left)
            yield what, done / len(missing), left


def known(encoder: Encoder, texts: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Vectors of distinct texts available without a model: bool (n,), and the vectors found."""
    if isinstance(encoder, CachedEncoder):
        keys = [sentence_key(text) for text in texts]
        return encoder.cache.get(encoder.fingerprint, keys, encoder.dim)
    missing = set().union(*(uncached(source, texts) for source in sources(encoder)))
    there = np.array([text not in missing for text in texts], bool)
    return there, encoder.encode([text for text in texts if text not in missing])


def sources(encoder: Encoder | Ranker) -> Iterator[CachedEncoder]:
    """The models behind an encoder, whose vectors are cached, unlike those of steps and files."""
    if isinstance(encoder, CachedEncoder):
        yield encoder
    for part in _parts(encoder):
        yield from sources(part)


def uncached(source: CachedEncoder, sentences: Sequence[str]) -> list[str]:
    """The distinct sentences that a model still has to encode, in order."""
    unique = list(dict.fromkeys(sentences))
    missing: list[str] = []
    for start in range(0, len(unique), BLOCK):  # the cache returns vectors too: not all at once
        part = unique[start : start + BLOCK]
        keys = [sentence_key(sentence) for sentence in part]
        rows, _ = source.cache.get(source.fingerprint, keys, source.dim)
        missing += [s for s, there in zip(part, rows, strict=True) if not there]
    return missing


def missing(workspace: Workspace, spec: str, collection: str) -> int:
    """Number of sentences of the collection that the encoder's models still have to encode.

    Steps after the model cost next to nothing; of several models the one that lacks most counts.
    A file of vectors has nothing to encode.
    """
    sentences, _ = workspace.catalog.sentences(collection)
    needed = sources(workspace.bound(spec, collection))
    return max((len(uncached(source, sentences)) for source in needed), default=0)


def _parts(encoder: Encoder | Ranker) -> Sequence[Any]:
    """What an encoder of collections is made of, without that of queries, or a ranker."""
    from theodolite.engine.encoders.concat import Concatenated
    from theodolite.engine.encoders.sides import TwoSided

    if isinstance(encoder, SteppedEncoder):
        return [encoder.encoder]
    if isinstance(encoder, TwoSided):
        return [encoder.documents]
    return encoder.parts if isinstance(encoder, Concatenated | Ranker) else []


def is_fitted(encoder: Encoder) -> bool:
    """Whether a step is fitted on data, all of which must then be encoded before anything else."""
    own = isinstance(encoder, SteppedEncoder) and any(step.data for step in encoder.steps)
    return own or any(map(is_fitted, _parts(encoder)))
