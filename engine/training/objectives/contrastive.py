"""The in-batch contrastive loss that all objectives of SimCSE share.

For a batch of N pairs with vectors h_i (first), h_i+ (second) and, if there are any, h_i- (hard):

    loss = - 1/N sum_i log( exp(s(h_i, h_i+)/t) /
                            sum_j ( exp(s(h_i, h_j+)/t) + [j = i] exp(w) exp(s(h_i, h_j-)/t)
                                                        + [j != i]       exp(s(h_i, h_j-)/t) ) )

Gao, Yao and Chen, SimCSE, EMNLP 2021: equation 1 (pairs), 4 (the pair is one sentence under two
dropout masks), 5 (hard negatives), 8 (their weight). In the paper alpha of equation 8 multiplies
the term of the own negative. The reference code adds its parameter to that term's logit before
the softmax, and so does this: `hard_negative_weight` w is log alpha, and 0 leaves equation 5.
"""

from __future__ import annotations

import torch
from torch.nn import functional

from theodolite.engine.training.precision import exact
from theodolite.engine.training.spec import Similarity


def in_batch_loss(
    first: torch.Tensor,
    second: torch.Tensor,
    hard: torch.Tensor | None = None,
    *,
    temperature: float,
    similarity: Similarity = "cosine",
    hard_negative_weight: float = 0.0,
) -> torch.Tensor:
    """Cross entropy of finding each row's partner among all partners and hard negatives.

    Half-precision vectors are compared in float32: divided by a temperature of 0.05, similarities
    differ by less than the resolution of bfloat16.

    Args:
        first: vectors (n, d).
        second: their partners (n, d), row by row.
        hard: a hard negative of each, (n, d).
        temperature: similarities are divided by it, above 0.
        similarity: `cosine`, or `dot` for the plain product.
        hard_negative_weight: added to the logit of a row's own hard negative.

    Returns:
        The mean over the rows, a scalar.

    Examples:
        Two pairs whose vectors agree, and nothing else does: log(1 + exp(-1 / 0.5)).

        >>> ones = torch.eye(2)
        >>> round(float(in_batch_loss(ones, ones, temperature=0.5)), 6)
        0.126928
    """
    with torch.autocast(first.device.type, enabled=False):
        first, others = exact(first), exact(second)
        if hard is not None:
            others = torch.cat([others, exact(hard)])
        if similarity == "cosine":
            first, others = functional.normalize(first), functional.normalize(others)
        logits = first @ others.T / temperature
        if hard is not None and hard_negative_weight:
            # The own negative of row i is in column n + i.
            logits = logits + hard_negative_weight * torch.eye(
                len(first), len(others), device=logits.device, dtype=logits.dtype
            ).roll(len(second), dims=1)
        own = torch.arange(len(first), device=logits.device)
        return functional.cross_entropy(logits, own)
