"""Rankers that sentence-transformers runs: rerankers, SPLADE and ColBERT.

Their models come from a folder or the hub as those of encoders do; no code of theirs is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, compress
from typing import Any, ClassVar, TypeVar

import numpy as np

from theodolite.engine.encoders.base import VectorCache, sentence_key
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.float32 import exact_float32
from theodolite.engine.encoders.loading import checkpoint_at
from theodolite.engine.encoders.sentence_transformer import (
    THEIR_BATCH,
    Batches,
    hashes,
    read,
)
from theodolite.engine.encoders.source import clean, slices
from theodolite.engine.encoders.spec import SourceSpec
from theodolite.engine.encoders.transformer import device_of
from theodolite.engine.encoders.weights import weights
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress, ProgressCallback, nobody
from theodolite.engine.rankers.base import (
    Among,
    Index,
    Ranked,
    Ranker,
    ScoredIndex,
    best,
    check_scores,
)

T = TypeVar("T")
_WIDTH = 128
"""Of the rows that an array is cut into."""
_TEXT = 2**20
"""Numbers of a text in a batch that MaxSim scores at once: as many batches as make them up."""
_PAIRS = 1024
"""Pairs scored between two reports, the most that a killed job loses."""


class Model:
    """A model of sentence-transformers, read when it is first used.

    Args:
        kind: how it ranks, a prefix of specs.
        source: its folder or id.
        device: where it computes; None for a GPU if there is one.
    """

    CLASSES: ClassVar = {
        "rerank": "CrossEncoder",
        "splade": "SparseEncoder",
        "colbert": "MultiVectorEncoder",
    }

    def __init__(self, kind: str, source: SourceSpec, device: str | None) -> None:
        self.checkpoint = checkpoint_at(source)
        self.checkpoint.check(ranker=kind)
        length = source.option("max_length")
        self._read = (int(length) if length else None, "float32", device_of(device))
        self._class = self.CLASSES[kind]
        files = hashes(self.checkpoint.folder)
        self.fingerprint = fingerprint(self._class, *files, length)
        self._weights = weights(self._class, *files, *self._read)
        self._batches = Batches(THEIR_BATCH, self.checkpoint.label)

    @property
    def warnings(self) -> tuple[str, ...]:
        """The number of texts cut so far."""
        return () if self._weights.model is None else self._weights.model.warnings(None)

    def run(self, call: Callable[[Any, int], T]) -> T:
        """What a call makes of the model and the size of its batches."""
        loaded = self._weights.get(lambda: read(self.checkpoint, *self._read, self._class))
        with self._weights.lock, exact_float32():
            return self._batches.run(loaded.device, partial(call, loaded.model))


class Scorer(Model):
    """Scores pairs of query and document together, each pair once.

    Args:
        source: of the cross-encoder.
        device: see `Model`.
        cache: keeps the scores, as vectors of one dimension.
    """

    def __init__(self, source: SourceSpec, device: str | None, cache: VectorCache) -> None:
        super().__init__("rerank", source, device)
        self._cache = cache

    def score(self, pairs: Sequence[tuple[str, str]], tick: ProgressCallback) -> np.ndarray:
        """Return float32 (n,): what `CrossEncoder.predict` says of each pair."""
        keys = [sentence_key(f"{len(query)} {query}{document}") for query, document in pairs]
        unique = dict(zip(keys, pairs, strict=True))
        scores: dict[bytes, float] = {}
        for start in range(0, len(unique), _PAIRS):
            block = list(unique)[start : start + _PAIRS]
            there, known = self._cache.get(self.fingerprint, block, 1)
            scores |= zip(compress(block, there), known[:, 0], strict=True)
            missing = list(compress(block, ~there))
            if missing:
                new = self._predict([unique[key] for key in missing])
                self._cache.put(self.fingerprint, missing, new[:, None])
                scores |= zip(missing, new, strict=True)
            tick(len(scores) / len(unique))
        return np.array([scores[key] for key in keys], np.float32)

    def _predict(self, pairs: Sequence[tuple[str, str]]) -> np.ndarray:
        texts = [(clean(query), clean(document)) for query, document in pairs]
        scores = np.asarray(
            self.run(
                lambda model, size: model.predict(texts, batch_size=size, show_progress_bar=False)
            ),
            np.float32,
        )
        if scores.ndim != 1:
            raise UserError(
                f"{self.checkpoint.label} gives {scores.shape[1]} numbers a pair, not one score.",
                "It is a classifier of pairs: use a reranker.",
                code="wrong-kind",
            )
        return check_scores(scores, self.checkpoint.label)


class Reranked(Ranker):
    """The first documents of a ranker in the order of a cross-encoder, then the rest as it was.

    Args:
        name: canonical spec.
        first: the ranker before.
        scorer: the cross-encoder.
        depth: documents of each query that are scored.
    """

    def __init__(self, name: str, first: Ranker, scorer: Scorer, depth: int) -> None:
        self.name, self.parts, self.scorer, self.depth = name, (first,), scorer, depth
        self.fingerprint = fingerprint("rerank", first.fingerprint, scorer.fingerprint, depth)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Those of both models."""
        return (*super().warnings, *self.scorer.warnings)

    def with_parts(self, parts: Sequence[Ranker]) -> Reranked:
        """See `Ranker.with_parts`."""
        return Reranked(self.name, parts[0], self.scorer, self.depth)

    def index(self, documents: Sequence[str], progress: Progress | None = None) -> RerankedIndex:
        """See `Ranker.index`."""
        return RerankedIndex(self, self.parts[0].index(documents, progress), documents)


