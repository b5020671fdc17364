"""Objectives and micro-batches with the model that is trained, whose forward has no padding."""

from __future__ import annotations

import pytest
import torch

from tests.engine.training.compared import assert_same, draws, gradients
from tests.fakes.ranks import EXAMPLES
from tests.fakes.training import TinyModel, tiny_folder
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.gradients import backward
from theodolite.engine.training.model import TrainingModel, open_model
from theodolite.engine.training.objectives import Column, objective_of
from theodolite.engine.training.objectives.contrastive import in_batch_loss
from theodolite.engine.training.objectives.mlm import mask_tokens, mlm_loss

CASES = {
    "unsup": {"augmentation": "delete-one", "mlm_weight": 0.1, "mlm_probability": 0.4},
    "sup": {"pooling": "avg", "head": "none", "hard_negative_weight": 0.3},
    "next-sentence": {"dual": True},
    "mlm": {"mlm_probability": 0.4},
}


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny BERT on the disk."""
    return f"dir:{tiny_folder(tmp_path_factory.mktemp('base'))}"


def opened(
    base: str, kind: str, dtype: torch.dtype = torch.float64, **changes: object
) -> tuple[TrainSpec, TrainingModel]:
    """A spec and the model it opens, without dropout unless it is asked for."""
    spec = TrainSpec(kind, base, "t", "out", **({"dropout": 0.0} | changes))  # type: ignore[arg-type]
    return spec, open_model(spec, []).to(dtype)


@pytest.mark.parametrize("size", [1, 2, 4])
@pytest.mark.parametrize("kind", CASES)
def test_micro_batches_have_the_gradients_of_the_batch(base: str, kind: str, size: int) -> None:
    """float64, dropout 0."""
    (spec, whole), (_, cut) = (opened(base, kind, **CASES[kind]) for _ in range(2))
    objective = objective_of(spec)
    columns = objective.columns(EXAMPLES, whole, draws(3))
    at_once = backward(whole, objective, columns, None, draws())
    in_parts = backward(cut, objective, columns, size, draws())
    assert float(in_parts) == pytest.approx(float(at_once), abs=1e-10)
    assert_same(gradients(cut), gradients(whole))


def test_with_dropout_both_passes_of_a_micro_batch_have_the_same_masks(base: str) -> None:
    """Against one graph over the same micro-batches, drawn from the same random state."""
    (spec, cached), (_, graph) = (opened(base, "unsup", dropout=0.3) for _ in range(2))
    objective = objective_of(spec)
    columns = objective.columns(EXAMPLES, cached, draws())
    torch.manual_seed(11)
    found = backward(cached, objective, columns, 2, draws())

    torch.manual_seed(11)
    parts = []
    for start in (0, 2, 4):
        rows = [column.ids[start : start + 2] for column in columns]
        parts.append(graph.vectors(rows[0] + rows[1]).split(len(rows[0])))
    expected = objective.loss([torch.cat(column) for column in zip(*parts, strict=True)])
    expected.backward()
    assert float(found) == pytest.approx(float(expected.detach()), abs=1e-12)
    assert_same(gradients(cached), gradients(graph))


def test_one_pass_with_a_fixed_mask_is_two_with_the_same_random_state(base: str) -> None:
    """Also without padding: batch and places of the tokens are the same."""
    (spec, once), (_, twice) = (opened(base, "unsup", dropout=0.1) for _ in range(2))
    ids = once.ids([example[0] for example in EXAMPLES])
    objective = objective_of(TrainSpec("unsup", base, "t", "out", fixed_mask=True))
    torch.manual_seed(5)
    loss = backward(once, objective, [Column(ids)], None, draws())
    passes = []
    for _ in range(2):
        torch.manual_seed(5)
        passes.append(twice.vectors(ids))
    expected = in_batch_loss(passes[0], passes[1], temperature=spec.temperature)
    expected.backward()
    assert torch.equal(passes[0], passes[1])
    assert float(loss) == pytest.approx(float(expected.detach()), abs=1e-12)
    assert_same(gradients(once), gradients(twice))


@pytest.mark.parametrize(("dtype", "within"), [(torch.float64, 1e-6), (torch.float32, 1e-5)])
def test_the_mlm_loss_is_that_of_transformers(base: str, dtype: torch.dtype, within: float) -> None:
    """`BertForMaskedLM` of the same weights on the padded batch."""
    _, model = opened(base, "mlm", dtype)
    theirs = TinyModel(dtype=torch.float32).to(dtype)
    masked = mask_tokens([Column(model.ids([e[0] for e in EXAMPLES]))], model, draws(), 0.4)
    width = max(len(row) for row in masked.ids)
    padded = torch.tensor([row + [0] * (width - len(row)) for row in masked.ids])
    labels = torch.tensor([row + [-100] * (width - len(row)) for row in masked.labels])
    with torch.no_grad():
        mask = (padded != 0).long()
        expected = theirs.bert(padded, attention_mask=mask, labels=labels).loss
        found = mlm_loss(model, masked) / masked.chosen
    assert masked.chosen > 5
    assert float(found) == pytest.approx(float(expected), abs=within)


def test_the_base_replaces_tokens_as_it_was_before_training(base: str) -> None:
    """The copy is the model's own, and stays when the model changes."""
    spec, model = opened(base, "unsup", augmentation="mlm", augmentation_rate=0.4, dropout=0.5)
    objective = objective_of(spec)
    objective.begin(model)
    first, before = objective.columns(EXAMPLES, model, draws())
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
    _, after = objective.columns(EXAMPLES, model, draws())
    assert after.ids == before.ids
    assert before.ids != first.ids
    assert [len(row) for row in before.ids] == [len(row) for row in first.ids]
