"""Supervised SimCSE: a sentence and its entailment, against its contradiction.

    loss = - 1/N sum_i log( exp(cos(h_i, h_i+)/t) /
                            sum_j ( exp(cos(h_i, h_j+)/t) + exp(cos(h_i, h_j-)/t) ) )

Gao, Yao and Chen 2021, equation 5; equation 8 with a weight (see `contrastive`). Without a third
column, or with `hard_negatives` off, the second sum has its first term only. With a dual encoder
the second encoder makes the vectors of the partners and of the hard negatives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from theodolite.engine.training.objectives.objective import Column, Objective

if TYPE_CHECKING:
    from theodolite.engine.training.model import TrainingModel


class Supervised(Objective):
    """Finds a sentence's partner among those of the batch and its hard negatives.

    Examples:
        A hard negative that equals the partner leaves a coin toss, log 2:

        >>> import torch
        >>> from theodolite.engine.training.spec import TrainSpec
        >>> one = torch.ones(1, 4)
        >>> objective = Supervised(TrainSpec("sup", "minilm", "pairs.csv", "out"))
        >>> round(float(objective.loss([one, one, one])), 4)
        0.6931
    """

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """Two columns, or three with hard negatives."""
        wanted = min(len(examples[0]), 3 if self.spec.hard_negatives else 2)
        texts = [[example[column] for example in examples] for column in range(wanted)]
        return [
            Column(model.ids(column), side=int(self.spec.dual and place > 0))
            for place, column in enumerate(texts)
        ]


class NextSentence(Supervised):
    """Finds a sentence that follows among those of the batch.

    The loss of equation 1 (Gao, Yao and Chen 2021) on the pairs of Logeswaran and Lee (2018, quick
    thoughts), as compared in table 2: "next sentence" takes the one that follows, "next 3
    sentences" one of the next three, drawn anew whenever the sentence comes up.

    Examples:
        >>> from theodolite.engine.training.spec import TrainSpec
        >>> objective = NextSentence(TrainSpec("next-sentence", "minilm", "text.txt", "out"))
        >>> class Letters:
        ...     def ids(self, sentences):
        ...         return [[ord(letter) for letter in sentence] for sentence in sentences]
        >>> draws = np.random.default_rng(0)
        >>> first, following = objective.columns([("a", "b", "c", "d")], Letters(), draws)
        >>> chr(first.ids[0][0]), chr(following.ids[0][0]) in "bcd"
        ('a', True)
    """

    def columns(
        self, examples: Sequence[tuple[str, ...]], model: TrainingModel, rng: np.random.Generator
    ) -> list[Column]:
        """The first sentence of every example, and one of the others."""
        pairs = [(example[0], example[rng.integers(1, len(example))]) for example in examples]
        return super().columns(pairs, model, rng)
