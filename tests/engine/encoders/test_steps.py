"""Steps after pooling, against scikit-learn and numpy, and a flow whose likelihood is one."""

import sys
from functools import partial

import numpy as np
import pytest
import torch
from scipy.stats import norm
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize

from tests.errors import refused
from theodolite.engine.encoders import MemoryCache, bind_task, flow, load
from theodolite.engine.encoders.steps import (
    binary,
    fit_drop,
    fit_int8,
    fit_whiten,
    normalise,
    random_projection,
    smaller,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((200, 6)) @ RNG.standard_normal((6, 6)) + 3
TEXTS = [f"word{i % 13} word{i % 7} word{i}" for i in range(60)]


def datasets(name):
    """A catalogue of two data sets."""
    return {"one": (TEXTS, "hash-one"), "tiny": (TEXTS[:1], "hash-tiny")}[name]


def test_whitening_gives_the_unit_covariance_of_the_paper():
    """And the vectors are scikit-learn's whitened components, up to the sign."""
    ours = fit_whiten(X)(X)
    np.testing.assert_allclose(np.cov(ours.T), np.eye(6), atol=1e-9)
    np.testing.assert_allclose(ours.mean(0), 0, atol=1e-9)
    theirs = PCA(4, whiten=True, svd_solver="full").fit_transform(X)
    np.testing.assert_allclose(np.abs(fit_whiten(X, 4)(X)), np.abs(theirs), atol=1e-8)
    flat = X[:, [0, 1, 1, 3, 4, 5]]
    white = fit_whiten(flat)(flat)
    # A direction without variance gives zero, not noise over nothing.
    assert np.isfinite(white).all() and np.abs(white[:, -1]).max() < 1e-6
    rows = np.vstack([X, np.zeros(6)])
    np.testing.assert_allclose(normalise(rows), normalize(rows))


def test_drop_takes_the_first_components_away():
    """What remains has no share in them, and the rest is untouched."""
    components = PCA(6).fit(X).components_
    kept = (X - X.mean(0)) @ components.T * [0, 0, 1, 1, 1, 1]
    np.testing.assert_allclose(fit_drop(X, 2)(X) @ components.T, kept, atol=1e-9)


def test_int8_by_hand() -> None:
    """The largest of a column is 127 steps: of 2.54 a step is 0.02, so 1.03 becomes 52 steps."""
    vectors = np.array([[2.54, 0.0], [1.03, 0.0]], np.float32)
    quantised = fit_int8(vectors)
    np.testing.assert_allclose(quantised(vectors), [[2.54, 0.0], [1.04, 0.0]], rtol=1e-6)
    np.testing.assert_allclose(quantised(vectors * 2)[0], [2.54, 0.0], rtol=1e-6)  # clipped
    signs = binary(np.array([[0.1, -2.0, 3.0, 0.0], [1.0, 1.0, -1.0, -5.0]], np.float32))
    assert signs.tolist() == [[1, -1, 1, -1], [1, 1, -1, -1]]


def test_a_chain_is_fitted_in_order():
    """The second step sees what the first one made."""
    ours = load("random:16 | normalise | dims:3,pca,one", datasets=datasets).encode(TEXTS[:9])
    unit = normalize(load("random:16").encode(TEXTS).astype(np.float64))
    theirs = PCA(3, svd_solver="full").fit(unit).transform(unit[:9])
    np.testing.assert_allclose(np.abs(ours), np.abs(theirs), atol=1e-5)
    assert ours.dtype == np.float32 and ours.shape == (9, 3)


def test_the_fingerprint_holds_steps_and_data():
    """Other steps, other data or another task are other encoders."""
    prints = {
        load(spec, datasets=lambda name, h=h: (TEXTS, h)).fingerprint
        for spec in ("random:16 | center:one", "random:16 | whiten:one", "random:16")
        for h in ("first", "second")
    }
    assert len(prints) == 5
    # Outside a task there is nothing to fit on; within one its sentences are centred.
    task, plain = load("random:16 | center:@task"), load("random:16")
    bound = bind_task(task, TEXTS, "h")
    assert len({task.fingerprint, bound.fingerprint, bind_task(task, TEXTS, "i").fingerprint}) == 3
    np.testing.assert_allclose(bound.encode(TEXTS).mean(0), 0, atol=1e-6)
    assert bind_task(plain, TEXTS, "h") is plain
    with refused("missing", "@task"):
        task.encode(["a"])


@pytest.mark.parametrize(
    ("spec", "named", "code"),
    [
        ("random:4 | drop:4,one", "at most 3", "too-large"),  # only rounding errors would be left
        ("random:16 | dims:17,pca,one", "17 of 16", "too-large"),
        ("random:16 | dims:4,pca,one | whiten:one,5", "5 of 4", "too-large"),
        ("random:16 | whiten:tiny", "1 sentences", "too-few"),
    ],
)
def test_impossible_steps_are_refused(spec, named, code):
    """With the numbers that do not fit."""
    with refused(code, named):
        load(spec, datasets=datasets).encode(["a"])


def test_every_method_at_every_size() -> None:
    """PCA is scikit-learn's, but for signs; the first dimensions are the first."""
    vectors = np.random.default_rng(3).standard_normal((50, 8)).astype(np.float32)
    made = {(how.method, how.dim): (how, rows) for how, rows in smaller(vectors, [4, 8])}
    assert {kind: how.bytes for kind, (how, _) in made.items()} == {
        ("first", 4): 16,
        ("pca", 4): 16,
        ("int8", 4): 4,
        ("binary", 4): 0.5,
        ("first", 8): 32,
        ("int8", 8): 8,
        ("binary", 8): 1,
    }
    theirs = PCA(4).fit_transform(vectors.astype(np.float64))
    np.testing.assert_allclose(np.abs(made["pca", 4][1]), np.abs(theirs), atol=1e-5)
    np.testing.assert_array_equal(made["first", 4][1], vectors[:, :4])


def test_steps_of_a_spec_give_the_same_vectors() -> None:
    """What was measured is an encoder with a name: the first dimensions in int8 or binary."""
    texts = [f"word{i} word{i % 7} word{i % 3}" for i in range(40)]
    steps = {"first": "", "int8": " | quantise:int8,mine", "binary": " | quantise:binary"}
    for how, made in smaller(load("random:16").encode(texts), [4, 16], list(steps)):
        spec = f"random:16 | dims:{how.dim},first{steps[how.method]}"
        encoder = load(spec, cache=MemoryCache(), datasets=lambda name: (texts, "hash"))
        np.testing.assert_array_equal(encoder.encode(texts), made, err_msg=spec)


def test_random_projection_keeps_lengths_in_expectation():
    """The squared length over many seeds averages to the true one."""
    x = X[:1]
    lengths = [np.sum(random_projection(6, 4, seed)(x) ** 2) for seed in range(3000)]
    assert np.mean(lengths) == pytest.approx(np.sum(x**2), rel=0.05)


# --- the step flow ---


MANY = [f"{a} {b} {c}" for a in "abcdef" for b in "ghijk" for c in "lmno"]
"""120 of them."""


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few updates."""
    monkeypatch.setattr(flow, "STEPS", 25)


def test_the_likelihood_is_that_of_the_change_of_variables(
    quick: None, rng: np.random.Generator
) -> None:
    """Log N(f(x)) + log |det df/dx|, the Jacobian by autograd; training raises it."""
    x = np.exp(0.5 * rng.normal(size=(400, 6))) @ rng.normal(size=(6, 6))  # far from a Gaussian
    found, untrained = flow.fitted(x, "x", MemoryCache()), flow.Flow(6)
    untrained.mean, untrained.deviation = found.mean, found.deviation
    for one in torch.from_numpy(x[:3]).float():
        z = found.moved(one.double()[None].numpy())
        jacobian = torch.autograd.functional.jacobian(
            lambda v: found.flow().transform((v - found.mean) / found.deviation), one
        )
        expected = norm.logpdf(z).sum() + torch.linalg.slogdet(jacobian.double())[1].item()
        assert found.log_likelihood(one[None]).item() == pytest.approx(expected, rel=1e-4)
    before, after = (
        one.log_likelihood(torch.from_numpy(x).float()).mean() for one in (untrained, found)
    )
    assert after > before + 0.5


def test_it_is_fitted_once_and_the_same_again(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """The weights come back from the cache as they were, and are the same without it."""
    cache, made = MemoryCache(), partial(load, datasets=lambda name: (MANY, "hash"))
    encoders = [made("random:8 | flow:mine", cache=kept) for kept in (cache, MemoryCache())]
    first, other = (encoder.encode(MANY[:5]) for encoder in encoders)
    np.testing.assert_array_equal(first, other)
    monkeypatch.setattr(flow.Flow, "fit", None)
    again = made("random:8 | flow:mine", cache=cache)
    np.testing.assert_array_equal(again.encode(MANY[:5]), first)
    assert again.name == "random:8 | flow:mine"
    plain = load("random:8").encode(MANY[:5])
    assert first.shape == plain.shape and np.abs(first - plain).max() > 0.1


def test_what_it_cannot_be_fitted_on(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many texts as dimensions are too few; without zuko the extra is named."""
    with refused("too-few", "8 dimensions", "8"):
        load("random:8 | flow:mine", datasets=lambda name: (MANY[:8], "hash")).encode(["a"])
    monkeypatch.setitem(sys.modules, "zuko.lazy", None)
    with refused("unsupported", "theodolite[flow]"):
        load("random:8 | flow:mine", datasets=lambda name: (MANY, "hash")).encode(["a"])
