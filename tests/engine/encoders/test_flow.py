"""The step flow: a likelihood that is one, kept weights, and what it cannot be fitted on."""

import sys

import numpy as np
import pytest
import torch

from tests.errors import refused
from theodolite.engine.encoders import MemoryCache, flow, load

TEXTS = [f"{a} {b} {c}" for a in "abcdef" for b in "ghijk" for c in "lmno"]
"""120 of them."""


def skewed(count: int = 400, dim: int = 6) -> np.ndarray:
    """Vectors far from a Gaussian."""
    rng = np.random.default_rng(0)
    return np.exp(0.5 * rng.normal(size=(count, dim))) @ rng.normal(size=(dim, dim))


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few updates."""
    monkeypatch.setattr(flow, "STEPS", 25)


def test_the_likelihood_is_that_of_the_change_of_variables(quick: None) -> None:
    """Log N(f(x)) + log |det df/dx|, the Jacobian by autograd; training raises it."""
    x, cache = skewed(), MemoryCache()
    found, untrained = flow.fitted(x, "x", cache), flow.Flow(6)
    untrained.mean, untrained.deviation = found.mean, found.deviation
    for one in torch.from_numpy(x[:3]).float():
        z = torch.from_numpy(found.moved(one.double()[None].numpy()))[0]
        jacobian = torch.autograd.functional.jacobian(
            lambda v: found.flow().transform((v - found.mean) / found.deviation), one
        )
        density = torch.distributions.Normal(0.0, 1.0).log_prob(z).sum()
        expected = density + torch.linalg.slogdet(jacobian.double())[1]
        assert found.log_likelihood(one[None]).item() == pytest.approx(expected.item(), rel=1e-4)
    every = torch.from_numpy(x).float()
    likelihoods = [one.log_likelihood(every).mean().item() for one in (untrained, found)]
    assert likelihoods[1] > likelihoods[0] + 0.5


def test_it_is_fitted_once_and_the_same_again(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights come back from the cache as they were, and are the same without it."""
    cache, spec = MemoryCache(), "random:8 | flow:mine"

    def encoder(kept: MemoryCache) -> np.ndarray:
        made = load(spec, cache=kept, datasets=lambda name: (TEXTS, "hash"))
        assert made.name == spec
        return made.encode(TEXTS[:5])

    first, other = encoder(cache), encoder(MemoryCache())
    np.testing.assert_array_equal(first, other)
    monkeypatch.setattr(flow.Flow, "fit", None)
    np.testing.assert_array_equal(encoder(cache), first)
    plain = load("random:8").encode(TEXTS[:5])
    assert first.shape == plain.shape and np.abs(first - plain).max() > 0.1


def test_what_it_cannot_be_fitted_on(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many texts as dimensions are too few; without zuko the extra is named."""
    with refused("too-few", "8 dimensions", "8"):
        load("random:8 | flow:mine", datasets=lambda name: (TEXTS[:8], "hash")).encode(["a"])
    monkeypatch.setitem(sys.modules, "zuko.lazy", None)
    with refused("unsupported", "theodolite[flow]"):
        load("random:8 | flow:mine", datasets=lambda name: (TEXTS, "hash")).encode(["a"])
