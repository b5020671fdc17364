"""A few texts with their vectors, which tell whether an encoder is still what it was.

Another pooling, prompt, precision, length or tokenizer moves some of the vectors; so do other
weights behind the name of an endpoint. Knows texts and vectors, and not where they are kept.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.finite import check_vectors
from theodolite.engine.encoders.sides import query_side

TEXTS = 32
JOINED = (16, 64, 256, 512)
"""Texts in words: made of others, for truncation shows in long texts only."""
TOLERANCE = 5e-4
"""Largest distance of two vectors, relative to their length, that float noise may have: in batches
of another size, on other threads or kernels it is 1e-6; of float16 it is 1.2e-3 at the least."""


@dataclass(frozen=True)
class Drift:
    """How far the vectors of the same texts have moved.

    Attributes:
        cosine: the lowest; NaN where the dimensions differ.
        distance: the largest distance, relative to the length of the vector before.
        moved: number of vectors that moved by more than `TOLERANCE`.
        n: number of vectors.
    """

    cosine: float
    distance: float
    moved: int
    n: int


def texts(sentences: Sequence[str], join: bool = True) -> list[str]:
    """Choose `TEXTS` of some sentences, evenly by length.

    Args:
        sentences: not empty.
        join: whether long texts are made of them, in capitals as well; not for encoders that know
            the vectors of given sentences only.
    """
    distinct = sorted(
        dict.fromkeys(filter(str.strip, sentences)), key=lambda text: (len(text), text)
    )
    long_texts: list[str] = []
    if join:
        words = " ".join(distinct).split()
        words *= -(-max(JOINED) // max(len(words), 1))
        long_texts = [" ".join(words[:length]) for length in JOINED]
        long_texts += [text.upper() for text in long_texts[:2]]
    at = np.linspace(0, len(distinct) - 1, TEXTS - len(long_texts)).round().astype(int)
    return [*(distinct[i] for i in dict.fromkeys(at.tolist())), *long_texts]


def vectors(encoder: Encoder, sentences: Sequence[str]) -> np.ndarray:
    """Encode texts as documents and, where they have a side of their own, as queries.

    Returns:
        float32 (n or 2 n, dim).
    """
    sides = dict.fromkeys([encoder, query_side(encoder)])
    rows = np.vstack([side.encode(list(sentences)) for side in sides])
    texts = [*sentences] * len(sides)
    return np.asarray(check_vectors(rows, texts, encoder.name), np.float32)


def drift(before: np.ndarray, now: np.ndarray) -> Drift:
    """Compare two matrices of vectors of the same texts."""
    if before.shape != now.shape:
        return Drift(float("nan"), float("inf"), len(before), len(before))
    a, b = before.astype(np.float64), now.astype(np.float64)
    lengths = np.linalg.norm(a, axis=1), np.linalg.norm(b, axis=1)
    same = (a == b).all(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        apart = np.where(same, 0.0, np.linalg.norm(a - b, axis=1) / lengths[0])
        cosines = np.where(same, 1.0, np.nan_to_num((a * b).sum(axis=1) / lengths[0] / lengths[1]))
    return Drift(float(cosines.min()), float(apart.max()), int((apart > TOLERANCE).sum()), len(a))
