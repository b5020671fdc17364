"""Search in published pages: static encoders answer new queries there, without a server.

A page fetches the vectors of a collection whole, and texts, word vectors and neighbours in parts,
on demand. For an encoder that needs Python the neighbours of every sentence are precomputed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.blocks import Block, Component
from theodolite.app.pages.search import in_browser
from theodolite.app.pages.search.answer import SEARCH, SearchSpec
from theodolite.app.published import Published
from theodolite.app.surfaces.static import Static
from theodolite.app.text_files import PER_FILE, texts_of
from theodolite.app.web.theme import SERIES
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace


K = 10
MAX_SENTENCES = 200_000
MAX_BYTES = 2**24
"""Most values of a collection's vectors, a byte each; larger ones are projected to `MAX_DIMENSIONS`
dimensions."""
MAX_DIMENSIONS = 128
PART = 2**20
"""Approximate bytes of vectors per file."""


def views(published: Published) -> Iterator[tuple[str, SearchSpec]]:
    """One view per data set whose texts are published and not too many."""
    encoders = tuple(published.encoders.values())
    for name in published.data.values():
        with suppress(UserError):  # its texts are not published
            sentences, _ = published.workspace.catalog.sentences(name)
            if K < len(sentences) <= MAX_SENTENCES:
                yield name, SearchSpec(sentences[:1], name, encoders)


def blocks(workspace: Workspace, spec: SearchSpec) -> list[Block]:
    """The search of a collection in a browser, which begins with its first sentence."""
    sentences, data_hash = workspace.catalog.sentences(spec.data)
    texts, shared = texts_of(sentences, data_hash)
    columns, folders = [], dict(shared)
    for name in spec.encoders:
        column, held, nearest = _column(workspace, name, spec.data)
        first = [[i, formats.encodable(sentences[i]), cosine] for i, cosine in nearest]
        columns.append({"encoder": name, "first": first, **column})
        folders |= {at: partial(dict, files) for at, files in held.items()}
    many = -(-len(sentences) // PER_FILE)
    about = {
        "collection": spec.data,
        "sentences": len(sentences),
        "k": K,
        "columns": columns,
        "texts": {"per": PER_FILE, "parts": {"at": f"{texts}/texts", "many": many}},
        "first": formats.encodable(sentences[0]),
        "about": _about(spec.data, sentences, columns),
    }
    return [Component("search/page", about, {"palette": list(SERIES)}, folders)]


def _about(collection: str, sentences: Sequence[str], columns: Sequence[dict[str, Any]]) -> str:
    text = f"{formats.plural(len(sentences), 'sentence')} of {collection}."
    if not any("runs" in column for column in columns):
        return f"{text} None of these encoders can encode a new sentence here; use Python."
    return f"{text} What you write is encoded and compared in your browser."


Nearest = list[tuple[int, float]]
"""Positions of sentences and their cosines."""


def _column(
    workspace: Workspace, name: str, collection: str
) -> tuple[dict[str, Any], in_browser.Held, Nearest]:
    """The page's description of an encoder, its files, and the neighbours of the first sentence."""
    from theodolite.app import vectors
    from theodolite.engine.encoders.variants import baseline
    from theodolite.engine.search.index import Index

    described = in_browser.describe(workspace.bound(name, collection))
    # Encoding with word vectors is fast; with other encoders it could take minutes.
    if not baseline(name) and vectors.missing(workspace, name, collection) > vectors.SMALL:
        return {}, {}, []
    rows = vectors.vectors(workspace, name, collection)
    cosines, ids = Index(rows).search(rows[:1], K)
    nearest = list(zip(ids[0].tolist(), cosines[0].tolist(), strict=True))
    if described is None:
        neighbours, held = in_browser.in_parts("vectors/neighbours", _neighbours(rows))
        return {"neighbours": {"per": PER_FILE, "parts": neighbours}}, held, nearest
    runs, held = described
    points, axes = _fewer(rows)
    column, more = in_browser.pack("vectors/rows", points, PART)
    if axes is not None:
        column["axes"], projected = in_browser.one("vectors/axes", axes.tobytes())
        more |= projected
    column |= {"runs": runs, "loads": formats.size(_size(more) + _at_once(runs, held))}
    return column | _note(runs, rows, points), held | more, nearest


def _at_once(runs: dict[str, Any], held: in_browser.Held) -> int:
    """Bytes that an encoder loads at start; its word vectors are fetched on demand."""
    words = runs.get("parts", {"bytes": 0})["bytes"]
    return _size(held) - int(words)


def _size(held: in_browser.Held) -> int:
    return sum(len(data) for files in held.values() for data in files.values())


def _note(runs: dict[str, Any], rows: np.ndarray, points: np.ndarray) -> dict[str, str]:
    """A note about reduced dimensions or vocabulary, compared with Python."""
    sentences = []
    if points.shape[1] < rows.shape[1]:
        sentences.append(f"Compared in {points.shape[1]} of {rows.shape[1]:,} dimensions.")
    if runs.get("known", 0) < runs.get("of", 0):
        sentences.append(f"Knows the first {runs['known']:,} of {runs['of']:,} words.")
    return {"note": " ".join(sentences)} if sentences else {}


def _fewer(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Unit vectors, projected to their leading eigenvectors if they are too large.

    Returns:
        float32 (n, k); None, or the float32 (d, k) projection to apply to a query.
    """
    import numpy as np

    from theodolite.engine.search.index import unit_rows

    points = unit_rows(rows)
    if points.size <= MAX_BYTES or points.shape[1] <= MAX_DIMENSIONS:
        return points, None
    _, axes = np.linalg.eigh((points.T @ points).astype(np.float64))
    axes = np.ascontiguousarray(axes[:, ::-1][:, :MAX_DIMENSIONS], "<f4")
    return points @ axes, axes


def _neighbours(rows: np.ndarray) -> Iterator[bytes]:
    """Yield parts of each sentence's neighbours: uint32 (n, K - 1) ids, float32 cosines."""
    from theodolite.engine.search.index import neighbours_of_each

    cosines, ids = neighbours_of_each(rows, K - 1)
    for start in range(0, len(rows), PER_FILE):
        part = slice(start, start + PER_FILE)
        yield ids[part].astype("<u4").tobytes() + cosines[part].astype("<f4").tobytes()


PUBLISHED = Static(SEARCH, views, blocks=blocks)
