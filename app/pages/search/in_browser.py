"""Encoders that run in the browser: their tokenization, and their word vectors.

A static encoder's vector of a sentence is the mean of its words' vectors, so a page needs no more
than these: `app/components/js/search/encoder.js` reads what is written here. Vectors are rounded to
255 steps a row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from app.web.frozen import hashed

if TYPE_CHECKING:
    from engine.encoders.base import Encoder
    from engine.encoders.packaged import WordLlama
    from engine.encoders.words import WordVectors

Held = dict[str, dict[str, bytes]]
"""Address of a folder, relative to the first page -> its files by name."""
Described = tuple[dict[str, Any], Held]
"""What a page is told, and what it then fetches."""
STEPS = 127
"""On either side of zero."""
MOST_BYTES = 2**25
"""Of a table: of a larger file of word vectors the first words, which are the most frequent."""
PART = 65_536
"""Bytes of words' vectors that are fetched at a time, about: what a page loads for a rare word."""


def described(encoder: Encoder) -> Described | None:
    """What a page is told of an encoder, and the files that it loads to run it.

    Args:
        encoder: loaded.

    Returns:
        What `encoder.js` reads, and the files that it fetches; None for an encoder that
        needs Python.
    """
    from engine.encoders.cached import CachedEncoder
    from engine.encoders.packaged import WordLlama
    from engine.encoders.random_words import RandomWords
    from engine.encoders.words import WordVectors

    match encoder:
        case CachedEncoder(source=RandomWords()):
            return {"kind": "random", "dim": encoder.dim}, {}
        case CachedEncoder(source=WordVectors() as source):
            return _of_words(source)
        case CachedEncoder(source=WordLlama() as source):
            return _of_tokens(source)
    return None


def packed(name: str, rows: np.ndarray, part: int = PART) -> Described:
    """Vectors as `js/search/rows.js` reads them, in parts that are fetched one by one.

    Args:
        name: in the addresses of the files.
        rows: float32 (n, d); a row of zeros stays one.
        part: bytes of a file, about.

    Returns:
        `dim`, `rows` a part, `parts`, and `mean` where that is taken from the rows; and the files.
    """
    many = max(1, part // rows.shape[1])
    mean = _mean(rows)
    whole, steps = quantised(rows if mean is None else rows - mean)
    steps[~rows.any(axis=1)] = np.nan
    blocks = (slice(start, start + many) for start in range(0, len(rows), many))
    parts, held = in_parts(
        name, (steps[at].astype("<f4").tobytes() + whole[at].tobytes() for at in blocks)
    )
    about = {"dim": rows.shape[1], "rows": many, "parts": parts}
    return about if mean is None else about | {"mean": mean.tolist()}, held


def in_parts(name: str, parts: Iterable[bytes]) -> Described:
    """Something in files that a page fetches one by one, in a folder with the hash of it.

    Args:
        name: in its address.
        parts: what the files hold.

    Returns:
        As `js/search/parts.js` reads it: `at`, what the addresses begin with, which go on with a
        hyphen and a number from 0; `many`, how many; `bytes` of all. And the files.
    """
    files = {f"part-{number}": part for number, part in enumerate(parts)}
    folder = hashed(name, *files.values())
    size = sum(map(len, files.values()))
    return {"at": f"{folder}/part", "many": len(files), "bytes": size}, {folder: files}


def one(name: str, data: bytes) -> tuple[str, Held]:
    """Something in one file: its address, and that."""
    parts, held = in_parts(name, [data])
    return f"{parts['at']}-0", held


def quantised(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows in whole steps.

    Args:
        rows: float (n, d).

    Returns:
        int8 (n, d), and float32 (n,), what a step of each row is; 0 for a row of zeros.
    """
    steps = np.abs(rows).max(axis=1, initial=0).astype(np.float32) / STEPS
    whole = np.divide(rows, steps[:, None], out=np.zeros_like(rows), where=steps[:, None] > 0)
    return np.rint(whole).astype(np.int8), steps


def _mean(rows: np.ndarray) -> np.ndarray | None:
    """The mean of the rows where they lean so much one way that the steps around it are finer."""
    mean = rows.mean(axis=0)
    around = [np.square(quantised(some)[1]).sum() for some in (rows, rows - mean)]
    return mean if around[1] < around[0] else None


def _of_words(source: WordVectors) -> Described:
    many = min(len(source.table), MOST_BYTES // source.dim)
    words, listed = one("encoders/vocabulary", _json(source.vocabulary[:many]))
    rows, held = packed("encoders/words", source.table[:many])
    about = {"kind": "words", "words": words, "known": many, "of": len(source.table)}
    return rows | about, listed | held


def _of_tokens(source: WordLlama) -> Described:
    """What `bpe.js` splits texts by, and the vectors of its tokens."""
    vocabulary = source.bpe["vocab"]
    numbers = {token: number for number, token in enumerate(vocabulary)}
    pairs = np.array([[numbers[token] for token in pair] for pair in source.bpe["merges"]], "<u2")
    words, listed = one("encoders/vocabulary", _json(vocabulary))
    merges, ranked = one("encoders/merges", pairs.tobytes())
    rows, held = packed("encoders/words", source.table)
    about = {"kind": "tokens", "words": words, "merges": merges, "special": source.bpe["special"]}
    return rows | about, listed | ranked | held


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
