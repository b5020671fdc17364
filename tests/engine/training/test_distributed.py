"""Two processes with half a batch each train as one with the whole."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.fakes import ranks as fake
from theodolite.engine.training.distributed import Ranks, all_gather, sum_gradients, summed

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What two processes with gloo wrote; five examples, so that the first has one more."""
    made = tmp_path_factory.mktemp("ranks")
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]
    done = subprocess.run(
        [*launch, "-m", "tests.fakes.ranks", str(made)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return made


@pytest.mark.parametrize("name", [*fake.CASES, "mlm"])
def test_gradients_and_loss_are_those_of_one_process(folder: Path, name: str) -> None:
    """Summed over both, in float64; also where one has nothing to predict, or no example at all."""
    model, loss = fake.masked_case(Ranks()) if name == "mlm" else fake.case(name, Ranks())
    expected = {k: p.grad for k, p in model.named_parameters() if p.grad is not None}
    usual = 6 if "dual" in name else 5 if "mlm" in name else 3
    assert len(expected) == usual
    assert any(gradient.any() for gradient in expected.values())
    for rank in (0, 1):
        found = load_file(folder / f"{name} {rank}.safetensors")
        assert float(found.pop("loss")) == pytest.approx(float(loss.detach()), abs=1e-10)
        assert found.keys() == expected.keys()
        for key, gradient in expected.items():
            torch.testing.assert_close(found[key], gradient, rtol=1e-6, atol=1e-10, msg=key)


def test_gathered_rows_stand_in_order_of_rank_whatever_their_number(folder: Path) -> None:
    """One row of rank 0, two of rank 1."""
    for rank in (0, 1):
        found = load_file(folder / f"tools {rank}.safetensors")
        assert found["rows"].tolist() == [[0.0, 0.0], [1.0, 1.0], [1.0, 1.0]]


def test_every_rank_starts_from_the_weights_of_the_first(folder: Path) -> None:
    """Rank 0 had fives, rank 1 sixes."""
    for rank in (0, 1):
        assert load_file(folder / f"tools {rank}.safetensors")["weight"].eq(5).all()


def test_the_launcher_says_who_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torchrun and accelerate set the same three variables."""
    assert Ranks.of_environment() == Ranks(0, 1, 0)
    for name, value in {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert Ranks.of_environment() == Ranks(5, 8, 1)


def test_a_batch_is_sharded_without_loss() -> None:
    """The first ranks take one more where it does not divide; with too few, one stands in."""
    batch = np.arange(10, 17)
    parts = [Ranks(rank, 3).shard(batch).tolist() for rank in range(3)]
    assert parts == [[10, 11, 12], [13, 14], [15, 16]]
    assert Ranks(0, 3).counts(7) == [3, 2, 2]
    few = [Ranks(rank, 3).shard(batch[:2]).tolist() for rank in range(3)]
    assert few == [[10], [11], [10]]
    assert Ranks(0, 3).counts(2) == [1, 1, 0]


def test_alone_nothing_is_exchanged() -> None:
    """A single process needs no other."""
    own = torch.ones(2, 3, requires_grad=True)
    weight = torch.nn.Parameter(torch.ones(2))
    weight.grad = torch.full((2,), 3.0)
    sum_gradients([weight])
    assert all_gather(own) is own
    assert weight.grad.tolist() == [3.0, 3.0]
    assert float(summed(torch.tensor(4.0))) == 4.0