class RerankedIndex(Index):
    """The index of the first ranker, and the texts."""

    def __init__(self, ranker: Reranked, first: Index, documents: Sequence[str]) -> None:
        self._ranker, self._first, self._documents = ranker, first, documents
        self.bytes, self.notes = first.bytes, first.notes

    def search(
        self,
        queries: Sequence[str],
        depth: int,
        among: Among = None,
        tick: ProgressCallback = nobody,
    ) -> list[Ranked]:
        """See `Index.search`."""
        deep = self._ranker.depth
        lists = self._first.search(queries, max(depth, deep), among)
        pairs = [
            (query, self._documents[i])
            for query, (at, _) in zip(queries, lists, strict=True)
            for i in at[:deep]
        ]
        scores, results, start = self._ranker.scorer.score(pairs, tick), [], 0
        for at, _ in lists:
            own = scores[start : start + min(deep, len(at))]
            start += len(own)
            head, ordered = best(at[: len(own)], own, deep)
            lowest = ordered[-1] if len(ordered) else 0.0
            rest = lowest - 1.0 - np.arange(len(at) - len(own), dtype=np.float64)
            both = np.concatenate([head, at[len(own) :]]), np.concatenate([ordered, rest])
            results.append((both[0][:depth], both[1][:depth]))
        return results


class Embedded(Ranker):
    """A ranker by what a model makes of queries and documents apart, and its own similarity.

    SPLADE (Formal, Piwowarski and Clinchant 2021) weighs the words of a vocabulary, compared by the
    dot product, or by the cosine if the model's files say so. ColBERT (Khattab and Zaharia 2020)
    has a vector for each token, compared by MaxSim: the sum over the query's tokens of the most
    similar token.

    Args:
        how: `splade` or `colbert`.
        name: canonical spec.
        source: its folder or id.
        device: see `Model`.
        cache: keeps what the model makes of documents.
    """

    def __init__(
        self, how: str, name: str, source: SourceSpec, device: str | None, cache: VectorCache
    ) -> None:
        self.name, self.how, self.model = name, how, Model(how, source, device)
        self.fingerprint, self.parts = self.model.fingerprint, (self.model,)
        self._cache = ArrayCache(cache, self.fingerprint)
        similarity = self.model.checkpoint.sentence_transformers.get("similarity_fn_name")
        self.by_cosine = similarity == "cosine"
        if similarity in ("euclidean", "manhattan"):
            raise UserError(
                f"{self.model.checkpoint.label} compares texts by the {similarity} distance.",
                "A sparse model is compared by the dot product or the cosine: take one of these.",
                code="unsupported",
            )

    def queries(self, texts: Sequence[str]) -> Iterator[Any]:
        """Yield for each text a tensor, (tokens, dim) or (vocabulary,)."""
        for some in slices(texts):
            yield from self._run("encode_query", some)

    def documents(self, texts: Sequence[str], progress: Progress | None = None) -> list[np.ndarray]:
        """Return for each text float32 (tokens, dim), or (words, 2): their numbers and weights."""
        arrays = list[np.ndarray]()
        for some in slices(texts):
            known = dict(zip(some, self._cache.get(some), strict=True))
            missing = [text for text, array in known.items() if array is None]
            if missing:
                rows = (one.cpu().numpy() for one in self._run("encode_document", missing))
                vectors = {
                    text: _weights_of(row) if self.how == "splade" else row
                    for text, row in zip(missing, rows, strict=True)
                }
                if all(np.isfinite(array).all() for array in vectors.values()):
                    self._cache.put(vectors)
                known |= vectors
            arrays += [array for text in some if (array := known[text]) is not None]
            if progress:
                progress(len(arrays), len(texts))
        return arrays

    def _run(self, method: str, texts: Sequence[str]) -> Any:
        dense = {"convert_to_sparse_tensor": False} if self.how == "splade" else {}
        cleaned = [clean(text) for text in texts]
        options = {"show_progress_bar": False, **dense}
        return self.model.run(
            lambda model, size: getattr(model, method)(cleaned, batch_size=size, **options)
        )

    def index(self, documents: Sequence[str], progress: Progress | None = None) -> ScoredIndex:
        """See `Ranker.index`."""
        kind = SpladeIndex if self.how == "splade" else ColbertIndex
        return kind(self, self.documents(documents, progress))


