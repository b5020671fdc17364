"""Masked language modelling: what is hidden, and the loss of finding it."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.engine.training.compared import draws
from tests.fakes.training import TinyModel
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.gradients import backward
from theodolite.engine.training.objectives import Column, objective_of
from theodolite.engine.training.objectives.mlm import IGNORED, Masked, mask, mask_tokens, mlm_loss

SENTENCES = [
    "a man sits on the mat",
    "nobody sings",
    "the small red cat sleeps near the table while rain falls",
    "then they leave quietly",
]


def many(n: int = 2000) -> tuple[np.ndarray, Masked]:
    """N sentences of 30 tokens between 2 and 3, and what `mask` makes of them."""
    ids = [[2, *row, 3] for row in draws(1).integers(5, 1000, size=(n, 30)).tolist()]
    masked = mask(
        ids, draws(), probability=0.15, mask_id=4, special={0, 1, 2, 3, 4}, vocabulary=1000
    )
    return np.array(ids), masked


def test_fifteen_percent_are_chosen_of_which_80_10_10() -> None:
    """Devlin et al. 2019, section 3.1."""
    before, masked = many()
    seen, labels = np.array(masked.ids), np.array(masked.labels)
    chosen = labels != IGNORED
    assert chosen[:, 1:-1].mean() == pytest.approx(0.15, abs=0.005)
    assert (seen[chosen] == 4).mean() == pytest.approx(0.8, abs=0.01)
    other = chosen & (seen != 4) & (seen != before)
    assert other.sum() / chosen.sum() == pytest.approx(0.1, abs=0.01)
    assert (chosen & (seen == before)).sum() / chosen.sum() == pytest.approx(0.1, abs=0.01)
    # Random tokens are spread over the whole vocabulary.
    assert seen[other].mean() == pytest.approx(500, abs=40)


def test_labels_are_what_was_there_and_the_rest_is_untouched() -> None:
    """A label for each chosen token, and none elsewhere."""
    before, masked = many(200)
    seen, labels = np.array(masked.ids), np.array(masked.labels)
    chosen = labels != IGNORED
    assert (labels[chosen] == before[chosen]).all()
    assert (seen[~chosen] == before[~chosen]).all()
    assert masked.chosen == chosen.sum()


def test_special_tokens_are_never_chosen() -> None:
    """Wherever they stand in the sentence."""
    rng = draws()
    for _ in range(50):
        masked = mask(
            [[2, 1, 7, 0, 3]],
            rng,
            probability=0.9,
            mask_id=4,
            special={0, 1, 2, 3, 4},
            vocabulary=9,
        )
        assert [masked.labels[0][place] for place in (0, 1, 3, 4)] == [IGNORED] * 4
        assert [masked.ids[0][place] for place in (0, 1, 3, 4)] == [2, 1, 0, 3]


def prepared(dtype: torch.dtype = torch.float64) -> tuple[TinyModel, Masked]:
    """A model, and four sentences with tokens hidden."""
    model = TinyModel(dtype=dtype)
    return model, mask_tokens([Column(model.ids(SENTENCES))], model, draws(), 0.4)


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
def test_the_loss_is_that_of_transformers(dtype: torch.dtype, within: float) -> None:
    """`BertForMaskedLM` on the padded batch, whose loss is a mean over the chosen tokens."""
    model, masked = prepared(dtype)
    width = max(len(row) for row in masked.ids)
    padded = torch.tensor([row + [0] * (width - len(row)) for row in masked.ids])
    labels = torch.tensor([row + [IGNORED] * (width - len(row)) for row in masked.labels])
    attended = torch.tensor([[1] * len(row) + [0] * (width - len(row)) for row in masked.ids])
    with torch.no_grad():
        expected = model.bert(padded, attention_mask=attended, labels=labels).loss
        found = mlm_loss(model, masked) / masked.chosen
    assert masked.chosen > 5
    assert float(found) == pytest.approx(float(expected), abs=within)


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
def test_the_loss_is_that_of_numpy(dtype: torch.dtype, within: float) -> None:
    """Minus the logarithm of the softmax, at the chosen tokens."""
    model, masked = prepared(dtype)
    with torch.no_grad():
        found = float(mlm_loss(model, masked))
        states, _ = model.token_states(masked.ids)
        scores = model.mlm_logits(states).double().numpy()
    labels = np.concatenate(masked.labels)
    expected = 0.0
    for row, label in zip(scores, labels, strict=True):
        if label != IGNORED:
            expected += np.log(np.exp(row).sum()) - row[label]
    assert found == pytest.approx(expected, rel=within)


def test_scores_are_computed_for_the_chosen_tokens_alone(monkeypatch) -> None:
    """Elsewhere a row as long as the vocabulary would be made for nothing."""
    model, masked = prepared()
    rows = []
    whole = model.mlm_logits
    monkeypatch.setattr(
        model, "mlm_logits", lambda states: rows.append(len(states)) or whole(states)
    )
    mlm_loss(model, masked)
    assert rows == [masked.chosen]


def test_nothing_chosen_is_no_loss_and_no_nan() -> None:
    """A mean over no tokens."""
    model = TinyModel()
    objective = objective_of(TrainSpec("mlm", "base", "t", "out", mlm_probability=1e-9))
    columns = objective.columns([(text,) for text in SENTENCES], model, draws())
    assert float(backward(model, objective, columns, 2, draws())) == 0.0
    assert all(
        bool((parameter.grad == 0).all())
        for parameter in model.parameters()
        if parameter.grad is not None
    )


@pytest.mark.parametrize("size", [None, 1, 3])
def test_plain_mlm_is_the_mean_over_the_batch_in_any_micro_batches(size: int | None) -> None:
    """Not a mean of means: micro-batches have different numbers of chosen tokens."""
    model = TinyModel()
    objective = objective_of(TrainSpec("mlm", "base", "t", "out", mlm_probability=0.4))
    columns = objective.columns([(text,) for text in SENTENCES], model, draws())
    masked = mask_tokens(columns, model, draws(2), 0.4)
    expected = mlm_loss(model, masked) / masked.chosen
    expected.backward()
    gradients = [p.grad for p in model.parameters()]

    other = TinyModel()
    found = backward(other, objective, columns, size, draws(2))
    assert float(found) == pytest.approx(float(expected.detach()), abs=1e-12)
    for parameter, gradient in zip(other.parameters(), gradients, strict=True):
        assert (parameter.grad is None) == (gradient is None)
        if gradient is not None:
            torch.testing.assert_close(parameter.grad, gradient, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("size", [None, 1, 3])
def test_the_auxiliary_loss_is_added_with_its_weight(size: int | None) -> None:
    """Table D.1: contrastive loss + lambda MLM loss, the latter over both copies."""
    model = TinyModel()
    objective = objective_of(
        TrainSpec("unsup", "base", "t", "out", mlm_weight=0.1, mlm_probability=0.4)
    )
    columns = objective.columns([(text,) for text in SENTENCES], model, draws())
    masked = mask_tokens(columns, model, draws(2), 0.4)
    assert len(masked.ids) == 2 * len(SENTENCES)
    vectors = [model.vectors(column.ids) for column in columns]
    expected = objective.loss(vectors) + 0.1 * mlm_loss(model, masked) / masked.chosen
    expected.backward()

    other = TinyModel()
    found = backward(other, objective, columns, size, draws(2))
    assert float(found) == pytest.approx(float(expected.detach()), abs=1e-12)
    for mine, theirs in zip(other.parameters(), model.parameters(), strict=True):
        if theirs.grad is not None:
            torch.testing.assert_close(mine.grad, theirs.grad, rtol=1e-9, atol=1e-12)


def test_a_second_encoder_has_no_part_in_mlm() -> None:
    """Only the sentences of the first one are hidden from it."""
    model = TinyModel(dual=True)
    objective = objective_of(TrainSpec("unsup", "base", "t", "out", dual=True, mlm_weight=0.1))
    columns = objective.columns([(text,) for text in SENTENCES], model, draws())
    assert len(mask_tokens(columns, model, draws(), 0.15).ids) == len(SENTENCES)
