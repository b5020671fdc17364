"""Next-sentence pairs: a sentence and one that follows it in running text.

The contrastive loss of equation 1 (Gao, Yao and Chen 2021) on the pairs of Logeswaran and Lee
(2018, quick thoughts), as compared in table 2. "Next sentence" takes the one that follows, "next
3 sentences" one of the next three, drawn anew whenever the sentence comes up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from theodolite.engine.training.objectives.objective import Column, Model
from theodolite.engine.training.objectives.sup import Supervised


class NextSentence(Supervised):
    """Finds a sentence that follows among those of the batch.

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
        self, examples: Sequence[tuple[str, ...]], model: Model, rng: np.random.Generator
    ) -> list[Column]:
        """The first sentence of every example, and one of the others."""
        pairs = [(example[0], example[rng.integers(1, len(example))]) for example in examples]
        return super().columns(pairs, model, rng)
