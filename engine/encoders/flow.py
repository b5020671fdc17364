"""BERT-flow: vectors moved by an invertible network that makes their distribution a Gaussian.

Li et al. 2020, "On the Sentence Embeddings from Pre-trained Language Models": z = f(x), where f is
trained to maximise the likelihood of the x of some texts, log N(f(x)) + log |det df/dx|. As in
their Glow (Kingma and Dhariwal 2018) a step of f is a linear map, in its LU form, and an affine
coupling, of which every second half is moved; the first map standardises each dimension.

The network is zuko's (extra `flow`). It is the same whenever it is fitted again, and its weights
are kept as rows in the cache of vectors, under a fingerprint of what it was fitted on.
"""

import numpy as np
import torch
from torch import nn

from theodolite.engine.encoders.base import VectorCache, sentence_key
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.errors import UserError

LAYERS, HIDDEN = 4, 256
STEPS, BATCH, RATE = 600, 256, 1e-3
"""Updates of Adam, vectors of each, and its learning rate."""


class Flow(nn.Module):
    """An invertible network over vectors of `dim` numbers, untrained; its weights are seeded."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        try:
            from zuko.distributions import DiagNormal
            from zuko.flows import GeneralCouplingTransform
            from zuko.lazy import Flow as Zuko, UnconditionalDistribution, UnconditionalTransform
            from zuko.transforms import LULinearTransform
        except ImportError:
            raise UserError(
                "The step flow needs the package zuko.",
                "Install it: pip install 'theodolite[flow]'",
                code="unsupported",
            ) from None
        self.register_buffer("mean", torch.zeros(dim))
        self.register_buffer("deviation", torch.ones(dim))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(0)
            parts = []
            for layer in range(LAYERS):
                parts.append(UnconditionalTransform(LULinearTransform, torch.eye(dim)))
                mask, wide = torch.arange(dim) % 2 == layer % 2, (HIDDEN, HIDDEN)
                parts.append(GeneralCouplingTransform(dim, mask=mask, hidden_features=wide))
            base = (torch.zeros(dim), torch.ones(dim))
            self.flow = Zuko(parts, UnconditionalDistribution(DiagNormal, *base, buffer=True))

    def log_likelihood(self, x: torch.Tensor) -> torch.Tensor:
        """Of vectors (n, d), in nats: (n,)."""
        scaled: torch.Tensor = (x - self.mean) / self.deviation
        densities: torch.Tensor = self.flow().log_prob(scaled)
        return densities - torch.log(self.deviation).sum()

    @torch.no_grad()
    def moved(self, x: np.ndarray) -> np.ndarray:
        """Where float64 (n, d) go."""
        scaled = (torch.from_numpy(x).float() - self.mean) / self.deviation
        return np.asarray(self.flow().transform(scaled).numpy(), np.float64)

    def fit(self, x: np.ndarray) -> None:
        """Train on float64 (n, d)."""
        texts, dim = x.shape
        if texts <= dim:
            raise UserError(
                f"A flow of {dim} dimensions needs more than {dim} texts; these are {texts}.",
                "Name a larger data set, or put dims:… before it.",
                code="too-few",
            )
        data = torch.from_numpy(x).float()
        self.mean, deviation = data.mean(0), data.std(0)
        self.deviation = torch.where(deviation > 0, deviation, torch.ones(dim))
        adam, rng = torch.optim.Adam(self.flow.parameters(), lr=RATE), np.random.default_rng(0)
        for _ in range(STEPS):
            batch = data[rng.integers(texts, size=min(BATCH, texts))]
            adam.zero_grad()
            (-self.log_likelihood(batch).mean() / dim).backward()
            nn.utils.clip_grad_norm_(self.flow.parameters(), 1.0)
            adam.step()
        adam.zero_grad()


def fitted(x: np.ndarray, key: str, cache: VectorCache) -> Flow:
    """A flow that is fitted on vectors, or was before.

    Args:
        x: the vectors, float64 (n, d).
        key: fingerprint of what they are.
        cache: keeps its weights, in rows of d numbers.
    """
    flow, dim = Flow(x.shape[1]), x.shape[1]
    state = flow.state_dict()
    ends = np.cumsum([0, *(tensor.numel() for tensor in state.values())])
    keys = [sentence_key(str(row)) for row in range(-(-int(ends[-1]) // dim))]
    key = fingerprint("flow", key, LAYERS, HIDDEN, STEPS, BATCH, RATE)
    known, rows = cache.get(key, keys, dim)
    if not known.all():
        flow.fit(x)
        flat = torch.cat([tensor.float().flatten() for tensor in flow.state_dict().values()])
        rows = np.zeros((len(keys), dim), np.float32)
        rows.ravel()[: ends[-1]] = flat.numpy()
        cache.put(key, keys, rows)
        return flow
    for (name, tensor), start, stop in zip(state.items(), ends, ends[1:], strict=False):
        part = torch.from_numpy(rows.ravel()[start:stop].copy())
        state[name] = part.reshape(tensor.shape).to(tensor.dtype)
    flow.load_state_dict(state)
    return flow
