"""A small causal Transformer that reads the vector as its first positions."""

from __future__ import annotations

from collections.abc import Iterator

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from engine.decoding.loss import cross_entropy
from engine.decoding.spec import HEADS
from engine.decoding.vocabulary import PAD

Cache = list[tuple[Tensor, Tensor]]
"""Keys and values of each layer, (n, heads, positions, dim)."""


class PrefixTransformer(nn.Module):
    """p(sentence | vector): pre-norm blocks, tied embeddings, learned positions.

    Embeddings are multiplied by the root of the width (Vaswani et al. 2017, section 3.4): as they
    are, the blocks' outputs drown them, and as much training leaves a loss 0.24 nats higher (two
    layers of 128, 500 updates, WordLlama).

    Args:
        dim: of the vectors.
        vocabulary: pieces.
        width: of the hidden states.
        layers: blocks.
        heads: of the attention.
        prefix: positions that the vector becomes.
        positions: most pieces of a sentence, BEGIN included.
        dropout: in training.
    """

    def __init__(
        self, dim: int, vocabulary: int, *, width: int = 256, layers: int = 4, heads: int = HEADS,
        prefix: int = 4, positions: int = 64, dropout: float = 0.1,
    ) -> None:  # fmt: skip
        super().__init__()
        self.prefix, self.positions = prefix, positions
        self.read = nn.Linear(dim, prefix * width)
        self.pieces = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(positions, width)
        self.scale = width**0.5
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        for table in (self.pieces, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def states(self, vectors: Tensor, ids: Tensor) -> Tensor:
        """Hidden state behind every piece.

        Args:
            vectors: float (n, dim).
            ids: int64 (n, t), BEGIN first.

        Returns:
            (n, t, width): row j decides piece j + 1.
        """
        pieces = self.scale * (self.pieces(ids) + self.places.weight[: ids.shape[1]])
        x = self.dropout(torch.cat([self._read(vectors), pieces], 1))
        for block in self.blocks:
            x = block(x)
        out: Tensor = self.norm(x[:, self.prefix :])
        return out

    def logits(self, states: Tensor) -> Tensor:
        """(…, width) -> (…, vocabulary)."""
        return F.linear(states, self.pieces.weight)

    def loss(self, vectors: Tensor, ids: Tensor) -> Tensor:
        """Mean cross entropy of the pieces behind BEGIN, in nats; a scalar.

        Args:
            vectors: float (n, dim).
            ids: int64 (n, t), BEGIN first, END last, PAD behind it.
        """
        following = ids[:, 1:]
        real = following != PAD
        states = self.states(vectors, ids[:, :-1])[real]
        return cross_entropy(states, self.pieces.weight, following[real])

    def begin(self, vectors: Tensor) -> Cache:
        """What the blocks remember of the vectors, before any piece."""
        x = self._read(vectors)
        cache: Cache = []
        for block in self._blocks():
            x, kept = block.extend(x, None)
            cache.append(kept)
        return cache

    def step(self, cache: Cache, last: Tensor) -> tuple[Tensor, Cache]:
        """One more piece.

        Args:
            cache: of `begin`, or of the step before.
            last: int64 (n,), the piece written last; BEGIN at first.

        Returns:
            Logits (n, vocabulary), and the cache that follows.
        """
        place = cache[0][0].shape[2] - self.prefix
        x = self.scale * (self.pieces(last) + self.places.weight[place])[:, None]
        following: Cache = []
        for block, kept in zip(self._blocks(), cache, strict=True):
            x, grown = block.extend(x, kept)
            following.append(grown)
        return self.logits(self.norm(x[:, 0])), following

    def _read(self, vectors: Tensor) -> Tensor:
        """The vectors as positions, (n, prefix, width)."""
        read: Tensor = self.read(vectors)
        return read.view(len(vectors), self.prefix, -1)

    def _blocks(self) -> Iterator[Block]:
        """The blocks as what they are, which a ModuleList does not tell."""
        return (block for block in self.blocks if isinstance(block, Block))

    @staticmethod
    def chosen(cache: Cache, rows: Tensor) -> Cache:
        """The cache of other rows, as a beam goes on from some of its hypotheses."""
        return [(k[rows], v[rows]) for k, v in cache]


class Block(nn.Module):
    """Causal attention and a feed-forward layer, each behind its norm."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.p = heads, dropout
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.mix = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """(n, t, width) -> the same, each position seeing those before it."""
        q, k, v = self._split(x)
        p = self.p if self.training else 0.0
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=p)
        return self._after(x, seen)

    def extend(
        self, x: Tensor, kept: tuple[Tensor, Tensor] | None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """The same for new positions behind those kept."""
        q, k, v = self._split(x)
        if kept is not None:
            k, v = torch.cat([kept[0], k], 2), torch.cat([kept[1], v], 2)
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=kept is None)
        return self._after(x, seen), (k, v)

    def _split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        n, t, width = x.shape
        parts = self.qkv(self.before(x)).view(n, t, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4)
        return q, k, v

    def _after(self, x: Tensor, seen: Tensor) -> Tensor:
        n, heads, t, each = seen.shape
        x = x + self.dropout(self.mix(seen.transpose(1, 2).reshape(n, t, heads * each)))
        out: Tensor = x + self.dropout(self.narrow(F.gelu(self.widen(self.between(x)))))
        return out
