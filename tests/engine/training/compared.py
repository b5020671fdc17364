"""What tests of gradients share: a seeded generator, and gradients that agree."""

from __future__ import annotations

import numpy as np
import torch


def draws(seed: int = 0) -> np.random.Generator:
    """A seeded generator."""
    return np.random.default_rng(seed)


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Of every parameter that has one."""
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def assert_same(mine: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
    """Gradients of the same parameters agree to 1e-6."""
    assert mine.keys() == theirs.keys()
    assert len(mine) > 20
    for name, gradient in mine.items():
        torch.testing.assert_close(gradient, theirs[name], rtol=1e-6, atol=1e-10, msg=name)
