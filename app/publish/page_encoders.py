"""Encoders that the scripts of a page can run: how they split texts, and their words' vectors.

A static encoder's vector of a sentence is the mean of its words' vectors, so a page needs no more
than these: `app/components/js/search/encoder.js` reads what is written here. Vectors are rounded to
255 steps a row.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from app.publish.page import kept

if TYPE_CHECKING:
    from engine.encoders.base import Encoder
    from engine.encoders.packaged import WordLlama

STEPS = 127
"""On either side of zero."""
MOST_BYTES = 2**25
"""Of a table: of a larger file of word vectors the first words, which are the most frequent."""
PART = 65_536
"""Bytes of a table that are fetched at a time, about: what a page loads for a rare word."""


def described(encoder: Encoder) -> tuple[dict[str, Any], dict[str, bytes]] | None:
    """What a page is told of an encoder, and the files that it loads to run it.

    Args:
        encoder: loaded.

    Returns:
        The description as `encoder.js` reads it, and address -> file; None for an encoder that
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
            files: dict[str, bytes] = {}
            many = min(len(source.table), MOST_BYTES // source.dim)
            about = {
                "kind": "words",
                "words": [many, len(source.table)],
                "vocabulary": _kept(files, "words", _json(source.vocabulary[:many]), ".json"),
            }
            return about | _table(files, source.table[:many]), files
        case CachedEncoder(source=WordLlama() as source):
            files = {}
            return _bpe(files, source) | _table(files, source.table), files
    return None


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


def _bpe(files: dict[str, bytes], source: WordLlama) -> dict[str, Any]:
    """The tokenizer: `bpe.js` says what of it."""
    vocabulary = source.bpe["vocab"]
    numbers = {token: number for number, token in enumerate(vocabulary)}
    merges = np.array([[numbers[one] for one in pair] for pair in source.bpe["merges"]], "<u2")
    return {
        "kind": "tokens",
        "special": source.bpe["special"],
        "vocabulary": _kept(files, "tokens", _json(vocabulary), ".json"),
        "merges": _kept(files, "merges", merges.tobytes(), ".bin"),
    }


def _table(files: dict[str, bytes], table: np.ndarray) -> dict[str, Any]:
    """Vectors of words in parts: those of the frequent words, which come first, in a few."""
    many = max(1, PART // table.shape[1])
    return {
        "dim": table.shape[1],
        "rows": many,
        "parts": [
            _kept(files, "rows", steps.astype("<f4").tobytes() + rows.tobytes(), ".bin")
            for rows, steps in (
                quantised(table[start : start + many]) for start in range(0, len(table), many)
            )
        ],
    }


def _kept(files: dict[str, bytes], name: str, data: bytes, ending: str) -> str:
    address, files[address] = kept(f"search-{name}", data, ending)
    return address


def _json(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
