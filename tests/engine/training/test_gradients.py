"""Gradients of a batch in micro-batches, or in two processes: the same, in the memory of one."""

import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.random import default_rng
from safetensors.torch import load_file

from tests.fakes.ranks import CASES, EXAMPLES, case, masked_case
from tests.fakes.runs import tiny_run, tiny_spec
from tests.fakes.training import BASE, tiny_model
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.devices import Ranks
from theodolite.engine.training.gradients import backward, mask_tokens
from theodolite.engine.training.mlm import mlm_loss
from theodolite.engine.training.objectives import Column, Objective, in_batch_loss, objective_of

OBJECTIVES = {
    "unsup": {},
    "unsup, cropped": {"augmentation": "crop", "augmentation_rate": 0.3},
    "unsup, fixed mask": {"fixed_mask": True},
    "unsup, dual": {"dual": True},
    "unsup, mlm": {"augmentation": "delete-one", "mlm_weight": 0.1, "mlm_probability": 0.4},
    "sup": {"hard_negative_weight": 0.5},
    "sup, dual": {"dual": True},
    "sup, mean": {"pooling": "avg", "head": "none", "hard_negative_weight": 0.3},
    "next-sentence": {},
    "next-sentence, dual": {"dual": True},
    "mlm": {"mlm_probability": 0.4},
}


def spec(name: str, **changes: object) -> TrainSpec:
    """Of an objective, without dropout unless it is asked for."""
    settings = {"dropout": 0.0} | OBJECTIVES[name] | changes
    return TrainSpec(name.split(",")[0], BASE, "t", "out", **settings)  # type: ignore[arg-type]


def twins(
    spec: TrainSpec, dtype: torch.dtype = torch.float64
) -> tuple[torch.nn.Module, torch.nn.Module, Objective, list[Column]]:
    """Two models with the same weights, an objective, and its columns of five examples."""
    one, other, objective = tiny_model(spec, dtype), tiny_model(spec, dtype), objective_of(spec)
    return one, other, objective, objective.columns(EXAMPLES, one, default_rng(4))


