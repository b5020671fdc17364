"""The paper's decoders: an LSTM with the vector concatenated to every input (Vec2Sent 2, 3.3)."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from theodolite.engine.decoding.loss import targets

State = tuple[Tensor, Tensor, Tensor]
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
        given = vectors[:, None].expand(-1, ids.shape[1], -1)
        out, _ = self.lstm(torch.cat([self.dropout(self.pieces(ids)), given], -1))
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
        given, at, wanted = targets(ids, vectors.device)
        states = self.states(vectors, given).flatten(0, 1).index_select(0, at)
        if self.prior is None:
            return F.cross_entropy(self.logits(states), wanted)
        # Only the probabilities of the target tokens are mixed, not those of the whole vocabulary.
        experts = torch.tanh(self.latent(states)).chunk(self.experts, -1)
        each = [
            -F.cross_entropy(F.linear(e, self.pieces.weight, self.bias), wanted, reduction="none")
            for e in experts
        ]
        weights = F.log_softmax(self.prior(states), -1)
        return -torch.logsumexp(torch.stack(each, -1) + weights, -1).mean()

    def begin(self, vectors: Tensor) -> State:
        """The state before any token."""
        shape = (self.lstm.num_layers, len(vectors), self.lstm.hidden_size)
        zeros = vectors.new_zeros(shape)
        return vectors, zeros, zeros

    def step(self, state: State, last: Tensor) -> tuple[Tensor, State]:
        """Advance by one token; see `Incremental.step`."""
        vectors, hidden, cell = state
        given = torch.cat([self.pieces(last), vectors], -1)[:, None]
        out, (hidden, cell) = self.lstm(given, (hidden, cell))
        return self.logits(out[:, 0]), (vectors, hidden, cell)

    @staticmethod
    def chosen(state: State, rows: Tensor) -> State:
        """Select rows of a state, as when a beam continues some of its hypotheses."""
        return state[0][rows], state[1][:, rows], state[2][:, rows]
