"""The top documents of each query, exactly, from as many documents as fit on disk.

Knows vectors and positions. Documents are processed in blocks, so that neither a copy of them nor a
matrix of queries by documents is ever in memory.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from theodolite.engine.classifiers.features import accelerator
from theodolite.engine.progress import ProgressCallback, nobody

_DOCUMENTS = 50_000
_CELLS = 50_000_000
"""Similarities held at once, 200 MB."""


def most_similar(
    queries: np.ndarray,
    documents: np.ndarray,
    k: int,
    among: Sequence[np.ndarray] | None = None,
    tick: ProgressCallback = nobody,
    similarity: str = "cosine",
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield for each query the positions of its k most similar documents, and their similarities.

    Args:
        queries: float32 (q, dim).
        documents: float32 (n, dim).
        k: number of documents, of all.
        among: for each query the positions that are compared, every one; None for all documents.
        tick: as of `first_of_each`.
        similarity: see `compare`.
    """
    if among is None:
        scores, positions = first_of_each(queries, documents, k, tick, similarity)
        yield from zip(positions, scores, strict=True)
        return
    left, right = (comparable(part, similarity) for part in (queries, documents))
    for done, mine in enumerate(among):
        tick(done / len(queries))
        yield mine, compare(left[done : done + 1], right[mine], similarity)[0].numpy()


def first_of_each(
    queries: np.ndarray,
    documents: np.ndarray,
    k: int,
    tick: ProgressCallback = nobody,
    similarity: str = "cosine",
) -> tuple[np.ndarray, np.ndarray]:
    """Return the k most similar documents of each query in float32, in no order.

    Args:
        queries: float32 (q, dim).
        documents: float32 (n, dim); may be mapped from a file.
        k: number of documents; all where there are fewer.
        tick: called with the share done; an exception it raises stops the search.
        similarity: see `compare`.

    Returns:
        scores: float32 and positions: int64, both (q, min(k, n)).
    """
    device = accelerator()
    targets = comparable(queries, similarity).to(device)
    k = min(k, len(documents))
    scores = torch.empty((len(queries), 0), device=device)
    positions = torch.empty((len(queries), 0), dtype=torch.int64, device=device)
    for start in range(0, len(documents), _DOCUMENTS):
        some = comparable(documents[start : start + _DOCUMENTS], similarity).to(device)
        block = max(1, _CELLS // len(some))
        parts = [
            _merge(
                scores[a : a + block],
                positions[a : a + block],
                compare(targets[a : a + block], some, similarity),
                start,
                k,
            )
            for a in range(0, len(queries), block)
        ]
        scores, positions = (torch.cat(side) for side in zip(*parts, strict=True))
        tick(min(1.0, (start + len(some)) / len(documents)))
    return scores.cpu().numpy(), positions.cpu().numpy()


def _merge(
    scores: torch.Tensor, positions: torch.Tensor, more: torch.Tensor, start: int, k: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The k best of those found before and of a block that starts at `start`."""
    best, at = torch.topk(more, min(k, more.shape[1]), dim=1)
    scores, positions = torch.cat([scores, best], 1), torch.cat([positions, at + start], 1)
    if scores.shape[1] <= k:
        return scores, positions
    best, at = torch.topk(scores, k, dim=1)
    return best, positions.gather(1, at)


def unit(vectors: np.ndarray) -> torch.Tensor:
    """Return unit rows, normalised by torch; a zero row stays zero."""
    rows = torch.from_numpy(np.ascontiguousarray(vectors, np.float32))
    return torch.nn.functional.normalize(rows, p=2, dim=-1)


def comparable(vectors: np.ndarray, similarity: str) -> torch.Tensor:
    """Return rows for `compare`: of length 1 for the cosine, else as they are."""
    if similarity == "cosine":
        return unit(vectors)
    return torch.from_numpy(np.ascontiguousarray(vectors, np.float32))


def compare(left: torch.Tensor, right: torch.Tensor, similarity: str) -> torch.Tensor:
    """Return the similarity of each row to each row, as sentence-transformers defines it.

    Args:
        left: float32 (m, dim), from `comparable`.
        right: float32 (n, dim), from `comparable`.
        similarity: `cosine`, `dot`, or a negated distance: `euclidean` or `manhattan`.

    Returns:
        float32 (m, n).
    """
    if similarity in ("euclidean", "manhattan"):
        return -torch.cdist(left, right, p=2 if similarity == "euclidean" else 1)
    return left @ right.T
