"""Late chunking: the vector of a chunk is the mean of its tokens, which have read its document.

Günther, Mohr, Williams, Wang and Xiao 2024 (arXiv:2409.04701). A document passes through the
transformer whole, in windows of the most tokens that the model takes. Of special tokens and of the
prompt nothing is in the means. Chunks of the same text share the vector of the first.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import groupby, islice
from typing import Any, TypeVar

import numpy as np

from theodolite.engine.datasets.types import Dataset, Place, Retrieval
from theodolite.engine.encoders.cached import CachedEncoder
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.pooling import MEANS
from theodolite.engine.encoders.sides import TwoSided, query_side
from theodolite.engine.encoders.source import Source, slices
from theodolite.engine.encoders.transformer import TransformerSource
from theodolite.engine.errors import UserError
from theodolite.engine.progress import nobody
from theodolite.engine.rankers.base import Ranker
from theodolite.engine.search.index import unit_rows

_DOCUMENTS, _CHARACTERS, _WINDOWS = 64, 2**18, 64
"""Documents, their characters, and windows that are in memory at once."""
E = TypeVar("E")


def late(encoder: E, data: Dataset) -> E:
    """Return an encoder or ranker with late vectors of chunks, if a data set is cut so.

    Rankers without an encoder, such as BM25, read the texts of the chunks as ever.
    """
    if not (isinstance(data, Retrieval) and data.late):
        return encoder
    result: E = _late(encoder, data, str(getattr(encoder, "name", encoder)))
    return result


def _late(encoder: Any, data: Retrieval, name: str) -> Any:
    if isinstance(encoder, Ranker):
        return encoder.with_parts([_late(part, data, name) for part in encoder.parts])
    documents = getattr(encoder, "documents", encoder)
    source = getattr(documents, "source", None)
    if not isinstance(source, TransformerSource) or source.settings.pooling not in MEANS:
        raise _refusal(name)
    cached = CachedEncoder(LateSource(source, data), documents.cache)
    return TwoSided(encoder.name, cached, query_side(encoder), "late")


def _refusal(name: str) -> UserError:
    return UserError(
        f"{name} cannot cut documents late: only transformers "
        "whose vectors are the mean of their tokens can.",
        "Leave out late, or choose such an encoder; a folder's transformer is one as "
        "dir:FOLDER?pooling=avg.",
        code="unsupported",
    )


class LateSource(Source):
    """The chunks of a data set by the states of their tokens; other texts as by the transformer.

    Args:
        source: the transformer.
        data: documents that are cut into chunks.
    """

    def __init__(self, source: TransformerSource, data: Retrieval) -> None:
        self.name, self.dim, self.prompt = source.name, source.dim, source.prompt
        self.uses_gpu = source.uses_gpu
        self.fingerprint = fingerprint("late", source.fingerprint, data.texts_hash)
        self._source, self._data = source, data

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `Encoder`."""
        return self._source.warnings

    @cached_property
    def _places(self) -> dict[str, Place]:
        """Text of a chunk -> where it stands first."""
        places = dict[str, Place]()
        for name, text in self._data.documents.items():
            places.setdefault(text, self._data.places[name])
        return places

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`."""
        return self.watched(sentences, nobody)

    def watched(
        self, sentences: Sequence[str], tick: Callable[[int], None]
    ) -> Iterator[np.ndarray]:
        """See `Source.watched`."""
        for is_chunk, group in groupby(sentences, self._places.__contains__):
            some = list(group)
            yield from self._of_chunks(some) if is_chunk else self._source.chunks(some)

    def _of_chunks(self, texts: Sequence[str]) -> Iterator[np.ndarray]:
        assert self._data.whole is not None  # noqa: S101 - it is cut
        whole = self._data.whole.documents
        places = (self._places[text] for text in texts)
        groups = [(name, list(of)) for name, of in groupby(places, lambda at: at.document)]
        rest = (of for _, of in groups)
        for some in slices([whole[name] for name, _ in groups], _DOCUMENTS, _CHARACTERS):
            yield self._pool(some, list(islice(rest, len(some))))

    def _pool(self, documents: Sequence[str], places: Sequence[Sequence[Place]]) -> np.ndarray:
        """Return float32 (chunks, dim) of the chunks of all documents."""
        model, settings = self._source.transformer, self._source.settings
        shift = len(self.prompt)
        spans = np.array([(at.start, at.stop) for of in places for at in of]) + shift
        owner = np.repeat(np.arange(len(places)), [len(of) for of in places])
        sums, counts = np.zeros((len(spans), self.dim)), np.zeros((len(spans), 1))
        texts = [self.prompt + document for document in documents]
        windows = [
            (i, *one) for i, windows_of in enumerate(model.windows(texts)) for one in windows_of
        ]
        for first in range(0, len(windows), _WINDOWS):
            some = windows[first : first + _WINDOWS]
            states = model.states([ids for _, ids, _ in some], settings.pooling, settings.layer)
            for (document, _, at), rows in zip(some, states, strict=True):
                here = (
                    (owner == document) & (spans[:, 0] < at.max()) & (spans[:, 1] > at[:, 0].min())
                )
                for chunk in np.flatnonzero(here):
                    start, stop = spans[chunk]
                    own = rows[(at[:, 0] < stop) & (at[:, 1] > start)]
                    sums[chunk] += own.sum(axis=0)
                    counts[chunk] += len(own)
        vectors = (sums / np.maximum(counts, 1)).astype(np.float32)
        return unit_rows(vectors) if settings.normalise else vectors
