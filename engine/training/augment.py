"""Augmentation of the second copy of a sentence, as an alternative to dropout.

Gao, Yao and Chen 2021, table 1: crop k % (keep 100 - k % of the length), word deletion k %, delete
one word, MLM k % (BERT-base replaces k % of the words). Words are what spaces separate, kept or
deleted whole (their repository, issue 231); dropout stays on (that table lists "w/o dropout" as a
row of its own). The paper leaves open, and this module chooses:

- k % of the words is rarely a whole number: it is rounded up or down at random, so that k % go on
  average at any length. One word always stays.
- MLM replaces tokens, each with probability k %: all of them are masked at once and the base, as
  it was before training and without dropout, draws new ones from what it predicts. It may draw
  the same token again, never a special one.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch

from theodolite.engine.memory import to_device
from theodolite.engine.training.devices import widest
from theodolite.engine.training.mlm import cut_like, flatten
from theodolite.engine.training.spec import TrainSpec

if TYPE_CHECKING:
    from theodolite.engine.training.model import TrainingModel


def crop(words: list[str], rate: float, rng: np.random.Generator) -> list[str]:
    """Keep a run of (1 - rate) of the words, from a random start.

    Examples:
        >>> " ".join(crop("to be or not to be".split(), 0.5, np.random.default_rng(1)))
        'not to be'
    """
    length = len(words) - _share(len(words), rate, rng)
    start = int(rng.integers(0, len(words) - length + 1))
    return words[start : start + length]


def delete(words: list[str], rate: float, rng: np.random.Generator) -> list[str]:
    """Delete `rate` of the words, chosen at random.

    Examples:
        >>> len(delete("to be or not to be".split(), 0.5, np.random.default_rng(0)))
        3
    """
    return _without(words, _share(len(words), rate, rng), rng)


def delete_one(words: list[str], rate: float, rng: np.random.Generator) -> list[str]:
    """Delete one word, chosen at random; `rate` is ignored.

    Examples:
        >>> len(delete_one("to be or not to be".split(), 0.5, np.random.default_rng(0)))
        5
    """
    return _without(words, min(1, len(words) - 1), rng)


def _share(n: int, rate: float, rng: np.random.Generator) -> int:
    """`rate` of n, rounded at random so that the mean is exact, and less than n."""
    return min(n - 1, int(n * rate + rng.random()))


def _without(words: list[str], number: int, rng: np.random.Generator) -> list[str]:
    gone = set(rng.choice(len(words), size=number, replace=False).tolist())
    return [word for place, word in enumerate(words) if place not in gone]


CHANGES = {"crop": crop, "delete": delete, "delete-one": delete_one}


class ChangedWords:
    """Crops or deletes words before the sentence is tokenised.

    Args:
        change: `crop`, `delete` or `delete-one`.
        rate: share of the words to remove.
    """

    def __init__(self, change: str, rate: float) -> None:
        self.change = CHANGES[change]
        self.rate = rate

    def begin(self, model: TrainingModel) -> None:
        """Nothing is kept."""

    def __call__(
        self,
        sentences: Sequence[str],
        ids: list[list[int]],
        model: TrainingModel,
        rng: np.random.Generator,
    ) -> list[list[int]]:
        """Token ids of the sentences after the change."""
        pairs = ((sentence, sentence.split()) for sentence in sentences)
        return model.ids(
            [
                " ".join(self.change(words, self.rate, rng)) if len(words) > 1 else sentence
                for sentence, words in pairs
            ]
        )


class ReplacedTokens:
    """Replaces tokens by what the base's own MLM head predicts in their place.

    Args:
        rate: share of the tokens that are replaced.
    """

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.base: TrainingModel | None = None

    def begin(self, model: TrainingModel) -> None:
        """Keep a copy of the base, in eval mode, on the same device."""
        self.base = copy.deepcopy(model).eval().requires_grad_(False)

    @torch.no_grad()
    def __call__(
        self,
        sentences: Sequence[str],
        ids: list[list[int]],
        model: TrainingModel,
        rng: np.random.Generator,
    ) -> list[list[int]]:
        """Token ids with some replaced, of the same lengths."""
        if self.base is None:
            raise RuntimeError("begin() comes first: the base predicts the replacements")
        tokenizer = model.tokenizer
        flat = flatten(ids)
        special = np.asarray(tokenizer.all_special_ids)
        chosen = (rng.random(len(flat)) < self.rate) & ~np.isin(flat, special)
        masked = np.where(chosen, tokenizer.mask_token_id, flat)
        if chosen.any():
            states, _ = self.base.token_states(cut_like(masked, ids))
            positions = to_device(np.flatnonzero(chosen), states.device)
            logits = self.base.mlm_logits(states[positions]).to(widest(states.device))
            logits[:, special] = -torch.inf
            masked[chosen] = _sample_ids(logits.softmax(dim=1), rng)
        return cut_like(masked, ids)


Augment = ChangedWords | ReplacedTokens
"""Changes the second copies of a batch: `begin(model)` once, then token ids to token ids."""


def augment_of(spec: TrainSpec) -> Augment:
    """The augmentation of a run's second copies, which is not `none`."""
    if spec.augmentation == "mlm":
        return ReplacedTokens(spec.augmentation_rate)
    return ChangedWords(spec.augmentation, spec.augmentation_rate)


def _sample_ids(chances: torch.Tensor, rng: np.random.Generator) -> np.ndarray:
    """Draw a column for each row with the row's probabilities, from `rng` on any device."""
    shares = torch.from_numpy(rng.random((len(chances), 1)))
    heights = shares.to(chances.dtype).to(chances.device)
    steps = chances.cumsum(dim=1)
    # By rounding the last sum may fall short of 1, so the draw is scaled to it.
    picks = torch.searchsorted(steps, heights * steps[:, -1:], right=True)
    return picks.clamp(max=chances.shape[1] - 1).squeeze(1).cpu().numpy()