def _weights_of(row: np.ndarray) -> np.ndarray:
    """The numbers of the words that have a weight, and the weights, float32 (words, 2)."""
    words = np.flatnonzero(row)
    return np.column_stack([words, row[words]]).astype(np.float32)


class ArrayCache:
    """Float32 arrays of two dimensions by texts: vectors of tokens, weights of words.

    An array is cut into rows of one width, each under a key of its own; its shape is a vector too,
    and is put last, so that what a killed job left is made again.

    Args:
        cache: of vectors.
        fingerprint: of what makes the arrays.
    """

    def __init__(self, cache: VectorCache, fingerprint: str) -> None:
        self._cache, self._fingerprint = cache, fingerprint

    def get(self, texts: Sequence[str]) -> list[np.ndarray | None]:
        """Return the array of each text, None where it is not known."""
        names = [sentence_key(text) for text in texts]
        known, shapes = self._cache.get(self._fingerprint, names, 2)
        shape = np.zeros((len(texts), 2), np.int64)
        shape[known] = shapes
        pieces = [list(_pieces(name, n * d)) for name, (n, d) in zip(names, shape, strict=True)]
        there, rows = self._cache.get(self._fingerprint, list(chain.from_iterable(pieces)), _WIDTH)
        every = np.empty((len(there), _WIDTH), np.float32)
        every[there] = rows
        arrays, start = list[np.ndarray | None](), 0
        for is_known, keys, (n, d) in zip(known, pieces, shape, strict=True):
            at, start = slice(start, start + len(keys)), start + len(keys)
            is_whole = is_known and there[at].all()
            arrays.append(every[at].ravel()[: n * d].reshape(n, d) if is_whole else None)
        return arrays

    def put(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Add the arrays of texts."""
        names = [sentence_key(text) for text in arrays]
        keys = [list(_pieces(name, a.size)) for name, a in zip(names, arrays.values(), strict=True)]
        rows = [np.resize(a, (len(k), _WIDTH)) for k, a in zip(keys, arrays.values(), strict=True)]
        self._cache.put(self._fingerprint, list(chain.from_iterable(keys)), np.concatenate(rows))
        shapes = np.array([array.shape for array in arrays.values()], np.float32)
        self._cache.put(self._fingerprint, names, shapes)


def _pieces(name: bytes, size: int) -> Iterator[bytes]:
    """The keys of an array's rows."""
    for i in range(-(-size // _WIDTH)):
        yield hashlib.blake2b(name + i.to_bytes(4, "little"), digest_size=16).digest()


class SpladeIndex(ScoredIndex):
    """The weights of all documents, a sparse matrix."""

    by_words = True

    def __init__(self, ranker: Embedded, documents: list[np.ndarray]) -> None:
        from scipy.sparse import csr_array

        self.name, self.size, self._ranker = ranker.name, len(documents), ranker
        every = np.concatenate([np.empty((0, 2), np.float32), *documents])
        starts = np.cumsum([0, *map(len, documents)])
        words = every[:, 0].astype(np.int32)
        width = int(words.max(initial=0)) + 1
        self._rows = csr_array((every[:, 1], words, starts), (self.size, width))
        if ranker.by_cosine:
            lengths = np.sqrt(self._rows.power(2).sum(axis=1))
            self._rows.data /= np.repeat(lengths, np.diff(starts))
        self.bytes = every.nbytes

    def read(self, queries: Sequence[str]) -> Iterator[np.ndarray]:
        """See `ScoredIndex.read`."""
        return (row.cpu().numpy() for row in self._ranker.queries(queries))

    def score(self, query: np.ndarray, at: np.ndarray | None) -> np.ndarray:
        """See `ScoredIndex.score`."""
        rows = self._rows if at is None else self._rows[at]
        if self._ranker.by_cosine:
            query = query / (np.linalg.norm(query) or 1.0)
        return np.asarray(rows @ query[: rows.shape[1]])


class ColbertIndex(ScoredIndex):
    """The vectors of all tokens of each document."""

    def __init__(self, ranker: Embedded, documents: list[np.ndarray]) -> None:
        self.name, self.size, self._ranker = ranker.name, len(documents), ranker
        self._tokens = documents
        self.bytes = sum(document.nbytes for document in documents)

    def read(self, queries: Sequence[str]) -> Iterator[Any]:
        """See `ScoredIndex.read`."""
        return self._ranker.queries(queries)

    def score(self, query: Any, at: np.ndarray | None) -> np.ndarray:
        """See `ScoredIndex.score`."""
        import torch

        chosen = self._tokens if at is None else [self._tokens[i] for i in at]
        documents = [torch.from_numpy(tokens) for tokens in chosen]
        # The documents stay where they are: a few at a time are on the device, and scored.
        scores = self._ranker.model.run(
            lambda model, size: model.similarity(
                [query], documents, device=query.device, chunk_elements=size * _TEXT
            )
        )
        return np.asarray(scores.numpy()[0])
