"""BERT without padding: the tokens of a batch in one long row, through the model's own layers.

Linear layers, norms and activations treat every token alone, so they need no padding at all; only
attention is between the tokens of a sentence and sees a padded view. The modules and weights are
those of transformers, and so are the outputs and the gradients (up to the order of sums).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn import functional
from torch.utils.checkpoint import checkpoint

from theodolite.engine.memory import to_device
from theodolite.engine.training.devices import exact

FAMILIES = {"bert": False, "roberta": True, "xlm-roberta": True, "camembert": True}
"""Model types whose layers are BERT's; True where positions start after the padding id."""
_LINEAR = ("weight", "bias")


@dataclass(frozen=True)
class Layout:
    """The positions of the t tokens of n sentences, in one row and in a padded view of width w.

    Attributes:
        ids: int64 (t,), the sentences one after another.
        indices: int64 (t,), index of every token in the flattened padded view (n * w).
        positions: int64 (t,), from 0 in every sentence.
        starts: int64 (n,), first token of every sentence in the row.
        lengths: int64 (n,), tokens of every sentence.
        mask: bool (n, w), True for a token; None where all sentences are equally long.
        shape: (n, w).
    """

    ids: torch.Tensor
    indices: torch.Tensor
    positions: torch.Tensor
    starts: torch.Tensor
    lengths: torch.Tensor
    mask: torch.Tensor | None
    shape: tuple[int, int]

    @classmethod
    def of(cls, ids: Sequence[Sequence[int]], device: torch.device) -> Layout:
        """The layout of n token lists, each with at least one token."""
        lengths = np.array([len(row) for row in ids], np.int64)
        width = int(lengths.max())
        mask = np.arange(width) < lengths[:, None]  # (n, w)
        indices = np.flatnonzero(mask)
        flat = np.fromiter((token for row in ids for token in row), np.int64, int(lengths.sum()))
        starts = np.cumsum(lengths) - lengths
        parts = [flat, indices, indices % width, starts, lengths]
        whole = to_device(np.concatenate(parts), device)  # one transfer
        row, at, positions, first, sizes = torch.split(whole, [len(part) for part in parts])
        uneven = int(lengths.min()) < width
        seen = torch.arange(width, device=device) < sizes[:, None] if uneven else None
        return cls(row, at, positions, first, sizes, seen, (len(lengths), width))

    def pad(self, row: torch.Tensor, value: float = 0.0) -> torch.Tensor:
        """(t, d) -> (n, w, d), `value` where there is no token."""
        n, width = self.shape
        if self.mask is None:
            return row.view(n, width, -1)
        view = row.new_full((n * width, row.shape[-1]), value)
        return view.index_copy(0, self.indices, row).view(n, width, -1)

    def unpad(self, view: torch.Tensor) -> torch.Tensor:
        """(n, w, d) -> (t, d)."""
        flat = view.reshape(self.shape[0] * self.shape[1], -1)
        return flat if self.mask is None else flat.index_select(0, self.indices)


def can_pack(model: Any) -> bool:
    """Whether a model's layers are known to be BERT's."""
    config = model.config
    return (
        config.model_type in FAMILIES
        and not getattr(config, "is_decoder", False)
        and getattr(config, "position_embedding_type", None) in (None, "absolute")
    )


def packed_states(
    model: Any,
    layout: Layout,
    every: bool = False,
    recompute: bool = False,
    first_only: bool = False,
) -> list[torch.Tensor]:
    """Hidden states of a BERT-like model.

    Args:
        model: `BertModel` or one of its family (`can_pack`).
        layout: of the sentences.
        every: return the embedding output and each layer, as transformers' `hidden_states`; else
            the last.
        recompute: recompute activations inside layers for the backward pass, not keeping them.
        first_only: in the last layer, compute only the first token of each sentence, which saves
            most of that layer's work.

    Returns:
        (t, d) for each layer; with `first_only` the last is (n, d).
    """
    x = _embed(model, layout)
    states = [x]
    last = len(model.encoder.layer) - 1
    for number, layer in enumerate(model.encoder.layer):
        first = first_only and number == last
        if recompute and torch.is_grad_enabled():
            x = checkpoint(_layer, layer, x, layout, first, use_reentrant=False)
        else:
            x = _layer(layer, x, layout, first)
        states.append(x)
    return states if every else states[-1:]


