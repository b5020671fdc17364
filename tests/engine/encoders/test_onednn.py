"""The quick linear layers give what torch's own give."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from transformers import BertConfig, BertModel

from theodolite.engine.encoders import onednn


def small(activation: str) -> BertModel:
    """A BERT of two layers with random weights."""
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        hidden_act=activation,
    )
    return BertModel(config).eval()


@pytest.mark.parametrize(("activation", "taken"), [("gelu", 2), ("relu", 0), ("gelu_new", 0)])
def test_the_vectors_stay_and_an_exact_gelu_goes_along(activation: str, taken: int) -> None:
    """To 1e-5, as the order of sums is another; any other activation is left alone."""
    plain = small(activation)
    quick = copy.deepcopy(plain)
    onednn.use_onednn(quick)
    linear = [part for part in quick.modules() if isinstance(part, onednn.OneDnnLinear)]
    assert len(linear) == 13 and not any(type(part) is nn.Linear for part in quick.modules())
    assert sum(part.then == "gelu" for part in linear) == taken
    ids = torch.arange(40).reshape(4, 10)
    with torch.inference_mode():
        expected, found = (model(input_ids=ids).last_hidden_state for model in (plain, quick))
    torch.testing.assert_close(found, expected, atol=1e-5, rtol=1e-5)
