"""Opening what is trained: its tokens, vectors, heads, dropout and predictions."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from tests.engine.encoders.models import SENTENCES, close, edit_config, save
from tests.errors import refused
from theodolite.engine.encoders import load
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.from_scratch import learn_tokenizer, shape_of
from theodolite.engine.training.model import open_model
from theodolite.engine.training.packed import Layout, packed_states


def opened(folder, objective="unsup", **changes):
    """The model of a spec with a folder as base."""
    changes = {"max_length": 20, "head": "none"} | changes
    return open_model(TrainSpec(objective, f"dir:{folder}", "x", "y", **changes), [])


@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2", "minilm"])
@pytest.mark.parametrize("pooling", ["cls_token", "avg", "avg_first_last", "avg_top2", "max"])
def test_an_untrained_model_gives_the_vectors_of_its_encoder(folders, kind, pooling):
    """`cls_token` is the first token's state, before any pooler; a packaged encoder is one, too."""
    base = f"dir:{folders[kind]}" if kind in folders else kind
    spec = TrainSpec("unsup", base, "x", "y", max_length=20, head="none", pooling=pooling)
    model = open_model(spec, [])
    encoder = load(f"{base}?pooling={pooling}", device="cpu")
    close(model.encode(SENTENCES), encoder.encode(SENTENCES))
    assert model.training and model.packed == (kind != "gpt2") and model.dim == encoder.dim


def test_tokens_are_those_of_transformers_cut_to_the_length(folders):
    """Special tokens included; encoding cuts at the model's own limit."""
    folder, texts = folders["bert"], [*SENTENCES, ""]
    model, words = opened(folder, max_length=6), AutoTokenizer.from_pretrained(folder)
    whole = load(f"dir:{folder}?pooling=cls_token", device="cpu").encode(SENTENCES)
    for _ in range(2):  # the limits do not mix
        assert model.ids(texts) == words(texts, truncation=True, max_length=6)["input_ids"]
        close(model.encode(SENTENCES), whole)


@pytest.mark.parametrize(
    ("head", "in_loss", "in_outcome"),
    [("none", False, False), ("mlp", True, True), ("mlp-train-only", True, False)],
)
def test_a_head_is_a_dense_layer_with_tanh(folders, head, in_loss, in_outcome):
    """SimCSE's MLPLayer; fresh, so that a base's own pooler has no part in it (table 4)."""
    model, plain = (opened(folders["bert"], head=kind).eval() for kind in (head, "none"))
    ids = model.ids(SENTENCES)
    changed = states = plain.vectors(ids)
    if head != "none":
        dense = model.heads[0].dense
        assert dense.weight.std().item() == pytest.approx(0.02, rel=0.1)
        assert not dense.bias.any()
        changed = torch.tanh(states @ dense.weight.T + dense.bias)
    torch.testing.assert_close(model.vectors(ids), changed if in_loss else states)
    kept = changed if in_outcome else states
    torch.testing.assert_close(model.vectors(ids, head=False), kept)
    np.testing.assert_allclose(model.encode(SENTENCES), kept.detach().numpy(), atol=1e-6)
    assert not any("pooler" in name for name, _ in model.named_parameters())


def test_the_seed_decides_what_is_fresh_and_nothing_else(folders):
    """And opening leaves torch's own random numbers alone."""
    state = torch.get_rng_state()
    first, again, other = (
        opened(folders["bert"], head="mlp", seed=seed).state_dict() for seed in (0, 0, 1)
    )
    assert torch.equal(torch.get_rng_state(), state)
    torch.testing.assert_close(again, first, rtol=0, atol=0)
    changed = {name for name, weight in first.items() if not torch.equal(weight, other[name])}
    assert changed == {"heads.0.dense.weight"}


