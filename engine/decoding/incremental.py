"""A `PrefixTransformer` one token at a time, with cached keys and values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor
from torch.nn import functional as F

from theodolite.engine.decoding.scripted import scripted
from theodolite.engine.encoders import onednn

if TYPE_CHECKING:
    from theodolite.engine.decoding.prefix import PrefixTransformer

ROOM = 8
"""Positions that a cache grows by."""
State = tuple[Tensor, int, Tensor | None]
"""Keys and values, (layers, 2, n, room, width); number of filled positions; rows yet to select."""


class Incremental:
    """Generates with the current weights of a model, which must not be trained afterwards.

    On the CPU, matrices are repacked for oneDNN and the few rows of a beam.

    Args:
        model: in evaluation mode.
    """

    def __init__(self, model: PrefixTransformer) -> None:
        self.model = model
        device = model.pieces.weight.device
        self._packed = device.type == "cpu" and onednn.available()
        self._layers = [
            [
                block.before.weight,
                block.before.bias,
                self._matrix(torch.cat([block.query.weight, block.kept.weight])),
                torch.cat([block.query.bias, block.kept.bias]),
                self._matrix(block.mix.weight),
                block.mix.bias,
                block.between.weight,
                block.between.bias,
                self._matrix(block.widen.weight),
                block.widen.bias,
                self._matrix(block.narrow.weight),
                block.narrow.bias,
            ]
            for block in model.layers()
        ]
        self._layers = [[tensor.detach() for tensor in layer] for layer in self._layers]
        self._read = self._matrix(model.read.weight), model.read.bias.detach()
        self._ends = [
            model.norm.weight.detach(),
            model.norm.bias.detach(),
            self._matrix(model.pieces.weight),
        ]
        self._tokens, self._positions = model.pieces.weight.detach(), model.places.weight.detach()
        self._heads = next(model.layers()).heads

    def _matrix(self, weight: Tensor) -> Tensor:
        return onednn.laid_out(weight) if self._packed else weight.detach()

    def begin(self, vectors: Tensor) -> State:
        """The state before any token: the vectors as keys and values of every layer."""
        prefix = self.model.prefix
        read = _linear(vectors, *self._read, "none", self._packed).view(len(vectors), prefix, -1)
        cache = read.new_empty((len(self._layers), 2, len(vectors), prefix + ROOM, read.shape[2]))
        _fill(self._layers, read, cache, self._packed)
        return cache, prefix, None

    def step(self, state: State, last: Tensor) -> tuple[Tensor, State]:
        """Advance by one token.

        Args:
            state: from `begin` or the step before; it is not modified.
            last: int64 (n,), the last token of each row; BEGIN at first.

        Returns:
            Logits (n, vocabulary), and the next state.
        """
        cache, filled, rows = state
        logits, cache = _step(
            self._layers,
            self._ends,
            self._tokens,
            self._positions,
            self.model.prefix,
            self._heads,
            cache,
            filled,
            rows,
            last,
            ROOM,
            self._packed,
        )
        return logits, (cache, filled + 1, None)

    @staticmethod
    def chosen(state: State, rows: Tensor) -> State:
        """Select rows of a state; the next step copies them, as it copies the state anyway."""
        cache, filled, before = state
        return cache, filled, rows if before is None else before[rows]


@scripted
def _linear(x: Tensor, weight: Tensor, bias: Tensor | None, then: str, packed: bool) -> Tensor:
    """A linear layer, optionally followed by a GELU; see `engine.encoders.onednn.linear`."""
    if packed:
        found: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, then, [], "none")
        return found
    plain = F.linear(x, weight, bias)
    return F.gelu(plain) if then == "gelu" else plain


@scripted
def _fill(layers: list[list[Tensor]], read: Tensor, cache: Tensor, packed: bool) -> None:
    """Write keys and values of the prefix (n, p, width) to the first positions of a cache."""
    p, width = read.shape[1], read.shape[2]
    for i, layer in enumerate(layers):
        normed = F.layer_norm(read, [width], layer[0], layer[1])
        kept = _linear(normed, layer[2], layer[3], "none", packed)
        cache[i, 0, :, :p] = kept[:, :, width : 2 * width]
        cache[i, 1, :, :p] = kept[:, :, 2 * width :]


@scripted
def _step(
    layers: list[list[Tensor]],
    ends: list[Tensor],
    tokens: Tensor,
    positions: Tensor,
    prefix: int,
    heads: int,
    cache: Tensor,
    filled: int,
    rows: Tensor | None,
    last: Tensor,
    room: int,
    packed: bool,
) -> tuple[Tensor, Tensor]:
    """Logits, and a cache with one more position; see `PrefixTransformer` for what is computed."""
    width, n = tokens.shape[1], last.shape[0]
    chosen = cache.clone() if rows is None else cache.index_select(2, rows)
    if filled == chosen.shape[3]:
        more = chosen.new_empty([len(layers), 2, n, room, width])
        chosen = torch.cat([chosen, more], 3)
    x = width**0.5 * (tokens.index_select(0, last) + positions[filled - prefix])
    for i, layer in enumerate(layers):
        normed = F.layer_norm(x, [width], layer[0], layer[1])
        query, key, value = _linear(normed, layer[2], layer[3], "none", packed).chunk(3, 1)
        chosen[i, 0, :, filled] = key
        chosen[i, 1, :, filled] = value
        keys = chosen[i, 0, :, : filled + 1].view(n, filled + 1, heads, -1).transpose(1, 2)
        values = chosen[i, 1, :, : filled + 1].view(n, filled + 1, heads, -1).transpose(1, 2)
        found = F.scaled_dot_product_attention(query.view(n, heads, 1, -1), keys, values)
        x = x + _linear(found.reshape(n, width), layer[4], layer[5], "none", packed)
        normed = F.layer_norm(x, [width], layer[6], layer[7])
        wide = _linear(normed, layer[8], layer[9], "gelu", packed)
        x = x + _linear(wide, layer[10], layer[11], "none", packed)
    logits = _linear(F.layer_norm(x, [width], ends[0], ends[1]), ends[2], None, "none", packed)
    return logits, chosen
