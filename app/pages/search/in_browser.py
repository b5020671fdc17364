"""Encoders that run in the browser: their tokenization, and their word vectors.

A static encoder's vector of a sentence is the mean of its words' vectors, so a page needs nothing
else: `app/components/js/search/encoder.js` reads the files written here. Vectors are quantised to
255 levels per row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from theodolite.app.published import hashed

if TYPE_CHECKING:
    from theodolite.engine.encoders.base import Encoder
    from theodolite.engine.encoders.packaged import WordLlama
    from theodolite.engine.encoders.words import WordVectors

Held = dict[str, dict[str, bytes]]
"""Address of a folder, relative to the first page -> its files by name."""
Described = tuple[dict[str, Any], Held]
"""The value of a page, and the files that it fetches."""
STEPS = 127
"""Quantisation levels on either side of zero."""
MAX_BYTES = 2**25
"""Most bytes of a word table; a larger one keeps its first words, which are the most frequent."""
PART = 65_536
"""Approximate bytes of word vectors per file: the download for one rare word."""


def describe(encoder: Encoder) -> Described | None:
    """Describe an encoder for a page, with the files that run it.

    Returns:
        The value that `encoder.js` reads, and the files that it fetches; None for an encoder that
        needs Python.
    """
    from theodolite.engine.encoders.cached import CachedEncoder
    from theodolite.engine.encoders.packaged import WordLlama
    from theodolite.engine.encoders.random_words import RandomWords
    from theodolite.engine.encoders.words import WordVectors

    match encoder:
        case CachedEncoder(source=RandomWords()):
            return {"kind": "random", "dim": encoder.dim}, {}
        case CachedEncoder(source=WordVectors() as source):
            return _of_words(source)
        case CachedEncoder(source=WordLlama() as source):
            return _of_tokens(source)
    return None


def pack(name: str, rows: np.ndarray, part: int = PART) -> Described:
    """Pack vectors for `js/search/rows.js`, in parts that are fetched one by one.

    Args:
        name: prefix of the files' addresses.
        rows: float32 (n, d); zero rows stay zero.
        part: approximate bytes per file.

    Returns:
        `dim`, `rows` per part, `parts`, and `mean` if it was subtracted from the rows; the files.
    """
    many = max(1, part // rows.shape[1])
    mean = _mean(rows)
    whole, steps = quantise(rows if mean is None else rows - mean)
    steps[~rows.any(axis=1)] = np.nan
    blocks = (slice(start, start + many) for start in range(0, len(rows), many))
    parts, held = in_parts(
        name, (steps[at].astype("<f4").tobytes() + whole[at].tobytes() for at in blocks)
    )
    about = {"dim": rows.shape[1], "rows": many, "parts": parts}
    return about if mean is None else about | {"mean": mean.tolist()}, held


def in_parts(name: str, parts: Iterable[bytes]) -> Described:
    """Put data into files that a page fetches one by one, in a folder named by its hash.

    Returns:
        The description that `js/search/parts.js` reads, and the files: `at`, the start of the
        addresses, which end in a hyphen and a number from 0; `many`, their number; `bytes` in all.
    """
    files = {f"part-{number}": part for number, part in enumerate(parts)}
    folder = hashed(name, *files.values())
    size = sum(map(len, files.values()))
    return {"at": f"{folder}/part", "many": len(files), "bytes": size}, {folder: files}


def one(name: str, data: bytes) -> tuple[str, Held]:
    """Put data into one file; return its address, and the file."""
    parts, held = in_parts(name, [data])
    return f"{parts['at']}-0", held


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


def _mean(rows: np.ndarray) -> np.ndarray | None:
    """The mean of the rows, if quantising around it gives smaller steps; else None."""
    mean = rows.mean(axis=0)
    around = [np.square(quantise(some)[1]).sum() for some in (rows, rows - mean)]
    return mean if around[1] < around[0] else None


def _of_words(source: WordVectors) -> Described:
    many = min(len(source.table), MAX_BYTES // source.dim)
    words, listed = one("encoders/vocabulary", _json(source.vocabulary[:many]))
    rows, held = pack("encoders/words", source.table[:many])
    about = {"kind": "words", "words": words, "known": many, "of": len(source.table)}
    return rows | about, listed | held


def _of_tokens(source: WordLlama) -> Described:
    """The tokenizer that `bpe.js` reads, and the vectors of its tokens."""
    vocabulary = source.bpe["vocab"]
    numbers = {token: number for number, token in enumerate(vocabulary)}
    pairs = np.array([[numbers[token] for token in pair] for pair in source.bpe["merges"]], "<u2")
    words, listed = one("encoders/vocabulary", _json(vocabulary))
    merges, ranked = one("encoders/merges", pairs.tobytes())
    rows, held = pack("encoders/words", source.table)
    about = {"kind": "tokens", "words": words, "merges": merges, "special": source.bpe["special"]}
    return rows | about, listed | ranked | held


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
