"""Gradients of a batch in micro-batches: the same, in the memory of one."""

from __future__ import annotations

import pytest
import torch

from tests.engine.training.compared import assert_same, draws, gradients
from tests.fakes.training import WORDS, TinyModel
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.gradients import backward
from theodolite.engine.training.objectives import Column, Objective, objective_of
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


def test_micro_batches_no_smaller_than_the_batch_are_the_batch() -> None:
    """No second pass is made for nothing."""
    model = TinyModel()
    objective, columns = batch("unsup", model)
    backward(model, objective, columns, 10, draws())
    assert model.forwards == [20]


@pytest.mark.parametrize("name", ["unsup", "sup", "unsup, dual"])
def test_with_dropout_both_passes_of_a_micro_batch_have_the_same_masks(name: str) -> None:
    """Against one graph over the same micro-batches, drawn from the same random state."""
    dual = "dual" in name
    cached, graph = TinyModel(dropout=0.3, dual=dual), TinyModel(dropout=0.3, dual=dual)
    objective, columns = batch(name, cached)

    torch.manual_seed(11)
    found = backward(cached, objective, columns, 4, draws())
    after = torch.get_rng_state()

    torch.manual_seed(11)
    parts: list[list[torch.Tensor]] = []
    for start in (0, 4, 8):
        rows = [(column.side, column.ids[start : start + 4]) for column in columns]
        if dual:
            parts.append([graph.vectors(ids, side=side) for side, ids in rows])
        else:
            together = graph.vectors([row for _, ids in rows for row in ids])
            parts.append(list(together.split(len(rows[0][1]))))
    expected = objective.loss([torch.cat(column) for column in zip(*parts, strict=True)])
    expected.backward()

    assert float(found) == pytest.approx(float(expected.detach()), abs=1e-12)
    assert_same(gradients(cached), gradients(graph))
    # What comes next draws what it would have drawn.
    assert torch.equal(after, torch.get_rng_state())


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


def test_a_batch_of_one_has_a_loss_of_zero() -> None:
    """There is nothing to tell it apart from."""
    model = TinyModel()
    objective, columns = batch("unsup", model, n=1)
    assert float(backward(model, objective, columns, None, draws())) == pytest.approx(0, abs=1e-12)
