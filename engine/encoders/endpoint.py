"""An embedding model behind OpenAI's API as a source of vectors.

The weights on the server are unknown: the fingerprint is of the address, the options and the length
of a vector. Every request's vectors are yielded at once, so that a cache keeps them and nothing is
sent twice.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.engine.encoders.base import VectorCache, sentence_key
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.source import Source, clean, slices
from theodolite.engine.encoders.spec import MAX_DIM, SourceSpec
from theodolite.engine.endpoints import Address, Endpoint, Unacceptable
from theodolite.engine.errors import UserError

BATCH = 64
"""Texts per request; fewer once a server has refused that many."""
CHARACTERS = 100_000
"""Characters per request: far below what servers take."""
BYTES_A_TOKEN = 4
_PROBE = "theodolite"
_PROBE_TRIES = 2


class EndpointSource(Source):
    """A model of a server.

    Args:
        name: canonical spec.
        endpoint: the server.
        dim: length of a vector.
        dimensions: requested from the server; None for its default.
        prompt: before every text.
        batch: maximum number of texts per request.
    """

    def __init__(
        self,
        name: str,
        endpoint: Endpoint,
        dim: int,
        *,
        dimensions: int | None = None,
        prompt: str = "",
        batch: int = BATCH,
    ) -> None:
        address = endpoint.address
        self.name, self.endpoint, self.dim, self.prompt = name, endpoint, dim, prompt
        self.batch = batch
        self._dimensions = dimensions
        self.fingerprint = fingerprint(
            "endpoint", address.url, address.model, dimensions, prompt, dim
        )

    @property
    def warnings(self) -> tuple[str, ...]:
        """See `Encoder`."""
        return cautions(self.endpoint.address)

    def chunks(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """See `Source.chunks`: one chunk per request."""
        done = 0
        try:
            for rows in self._rows(sentences):
                yield rows
                done += len(rows)
        except UserError as error:
            if not done:
                raise
            progress_note = (
                f"{done:,} of {len(sentences):,} texts were encoded before that, and are kept."
            )
            raise UserError(
                f"{error.message} {progress_note}", error.hint, code=error.code
            ) from error

    def _rows(self, sentences: Sequence[str]) -> Iterator[np.ndarray]:
        """Vectors, a request at a time; of fewer texts once the server has refused as many."""
        most = self.batch
        for part in slices(sentences, self.batch, CHARACTERS):
            texts = [self.prompt + clean(text) for text in part]
            while texts:
                batch = texts[:most]
                try:
                    yield ask(self.endpoint, batch, self._dimensions, self.dim)
                except Unacceptable:
                    if len(batch) == 1:
                        raise
                    most = (len(batch) + 1) // 2
                else:
                    texts = texts[len(batch) :]


def make(spec: SourceSpec, cache: VectorCache, send_texts: Collection[str]) -> EndpointSource:
    """Make the source of a spec; the length of a vector is requested once, and cached."""
    limits = {name: int(spec.option(name) or 0) or None for name in ("dimensions", "rpm", "tpm")}
    endpoint = Endpoint(Address.parse(spec.value), send_texts, rpm=limits["rpm"], tpm=limits["tpm"])
    dim = limits["dimensions"] or _find_dim(endpoint, cache)
    return EndpointSource(
        str(spec),
        endpoint,
        dim,
        dimensions=limits["dimensions"],
        prompt=spec.option("prompt") or "",
        batch=int(spec.option("batch") or BATCH),
    )


def _find_dim(endpoint: Endpoint, cache: VectorCache) -> int:
    place = fingerprint("endpoint's dim", endpoint.address.url, endpoint.address.model)
    is_stored, known = cache.get(place, [sentence_key(_PROBE)], 1)
    if is_stored.any():
        return int(known[0, 0])
    dim = ask(endpoint, [_PROBE], tries=_PROBE_TRIES).shape[1]
    cache.put(place, [sentence_key(_PROBE)], np.array([[dim]], np.float32))
    return dim


def ask(
    endpoint: Endpoint,
    texts: Sequence[str],
    dimensions: int | None = None,
    dim: int | None = None,
    **options: int,
) -> np.ndarray:
    """Request the vectors of texts, float32 (n, dim). A blank text is not sent: its vector is 0.

    Args:
        endpoint: the server.
        texts: of one request.
        dimensions: requested from the server.
        dim: length that a vector must have; None for any.
        **options: of `Endpoint.post`.
    """
    sent = [i for i, text in enumerate(texts) if text.strip()]
    if not sent and dim:
        return np.zeros((len(texts), dim), np.float32)
    body: dict[str, Any] = {"input": [texts[i] for i in sent]}
    body |= {"dimensions": dimensions} if dimensions else {}
    answer = endpoint.post("embeddings", body, tokens=tokens(body["input"]), **options)
    rows = _vectors(answer, len(sent), dim, endpoint.address)
    whole = np.zeros((len(texts), rows.shape[1]), np.float32)
    whole[sent] = rows
    return whole


def _vectors(answer: dict[str, Any], n: int, dim: int | None, address: Address) -> np.ndarray:
    """The vectors of an answer, checked, in the order of the texts."""

    def refused(why: str, hint: str = "Check that the model is one of embeddings.") -> UserError:
        return UserError(f"{address.host} gave {why}.", hint, code="unreachable")

    data = answer.get("data")
    if not isinstance(data, list) or not all(isinstance(one, dict) for one in data):
        raise refused("no list of vectors")
    if len(data) != n:
        raise refused(f"{len(data)} vectors for {n} texts")
    by_index = {one.get("index", i): one.get("embedding") for i, one in enumerate(data)}
    if set(by_index) != set(range(n)):
        raise refused("vectors that do not say of which text they are")
    try:
        with np.errstate(over="ignore"):
            rows = np.array([by_index[i] for i in range(n)], np.float64).astype(np.float32)
    except (TypeError, ValueError) as error:
        raise refused("vectors of different lengths, or of something else than numbers") from error
    if rows.ndim != 2 or not 0 < rows.shape[1] <= MAX_DIM:
        raise refused(f"no vectors of 1 to {MAX_DIM:,} numbers")
    if dim is not None and rows.shape[1] != dim:
        raise refused(
            f"vectors of {rows.shape[1]:,} numbers where {dim:,} were expected",
            "Another model answers there now, or one that ignores dimensions=. Remove the "
            "encoder and its vectors (`theodolite store clean`), then add it again.",
        )
    if not np.isfinite(rows).all():
        raise refused("NaN or infinity")
    return rows


def tokens(texts: Sequence[str]) -> int:
    """Approximate number of tokens of texts: a quarter of their bytes, and one each."""
    return sum(len(clean(text).encode()) // BYTES_A_TOKEN + 1 for text in texts)


@dataclass(frozen=True)
class Sending:
    """The size of what would be sent to a server.

    Attributes:
        host: of the server.
        texts: number of texts.
        characters: total number of characters.
        tokens: approximate number of tokens.
        requests: number of requests.
    """

    host: str
    texts: int
    characters: int
    tokens: int
    requests: int

    @classmethod
    def of(cls, source: EndpointSource, sentences: Sequence[str]) -> Sending:
        """Count for sentences that are in no cache."""
        texts = [source.prompt + text for text in sentences]
        return cls(
            source.endpoint.address.host,
            len(texts),
            sum(map(len, texts)),
            tokens(texts),
            sum(1 for _ in slices(texts, source.batch, CHARACTERS)),
        )

    def __str__(self) -> str:
        return (
            f"{self.texts:,} texts ({self.characters:,} characters, about {self.tokens:,} tokens) "
            f"to {self.host} in {self.requests:,} requests"
        )


def cautions(address: Address) -> tuple[str, ...]:
    """Warnings about a model behind an endpoint."""
    unknown = (
        f"The weights behind {address.host} are unknown and may change: only vectors that were "
        "kept stay the same."
    )
    sent = f"Every text that it encodes is sent to {address.host}."
    return (unknown,) if address.is_here else (sent, unknown)
