"""The training data of a decoder: sentences of files, their tokens, and their vectors."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.text import corpus
from theodolite.engine.decoding.vocabulary import PAD, Vocabulary
from theodolite.engine.errors import UserError
from theodolite.engine.training.examples import open_examples

AT_ONCE = 4096
"""Vectors whose spread is summed at once."""


@dataclass(frozen=True)
class DecoderTexts:
    """Distinct sentences, shuffled by the seed.

    Attributes:
        texts: all; the last `held_out` of the spec are held out.
        hash: of their content and order.
        notes: what was left out.
    """

    texts: list[str]
    hash: str
    notes: tuple[str, ...]


@dataclass(frozen=True)
class DecoderDataset:
    """Sentences with their tokens and vectors.

    Attributes:
        sentences: all, the held-out ones last.
        learned: number of training sentences, which come first.
        tokens: int32 ids of each, BEGIN and END around them.
        vectors: float32 (n, dim), as the encoder gives them.
        mean: float32 (dim,), of the training vectors.
        scale: their standard deviation around it, one number for all dimensions.
    """

    sentences: list[str]
    learned: int
    tokens: list[np.ndarray]
    vectors: np.ndarray
    mean: np.ndarray
    scale: float

    @property
    def positions(self) -> int:
        """The most tokens of a sentence that a decoder sees or writes, BEGIN or END included."""
        return max(len(t) for t in self.tokens) - 1

    def points(self, rows: np.ndarray) -> Tensor:
        """Standardised vectors of some sentences, float32 (n, dim)."""
        return torch.from_numpy((self.vectors[rows] - self.mean) / np.float32(self.scale))

    def count(self, rows: np.ndarray) -> int:
        """Number of target tokens of some sentences: all but BEGIN."""
        return sum(len(self.tokens[i]) - 1 for i in rows)

    def ids(self, rows: np.ndarray) -> Tensor:
        """Tokens of some sentences, int64 (n, longest), right-padded with PAD."""
        arrays = [torch.from_numpy(self.tokens[i]) for i in rows]
        return pad_sequence(arrays, batch_first=True, padding_value=PAD).long()


def lines_of(names: Iterable[str], catalog: Catalog, folder: Path) -> tuple[list[str], list[str]]:
    """The lines of files or data sets, and notes on what was left out of them.

    Args:
        names: of files or data sets.
        catalog: where data sets come from.
        folder: where compressed files are unpacked.
    """
    lines: list[str] = []
    notes: list[str] = []
    for name in names:
        examples = open_examples(name, "mlm", catalog, folder=folder)
        lines += [examples[i][0] for i in range(len(examples))]
        notes += examples.notes
    return lines, notes


def sentences_of(spec: DecoderSpec, catalog: Catalog, folder: Path) -> DecoderTexts:
    """Read, tidy and shuffle the sentences of a training.

    Args:
        spec: names the files, and limits the length of sentences.
        catalog: see `lines_of`.
        folder: see `lines_of`.
    """
    lines, notes = lines_of(spec.train, catalog, folder)
    sentences = corpus(lines, most=spec.words, cut=spec.clauses)[: spec.limit]
    if len(sentences) <= 2 * spec.held_out:
        raise UserError(
            f"{len(sentences):,} different sentences of at most {spec.words} words are left to "
            f"learn from, and {spec.held_out:,} of them would be held out.",
            f"Give more than {2 * spec.held_out:,}: a useful decoder needs tens of thousands. Or "
            "hold out fewer.",
            code="too-few",
        )
    notes.append(
        f"{len(sentences):,} different sentences of at most {spec.words} words, from "
        f"{len(lines):,} lines."
    )
    order = np.random.default_rng(spec.seed).permutation(len(sentences))
    texts = [sentences[i] for i in order]
    digest = hashlib.blake2b("\n".join(texts).encode("utf-8", "surrogatepass"), digest_size=16)
    return DecoderTexts(texts, digest.hexdigest(), tuple(notes))


def with_vectors(
    spec: DecoderSpec,
    sentences: list[str],
    vectors: np.ndarray,
    vocabulary: Vocabulary,
    like: Mapping[str, Any] | None = None,
) -> DecoderDataset:
    """Combine sentences, their tokens and their vectors into a data set.

    A sentence of very many tokens for its words (an address, a script without spaces) would slow
    down all others: it is left out.

    Args:
        spec: gives the number of held-out sentences and the most words.
        sentences: n of them, the held-out ones last.
        vectors: float32 (n, dim).
        vocabulary: tokenizes them.
        like: `decoder.json` of the decoder whose weights the training starts from: its mean, scale
            and positions are kept.
    """
    if not np.isfinite(vectors).all():
        raise UserError(
            "The encoder gave vectors with NaN or infinity.",
            "Check the encoder; such vectors cannot be decoded.",
            code="not-finite",
        )
    tokens = vocabulary.ids(sentences)
    most = most_tokens(spec.words)
    if like is not None:
        most = min(most, like["sizes"]["positions"] + 1)
    short = np.array([len(t) <= most for t in tokens])
    count = int(short[: len(sentences) - spec.held_out].sum())
    if not 0 < count < short.sum():
        raise UserError(
            f"No sentence of at most {most} tokens is left.",
            "Sentences need spaces between their words.",
            code="too-few",
        )
    if not short.all():
        rows = np.flatnonzero(short)
        sentences, tokens = [sentences[i] for i in rows], [tokens[i] for i in rows]
        vectors = vectors[rows]
    if like is not None:
        mean, scale = np.array(like["mean"], np.float32), float(like["scale"])
    else:
        mean, scale = _spread(vectors[:count])
    return DecoderDataset(sentences, count, tokens, vectors, mean, scale)


def most_tokens(words: int) -> int:
    """The most tokens allowed, BEGIN and END included, in a sentence of at most `words` words."""
    return 4 * words + 8


def _spread(vectors: np.ndarray) -> tuple[np.ndarray, float]:
    """Mean of each dimension, and one standard deviation; without a copy of all the vectors."""
    mean = vectors.mean(0, dtype=np.float64)
    parts = (vectors[i : i + AT_ONCE] for i in range(0, len(vectors), AT_ONCE))
    total = sum(float(np.square(part - mean).sum()) for part in parts)
    return mean.astype(np.float32), float(np.sqrt(total / vectors.size)) or 1.0