def gradients(model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Of every parameter that has one."""
    return {name: p.grad for name, p in model.named_parameters() if p.grad is not None}


def assert_same(
    model: torch.nn.Module,
    other: torch.nn.Module,
    times: float = 1.0,
    rtol: float = 1e-6,
    atol: float = 1e-10,
) -> None:
    """The gradients of a model are those of another, or so many times as large."""
    expected = {name: times * gradient for name, gradient in gradients(other).items()}
    assert len(expected) > 20
    torch.testing.assert_close(gradients(model), expected, rtol=rtol, atol=atol)


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("name", OBJECTIVES)
def test_micro_batches_have_the_gradients_of_the_batch(name: str, size: int) -> None:
    """float64, dropout 0, also where the last micro-batch is smaller."""
    whole, cut, objective, columns = twins(spec(name))
    at_once = backward(whole, objective, columns, None, default_rng(0))
    in_parts = backward(cut, objective, columns, size, default_rng(0))
    assert float(in_parts) == pytest.approx(float(at_once), abs=1e-10)
    assert_same(cut, whole)


@pytest.mark.parametrize("name", OBJECTIVES)
def test_the_whole_batch_is_one_forward_with_autograds_gradients(name: str) -> None:
    """All columns of an encoder pass through it together.

    MLM is the mean over all hidden tokens, of both copies where there are two (table D.1).
    """
    model, plain, objective, columns = twins(spec(name))
    forwards, vectors = [], model.vectors
    model.vectors = lambda ids, **how: forwards.append(len(ids)) or vectors(ids, **how)
    loss = backward(model, objective, columns, None, default_rng(0))
    sides = Counter(column.side for column in columns)
    assert forwards == [len(EXAMPLES) * count for count in sides.values()] * objective.contrasts
    expected = torch.zeros(())
    if objective.contrasts:
        expected = objective.loss([plain.vectors(c.ids, side=c.side) for c in columns])
    if objective.mlm_weight:
        masked = mask_tokens(columns, plain, default_rng(0), objective.mlm_probability)
        expected = expected + objective.mlm_weight * mlm_loss(plain, masked) / masked.chosen
    expected.backward()
    assert float(loss) == pytest.approx(float(expected.detach()), abs=1e-12)
    assert_same(model, plain)


class Held:
    """A tensor that a graph holds for its backward pass.

    Attributes:
        bytes: of all that are held.
        most: that were ever held at once.
    """

    bytes = most = 0

    def __init__(self, tensor: torch.Tensor) -> None:
        self.tensor = tensor
        Held.bytes += tensor.nbytes
        Held.most = max(Held.most, Held.bytes)

    def __del__(self) -> None:
        Held.bytes -= self.tensor.nbytes


def most_held(n: int, size: int | None) -> int:
    """Most bytes held at once for a batch of n like sentences."""
    model = tiny_model(spec("unsup", dropout=0.1))
    column = Column(model.ids(["a man sits on the mat"]) * n)
    Held.most = Held.bytes
    with torch.autograd.graph.saved_tensors_hooks(Held, lambda held: held.tensor):
        backward(model, objective_of(spec("unsup")), [column, column], size, default_rng(0))
    return Held.most


def test_activations_are_held_for_one_micro_batch_only() -> None:
    """Four times the batch in micro-batches of the same size holds hardly more."""
    weights = most_held(1, None)
    small, large = most_held(8, 4), most_held(32, 4)
    assert most_held(32, None) - weights > 6 * (small - weights)
    assert large - weights < 1.2 * (small - weights)


@pytest.mark.parametrize("size", [None, 4])
def test_gradients_are_added_and_the_loss_is_scaled_for_the_backward_pass_alone(
    size: int | None,
) -> None:
    """Zeroing is left to the loop; fp16 scales the loss, but the true one is told."""
    once, scaled, objective, columns = twins(spec("unsup, mlm"))
    loss = backward(once, objective, columns, size, default_rng(0))
    for _ in range(2):
        same = backward(
            scaled, objective, columns, size, default_rng(0), scaled=lambda loss: 1024 * loss
        )
        assert float(loss) == float(same)
    assert_same(scaled, once, times=2048)


def test_under_autocast_micro_batches_reach_every_weight() -> None:
    """A cast made without a graph must not be used again with one."""
    whole, cut, objective, columns = twins(spec("unsup"), torch.float32)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        for model, size in ((whole, None), (cut, 4)):
            backward(model, objective, columns, size, default_rng(0))
    mine, theirs = gradients(cut), gradients(whole)
    assert mine.keys() == theirs.keys()
    for name, gradient in mine.items():
        close = torch.nn.functional.cosine_similarity(gradient.flatten(), theirs[name].flatten(), 0)
        # Keys that are all shifted alike change no attention: their gradient is rounding alone.
        assert float(close) > 0.99 or name.endswith("key.bias"), name


@pytest.mark.parametrize("mlm_weight", [0.0, 0.1])
def test_autocast_is_for_the_forward_pass_alone(mlm_weight: float) -> None:
    """The gradients are exactly those of a backward pass outside of it, as torch advises."""
    around, plain, objective, columns = twins(spec("sup", mlm_weight=mlm_weight), torch.float32)
    rows = [row for column in columns for row in column.ids]
    masked = mask_tokens(columns, plain, default_rng(0), 0.15)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        backward(around, objective, columns, None, default_rng(0))
        losses = [objective.loss(plain.vectors(rows).split(len(EXAMPLES)))]
    if mlm_weight:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            losses.append(mlm_weight * mlm_loss(plain, masked) / masked.chosen)
    for loss in losses:
        loss.backward()
    assert_same(around, plain, rtol=1e-5, atol=1e-6)


def test_with_dropout_both_passes_of_a_micro_batch_have_the_same_masks() -> None:
    """Against one graph over the same micro-batches, drawn from the same random state."""
    cached, graph, objective, columns = twins(spec("unsup", dropout=0.3))
    torch.manual_seed(11)
    loss = backward(cached, objective, columns, 2, default_rng(0))
    torch.manual_seed(11)
    cuts = [[column.ids[start : start + 2] for column in columns] for start in (0, 2, 4)]
    parts = [graph.vectors(one + other).split(len(one)) for one, other in cuts]
    expected = objective.loss([torch.cat(column) for column in zip(*parts, strict=True)])
    expected.backward()
    assert float(loss) == pytest.approx(float(expected.detach()), abs=1e-12)
    assert_same(cached, graph)


def test_one_pass_with_a_fixed_mask_is_two_with_the_same_random_state() -> None:
    """Also without padding: batch and places of the tokens are the same."""
    own = spec("unsup, fixed mask", dropout=0.1)
    once, twice, objective, columns = twins(own)
    torch.manual_seed(5)
    loss = backward(once, objective, columns, None, default_rng(0))
    torch.manual_seed(5)
    first = twice.vectors(columns[0].ids)
    torch.manual_seed(5)
    second = twice.vectors(columns[0].ids)
    expected = in_batch_loss(first, second, temperature=own.temperature)
    expected.backward()
    assert torch.equal(first, second)
    assert float(loss) == pytest.approx(float(expected.detach()), abs=1e-12)
    assert_same(once, twice)


def test_the_base_replaces_tokens_as_it_was_before_training() -> None:
    """The copy is the model's own, and stays when the model changes."""
    own = spec("unsup", augmentation="mlm", augmentation_rate=0.4, dropout=0.5)
    model, objective = tiny_model(own), objective_of(own)
    objective.begin(model)
    first, before = objective.columns(EXAMPLES, model, default_rng(0))
    for parameter in model.parameters():
        parameter.data.zero_()
    _, after = objective.columns(EXAMPLES, model, default_rng(0))
    assert after.ids == before.ids != first.ids
    assert list(map(len, before.ids)) == list(map(len, first.ids))


# --- two processes with half a batch each train as one with the whole ---


ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What both wrote; five examples, so that the first has one more."""
    path = tmp_path_factory.mktemp("ranks")
    subprocess.run([sys.executable, "-m", "tests.fakes.ranks", path], cwd=ROOT, check=True)
    return path


@pytest.mark.parametrize("name", [*CASES, "mlm"])
def test_gradients_and_loss_are_those_of_one_process(folder: Path, name: str) -> None:
    """Summed over both, in float64; also where one has nothing to predict, or no example at all."""
    model, loss = masked_case(Ranks()) if name == "mlm" else case(name, Ranks())
    expected = {k: p.grad for k, p in model.named_parameters() if p.grad is not None}
    assert any(gradient.any() for gradient in expected.values())
    for rank in (0, 1):
        gradients = load_file(folder / f"{name} {rank}.safetensors")
        assert float(gradients.pop("loss")) == pytest.approx(float(loss.detach()), abs=1e-10)
        torch.testing.assert_close(gradients, expected, rtol=1e-6, atol=1e-10)


def test_both_train_as_one(folder: Path, tmp_path: Path) -> None:
    """To a tenth of the learning rate, by which a wrong gradient moves weights at each update.

    All begin with the weights of the first: rank 0 had weights of five, rank 1 of six.
    """
    list(tiny_run(tiny_spec(tmp_path, dropout=0.0)).events())
    both, alone = (load_file(path / "encoder/model.safetensors") for path in (folder, tmp_path))
    torch.testing.assert_close(both, alone, atol=1e-4, rtol=0)
    firsts = [load_file(folder / f"first {rank}.safetensors")["weight"] for rank in (0, 1)]
    assert all(weight.eq(5).all() for weight in firsts)


def test_a_batch_is_sharded_without_loss(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first ranks take one more where it does not divide; with too few, one stands in.

    Who this is say the three variables that torchrun and accelerate set.
    """
    assert Ranks.of_environment() == Ranks(0, 1, 0)
    for name, value in {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert Ranks.of_environment() == Ranks(5, 8, 1)
    ranks = [Ranks(rank, 3) for rank in range(3)]
    for size, parts, counts in (
        (7, [[10, 11, 12], [13, 14], [15, 16]], [3, 2, 2]),
        (2, [[10], [11], [10]], [1, 1, 0]),
    ):
        assert [rank.shard(np.arange(10, 10 + size)).tolist() for rank in ranks] == parts
        assert ranks[0].counts(size) == counts
