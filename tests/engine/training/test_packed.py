"""The forward pass without padding: the same numbers as transformers' own with padding."""

from functools import partial

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


def opened(folder, sentences):
    """The model without a pooler, its padded inputs of sentences, and their layout."""
    model = AutoModel.from_pretrained(folder).eval()
    model.pooler = None
    words = AutoTokenizer.from_pretrained(folder)
    layout = Layout.of(words(sentences)["input_ids"], torch.device("cpu"))
    return model, words(sentences, padding=True, return_tensors="pt"), layout


def gradients(model, states):
    """Of every weight, by name, for a loss that depends on every state in another way."""
    model.zero_grad()
    generator = torch.Generator().manual_seed(1)
    ((states * torch.randn(states.shape, generator=generator)).sum() / len(states)).backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("sentences", [SENTENCES, EVEN, SENTENCES[:1]])
@pytest.mark.parametrize("recompute", [False, True])
def test_states_and_gradients_are_those_of_transformers(folders, kind, sentences, recompute):
    """Of every layer, and of every weight; for sentences of one length and of several.

    So are those of the first tokens alone: the last layer's work on the others is not needed.
    """
    model, inputs, layout = opened(folders[kind], sentences)
    expected = model(**inputs, output_hidden_states=True).hidden_states
    tokens = inputs["attention_mask"].bool()
    states = packed_states(model, layout, every=True, recompute=recompute)
    close = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-5)
    close(list(states), [layer[tokens] for layer in expected])
    of_transformers = gradients(model, expected[-1][tokens])
    close(gradients(model, states[-1]), of_transformers)
    (first,) = packed_states(model, layout, recompute=recompute, first_only=True)
    last = model(**inputs).last_hidden_state[:, 0]
    close(first, last)
    close(gradients(model, first), gradients(model, last))


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
def test_any_other_model_goes_padded(folders, kind):
    """Sentence for sentence what the model gives for it alone."""
    model, inputs, layout = opened(folders[kind], SENTENCES)
    assert can_pack(model) == (kind != "gpt2")
    (states,) = padded_states(model, layout, pad=0)
    alone = [
        model(input_ids=row[mask.bool()][None]).last_hidden_state[0]
        for row, mask in zip(inputs["input_ids"], inputs["attention_mask"], strict=True)
    ]
    torch.testing.assert_close(states, torch.cat(alone), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("sentences", [SENTENCES, EVEN])
@pytest.mark.parametrize("pooling", ["cls_token", "avg", "avg_first_last", "avg_top2", "max"])
def test_pooling_is_that_of_the_encoders(folders, sentences, pooling):
    """`cls_token` is the first token before the pooler."""
    model, inputs, layout = opened(folders["bert"], sentences)
    hidden = model(**inputs, output_hidden_states=True).hidden_states
    own = pooled(packed_states(model, layout, every=True), layout, pooling)
    expected = pool(States(hidden, None, inputs["attention_mask"]), pooling)
    torch.testing.assert_close(own, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "place",
    [
        "embeddings.dropout",
        "encoder.layer.1.attention.self.dropout",
        "encoder.layer.1.attention.output.dropout",
        "encoder.layer.1.output.dropout",
    ],
)
def test_dropout_is_drawn_where_transformers_draws_it(folders, place):
    """In training mode only: embeddings, attention, and the end of both halves of a layer.

    Activations that are computed again have the same dropout, and so do the gradients.
    """
    model, _, layout = opened(folders["bert"], SENTENCES)
    (plain,) = packed_states(model, layout)
    for module in model.modules():
        if isinstance(module, torch.nn.Dropout):
            module.p = 0.0
    model.get_submodule(place).p = 0.5
    model.train()
    torch.manual_seed(0)
    (first,), (second,) = packed_states(model, layout), packed_states(model, layout)
    assert not torch.allclose(first, plain) and not torch.allclose(first, second)
    torch.manual_seed(0)
    (again,) = packed_states(model, layout, recompute=True)
    torch.testing.assert_close(again, first)
    torch.testing.assert_close(gradients(model, again), gradients(model, first))
    torch.testing.assert_close(packed_states(model.eval(), layout)[0], plain)


def test_rows_and_padded_views_are_each_others_inverse():
    """With the tokens of each sentence where they belong."""
    layout = Layout.of([[5, 6, 7], [8]], torch.device("cpu"))
    row = torch.arange(8.0).view(4, 2)
    view = layout.pad(row, -1)
    assert view[1].tolist() == [[6, 7], [-1, -1], [-1, -1]]
    assert torch.equal(layout.unpad(view), row)
    assert layout.ids.tolist() == [5, 6, 7, 8] and layout.positions.tolist() == [0, 1, 2, 0]
