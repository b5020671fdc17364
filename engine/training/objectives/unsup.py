"""Unsupervised SimCSE: a sentence is its own positive, with dropout as the only difference.

    loss = - 1/N sum_i log( exp(cos(h_i^z, h_i^z')/t) / sum_j exp(cos(h_i^z, h_j^z')/t) )

with two dropout masks z, z' (Gao, Yao and Chen 2021, equation 4). Both passes are rows of one
forward, where each row has a mask of its own.

Alternatives to dropout as the only difference between the copies: an augmentation of the second
copy (table 1, see `augment`), and the same mask twice (table 3, "Fixed 0.1"). With the same mask
the two vectors are the same numbers and their gradients add up, so one pass serves as both, as
the authors did it too (their repository, issue 36). A dual encoder (table 2, f_theta1 and
f_theta2) makes the second vectors with the second encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from theodolite.engine.errors import UserError
from theodolite.engine.training.objectives.augment import augment_of
from theodolite.engine.training.objectives.objective import Column, Objective
from theodolite.engine.training.spec import TrainSpec

if TYPE_CHECKING:
    from theodolite.engine.training.model import TrainingModel


class Unsupervised(Objective):
    """Finds a sentence's second copy among those of the batch.

    Examples:
        Without dropout every sentence finds itself at cosine 1; two sentences at right angles:

        >>> import torch
        >>> objective = Unsupervised(TrainSpec("unsup", "minilm", "text.txt", "out"))
        >>> float(objective.loss([torch.eye(2), torch.eye(2)])) < 1e-6
        True
    """

    def __init__(self, spec: TrainSpec) -> None:
        super().__init__(spec)
        self.augment = augment_of(spec)
        if spec.fixed_mask and (spec.dual or self.augment is not None):
            raise UserError(
                "The same dropout mask twice needs the same sentence in the same encoder twice.",
                "Leave the augmentation and the second encoder out, or the fixed mask.",
                code="conflict",
            )

    def begin(self, model: TrainingModel) -> None:
        """Let the augmentation keep what it needs of the base."""
        if self.augment is not None:
            self.augment.begin(model)

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """The first sentence of every example twice; once with a fixed mask."""
        sentences = [example[0] for example in examples]
        ids = model.ids(sentences)
        if self.spec.fixed_mask:
            return [Column(ids)]
        second = ids if self.augment is None else self.augment(sentences, ids, model, rng)
        return [Column(ids), Column(second, side=int(self.spec.dual))]