@pytest.mark.parametrize(("setting", "dropout"), [(None, 0.1), (0.0, 0.0), (0.3, 0.3)])
@pytest.mark.parametrize("kind", ["bert", "roberta", "gpt2"])
def test_dropout_is_set_for_the_whole_model(folders, kind, setting, dropout):
    """None leaves the base's; 0 makes two passes the same."""
    model = opened(folders[kind], dropout=setting)
    assert {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)} == {dropout}
    first, second = (model.vectors(model.ids(SENTENCES)) for _ in range(2))
    assert torch.equal(first, second) == (dropout == 0)


def test_two_encoders_start_alike_and_go_their_own_ways(folders):
    """Each with a head of its own."""
    model = opened(folders["bert"], dual=True, head="mlp", dropout=0.0)
    ids = model.ids(SENTENCES)
    model.heads[1].load_state_dict(model.heads[0].state_dict())
    second = model.vectors(ids, side=1)
    torch.testing.assert_close(model.vectors(ids), second)
    second.sum().backward()
    moved = {n.split(".")[1] for n, p in model.named_parameters() if p.grad is not None}
    assert (moved, len(model.heads)) == ({"1"}, 2)


def test_a_head_that_the_checkpoint_lacks_is_fresh_and_tied(folders):
    """The output weights are the word embeddings, as in BERT."""
    model = opened(folders["bert"], mlm_weight=0.1)
    table = model.encoder().get_input_embeddings().weight
    assert model.encoders[0].cls.predictions.decoder.weight.data_ptr() == table.data_ptr()
    stored = AutoModel.from_pretrained(folders["bert"]).get_input_embeddings().weight
    assert torch.equal(table, stored)
    model.mlm_logits(model.token_states(model.ids(SENTENCES))[0]).sum().backward()
    assert table.grad.abs().sum() > 0


@pytest.mark.parametrize(
    ("base", "changes", "code", "named"),
    [
        ("wordllama", {}, "wrong-kind", "wordllama"),
        ("dir:{bert}", {"max_length": 25}, "too-large", "24 tokens"),
        ("dir:{gpt2}", {"mlm_weight": 0.1}, "damaged", "gpt2"),
        ("dir:{nothing}", {}, "no-file", "nothing"),
        ("dir:{more}", {}, "damaged", "16 tensors"),  # the missing ones would be random
        ("new:layers=0", {}, "invalid", "layers from 1 to 48"),
        ("new:size=3", {}, "invalid", "size=3"),
        ("new:hidden=10,heads=3", {}, "mismatch", "3 heads"),
    ],
)
def test_what_cannot_be_trained_is_said(folders, tmp_path, base, changes, code, named):
    more = edit_config(save(tmp_path / "more"), num_hidden_layers=4)
    path = base.format(**folders, nothing=tmp_path / "nothing", more=more)
    spec = TrainSpec("unsup", path, "x", "y", **changes)
    with refused(code, named):
        open_model(spec, [("a cat",)])


# --- without padding ---


def packed(folder, sentences):
    """The model without a pooler, its padded inputs of sentences, and their layout."""
    model = AutoModel.from_pretrained(folder).eval()
    model.pooler = None
    words = AutoTokenizer.from_pretrained(folder)
    layout = Layout.of(words(sentences)["input_ids"], torch.device("cpu"))
    return model, words(sentences, padding=True, return_tensors="pt"), layout


def gradients(model, states):
    """Of every weight, by name, for a loss that depends on every state in another way."""
    model.zero_grad()
    weights = torch.randn(states.shape, generator=torch.Generator().manual_seed(1))
    ((states * weights).sum() / len(states)).backward()
    return {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}


