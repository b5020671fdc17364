"""A memory in which only so much has room: torch's own allocator fails beyond it."""

import torch
from torch import nn


class Allocation:
    """Lets a module run on small batches alone.

    Args:
        module: whose calls are watched.
        most: tokens of a batch, padding included, that have room.

    Attributes:
        tokens: of each call.
    """

    def __init__(self, module: nn.Module, most: int) -> None:
        self.most = most
        self.tokens: list[int] = []
        module.register_forward_pre_hook(self._allocate, with_kwargs=True)

    @property
    def failures(self) -> int:
        """Calls that had no room."""
        return sum(tokens > self.most for tokens in self.tokens)

    def _allocate(self, module: nn.Module, given: tuple, named: dict) -> None:
        features = given[0] if given else named
        ids = features if isinstance(features, torch.Tensor) else features["input_ids"]
        self.tokens.append(ids.numel())
        if ids.numel() > self.most:
            torch.empty(1 << 50, device=ids.device)  # a petabyte
