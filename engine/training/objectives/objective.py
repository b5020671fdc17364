"""The base class of objectives: views of the examples, and a loss over their vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import torch

from theodolite.engine.training.objectives.contrastive import in_batch_loss
from theodolite.engine.training.spec import TrainSpec

if TYPE_CHECKING:
    from theodolite.engine.training.model import TrainingModel


def flattened(rows: Sequence[Sequence[int]]) -> np.ndarray:
    """Token ids of sentences one after another, int64 (tokens,); at least one sentence."""
    return np.concatenate([np.asarray(row, dtype=np.int64) for row in rows])


def cut_like(flat: np.ndarray, rows: Sequence[Sequence[int]]) -> list[list[int]]:
    """Split flattened ids into lists as long as those of `rows`."""
    ends = np.cumsum([len(row) for row in rows])[:-1]
    return [part.tolist() for part in np.split(flat, ends)]


@dataclass(frozen=True)
class Column:
    """One view of every example of a batch.

    Attributes:
        ids: token ids of each example's sentence.
        side: which encoder makes the vectors: 0, or 1 for the second one of a dual encoder.
    """

    ids: list[list[int]]
    side: int = 0


class Objective:
    """A training objective: a contrastive loss, a masked-language-modelling loss, or their sum.

    Args:
        spec: of the run.

    Attributes:
        contrasts: whether there is a contrastive loss.
        mlm_weight: lambda of the MLM loss; 0 for none.
        mlm_probability: share of the tokens it predicts.
    """

    contrasts: ClassVar[bool] = True

    def __init__(self, spec: TrainSpec) -> None:
        self.spec = spec
        self.mlm_weight = spec.mlm_weight
        self.mlm_probability = spec.mlm_probability

    def begin(self, model: TrainingModel) -> None:
        """Keep what is needed of the untrained base; called once, before any weight changes."""

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """The views of a batch; `rng` is the source of all randomness in them."""
        raise NotImplementedError

    def loss(self, vectors: Sequence[torch.Tensor]) -> torch.Tensor:
        """The contrastive loss of the columns' vectors, each (n, d).

        With a single column every vector is its own partner; a third column holds hard negatives.
        """
        spec = self.spec
        return in_batch_loss(
            vectors[0],
            vectors[min(1, len(vectors) - 1)],
            vectors[2] if len(vectors) > 2 else None,
            temperature=spec.temperature,
            similarity=spec.similarity,
            hard_negative_weight=spec.hard_negative_weight,
        )
