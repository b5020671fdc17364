"""Search in published pages: static encoders answer new sentences there, without a server.

A page fetches the vectors of a collection's sentences whole, texts, words and neighbours in parts,
when one of them is looked at. An encoder that needs Python has the neighbours of every sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from app import formats
from app.pages.search import in_browser
from app.text_files import PER_FILE, texts_of
from app.web.frozen import Folders, Published, View
from engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace

K = 10
MOST_SENTENCES = 200_000
MOST_BYTES = 2**24
"""Of the vectors of a collection by one encoder: more are brought to fewer dimensions."""
FEWER = 128
PART = 2**20
"""Bytes of them that are fetched at a time, about."""


def views(published: Published) -> list[View]:
    """Every data set whose texts may be read and are not too many."""
    found = []
    for name in published.data.values():
        with suppress(UserError):  # its texts stay at home
            sentences, _ = published.workspace.catalog.sentences(name)
            if K < len(sentences) <= MOST_SENTENCES:
                found.append(View(name, (("in", name),)))
    return found


def files(workspace: Workspace, value: Any) -> tuple[Any, Folders]:
    """What the page searches where nobody serves it, and what it fetches.

    Args:
        workspace: of what is published.
        value: `collection` and `encoders`, their names.
    """
    collection = value["collection"]
    sentences, data_hash = workspace.catalog.sentences(collection)
    texts, shared = texts_of(sentences, data_hash)
    columns, folders = [], dict(shared)
    for name in value["encoders"]:
        column, held, nearest = _column(workspace, name, collection)
        first = [[i, formats.encodable(sentences[i]), cosine] for i, cosine in nearest]
        columns.append({"encoder": name, "first": first, **column})
        folders |= {at: partial(dict, files) for at, files in held.items()}
    many = -(-len(sentences) // PER_FILE)
    about = {
        "collection": collection, "sentences": len(sentences), "k": K, "columns": columns,
        "texts": {"per": PER_FILE, "parts": {"at": f"{texts}/texts", "many": many}},
        "first": formats.encodable(sentences[0]), "about": _about(collection, sentences, columns),
    }  # fmt: skip
    return about, folders


def _about(collection: str, sentences: Sequence[str], columns: Sequence[dict[str, Any]]) -> str:
    text = f"{formats.plural(len(sentences), 'sentence')} of {collection}."
    if not any("runs" in column for column in columns):
        return f"{text} None of these encoders can encode a new sentence here; use Python."
    return f"{text} What you write is encoded and compared in your browser."


Nearest = list[tuple[int, float]]
"""Numbers of sentences and their cosines."""


def _column(
    workspace: Workspace, name: str, collection: str
) -> tuple[dict[str, Any], in_browser.Held, Nearest]:
    """What the page is told of an encoder, its files, and what is nearest to the first sentence."""
    from app import vectors
    from engine.encoders.variants import baseline
    from engine.search.index import Index

    described = in_browser.described(workspace.bound(name, collection))
    # Word vectors are quick; what else is to be encoded would take minutes.
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
    column, more = in_browser.packed("vectors/rows", points, PART)
    if axes is not None:
        column["axes"], projected = in_browser.one("vectors/axes", axes.tobytes())
        more |= projected
    column |= {"runs": runs, "loads": formats.size(_size(more) + _at_once(runs, held))}
    return column | _note(runs, rows, points), held | more, nearest


def _at_once(runs: dict[str, Any], held: in_browser.Held) -> int:
    """Bytes that an encoder loads before it can split a text; of its words only those it meets."""
    words = runs.get("parts", {"bytes": 0})["bytes"]
    return _size(held) - int(words)


def _size(held: in_browser.Held) -> int:
    return sum(len(data) for files in held.values() for data in files.values())


def _note(runs: dict[str, Any], rows: np.ndarray, points: np.ndarray) -> dict[str, str]:
    """What is less here than in Python."""
    sentences = []
    if points.shape[1] < rows.shape[1]:
        sentences.append(f"Compared in {points.shape[1]} of {rows.shape[1]:,} dimensions.")
    if runs.get("known", 0) < runs.get("of", 0):
        sentences.append(f"Knows the first {runs['known']:,} of {runs['of']:,} words.")
    return {"note": " ".join(sentences)} if sentences else {}


def _fewer(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """The vectors, and where they are too many bytes the directions that tell most of them apart.

    Returns:
        float32 (n, k); None, or float32 (d, k), which a query is to be multiplied by.
    """
    import numpy as np

    from engine.search.index import unit_rows

    points = unit_rows(rows)
    if points.size <= MOST_BYTES or points.shape[1] <= FEWER:
        return points, None
    _, axes = np.linalg.eigh((points.T @ points).astype(np.float64))
    axes = np.ascontiguousarray(axes[:, ::-1][:, :FEWER], "<f4")
    return points @ axes, axes


def _neighbours(rows: np.ndarray) -> Iterator[bytes]:
    """Of each sentence the nearest others: uint32 (n, K - 1), then float32 (n, K - 1) cosines."""
    from engine.search.index import neighbours_of_each

    cosines, ids = neighbours_of_each(rows, K - 1)
    for start in range(0, len(rows), PER_FILE):
        part = slice(start, start + PER_FILE)
        yield ids[part].astype("<u4").tobytes() + cosines[part].astype("<f4").tobytes()
