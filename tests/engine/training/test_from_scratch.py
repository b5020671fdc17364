"""A model from nothing: its words come from the sentences, whatever their language."""

import hashlib

import pytest
import torch

from tests.errors import refused
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.from_scratch import SentenceIterator, learn_tokenizer, shape_of
from theodolite.engine.training.model import open_model

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
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    assert words.convert_ids_to_tokens([0, 1, 2, 3, 4]) == special
    assert words.tokenize("The LIGHTHOUSE lamp") == ["the", "lighthouse", "lamp"]
    assert words("lamp")["input_ids"] == [2, vocabulary["lamp"], 3]
    assert words.model_max_length == 40
    for sentence in TEXT:  # each comes back whole, accents and all
        pieces = "".join(words.tokenize(sentence)).replace("##", "")
        assert pieces == "".join(sentence.lower().split())
    assert words.tokenize("ǂ") == ["[UNK]"]


def test_the_rarest_letters_are_left_out_of_a_small_vocabulary():
    """So that a large script does not fill it."""
    words = learn_tokenizer(TEXT, 100, 40)
    assert len(words) <= 100
    assert "[UNK]" in words.tokenize(TEXT[3]) and "[UNK]" not in words.tokenize("the keeper lit")


def test_the_same_sentences_and_seed_give_the_same_model():
    """The trainer alone numbers letters in another order each time, also in one process."""
    assert digest(3) == digest(3) != digest(4)


def digest(seed):
    """Of words and weights."""
    spec = TrainSpec("mlm", "new:layers=1,hidden=16,heads=2,vocab=150", "x", "y", seed=seed)
    model = open_model(spec, [(text, text[:9]) for text in TEXT])
    state = hashlib.blake2b(repr(sorted(model.tokenizer.get_vocab().items())).encode())
    for name, weight in sorted(model.state_dict().items()):
        state.update(name.encode() + weight.numpy().tobytes())
    return state.hexdigest()


def test_every_column_is_read():
    """A word that stands only in the second is known."""
    assert list(SentenceIterator([("one", "two"), ("three",)])) == ["one", "two", "three"]


def test_the_shape_is_as_asked():
    """What is not given is a default."""
    assert shape_of("new:layers=2,vocab=900") == {
        "layers": 2,
        "hidden": 256,
        "heads": 4,
        "vocab": 900,
        "positions": 512,
    }
    spec = TrainSpec(
        "mlm", "new:layers=2,hidden=16,heads=2,vocab=120,positions=50", "x", "y", dropout=0.2
    )
    model = open_model(spec, [(text,) for text in TEXT])
    config = model.encoder().config
    assert (config.num_hidden_layers, config.hidden_size, config.intermediate_size) == (2, 16, 64)
    assert config.vocab_size == len(model.tokenizer) == 120
    assert {m.p for m in model.modules() if isinstance(m, torch.nn.Dropout)} == {0.2}
    assert model.base.limit == 50


@pytest.mark.parametrize("sentences", [[], ["", "  \n"]])
def test_without_a_letter_there_is_nothing_to_learn(sentences):
    with refused("too-few"):
        learn_tokenizer(sentences, 100, 40)
