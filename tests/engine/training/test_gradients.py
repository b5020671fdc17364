"""Gradients of a batch in micro-batches: the same, in the memory of one."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.fakes.ranks import EXAMPLES
from tests.fakes.training import WORDS, TinyModel, tiny_folder
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.gradients import backward
from theodolite.engine.training.model import TrainingModel, open_model
from theodolite.engine.training.objectives import Column, Objective, objective_of
from theodolite.engine.training.objectives.contrastive import in_batch_loss
from theodolite.engine.training.objectives.mlm import mask_tokens, mlm_loss

OBJECTIVES = {
    "unsup": {},
    "unsup, cropped": {"augmentation": "crop", "augmentation_rate": 0.3},
    "unsup, fixed mask": {"fixed_mask": True},
    "unsup, dual": {"dual": True},
    "sup": {"hard_negative_weight": 0.5},
    "sup, dual": {"dual": True},
    "next-sentence": {},
}


def batch(name: str, model: TinyModel, n: int = 10) -> tuple[Objective, list[Column]]:
    """An objective, and its columns of n random examples."""
    kind, changes = name.split(",")[0], OBJECTIVES[name]
    objective = objective_of(TrainSpec(kind, "base", "t", "out", **changes))  # type: ignore[arg-type]
    rng = draws(4)
    wanted = {"unsup": 1, "sup": 3, "next-sentence": 2}[kind]
    examples = [
        tuple(" ".join(rng.choice(WORDS, size=rng.integers(2, 12))) for _ in range(wanted))
        for _ in range(n)
    ]
    return objective, objective.columns(examples, model, rng)


@pytest.mark.parametrize("size", [1, 3, 5, 9])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_micro_batches_have_the_gradients_of_the_batch(name: str, size: int) -> None:
    """float64, dropout 0, also where the last micro-batch is smaller."""
    whole, cut = (TinyModel(dual="dual" in name) for _ in range(2))
    objective, columns = batch(name, whole)
    at_once = backward(whole, objective, columns, None, draws())
    in_parts = backward(cut, objective, columns, size, draws())
    assert float(in_parts) == pytest.approx(float(at_once), abs=1e-10)
    assert_same(gradients(cut), gradients(whole))


def test_the_whole_batch_is_one_forward_with_autograds_gradients() -> None:
    """All columns of an encoder pass through it together."""
    model, plain = TinyModel(), TinyModel()
    objective, columns = batch("sup", model)
    loss = backward(model, objective, columns, None, draws())
    assert model.forwards == [30]
    expected = objective.loss([plain.vectors(column.ids) for column in columns])
    expected.backward()
    assert float(loss) == pytest.approx(float(expected.detach()), abs=1e-12)
    assert_same(gradients(model), gradients(plain))


class Held:
    """Counts the bytes that graphs hold for their backward pass, and the most ever held."""

    def __init__(self) -> None:
        self.now = 0
        self.most = 0

    def keep(self, tensor: torch.Tensor) -> Kept:
        """What autograd keeps in place of the tensor."""
        return Kept(self, tensor)


class Kept:
    """A tensor that says when it is let go."""

    def __init__(self, held: Held, tensor: torch.Tensor) -> None:
        self.held, self.tensor = held, tensor
        held.now += tensor.nbytes
        held.most = max(held.most, held.now)

    def __del__(self) -> None:
        self.held.now -= self.tensor.nbytes


def most_held(n: int, size: int | None) -> int:
    """Most bytes held at once for a batch of n like sentences."""
    model, held = TinyModel(dropout=0.1), Held()
    objective, _ = batch("unsup", model)
    row = model.ids(["a man sits on the mat"])[0]
    columns = [Column([row] * n), Column([row] * n)]
    with torch.autograd.graph.saved_tensors_hooks(held.keep, lambda kept: kept.tensor):
        backward(model, objective, columns, size, draws())
    return held.most


def test_activations_are_held_for_one_micro_batch_only() -> None:
    """Four times the batch in micro-batches of the same size holds hardly more."""
    weights = most_held(1, None)
    small, large = most_held(8, 4), most_held(32, 4)
    assert most_held(32, None) - weights > 6 * (small - weights)
    assert large - weights < 1.2 * (small - weights)


def test_gradients_are_added_to_those_that_are_there() -> None:
    """As torch does it: zeroing them is left to the loop."""
    once, twice = TinyModel(), TinyModel()
    objective, columns = batch("unsup", once)
    backward(once, objective, columns, 4, draws())
    for _ in range(2):
        backward(twice, objective, columns, 4, draws())
    assert_same(gradients(twice), {name: 2 * g for name, g in gradients(once).items()})


@pytest.mark.parametrize("size", [None, 4])
def test_the_loss_is_scaled_for_the_backward_pass_alone(size: int | None) -> None:
    """fp16 scales losses; the loss that is told is the true one."""
    plain, scaled = TinyModel(), TinyModel()
    objective, columns = batch("unsup", plain)
    objective.mlm_weight = 0.1
    loss = backward(plain, objective, columns, size, draws())
    same = backward(scaled, objective, columns, size, draws(), scaled=lambda given: 1024 * given)
    assert float(loss) == float(same)
    assert_same(gradients(scaled), {name: 1024 * g for name, g in gradients(plain).items()})


def test_under_autocast_micro_batches_reach_every_weight() -> None:
    """A cast made without a graph must not be used again with one."""
    whole, cut = TinyModel(dtype=torch.float32), TinyModel(dtype=torch.float32)
    objective, columns = batch("unsup", whole)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        backward(whole, objective, columns, None, draws())
        backward(cut, objective, columns, 4, draws())
    mine, theirs = gradients(cut), gradients(whole)
    assert mine.keys() == theirs.keys()
    for name, gradient in mine.items():
        close = torch.nn.functional.cosine_similarity(gradient.flatten(), theirs[name].flatten(), 0)
        assert float(close) > 0.99 or float(theirs[name].norm()) < 1e-3, name


@pytest.mark.parametrize("mlm_weight", [0.0, 0.1])
def test_autocast_is_for_the_forward_pass_alone(mlm_weight: float) -> None:
    """The gradients are exactly those of a backward pass outside of it, as torch advises."""
    around, plain = TinyModel(dtype=torch.float32), TinyModel(dtype=torch.float32)
    objective, columns = batch("sup", around)
    objective.mlm_weight = mlm_weight
    with torch.autocast("cpu", dtype=torch.bfloat16):
        backward(around, objective, columns, None, draws())
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rows = [row for column in columns for row in column.ids]
        loss = objective.loss(plain.vectors(rows).split(10))
    loss.backward()
    if mlm_weight:
        masked = mask_tokens(columns, plain, draws(), 0.15)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = mlm_weight * mlm_loss(plain, masked) / masked.chosen
        loss.backward()
    mine, theirs = gradients(around), gradients(plain)
    assert mine.keys() == theirs.keys()
    for name, gradient in mine.items():
        torch.testing.assert_close(gradient, theirs[name], rtol=1e-5, atol=1e-6, msg=name)


def draws(seed: int = 0) -> np.random.Generator:
    """A seeded generator."""
    return np.random.default_rng(seed)


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Of every parameter that has one."""
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def assert_same(mine: dict[str, torch.Tensor], theirs: dict[str, torch.Tensor]) -> None:
    """Gradients of the same parameters agree to 1e-6."""
    assert mine.keys() == theirs.keys()
    assert len(mine) > 20
    for name, gradient in mine.items():
        torch.testing.assert_close(gradient, theirs[name], rtol=1e-6, atol=1e-10, msg=name)


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
def test_micro_batches_of_the_real_model_too(base: str, kind: str, size: int) -> None:
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
