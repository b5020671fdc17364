"""Two processes with half a batch each train as one with the whole."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file

from tests.fakes import ranks as fake
from tests.fakes.runs import TinyCatalog, tiny_run, tiny_spec
from theodolite.engine.train import train
from theodolite.engine.training import checkpoint
from theodolite.engine.training.devices import Ranks

ROOT = Path(__file__).parents[3]


def launched(*command: object) -> list[str]:
    """What two processes with gloo printed."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python"]
    done = subprocess.run(
        [sys.executable, *torchrun, sys.executable, *map(str, command)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What both wrote; five examples, so that the first has one more."""
    path = tmp_path_factory.mktemp("ranks")
    subprocess.run([sys.executable, "-m", "tests.fakes.ranks", path], cwd=ROOT, check=True)
    return path


@pytest.mark.parametrize("name", [*fake.CASES, "mlm"])
def test_gradients_and_loss_are_those_of_one_process(folder: Path, name: str) -> None:
    """Summed over both, in float64; also where one has nothing to predict, or no example at all."""
    model, loss = fake.masked_case(Ranks()) if name == "mlm" else fake.case(name, Ranks())
    expected = {k: p.grad for k, p in model.named_parameters() if p.grad is not None}
    assert any(gradient.any() for gradient in expected.values())
    for rank in (0, 1):
        gradients = load_file(folder / f"{name} {rank}.safetensors")
        assert float(gradients.pop("loss")) == pytest.approx(float(loss.detach()), abs=1e-10)
        torch.testing.assert_close(gradients, expected, rtol=1e-6, atol=1e-10)


def test_both_train_as_one(folder: Path, tmp_path: Path) -> None:
    """To a tenth of the learning rate, by which a wrong gradient moves weights at each update."""
    list(tiny_run(tiny_spec(tmp_path, dropout=0.0)).events())
    both, alone = (load_file(path / "encoder/model.safetensors") for path in (folder, tmp_path))
    torch.testing.assert_close(both, alone, atol=1e-4, rtol=0)


@pytest.mark.parametrize("rank", [0, 1])
def test_all_begin_with_the_weights_of_the_first(folder: Path, rank: int):
    """Rank 0 had weights of five, rank 1 of six."""
    assert load_file(folder / f"first {rank}.safetensors")["weight"].eq(5).all()


def test_the_launcher_says_who_this_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torchrun and accelerate set the same three variables."""
    assert Ranks.of_environment() == Ranks(0, 1, 0)
    for name, value in {"RANK": "5", "WORLD_SIZE": "8", "LOCAL_RANK": "1"}.items():
        monkeypatch.setenv(name, value)
    assert Ranks.of_environment() == Ranks(5, 8, 1)


def test_a_batch_is_sharded_without_loss() -> None:
    """The first ranks take one more where it does not divide; with too few, one stands in."""
    ranks = [Ranks(rank, 3) for rank in range(3)]
    for size, parts, counts in (
        (7, [[10, 11, 12], [13, 14], [15, 16]], [3, 2, 2]),
        (2, [[10], [11], [10]], [1, 1, 0]),
    ):
        assert [rank.shard(np.arange(10, 10 + size)).tolist() for rank in ranks] == parts
        assert ranks[0].counts(size) == counts


# Written in one piece: `print` would write the ends of lines apart.
# Three runs: an unbroken one, and one that is broken off after ten updates and then goes on.
RESUMED = """
import json, sys, torch
from theodolite.engine.training.devices import Ranks, begin, end
from theodolite.engine.training.spec import TrainSpec
from tests.fakes.runs import tiny_run

class Killed(Exception):
    pass

def kill():
    global asked
    asked += 1
    if asked == 2:
        raise Killed

ranks = Ranks.of_environment()
begin(ranks, torch.device("cpu"))
whole, broken = (TrainSpec.from_dict(json.loads(text)) for text in sys.argv[1:])
list(tiny_run(whole, ranks).events())
asked = 0
try:
    list(tiny_run(broken, ranks).events(kill))
except Killed:
    run = tiny_run(broken, ranks)
    drawn = [run.rng.random(), torch.rand(()).item()]
    sys.stdout.write(json.dumps([ranks.rank, run.step, *drawn]) + "\\n")
list(tiny_run(broken, ranks).events())
end()
"""
# Each process has a working folder of its own.
APART = """
import json, sys, torch
from theodolite.engine.errors import UserError
from theodolite.engine.training.devices import Ranks, begin, end
from theodolite.engine.training.spec import TrainSpec
from tests.fakes.runs import tiny_run

ranks = Ranks.of_environment()
begin(ranks, torch.device("cpu"))
try:
    tiny_run(TrainSpec.from_dict(json.loads(sys.argv[1 + ranks.rank])), ranks)
except UserError as error:
    sys.stdout.write(error.message + "\\n")
end()
"""


@pytest.mark.long
def test_two_processes_go_on_each_with_its_own_random_numbers(tmp_path):
    """And end with the very weights of a run that was not broken off."""
    # All that draws at random: dropout, crops, hidden tokens.
    settings = {"augmentation": "crop", "mlm_weight": 0.1, "steps": 16}
    specs = [
        tiny_spec(tmp_path, **settings, out=str(tmp_path / out)) for out in ("unbroken", "encoder")
    ]
    lines = launched("-c", RESUMED, *(json.dumps(spec.to_dict()) for spec in specs))
    first, second = sorted(map(json.loads, lines))
    assert (first[0], second[0]) == (0, 1)
    assert first[1] == second[1] > 0
    assert not set(first[2:]) & set(second[2:])
    whole, resumed = (load_file(Path(spec.out, "model.safetensors")) for spec in specs)
    torch.testing.assert_close(resumed, whole, atol=0, rtol=0)


@pytest.mark.long
def test_processes_that_see_different_checkpoints_are_told(tmp_path):
    """Rather than one waiting for the other for ever."""
    shared, other = tiny_spec(tmp_path), tiny_spec(tmp_path, out=str(tmp_path / "elsewhere"))
    run = tiny_run(shared)
    run.state.step = 3
    run.save()
    output = launched("-c", APART, *(json.dumps(spec.to_dict()) for spec in (shared, other)))
    assert len(output) == 2
    assert all("different checkpoints" in line and "steps 0, 3" in line for line in output)


@pytest.mark.parametrize(("before", "told"), [(3, "Begun in 3 processes"), (1, None)])
def test_another_number_of_processes_goes_on_and_is_told(tmp_path, before, told):
    """Whoever was there takes up its own random numbers; the card says that not all were."""
    first = tiny_run(tiny_spec(tmp_path))
    first.state.step, first.state.processes = 3, before
    first.save()
    following = first.rng.random()
    assert checkpoint.peek(first.spec.working_folder)["processes"] == before
    assert tiny_run(first.spec).rng.random() == following
    notes = [e.message for e in train(first.spec, TinyCatalog()) if e.kind == "noted"]
    assert [note[:20] for note in notes] == ([told] if told else [])
    assert (told or "") in (tmp_path / "encoder" / "README.md").read_text("utf-8")
