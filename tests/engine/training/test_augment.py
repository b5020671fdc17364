"""Changes to the second copy of a sentence."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine.training.compared import draws
from tests.fakes.training import SPECIAL, TinyModel
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.objectives import objective_of
from theodolite.engine.training.objectives.augment import (
    ChangedWords,
    ReplacedTokens,
    _drawn,
    crop,
    delete,
    delete_one,
)
from theodolite.engine.training.precision import widest

WORDS = [str(place) for place in range(20)]


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3])
def test_a_crop_is_a_run_that_keeps_the_rest_of_the_length(rate: float) -> None:
    """Table 1: "keep 100 - k % of the length"; every place is cut out at times."""
    starts = set()
    for seed in range(200):
        kept = crop(WORDS, rate, draws(seed))
        assert len(kept) == round(20 * (1 - rate))
        start = int(kept[0])
        assert kept == WORDS[start : start + len(kept)]
        starts.add(start)
    assert starts == set(range(round(20 * rate) + 1))


@pytest.mark.parametrize("rate", [0.1, 0.2, 0.3])
def test_deletion_takes_words_from_anywhere_and_keeps_the_order(rate: float) -> None:
    """Table 1: "delete k % words"."""
    gone: set[str] = set()
    for seed in range(200):
        kept = delete(WORDS, rate, draws(seed))
        assert len(kept) == round(20 * (1 - rate))
        assert kept == sorted(kept, key=int)
        gone |= set(WORDS) - set(kept)
    assert gone == set(WORDS)


def test_delete_one_takes_each_word_as_often() -> None:
    """Table 1: "delete one word", whatever the rate."""
    rng, gone = draws(), []
    for _ in range(4000):
        kept = delete_one(WORDS[:4], 0.9, rng)
        assert len(kept) == 3
        gone += set(WORDS[:4]) - set(kept)
    counts = [gone.count(word) for word in WORDS[:4]]
    assert counts == pytest.approx([1000] * 4, abs=100)


@pytest.mark.parametrize("change", [crop, delete])
def test_a_share_that_is_no_whole_number_is_met_on_average(change) -> None:
    """10 % of 7 words: 0.7 of a word."""
    rng = draws()
    gone = [7 - len(change(WORDS[:7], 0.1, rng)) for _ in range(5000)]
    assert set(gone) == {0, 1}
    assert np.mean(gone) == pytest.approx(0.7, abs=0.03)


@pytest.mark.parametrize("change", ["crop", "delete", "delete-one"])
@pytest.mark.parametrize("sentence", ["", "   ", "cat", "a cat", "猫がマットの上に座る"])
def test_something_of_a_sentence_always_stays(change: str, sentence: str) -> None:
    """Also of none, of one word, and of a script without spaces."""
    changed = ChangedWords(change, 0.99)._changed(sentence, draws())
    assert changed == sentence if len(sentence.split()) < 2 else len(changed.split()) == 1


def test_changed_words_are_tokenised_and_special_tokens_are_there() -> None:
    """Words go before the tokeniser sees the sentence."""
    model = TinyModel()
    sentences = ["a red cat sleeps near the table"] * 5
    ids = model.ids(sentences)
    changed = ChangedWords("delete-one", 0.0)(sentences, ids, model, draws())
    assert [len(row) for row in changed] == [len(ids[0]) - 1] * 5
    assert all((row[0], row[-1]) == (2, 3) for row in changed)


def sentences(n: int = 200) -> list[str]:
    """N sentences of ten known words each."""
    words = "a red cat sleeps near the table while rain falls".split()
    rng = draws(9)
    return [" ".join(rng.permutation(words)) for _ in range(n)]


def test_replaced_tokens_are_a_share_and_never_special() -> None:
    """Neither are special tokens replaced, nor is one drawn."""
    model = TinyModel()
    replaced = ReplacedTokens(0.15)
    replaced.begin(model)
    texts = sentences()
    ids = model.ids(texts)
    before = np.array(ids)
    after = np.array(replaced(texts, ids, model, draws()))
    assert (after[:, [0, -1]] == before[:, [0, -1]]).all()
    assert not np.isin(after[:, 1:-1], range(len(SPECIAL))).any()
    # The head has random weights: it hardly ever draws the same word again (31 to choose from).
    assert 0.09 < (after != before)[:, 1:-1].mean() < 0.16


def test_replacements_are_drawn_with_the_chances_of_the_base() -> None:
    """One masked token, many draws: their shares are the softmax of the head's scores."""
    model = TinyModel()
    replaced = ReplacedTokens(0.999999)
    replaced.begin(model)
    row = model.ids(["cat"])[0]
    masked = [row[0], model.tokenizer.mask_token_id, row[2]]
    with torch.no_grad():
        scores = model.bert(torch.tensor([masked])).logits[0, 1]
    scores[model.tokenizer.all_special_ids] = -torch.inf
    expected = scores.softmax(0).numpy()
    drawn = np.array(replaced([""] * 4000, [row] * 4000, model, draws()))[:, 1]
    found = np.bincount(drawn, minlength=len(expected)) / 4000
    assert found == pytest.approx(expected, abs=0.03)


def test_the_base_predicts_as_it_was_before_training_and_without_dropout() -> None:
    """Not with today's weights, and without touching torch's random state."""
    texts = sentences(20)
    model = TinyModel(dropout=0.5)
    ids = model.ids(texts)
    replaced = ReplacedTokens(0.3)
    replaced.begin(model)
    state = torch.get_rng_state()
    before = replaced(texts, ids, model, draws())
    assert torch.equal(torch.get_rng_state(), state)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    assert replaced(texts, ids, model, draws()) == before
    assert replaced(texts, ids, model, draws(1)) != before
    assert model.training


@pytest.mark.parametrize("name", ["crop", "delete", "delete-one", "mlm"])
def test_only_the_second_copy_is_changed(name: str) -> None:
    """The first is the sentence as it is."""
    model = TinyModel()
    spec = TrainSpec("unsup", "base", "t", "out", augmentation=name, augmentation_rate=0.3)
    objective = objective_of(spec)
    objective.begin(model)
    texts = sentences(10)
    first, second = objective.columns([(text,) for text in texts], model, draws())
    assert first.ids == model.ids(texts)
    changed = sum(mine != theirs for mine, theirs in zip(first.ids, second.ids, strict=True))
    # A token is replaced with 30 %: one sentence of ten may come through as it was.
    assert changed >= (8 if name == "mlm" else 10)


def test_tokens_are_drawn_in_the_precision_of_the_device() -> None:
    """Apple's GPUs have no float64: chances there are float32."""
    assert widest(torch.device("mps")) == torch.float32
    assert widest(torch.device("cuda")) == torch.float64
    chances = torch.tensor([[0.1, 0.9, 0.0], [0.0, 0.2, 0.8]])
    exact = _drawn(chances.double(), draws())
    assert _drawn(chances, draws()).tolist() == exact.tolist()
