"""Linear layers in 8 bits give what numbers of 8 bits can give, each token by itself."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel, GPT2Config, GPT2Model

from tests.engine.encoders.models import SENTENCES, save, save_sentence_transformer
from tests.errors import refused
from theodolite.engine.encoders import int8, load, onednn

pytestmark = pytest.mark.usefixtures("int8_products")


@pytest.fixture
def layer() -> nn.Linear:
    """Of 64 inputs, with random weights."""
    torch.manual_seed(0)
    return nn.Linear(64, 48)


@pytest.fixture
def tokens() -> torch.Tensor:
    """Small and large ones, some far from zero, one constant."""
    torch.manual_seed(1)
    x = torch.randn(40, 64) * torch.logspace(-3, 3, 40)[:, None] + torch.linspace(0, 5, 40)[:, None]
    x[7] = 3.0
    return x


@pytest.mark.parametrize("bias", [True, False])
def test_a_layer_against_float64(layer: nn.Linear, tokens: torch.Tensor, bias: bool) -> None:
    """The product of the very same steps is exact, and no weight or token is off by half a step."""
    if not bias:
        layer.bias = None  # type: ignore[assignment]
    made = int8.Int8Linear(layer)
    with torch.inference_mode():
        found = made(tokens).double().numpy()
    scales = made.scales.numpy()[:, None].astype(np.float64)
    weight = made.weight.numpy() * scales
    assert np.abs(weight - layer.weight.detach().numpy()).max() <= scales.max() * 0.5001
    # Each token in steps, in float32 as the layer does it.
    x = tokens.numpy()
    middle = (x.max(1, keepdims=True) + x.min(1, keepdims=True)) / np.float32(2)
    step = np.maximum(x.max(1, keepdims=True) - middle, np.float32(1e-12)) / np.float32(127)
    steps = np.round((x - middle) * (np.float32(1) / step)).astype(np.float64)
    assert np.abs(steps).max() == 127
    added = made.bias.double().numpy()
    expected = (steps * step.astype(np.float64) + middle) @ weight.T + added
    size = np.abs(x).astype(np.float64) @ np.abs(weight).T + np.abs(added)
    assert (np.abs(found - expected) / size).max() < 1e-6
    # However the steps were found: the true product is nearer than half a step of every number.
    true = x.astype(np.float64) @ weight.T + added
    assert (np.abs(found - true) <= 0.5001 * step * np.abs(weight).sum(1) + 1e-6 * size).all()


@pytest.mark.parametrize("kind", ["transformer", "sentence-transformers"])
def test_an_encoder_is_another_with_vectors_close_by(kind: str, tmp_path: Path) -> None:
    """By both ways in which a folder is run."""
    made = save(tmp_path) if kind == "transformer" else save_sentence_transformer(tmp_path)
    spec = f"dir:{made}" + ("?pooling=avg&" if kind == "transformer" else "?") + "dtype=int8"
    quick, plain = load(spec), load(spec.replace("int8", "float32"))
    assert quick.name == spec and quick.fingerprint != plain.fingerprint
    found, exact = quick.encode(SENTENCES), plain.encode(SENTENCES)
    assert found.dtype == np.float32 and not np.array_equal(found, exact)
    assert cosines(found, exact).min() > 0.99


def cosines(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Of each row with the row of the other."""
    return np.asarray((a * b).sum(1) / np.linalg.norm(a, axis=1) / np.linalg.norm(b, axis=1))


def test_where_it_cannot_be_it_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a GPU, on another processor, and of a model without such layers."""
    with refused("conflict", "cuda"):
        load("minilm?dtype=int8", device="cuda")
    gpt = GPT2Model(GPT2Config(n_layer=1, n_embd=8, n_head=1, vocab_size=9, n_positions=9))
    with refused("unsupported", "GPT"):
        int8.use_int8(gpt, "GPT")
    monkeypatch.setattr(torch.cpu, "_is_vnni_supported", lambda: False)
    with refused("unsupported", "AVX-512 VNNI"):
        load("minilm?dtype=int8").encode(["a dog"])


SMALL = {
    "vocab_size": 50,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
}


@pytest.mark.parametrize(("activation", "taken"), [("gelu", 2), ("relu", 0), ("gelu_new", 0)])
def test_the_vectors_stay_and_an_exact_gelu_goes_along(activation: str, taken: int) -> None:
    """To 1e-5, as the order of sums is another; any other activation is left alone."""
    torch.manual_seed(0)
    plain = BertModel(BertConfig(**SMALL, hidden_act=activation)).eval()
    quick = copy.deepcopy(plain)
    onednn.use_onednn(quick)
    linear = [part for part in quick.modules() if isinstance(part, onednn.OneDnnLinear)]
    assert len(linear) == 13 and not any(type(part) is nn.Linear for part in quick.modules())
    assert sum(part.then == "gelu" for part in linear) == taken
    ids = torch.arange(40).reshape(4, 10)
    with torch.inference_mode():
        expected, found = (model(input_ids=ids).last_hidden_state for model in (plain, quick))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)


def test_no_token_changes_another(layer: nn.Linear, tokens: torch.Tensor) -> None:
    """Not even one that is a million times as large."""
    made = int8.Int8Linear(layer)
    with torch.inference_mode():
        together = made(tokens)
        assert torch.equal(made(tokens.view(4, 10, 64)), together.view(4, 10, 48))
        assert torch.equal(made(tokens[5]), together[5])
        tokens[0] *= 1e6
        assert torch.equal(made(tokens)[1:], together[1:])
