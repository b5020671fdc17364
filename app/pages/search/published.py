"""Search in published pages: static encoders answer new queries there, without a server.

A page fetches the vectors of a collection whole, and texts, word vectors and neighbours in parts,
on demand. A static encoder's vector of a sentence is the mean of its words' vectors: all that
`app/components/js/search/encoder.js` needs is written here. For an encoder that needs Python the
neighbours of every sentence are precomputed. Vectors are quantised to 255 levels per row.
"""

import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from theodolite.app import formats
from theodolite.app.blocks import Block, Component
from theodolite.app.names import labelled
from theodolite.app.pages.search.answer import QUERY, SEARCH, SearchSpec
from theodolite.app.published import Published, Static, hashed_name
from theodolite.app.text_files import PER_FILE, texts_of
from theodolite.app.typed import Typed
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.search.index import Index, neighbours_of_each, unit_rows

MAX_SENTENCES = 200_000
MAX_BYTES = 2**24
"""Most values of a collection's vectors, a byte each; larger ones are projected to `MAX_DIMENSIONS`
dimensions."""
MAX_DIMENSIONS = 128
PART = 2**20
"""Approximate bytes of a collection's vectors per file."""
STEPS = 127
"""Quantisation levels on either side of zero."""
MAX_WORD_BYTES = 2**25
"""Most bytes of a word table; a larger one keeps its first words, which are the most frequent."""
WORDS_PART = 65_536
"""Approximate bytes of word vectors per file: the download for one rare word."""

Folders = dict[str, dict[str, bytes]]
"""Address of a folder, relative to the first page -> its files by name."""
Described = tuple[dict[str, Any], Folders]
"""The value of a page, and the files that it fetches."""


def views(published: Published) -> Iterator[tuple[str, SearchSpec]]:
    """One view per data set whose texts are published and not too many."""
    encoders = published.with_vectors
    for name in published.data.values():
        with suppress(UserError):  # its texts are not published
            sentences, _ = published.workspace.catalog.sentences(name)
            if SearchSpec.k < len(sentences) <= MAX_SENTENCES:
                yield name, SearchSpec(sentences[:1], name, encoders)


