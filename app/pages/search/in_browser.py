"""Encoders that the scripts of a page can run: how they split texts, and their words' vectors.

A static encoder's vector of a sentence is the mean of its words' vectors, so a page needs no more
than these: `app/components/js/search/encoder.js` reads what is written here. Vectors are rounded to
255 steps a row.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from app.web.frozen import file_of, in_parts

if TYPE_CHECKING:
    from engine.encoders.base import Encoder
    from engine.encoders.packaged import WordLlama
    from engine.encoders.words import WordVectors

Described = tuple[dict[str, Any], dict[str, bytes]]
"""What a page is told, and address -> file that it then fetches."""
STEPS = 127
"""On either side of zero."""
MOST_BYTES = 2**25
"""Of a table: of a larger file of word vectors the first words, which are the most frequent."""
PART = 65_536
"""Bytes of vectors that are fetched at a time, about: what a page loads for a rare word."""


def described(encoder: Encoder) -> Described | None:
    """What a page is told of an encoder, and the files that it loads to run it.

    Args:
        encoder: loaded.

    Returns:
        What `encoder.js` reads, and address -> file that it fetches; None for an encoder that
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


def packed(name: str, rows: np.ndarray) -> Described:
    """Vectors as `js/search/rows.js` reads them, in parts that are fetched one by one.

    Args:
        name: in the addresses of the files.
        rows: float32 (n, d); a row of zeros stays one.

    Returns:
        `dim`, `rows` a part, `parts`, and `mean` where that is taken from the rows; and the files.
    """
    many = max(1, PART // rows.shape[1])
    mean = _mean(rows)
    whole, steps = quantised(rows if mean is None else rows - mean)
    steps[~rows.any(axis=1)] = np.nan
    parts, files = in_parts(
        name,
        (
            steps[start : start + many].astype("<f4").tobytes()
            + whole[start : start + many].tobytes()
            for start in range(0, len(rows), many)
        ),
    )
    about = {"dim": rows.shape[1], "rows": many, "parts": parts}
    return about if mean is None else about | {"mean": mean.tolist()}, files


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
    words, file = file_of("words", _json(source.vocabulary[:many]), ".json")
    rows, files = packed("words", source.table[:many])
    about = {"kind": "words", "words": words, "known": many, "of": len(source.table)}
    return rows | about, {words: file, **files}


def _of_tokens(source: WordLlama) -> Described:
    """What `bpe.js` splits texts by, and the vectors of its tokens."""
    vocabulary = source.bpe["vocab"]
    numbers = {token: number for number, token in enumerate(vocabulary)}
    pairs = np.array([[numbers[one] for one in pair] for pair in source.bpe["merges"]], "<u2")
    words, file = file_of("tokens", _json(vocabulary), ".json")
    merges, ranked = file_of("merges", pairs.tobytes(), ".bin")
    rows, files = packed("words", source.table)
    about = {"kind": "tokens", "words": words, "merges": merges, "special": source.bpe["special"]}
    return rows | about, {words: file, merges: ranked, **files}


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
