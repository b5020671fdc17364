"""From a transformer's hidden states to one vector per text.

The meanings are those of SimCSE's evaluation (Gao et al. 2021, `evaluation.py`), with `max` and
`last` added; so are the names, but for `cls`, which others use for the raw token: the raw token is
`cls_token` here, and the output of the head `pooler_output`. All means are over the tokens of the
text, padding left out, in float32.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

MEANING = {
    "cls_token": "the first token's last hidden state",
    "pooler_output": "the same through the model's head, a trained dense layer and tanh",
    "avg": "mean over tokens of the last layer",
    "avg_top2": "mean over tokens of the mean of the last two layers",
    "avg_first_last": "mean over tokens of the mean of the first and the last layer",
    "avg_first_last_2021": "the same with the embedding output as first, as in the SimCSE paper",
    "max": "largest value over tokens of the last layer",
    "last": "the last token's last hidden state",
}
ALL_LAYERS = frozenset({"avg_top2", "avg_first_last", "avg_first_last_2021"})
"""Poolings that use more than the last layer, and so take no `layer`."""
MEANS = ALL_LAYERS | {"avg"}
"""Poolings that are a mean over tokens."""


@dataclass(frozen=True)
class States:
    """The output of a model for one batch of b texts, t tokens and d dimensions.

    Attributes:
        hidden: (b, t, d) of the embedding output and of each layer, or of the last layer only.
        pooler: (b, d) of the pooler, None for a model without.
        mask: (b, t), 1 for a token and 0 for padding; None when there is no padding.
    """

    hidden: Sequence[torch.Tensor]
    pooler: torch.Tensor | None
    mask: torch.Tensor | None


def pool(states: States, pooling: str, layer: int = -1) -> torch.Tensor:
    """Apply a pooling.

    Args:
        states: of one batch.
        pooling: a key of `MEANING`.
        layer: index into `states.hidden` of the layer used as the last; 0 is the embedding output.

    Returns:
        float32 (b, d).
    """
    mask = states.mask
    if pooling in MEANS:
        return _mean(averaged(states, pooling, layer), mask)
    last = states.hidden[layer].float()
    if pooling == "pooler_output":
        if states.pooler is None:
            raise ValueError("the model has no pooler")
        return states.pooler.float()
    if pooling == "cls_token":
        return last[:, 0]
    if pooling == "last":
        return _last_token(last, mask)
    if mask is not None:
        last = last.masked_fill(mask.unsqueeze(-1) == 0, float("-inf"))
    return last.amax(1)


def averaged(states: States, pooling: str, layer: int = -1) -> torch.Tensor:
    """The states of tokens over which one of `MEANS` takes the mean, float32 (b, t, d)."""
    hidden, last = states.hidden, states.hidden[layer].float()
    if pooling == "avg_top2":
        return (hidden[-1].float() + hidden[-2].float()) / 2
    if pooling == "avg_first_last":
        return (hidden[1].float() + last) / 2
    if pooling == "avg_first_last_2021":
        return (hidden[0].float() + last) / 2
    return last


def _mean(x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    if mask is None:
        return x.mean(1)
    weights = mask.unsqueeze(-1).to(x.dtype)  # (b, t, 1)
    return (x * weights).sum(1) / weights.sum(1)


def _last_token(x: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    """The last position where the mask is 1, with padding on either side."""
    if mask is None:
        return x[:, -1]
    at = mask.shape[1] - 1 - mask.flip(1).argmax(1)  # (b,)
    return x[range(len(x)), at]