def blocks(workspace: Workspace, spec: SearchSpec) -> list[Block]:
    """The search of a collection in a browser, which begins with the query."""
    if spec != SearchSpec(spec.queries[:1], spec.data, spec.encoders, spec.k):
        raise UserError(
            "A published Search looks for one sentence by meaning, in the whole collection.",
            "Choose that on the page, or leave Search out.",
            code="unsupported",
        )
    sentences, data_hash = workspace.catalog.sentences(spec.data)
    spec = replace(spec, k=min(spec.k, len(sentences)))
    texts, shared = texts_of(sentences, data_hash)
    columns, folders = [], dict(shared)
    for name in spec.encoders:
        column, files = _column(workspace, name, spec)
        columns.append(column)
        folders |= {at: partial(dict, contents) for at, contents in files.items()}
    lead = "None of these encoders can encode a new sentence here; use Python."
    if any("runs" in column for column in columns):
        lead = "What you write is encoded and compared in your browser."
    many = -(-len(sentences) // PER_FILE)
    value = {
        "collection": spec.data,
        "sentences": len(sentences),
        "k": spec.k,
        "columns": columns,
        "texts": {"per": PER_FILE, "parts": {"at": f"{texts}/texts", "many": many}},
        "first": formats.encodable(spec.queries[0]),
        "about": f"{formats.plural(len(sentences), 'sentence')} of {spec.data}. {lead}",
    }
    return [Component("search/page", value, {"palette": list(SERIES)}, folders)]


def _column(workspace: Workspace, name: str, spec: SearchSpec) -> Described:
    """The page's description of an encoder, with what is nearest to the query."""
    from theodolite.app import vectors
    from theodolite.engine.encoders import query_side
    from theodolite.engine.encoders.variants import baseline

    collection = spec.data
    column: dict[str, Any] = {"encoder": labelled(name), "first": []}
    # Encoding with word vectors is fast; with other encoders it could take minutes.
    if not baseline(name) and vectors.missing(workspace, name, collection) > vectors.SMALL:
        return column, {}
    sentences, _ = workspace.catalog.sentences(collection)
    rows = vectors.vectors(workspace, name, collection)
    encoder = workspace.bound(name, collection)
    query = Typed(query_side(encoder)).encode(spec.queries)
    cosines, ids = Index(rows).search(query, spec.k)
    column["first"] = [
        [i, formats.encodable(sentences[i]), cosine]
        for i, cosine in zip(ids[0].tolist(), cosines[0].tolist(), strict=True)
    ]
    described = describe(encoder)
    if described is None:
        # uint32 (n, k - 1) ids, float32 cosines
        cosines, ids = neighbours_of_each(rows, spec.k - 1)
        pieces = [slice(start, start + PER_FILE) for start in range(0, len(rows), PER_FILE)]
        files = (
            ids[at].astype("<u4").tobytes() + cosines[at].astype("<f4").tobytes() for at in pieces
        )
        parts, held = _in_parts("vectors/neighbours", files)
        return column | {"neighbours": {"per": PER_FILE, "parts": parts}}, held
    runs, held = described
    points, axes = _project(rows)
    packed, more = pack("vectors/rows", points, PART)
    notes = []
    if axes is not None:
        packed["axes"], projected = _in_one("vectors/axes", axes.tobytes())
        more |= projected
        notes.append(f"Compared in {points.shape[1]} of {rows.shape[1]:,} dimensions.")
    if runs.get("known", 0) < runs.get("of", 0):
        notes.append(f"Knows the first {runs['known']:,} of {runs['of']:,} words.")
    # Word vectors are fetched on demand, the rest when the page is opened.
    loads = sum(len(data) for files in (held | more).values() for data in files.values())
    column |= packed | {
        "runs": runs,
        "loads": formats.size(loads - runs.get("parts", {"bytes": 0})["bytes"]),
    }
    return column | ({"note": " ".join(notes)} if notes else {}), held | more


def _project(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
    """Unit vectors, projected to their leading eigenvectors if they are too large.

    Returns:
        float32 (n, k); None, or the float32 (d, k) projection to apply to a query.
    """
    points = unit_rows(rows)
    if points.size <= MAX_BYTES or points.shape[1] <= MAX_DIMENSIONS:
        return points, None
    _, axes = np.linalg.eigh((points.T @ points).astype(np.float64))
    axes = np.ascontiguousarray(axes[:, ::-1][:, :MAX_DIMENSIONS], "<f4")
    return points @ axes, axes


def describe(encoder: Encoder) -> Described | None:
    """Describe an encoder for a page, with the files that run it.

    Returns:
        The value that `encoder.js` reads, and the files that it fetches; None for an encoder that
        needs Python.
    """
    from theodolite.engine.encoders.cached import CachedEncoder
    from theodolite.engine.encoders.packaged import WordLlama
    from theodolite.engine.encoders.words import RandomWords, WordVectors

    match encoder:
        case CachedEncoder(source=RandomWords()):
            return {"kind": "random", "dim": encoder.dim}, {}
        case CachedEncoder(source=WordVectors() as source):
            many = min(len(source.table), MAX_WORD_BYTES // source.dim)
            vocabulary, table = source.vocabulary[:many], source.table[:many]
            about: dict[str, Any] = {"kind": "words", "known": many, "of": len(source.table)}
            ranked: Folders = {}
        case CachedEncoder(source=WordLlama() as source):  # tokens, and merges that `bpe.js` reads
            vocabulary, table = list(source.bpe["vocab"]), source.table
            numbers = {token: number for number, token in enumerate(vocabulary)}
            pairs = [[numbers[token] for token in pair] for pair in source.bpe["merges"]]
            merges, ranked = _in_one("encoders/merges", np.array(pairs, "<u2").tobytes())
            about = {"kind": "tokens", "merges": merges, "special": source.bpe["special"]}
        case _:
            return None
    text = json.dumps(vocabulary, ensure_ascii=False, separators=(",", ":"))
    words, listed = _in_one("encoders/vocabulary", text.encode())
    rows, files = pack("encoders/words", table)
    return rows | about | {"words": words}, listed | ranked | files


def pack(name: str, rows: np.ndarray, part: int = WORDS_PART) -> Described:
    """Pack vectors for `js/search/rows.js`, in parts that are fetched one by one.

    Args:
        name: prefix of the files' addresses.
        rows: float32 (n, d); zero rows stay zero.
        part: approximate bytes per file.

    Returns:
        `dim`, `rows` per part, `parts`, and `mean` if it was subtracted from the rows, which gives
        smaller steps; the files.
    """
    many = max(1, part // rows.shape[1])
    mean = rows.mean(axis=0)
    (whole, steps), (less, smaller) = quantise(rows), quantise(rows - mean)
    centred = np.square(smaller).sum() < np.square(steps).sum()
    if centred:
        whole, steps = less, smaller
    steps[~rows.any(axis=1)] = np.nan
    blocks = (slice(start, start + many) for start in range(0, len(rows), many))
    parts, files = _in_parts(
        name, (steps[at].astype("<f4").tobytes() + whole[at].tobytes() for at in blocks)
    )
    about = {"dim": rows.shape[1], "rows": many, "parts": parts}
    return about | ({"mean": mean.tolist()} if centred else {}), files


def quantise(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Quantise rows to int8.

    Args:
        rows: float (n, d).

    Returns:
        int8 (n, d), and float32 (n,), the step size of each row; 0 for a row of zeros.
    """
    steps = np.abs(rows).max(axis=1, initial=0).astype(np.float32) / STEPS
    whole = np.divide(rows, steps[:, None], out=np.zeros_like(rows), where=steps[:, None] > 0)
    return np.rint(whole).astype(np.int8), steps


def _in_parts(name: str, parts: Iterable[bytes]) -> Described:
    """Put data into files that a page fetches one by one, in a folder named by its hash.

    Returns:
        The description that `js/search/parts.js` reads, and the files: `at`, the start of the
        addresses, which end in a hyphen and a number from 0; `many`, their number; `bytes` in all.
    """
    files = {f"part-{number}": part for number, part in enumerate(parts)}
    folder = hashed_name(name, *files.values())
    size = sum(map(len, files.values()))
    return {"at": f"{folder}/part", "many": len(files), "bytes": size}, {folder: files}


def _in_one(name: str, data: bytes) -> tuple[str, Folders]:
    """Put data into one file; return its address, and the file."""
    parts, files = _in_parts(name, [data])
    return f"{parts['at']}-0", files


PUBLISHED = Static(SEARCH, views, blocks=blocks, asked=(("q", QUERY),))
