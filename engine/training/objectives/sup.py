"""Supervised SimCSE: a sentence and what it entails, against what contradicts it.

    loss = - 1/N sum_i log( exp(cos(h_i, h_i+)/t) /
                            sum_j ( exp(cos(h_i, h_j+)/t) + exp(cos(h_i, h_j-)/t) ) )

Gao, Yao and Chen 2021, equation 5; equation 8 with a weight (see `contrastive`). Without a third
column, or when hard negatives are not asked for, the second sum has its first term only. With a
dual encoder the second encoder makes the vectors of the partners and of the hard negatives.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from engine.training.objectives.contrastive import in_batch_loss
from engine.training.objectives.objective import Column, Model, Objective
from engine.training.spec import Similarity


class Supervised(Objective):
    """Finds a sentence's partner among those of the batch and its hard negatives.

    Args:
        hard_negatives: use the third sentence of the examples, if there is one.
        hard_negative_weight: added to the logit of the own hard negative.
        dual: all but the first sentence pass through the second encoder.
        temperature, similarity: of the contrastive loss.
        mlm_weight, mlm_probability: of the auxiliary MLM loss.

    Examples:
        A hard negative that equals the partner leaves a coin toss, log 2:

        >>> one = torch.ones(1, 4)
        >>> round(float(Supervised().loss([one, one, one])), 4)
        0.6931
    """

    def __init__(
        self,
        *,
        temperature: float = 0.05,
        similarity: Similarity = "cosine",
        hard_negatives: bool = True,
        hard_negative_weight: float = 0.0,
        dual: bool = False,
        mlm_weight: float = 0.0,
        mlm_probability: float = 0.15,
    ) -> None:
        super().__init__(mlm_weight=mlm_weight, mlm_probability=mlm_probability)
        self.temperature = temperature
        self.similarity = similarity
        self.hard_negatives = hard_negatives
        self.hard_negative_weight = hard_negative_weight
        self.dual = dual

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: Model, rng: np.random.Generator
    ) -> list[Column]:
        """Two columns, or three with hard negatives."""
        wanted = min(len(examples[0]), 3 if self.hard_negatives else 2)
        texts = [[example[column] for example in examples] for column in range(wanted)]
        return [
            Column(model.ids(column), side=int(self.dual and place > 0))
            for place, column in enumerate(texts)
        ]

    def loss(self, vectors: Sequence[torch.Tensor]) -> torch.Tensor:
        """Equation 5, or 8 with a weight."""
        first, second = vectors[:2]
        return in_batch_loss(
            first,
            second,
            vectors[2] if len(vectors) > 2 else None,
            temperature=self.temperature,
            similarity=self.similarity,
            hard_negative_weight=self.hard_negative_weight,
        )