def padded_states(model: Any, layout: Layout, pad: int, every: bool = False) -> list[torch.Tensor]:
    """Hidden states of any model of transformers, by its own padded forward."""
    n, width = layout.shape
    ids = layout.ids.new_full((n * width,), pad).index_copy(0, layout.indices, layout.ids)
    mask = None if layout.mask is None else layout.mask.to(torch.int64)
    options = {"output_hidden_states": True} if every else {}
    out = model(input_ids=ids.view(n, width), attention_mask=mask, return_dict=True, **options)
    states = out.hidden_states if every else (out.last_hidden_state,)
    return [layout.unpad(state) for state in states]


def pool(states: Sequence[torch.Tensor], layout: Layout, pooling: str) -> torch.Tensor:
    """One vector per sentence, as `engine.encoders.pooling` defines it.

    Args:
        states: (t, d) for each layer; only the last is needed for `cls_token`, `avg` and `max`.
        layout: of the sentences.
        pooling: `cls_token` (before any pooler), `avg`, `avg_first_last`, `avg_top2`
            or `max`.

    Returns:
        (n, d), float32 or, of a float64 model, float64.
    """
    last = exact(states[-1])
    if pooling == "cls_token":
        return last.index_select(0, layout.starts)
    if pooling == "max":
        return layout.pad(last, float("-inf")).amax(1)
    if pooling == "avg_first_last":
        last = (exact(states[1]) + last) / 2
    elif pooling == "avg_top2":
        last = (exact(states[-2]) + last) / 2
    return layout.pad(last).sum(1) / layout.lengths[:, None]


def _embed(model: Any, layout: Layout) -> torch.Tensor:
    embeddings = model.embeddings
    first = embeddings.padding_idx + 1 if FAMILIES[model.config.model_type] else 0
    x = embeddings.word_embeddings(layout.ids)
    x = x + embeddings.token_type_embeddings.weight[0]
    x = x + embeddings.position_embeddings(layout.positions + first)
    return embeddings.dropout(embeddings.LayerNorm(x))


def _layer(layer: Any, x: torch.Tensor, layout: Layout, first: bool) -> torch.Tensor:
    """(t, d) -> (t, d), or (n, d) for the first tokens alone."""
    attention = layer.attention
    queries = x.index_select(0, layout.starts) if first else x
    x = _close(attention.output, _attend(attention.self, queries, x, layout, first), queries)
    inner = layer.intermediate.intermediate_act_fn(layer.intermediate.dense(x))
    return _close(layer.output, inner, x)


def _close(output: Any, inner: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Dense layer, dropout, residual and norm: the end of both halves of a layer."""
    return output.LayerNorm(output.dropout(output.dense(inner)) + x)


def _attend(
    attention: Any, queries: torch.Tensor, x: torch.Tensor, layout: Layout, first: bool
) -> torch.Tensor:
    """Attention of the wanted tokens over all tokens of their sentences."""
    (n, width), heads = layout.shape, attention.num_attention_heads
    both = (attention.key, attention.value)
    if all(type(layer) is nn.Linear for layer in both):  # one product for the two
        weight, bias = (torch.cat([getattr(layer, name) for layer in both]) for name in _LINEAR)
        row = functional.linear(x, weight, bias)
    else:
        row = torch.cat([layer(x) for layer in both], -1)
    joint = layout.pad(row)  # (n, w, 2 d)
    key, value = joint.view(n, width, 2, heads, -1).permute(2, 0, 3, 1, 4)
    query = attention.query(queries)
    query = query.view(n, 1, -1) if first else layout.pad(query)  # (n, 1 or w, d)
    out = functional.scaled_dot_product_attention(
        query.unflatten(2, (heads, -1)).transpose(1, 2),
        key,
        value,
        attn_mask=None if layout.mask is None else layout.mask[:, None, None, :],
        dropout_p=attention.dropout.p if attention.training else 0.0,
    )  # (n, heads, 1 or w, size)
    out = out.transpose(1, 2).flatten(2)
    return out.squeeze(1) if first else layout.unpad(out)
