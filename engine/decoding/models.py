"""The models of decoders: p(sentence | vector) by a small Transformer, or by the paper's LSTMs.

`PrefixTransformer` computes all positions at once, as in training; `Incremental` generates with its
weights one token at a time, with cached keys and values.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from theodolite.engine.decoding.scripted import scripted
from theodolite.engine.decoding.spec import HEADS
from theodolite.engine.decoding.vocabulary import PAD
from theodolite.engine.encoders import onednn
from theodolite.engine.memory import to_device

ROWS = 512


def targets(ids: Tensor, device: torch.device) -> tuple[Tensor, Tensor, Tensor]:
    """Split token ids into a decoder's inputs and targets.

    Args:
        ids: int64 (n, t), BEGIN first, END last, then PAD. Best on the CPU: finding PAD on a GPU
            would wait for it.
        device: where the results go.

    Returns:
        The input tokens, int64 (n, t - 1); the positions among these n * (t - 1) that have a
        target, int64 (m,); and the targets, int64 (m,).
    """
    following = ids[:, 1:].flatten()
    places = torch.nonzero(following != PAD).squeeze(1)
    inputs, at, labels = (to_device(x, device) for x in (ids[:, :-1], places, following[places]))
    return inputs, at, labels


def cross_entropy(states: Tensor, table: Tensor, labels: Tensor) -> Tensor:
    """Mean of -log softmax(states @ table.T)[wanted], a scalar, in blocks of rows.

    All logits of an update at once are hundreds of megabytes to write, read and free; those of a
    block stay in the processor's cache. The values equal those of PyTorch's own; on one core (AVX2,
    1,900 tokens of 256, a vocabulary of 8,000) it took 0.44 s instead of 0.62 s, and in bf16
    (AVX-512) 0.18 s instead of 0.27 s. On GPUs in half precision PyTorch's own is used.

    Args:
        states: float (m, width).
        table: float (vocabulary, width).
        labels: int64 (m,).
    """
    kind, low = states.device.type, states.dtype
    if torch.is_autocast_enabled(kind):
        if kind != "cpu":
            return F.cross_entropy(F.linear(states, table).float(), labels)
        low = torch.get_autocast_dtype(kind)
    if not torch.is_grad_enabled():
        parts = zip(torch.split(states, ROWS), torch.split(labels, ROWS), strict=True)
        sums = [F.cross_entropy(F.linear(s, table), w, reduction="sum") for s, w in parts]
        return torch.stack(sums).sum() / len(states)
    mean: Tensor = _Mean.apply(states, table, labels, low)  # type: ignore[no-untyped-call]
    return mean


class _Mean(torch.autograd.Function):
    """Computes the gradients along with the loss, while the logits of a block are in memory."""

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, table: Tensor, labels: Tensor, low: torch.dtype
    ) -> Tensor:
        """Multiply matrices in `low`; compute the rest in float32 or wider."""
        wide = torch.promote_types(states.dtype, torch.float32)
        inputs, weight = states.to(low), table.to(low)
        to_states, to_table = torch.empty_like(inputs), torch.zeros_like(table)
        total = states.new_zeros((), dtype=wide)
        for start in range(0, len(states), ROWS):
            part = slice(start, start + ROWS)
            chances = F.log_softmax(F.linear(inputs[part], weight), -1, dtype=wide)
            place = labels[part, None]
            total -= chances.gather(1, place).sum()
            # The gradient of a row is its probabilities, minus one at the target token.
            chances.exp_().scatter_add_(1, place, chances.new_full(place.shape, -1.0))
            errors = chances.to(low)
            torch.mm(errors, weight, out=to_states[part])
            to_table += torch.mm(errors.T, inputs[part])
        ctx.save_for_backward(to_states.to(states.dtype), to_table)
        return total / len(states)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, Tensor, None, None]:
        to_states, to_table = ctx.saved_tensors
        share = gradient / len(to_states)
        return to_states * share, to_table * share, None, None


class PrefixTransformer(nn.Module):
    """p(sentence | vector): pre-norm blocks, tied embeddings, learned positions.

    The vector becomes positions before the sentence, as keys and values of every layer (Li and
    Liang 2021); they pass through no layer themselves. Embeddings are multiplied by the root of
    the width (Vaswani et al. 2017, section 3.4): unscaled, they drown in the blocks' outputs.
    Held-out loss after 500 updates of two layers of 128, on WordLlama's vectors: 4.79 with a
    prefix that passes through all layers and unscaled embeddings, 4.70 with this prefix, 4.55
    with these embeddings, 4.46 with both; and training is a tenth faster.

    Args:
        dim: of the vectors.
        vocabulary: tokens.
        width: of the hidden states.
        layers: blocks.
        heads: of the attention.
        prefix: positions of the prefix.
        positions: most tokens of a sentence, BEGIN included.
        dropout: in training.
    """

    def __init__(
        self,
        dim: int,
        vocabulary: int,
        *,
        width: int = 256,
        layers: int = 4,
        heads: int = HEADS,
        prefix: int = 8,
        positions: int = 64,
        dropout: float = 0.1,
    ) -> None:
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
        """Hidden state after every token.

        Args:
            vectors: float (n, dim).
            ids: int64 (n, t), BEGIN first.

        Returns:
            (n, t, width): row j predicts token j + 1.
        """
        t = ids.shape[1]
        x = self.dropout(self.scale * (self.pieces(ids) + self.places.weight[:t]))
        # Each token sees the whole prefix and the sentence up to itself.
        mask = torch.ones(t, self.prefix + t, dtype=torch.bool, device=ids.device)
        mask = mask.tril(self.prefix)
        read = self.read(vectors).view(len(vectors), self.prefix, -1)
        for block in self.layers():
            x = block(x, read, mask)
        out: Tensor = self.norm(x)
        return out

    def logits(self, states: Tensor) -> Tensor:
        """(…, width) -> (…, vocabulary)."""
        return F.linear(states, self.pieces.weight)

    def loss(self, vectors: Tensor, ids: Tensor) -> Tensor:
        """Mean cross entropy of the tokens after BEGIN, in nats; a scalar.

        Args:
            vectors: float (n, dim).
            ids: int64 (n, t), BEGIN first, END last, then PAD; best on the CPU (`targets`).
        """
        inputs, at, labels = targets(ids, vectors.device)
        states = self.states(vectors, inputs).flatten(0, 1).index_select(0, at)
        return cross_entropy(states, self.pieces.weight, labels)

    def layers(self) -> Iterator[Block]:
        """The blocks, with their type, which a ModuleList does not declare."""
        return (block for block in self.blocks if isinstance(block, Block))


class Block(nn.Module):
    """Pre-norm attention and feed-forward layers."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.p = heads, dropout
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.kept = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.mix = nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, prefix: Tensor, mask: Tensor) -> Tensor:
        """Transform the positions that follow a prefix.

        Args:
            x: (n, t, width).
            prefix: (n, p, width).
            mask: bool (t, p + t), the positions that each may attend to.

        Returns:
            (n, t, width).
        """
        normed = self.before(x)
        before, own = self._keys_and_values(self.before(prefix)), self._keys_and_values(normed)
        attended = F.scaled_dot_product_attention(
            self._split(self.query(normed)),
            torch.cat([before[0], own[0]], 2),
            torch.cat([before[1], own[1]], 2),
            attn_mask=mask,
            dropout_p=self.p if self.training else 0.0,
        )
        x = x + self.dropout(self.mix(attended.transpose(1, 2).flatten(2)))
        out: Tensor = x + self.dropout(self.narrow(F.gelu(self.widen(self.between(x)))))
        return out

    def _keys_and_values(self, normed: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values, (n, heads, t, width / heads)."""
        keys, values = self.kept(normed).chunk(2, -1)
        return self._split(keys), self._split(values)

    def _split(self, x: Tensor) -> Tensor:
        """(n, t, width) -> (n, heads, t, width / heads)."""
        n, t, width = x.shape
        return x.view(n, t, self.heads, width // self.heads).transpose(1, 2)


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
        cache, length, rows = state
        logits, cache = _step(
            self._layers,
            self._ends,
            self._tokens,
            self._positions,
            self.model.prefix,
            self._heads,
            cache,
            length,
            rows,
            last,
            ROOM,
            self._packed,
        )
        return logits, (cache, length + 1, None)

    @staticmethod
    def select(state: State, rows: Tensor) -> State:
        """Select rows of a state; the next step copies them, as it copies the state anyway."""
        cache, length, before = state
        return cache, length, rows if before is None else before[rows]


@scripted
def _linear(x: Tensor, weight: Tensor, bias: Tensor | None, then: str, packed: bool) -> Tensor:
    """A linear layer, optionally followed by a GELU; see `engine.encoders.onednn.linear`."""
    if packed:
        result: Tensor = torch.ops.mkldnn._linear_pointwise(x, weight, bias, then, [], "none")
        return result
    plain = F.linear(x, weight, bias)
    return F.gelu(plain) if then == "gelu" else plain


@scripted
def _fill(layers: list[list[Tensor]], read: Tensor, cache: Tensor, packed: bool) -> None:
    """Write keys and values of the prefix (n, p, width) to the first positions of a cache."""
    p, width = read.shape[1], read.shape[2]
    for i, layer in enumerate(layers):
        normed = F.layer_norm(read, [width], layer[0], layer[1])
        projected = _linear(normed, layer[2], layer[3], "none", packed)
        cache[i, 0, :, :p] = projected[:, :, width : 2 * width]
        cache[i, 1, :, :p] = projected[:, :, 2 * width :]


@scripted
def _step(
    layers: list[list[Tensor]],
    ends: list[Tensor],
    tokens: Tensor,
    positions: Tensor,
    prefix: int,
    heads: int,
    cache: Tensor,
    length: int,
    rows: Tensor | None,
    last: Tensor,
    room: int,
    packed: bool,
) -> tuple[Tensor, Tensor]:
    """Logits, and a cache with one more position; see `PrefixTransformer` for what is computed."""
    width, n = tokens.shape[1], last.shape[0]
    states = cache.clone() if rows is None else cache.index_select(2, rows)
    if length == states.shape[3]:
        more = states.new_empty([len(layers), 2, n, room, width])
        states = torch.cat([states, more], 3)
    x = width**0.5 * (tokens.index_select(0, last) + positions[length - prefix])
    for i, layer in enumerate(layers):
        normed = F.layer_norm(x, [width], layer[0], layer[1])
        query, key, value = _linear(normed, layer[2], layer[3], "none", packed).chunk(3, 1)
        states[i, 0, :, length] = key
        states[i, 1, :, length] = value
        keys = states[i, 0, :, : length + 1].view(n, length + 1, heads, -1).transpose(1, 2)
        values = states[i, 1, :, : length + 1].view(n, length + 1, heads, -1).transpose(1, 2)
        attended = F.scaled_dot_product_attention(query.view(n, heads, 1, -1), keys, values)
        x = x + _linear(attended.reshape(n, width), layer[4], layer[5], "none", packed)
        normed = F.layer_norm(x, [width], layer[6], layer[7])
        wide = _linear(normed, layer[8], layer[9], "gelu", packed)
        x = x + _linear(wide, layer[10], layer[11], "none", packed)
    logits = _linear(F.layer_norm(x, [width], ends[0], ends[1]), ends[2], None, "none", packed)
    return logits, states


LSTMState = tuple[Tensor, Tensor, Tensor]
"""The vectors (n, dim), and hidden and cell states (layers, n, hidden)."""


class ConditionedLSTM(nn.Module):
    """p(sentence | vector): [token; vector] at every step, one softmax or a mixture of them.

    Args:
        dim: of the vectors.
        vocabulary: tokens.
        embedding: width of the token embeddings.
        hidden: of the LSTM.
        layers: of the LSTM.
        experts: softmaxes in the mixture (Yang et al. 2018); 1 is the simple LSTM of section 3.3.
        positions: most tokens of a sentence, BEGIN included.
        dropout: in training, on embeddings, between layers and before the softmax.
    """

    def __init__(
        self,
        dim: int,
        vocabulary: int,
        *,
        embedding: int = 300,
        hidden: int = 1024,
        layers: int = 3,
        experts: int = 5,
        positions: int = 64,
        dropout: float = 0.4,
    ) -> None:
        super().__init__()
        self.positions, self.experts = positions, experts
        self.pieces = nn.Embedding(vocabulary, embedding)
        self.lstm = nn.LSTM(
            embedding + dim, hidden, layers, batch_first=True, dropout=dropout if layers > 1 else 0
        )
        self.latent = nn.Linear(hidden, experts * embedding)
        self.prior = nn.Linear(hidden, experts, bias=False) if experts > 1 else None
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        self.dropout = nn.Dropout(dropout)
        nn.init.uniform_(self.pieces.weight, -0.1, 0.1)

    def states(self, vectors: Tensor, ids: Tensor) -> Tensor:
        """Hidden state after every token.

        Args:
            vectors: float (n, dim).
            ids: int64 (n, t), BEGIN first.

        Returns:
            (n, t, hidden): row j predicts token j + 1.
        """
        repeated = vectors[:, None].expand(-1, ids.shape[1], -1)
        with torch.autocast("cpu", enabled=False):  # not every processor has it in half precision
            out, _ = self.lstm(torch.cat([self.dropout(self.pieces(ids)), repeated], -1))
        return self.dropout(out)

    def logits(self, states: Tensor) -> Tensor:
        """(…, hidden) -> (…, vocabulary): log-probabilities for a mixture."""
        latent = torch.tanh(self.latent(states))
        if self.prior is None:
            return F.linear(latent, self.pieces.weight, self.bias)
        experts = torch.stack(latent.chunk(self.experts, -1), -2)
        each = F.log_softmax(F.linear(experts, self.pieces.weight, self.bias), -1)
        weights = F.log_softmax(self.prior(states), -1)
        return torch.logsumexp(each + weights[..., None], -2)

    def loss(self, vectors: Tensor, ids: Tensor) -> Tensor:
        """Mean cross entropy of the tokens after BEGIN; see `PrefixTransformer.loss`."""
        inputs, at, labels = targets(ids, vectors.device)
        states = self.states(vectors, inputs).flatten(0, 1).index_select(0, at)
        if self.prior is None:
            return F.cross_entropy(self.logits(states), labels)
        # Only the probabilities of the target tokens are mixed, not those of the whole vocabulary.
        experts = torch.tanh(self.latent(states)).chunk(self.experts, -1)
        each = [
            -F.cross_entropy(F.linear(e, self.pieces.weight, self.bias), labels, reduction="none")
            for e in experts
        ]
        weights = F.log_softmax(self.prior(states), -1)
        return -torch.logsumexp(torch.stack(each, -1) + weights, -1).mean()

    def begin(self, vectors: Tensor) -> LSTMState:
        """The state before any token."""
        shape = (self.lstm.num_layers, len(vectors), self.lstm.hidden_size)
        zeros = vectors.new_zeros(shape)
        return vectors, zeros, zeros

    def step(self, state: LSTMState, last: Tensor) -> tuple[Tensor, LSTMState]:
        """Advance by one token; see `Incremental.step`."""
        vectors, hidden, cell = state
        inputs = torch.cat([self.pieces(last), vectors], -1)[:, None]
        out, (hidden, cell) = self.lstm(inputs, (hidden, cell))
        return self.logits(out[:, 0]), (vectors, hidden, cell)

    @staticmethod
    def select(state: LSTMState, rows: Tensor) -> LSTMState:
        """Select rows of a state, as when a beam continues some of its hypotheses."""
        return state[0][rows], state[1][:, rows], state[2][:, rows]