@pytest.mark.parametrize("kind", ["bert", "roberta"])
@pytest.mark.parametrize("sentences", [SENTENCES, ["a cat sat", "the dog ran"], SENTENCES[:1]])
@pytest.mark.parametrize("recompute", [False, True])
def test_states_and_gradients_are_those_of_transformers(folders, kind, sentences, recompute):
    """Of every layer, and of every weight; for sentences of one length and of several.

    So are those of the first tokens alone: the last layer's work on the others is not needed.
    """
    model, inputs, layout = packed(folders[kind], sentences)
    expected = model(**inputs, output_hidden_states=True).hidden_states
    tokens = inputs["attention_mask"].bool()
    states = packed_states(model, layout, every=True, recompute=recompute)
    close = partial(torch.testing.assert_close, atol=1e-5, rtol=1e-5)
    close(list(states), [layer[tokens] for layer in expected])
    close(gradients(model, states[-1]), gradients(model, expected[-1][tokens]))
    (first,) = packed_states(model, layout, recompute=recompute, first_only=True)
    last = model(**inputs).last_hidden_state[:, 0]
    close(first, last)
    close(gradients(model, first), gradients(model, last))


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
    model, _, layout = packed(folders["bert"], SENTENCES)
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


# --- from nothing ---


TEXT = [
    "The lighthouse keeper lit the lighthouse lamp every evening.",
    "Keepers of lighthouses keep lamps lit; the keeper's lamp was lit.",
    "Der Leuchtturmwärter zündete jeden Abend die Lampe an, Straße um Straße.",
    "灯台守は毎晩ランプに火をともした。灯台の灯。",
    "Смотритель маяка каждый вечер зажигал лампу маяка.",
] * 3


def test_a_vocabulary_is_learned_from_the_sentences():
    """BERT's special tokens first; a word seen often is one piece; no language is foreign."""
    words = learn_tokenizer(TEXT, 300, 40)
    vocabulary = words.get_vocab()
    assert sorted(vocabulary.values()) == list(range(len(words))) and len(words) <= 300
    assert words.convert_ids_to_tokens(range(5)) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    for text, pieces in (("The LIGHTHOUSE lamp", ["the", "lighthouse", "lamp"]), ("ǂ", ["[UNK]"])):
        assert words.tokenize(text) == pieces
    assert (words("lamp")["input_ids"], words.model_max_length) == ([2, vocabulary["lamp"], 3], 40)
    for sentence in TEXT:  # each comes back whole, accents and all
        pieces = "".join(words.tokenize(sentence)).replace("##", "")
        assert pieces == "".join(sentence.lower().split())

    # The rarest letters are left out of a small one, so that a large script does not fill it.
    words = learn_tokenizer(TEXT, 100, 40)
    assert len(words) <= 100
    assert "[UNK]" in words.tokenize(TEXT[3]) and "[UNK]" not in words.tokenize("the keeper lit")


def test_the_same_sentences_and_seed_give_the_same_model():
    """The trainer alone numbers letters in another order each time, also in one process."""
    spec = TrainSpec("mlm", "new:layers=1,hidden=16,heads=2,vocab=150", "x", "y", seed=3)
    first, again, other = (
        open_model(one, [(text, text[:9]) for text in TEXT])
        for one in (spec, spec, replace(spec, seed=4))
    )
    assert first.tokenizer.get_vocab() == again.tokenizer.get_vocab()
    torch.testing.assert_close(again.state_dict(), first.state_dict(), rtol=0, atol=0)
    table = "encoders.0.bert.embeddings.word_embeddings.weight"
    assert not torch.equal(first.state_dict()[table], other.state_dict()[table])


def test_the_shape_is_as_asked():
    """What is not given is a default."""
    usual = {"layers": 2, "hidden": 256, "heads": 4, "vocab": 900, "positions": 512}
    assert shape_of("new:layers=2,vocab=900") == usual
    base = "new:layers=2,hidden=16,heads=2,vocab=120,positions=50"
    model = open_model(TrainSpec("mlm", base, "x", "y", dropout=0.2), [(text,) for text in TEXT])
    wanted = {"num_hidden_layers": 2, "hidden_size": 16, "intermediate_size": 64, "vocab_size": 120}
    assert wanted.items() <= model.encoder().config.to_dict().items()
    assert (len(model.tokenizer), model.limit) == (120, 50)
    assert {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)} == {0.2}


@pytest.mark.parametrize("sentences", [[], ["", "  \n"]])
def test_without_a_letter_there_is_nothing_to_learn(sentences):
    with refused("too-few"):
        learn_tokenizer(sentences, 100, 40)
