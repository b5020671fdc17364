"""Masked language modelling: the objective of BERT, alone or beside a contrastive one.

    loss = - 1/|M| sum_{t in M} log p(x_t | x with M hidden)

Devlin et al. 2019, section 3.1: every token but the special ones is chosen (in M) with 15 %; of the
chosen 80 % become [MASK], 10 % any token, 10 % stay. SimCSE adds it with a weight lambda as an
auxiliary loss in a second forward over the same sentences (Gao, Yao and Chen 2021, section 6.4 and
table D.2); the mean runs over the chosen tokens of all columns together. Scores of the vocabulary
are computed for the chosen tokens alone.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch.nn import functional

from theodolite.engine.memory import to_device
from theodolite.engine.training.devices import exact

if TYPE_CHECKING:
    from theodolite.engine.training.model import TrainingModel


IGNORED = -100
"""Label of a token that is not predicted; torch's and transformers' own."""


@dataclass(frozen=True)
class Masked:
    """Sentences with masked tokens.

    Attributes:
        ids: input of the model.
        labels: original id of each token, or -100 where it is not predicted.
    """

    ids: list[list[int]]
    labels: list[list[int]]

    @property
    def count(self) -> int:
        """Number of tokens that are predicted."""
        return sum(label != IGNORED for row in self.labels for label in row)

    def part(self, start: int, stop: int) -> Masked:
        """The sentences from `start` to `stop`."""
        return Masked(self.ids[start:stop], self.labels[start:stop])

    def without_labels(self) -> Masked:
        """The same sentences, without any token to predict."""
        return Masked(self.ids, [[IGNORED] * len(row) for row in self.labels])


def flatten(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Token ids of sentences one after another, int64 (tokens,); at least one sentence."""
    return np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])


def cut_like(flat: np.ndarray, rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Split flattened ids into lists as long as those of `rows`."""
    ends = np.cumsum([len(row) for row in rows])[:-1]
    return [part.tolist() for part in np.split(flat, ends)]


def mask(
    ids: Sequence[Sequence[int]],
    rng: np.random.Generator,
    *,
    probability: float,
    mask_id: int,
    special: Collection[int],
    vocabulary: int,
) -> Masked:
    """Choose tokens at random, and mask most of them.

    Args:
        ids: token ids of the sentences.
        rng: source of all randomness.
        probability: of a token to be chosen.
        mask_id: id of [MASK].
        special: ids that are never chosen.
        vocabulary: number of ids from which random tokens are drawn.

    Examples:
        >>> hidden = mask([[1, 7, 8, 2]], np.random.default_rng(0), probability=0.999,
        ...               mask_id=3, special={1, 2}, vocabulary=10)
        >>> hidden.labels
        [[-100, 7, 8, -100]]
    """
    if not ids:
        return Masked([], [])
    flat = flatten(ids)
    picked = (rng.random(len(flat)) < probability) & ~np.isin(flat, list(special))
    lot = rng.random(len(flat))
    masked = np.where(picked & (lot < 0.8), mask_id, flat)
    anything = picked & (lot >= 0.8) & (lot < 0.9)
    masked[anything] = rng.integers(0, vocabulary, size=int(anything.sum()))
    labels = np.where(picked, flat, IGNORED)
    return Masked(cut_like(masked, ids), cut_like(labels, ids))


def mlm_loss(model: TrainingModel, masked: Masked) -> torch.Tensor:
    """Summed cross entropy of the chosen tokens, a scalar in float32 or float64.

    A sum, so that micro-batches add up to the batch: divide by the batch's `chosen`.
    """
    states, _ = model.token_states(masked.ids)
    labels = flatten(masked.labels)
    positions = np.flatnonzero(labels != IGNORED)
    if not len(positions):
        return states.sum() * 0
    logits = exact(model.mlm_logits(states[to_device(positions, states.device)]))
    targets = to_device(labels[positions], states.device)
    return functional.cross_entropy(logits, targets, reduction="sum")
