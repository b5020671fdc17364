"""The forward pass without padding: the same numbers as transformers' own with padding."""

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from tests.engine.encoders.models import SENTENCES, save
from theodolite.engine.encoders.pooling import States, pool
from theodolite.engine.training.packed import Layout, can_pack, packed_states, padded_states, pooled

EVEN = ["a cat sat", "the dog ran"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """One of each family."""
    root = tmp_path_factory.mktemp("models")
    return {kind: save(root / kind, kind) for kind in ("bert", "roberta", "gpt2")}


def opened(folder):
    """The model without a pooler, and its tokenizer."""
    model = AutoModel.from_pretrained(folder).eval()
    model.pooler = None
    return model, AutoTokenizer.from_pretrained(folder)


def ids_of(words, sentences):
    """Token lists."""
    return words(sentences)["input_ids"]


def gradients(model):
    """Of every weight, by name."""
    found = {n: p.grad.clone() for n, p in model.named_parameters() if p.grad is not None}
    model.zero_grad()
    return found


def weighted(states):
    """A number that depends on every state in another way."""
    generator = torch.Generator().manual_seed(1)
    return (states * torch.randn(states.shape, generator=generator)).sum() / len(states)


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("sentences", [SENTENCES, EVEN, SENTENCES[:1]])
@pytest.mark.parametrize("recompute", [False, True])
def test_states_and_gradients_are_those_of_transformers(folders, kind, sentences, recompute):
    """Of every layer, and of every weight; for sentences of one length and of several."""
    model, words = opened(folders[kind])
    assert can_pack(model)
    inputs = words(sentences, padding=True, return_tensors="pt")
    expected = model(**inputs, output_hidden_states=True).hidden_states
    tokens = inputs["attention_mask"].bool()
    weighted(expected[-1][tokens]).backward()
    of_transformers = gradients(model)

    layout = Layout.of(ids_of(words, sentences), torch.device("cpu"))
    states = packed_states(model, layout, every=True, recompute=recompute)
    assert len(states) == len(expected) == 4
    for own, other in zip(states, expected, strict=True):
        torch.testing.assert_close(own, other[tokens], atol=1e-5, rtol=1e-5)
    weighted(states[-1]).backward()
    own_gradients = gradients(model)
    assert own_gradients.keys() == of_transformers.keys()
    for name, other in of_transformers.items():
        torch.testing.assert_close(own_gradients[name], other, atol=1e-5, rtol=1e-5, msg=name)


@pytest.mark.parametrize("sentences", [SENTENCES, EVEN, SENTENCES[:1]])
def test_first_tokens_alone_are_the_same(folders, sentences):
    """With the gradients of every weight: the last layer's work on the others is not needed."""
    model, words = opened(folders["bert"])
    inputs = words(sentences, padding=True, return_tensors="pt")
    expected = model(**inputs).last_hidden_state[:, 0]
    weighted(expected).backward()
    of_transformers = gradients(model)
    layout = Layout.of(ids_of(words, sentences), torch.device("cpu"))
    for recompute in (False, True):
        (own,) = packed_states(model, layout, recompute=recompute, first_only=True)
        torch.testing.assert_close(own, expected, atol=1e-5, rtol=1e-5)
        weighted(own).backward()
        own_gradients = gradients(model)
        for name, other in of_transformers.items():
            torch.testing.assert_close(own_gradients[name], other, atol=1e-5, rtol=1e-5, msg=name)


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
def test_any_other_model_goes_padded(folders, kind):
    """Sentence for sentence what the model gives for it alone."""
    model, words = opened(folders[kind])
    assert can_pack(model) == (kind != "gpt2")
    ids = ids_of(words, SENTENCES)
    layout = Layout.of(ids, torch.device("cpu"))
    (states,) = padded_states(model, layout, pad=0)
    alone = [model(input_ids=torch.tensor([row])).last_hidden_state[0] for row in ids]
    torch.testing.assert_close(states, torch.cat(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sentences", [SENTENCES, EVEN])
@pytest.mark.parametrize("pooling", ["cls_token", "avg", "avg_first_last", "avg_top2", "max"])
def test_pooling_is_that_of_the_encoders(folders, sentences, pooling):
    """`cls_token` is the first token before the pooler."""
    model, words = opened(folders["bert"])
    inputs = words(sentences, padding=True, return_tensors="pt")
    with torch.no_grad():
        hidden = model(**inputs, output_hidden_states=True).hidden_states
        layout = Layout.of(ids_of(words, sentences), torch.device("cpu"))
        own = pooled(packed_states(model, layout, every=True), layout, pooling)
    expected = pool(States(hidden, None, inputs["attention_mask"]), pooling)
    torch.testing.assert_close(own, expected, atol=1e-5, rtol=1e-5)


def test_dropout_is_drawn_where_transformers_draws_it(folders):
    """In training mode only: embeddings, attention, and the end of both halves of a layer."""
    model, words = opened(folders["bert"])
    layout = Layout.of(ids_of(words, SENTENCES), torch.device("cpu"))
    (plain,) = packed_states(model, layout)
    for place in (
        "embeddings.dropout",
        "encoder.layer.1.attention.self.dropout",
        "encoder.layer.1.attention.output.dropout",
        "encoder.layer.1.output.dropout",
    ):
        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        model.get_submodule(place).p = 0.5
        model.train()
        torch.manual_seed(0)
        (first,), (second,) = packed_states(model, layout), packed_states(model, layout)
        assert not torch.allclose(first, plain) and not torch.allclose(first, second), place
        torch.manual_seed(0)
        (again,) = packed_states(model, layout, recompute=True)
        torch.testing.assert_close(again, first)
        model.eval()
        torch.testing.assert_close(packed_states(model, layout)[0], plain)


def test_activations_computed_again_have_the_same_dropout(folders):
    """So that the gradients are those of the pass that made the loss."""
    model, words = opened(folders["bert"])
    model.train()
    layout = Layout.of(ids_of(words, SENTENCES), torch.device("cpu"))
    found = []
    for recompute in (False, True):
        torch.manual_seed(3)
        weighted(packed_states(model, layout, recompute=recompute)[-1]).backward()
        found.append(gradients(model))
    for name, gradient in found[0].items():
        torch.testing.assert_close(found[1][name], gradient, msg=name)


def test_rows_and_padded_views_are_each_others_inverse():
    """With the tokens of each sentence where they belong."""
    layout = Layout.of([[5, 6, 7], [8]], torch.device("cpu"))
    row = torch.arange(8.0).view(4, 2)
    view = layout.pad(row, -1)
    assert view[1].tolist() == [[6, 7], [-1, -1], [-1, -1]]
    np.testing.assert_array_equal(layout.unpad(view), row)
    assert layout.ids.tolist() == [5, 6, 7, 8] and layout.positions.tolist() == [0, 1, 2, 0]
