"""A canary finds what changes vectors, and never float noise."""

from collections.abc import Callable

import numpy as np
import pytest

from tests.errors import refused
from tests.fakes.encoders import ConstantEncoder
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders import MemoryCache, canary, load


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return canary.texts(Catalog(None).load("starter-pairs").sentences)


def vectors(spec: str, texts: list[str]) -> np.ndarray:
    return canary.vectors(load(spec, cache=MemoryCache()), texts)


@pytest.fixture(scope="module")
def minilm(texts: list[str]) -> np.ndarray:
    return vectors("minilm", texts)


def test_the_texts_are_of_all_lengths(texts: list[str]) -> None:
    words = sorted(len(text.split()) for text in texts)
    assert len(texts) == canary.TEXTS == len(set(texts))
    assert words[0] < 8 and words[-1] == 512
    assert len(canary.texts(["one", "two"], join=False)) == 2


@pytest.mark.parametrize(
    "change",
    [
        "pooling=cls_token",
        "prompt=query:%20",
        "dtype=int8",
        pytest.param("dtype=float16", marks=pytest.mark.long),
        pytest.param("dtype=bfloat16", marks=pytest.mark.long),
        "max_length=128",
        pytest.param("max_length=240", marks=pytest.mark.long),
    ],
)
@pytest.mark.usefixtures("int8_products")
def test_what_changes_vectors_is_found(change: str, texts: list[str], minilm: np.ndarray) -> None:
    found = canary.drift(minilm, vectors(f"minilm?{change}", texts))
    assert found.moved and found.cosine < 1 - 5e-7
    for other in (minilm[:, :192], 2 * minilm):  # dimensions and lengths
        assert canary.drift(minilm, other).moved == len(minilm)


def one_by_one(texts: list[str]) -> np.ndarray:
    encoder = load("minilm", cache=MemoryCache())
    return np.vstack([canary.vectors(encoder, [text]) for text in texts])


def on_other_kernels(texts: list[str]) -> np.ndarray:
    import torch

    with torch.backends.mkldnn.flags(enabled=False):
        return vectors("minilm", texts[::-1])[::-1]


@pytest.mark.parametrize("otherwise", [one_by_one, on_other_kernels])
def test_float_noise_is_no_change(
    otherwise: Callable[[list[str]], np.ndarray], texts: list[str], minilm: np.ndarray
) -> None:
    found = canary.drift(minilm, otherwise(texts))
    assert found.moved == 0 and found.distance < canary.TOLERANCE / 50


def test_a_vector_of_zeros_is_the_same_as_before_or_not() -> None:
    """Vectors that are all equal are refused."""
    zeros, ones = np.array([[[0.0, 0.0], [1.0, 0.0]], [[1.0, 0.0], [1.0, 0.0]]], np.float32)
    assert canary.drift(zeros, zeros.copy()) == canary.Drift(1.0, 0.0, 0, 2)
    assert canary.drift(zeros, ones).moved == 1
    with refused("unsupported", "fake:hash"):
        canary.vectors(ConstantEncoder(2), ["a", "b"])
