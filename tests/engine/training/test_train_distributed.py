"""Whole runs in two processes, as `torchrun` starts them."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from tests.fakes.runs import TinyCatalog, sentences, tiny_run, tiny_spec
from theodolite.engine.train import train
from theodolite.engine.training import checkpoint

ROOT = Path(__file__).parents[3]
LAUNCH = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2"]

# Lines in one piece: torchrun runs Python unbuffered, where `print` writes their ends apart.
CHILD = """
import json, sys
from theodolite.engine.train import train
from theodolite.engine.training.spec import TrainSpec
from tests.fakes.runs import TinyCatalog
for event in train(TrainSpec.from_dict(json.loads(sys.argv[1])), TinyCatalog()):
    sys.stdout.write(json.dumps(event.to_dict()) + "\\n")
"""
# Three runs: an unbroken one, and one that is broken off after ten updates and then goes on.
RESUMED = """
import json, sys, torch
from theodolite.engine.training.distributed import Ranks, begin, end
from theodolite.engine.training.spec import TrainSpec
from tests.fakes.runs import tiny_run

class Killed(Exception):
    pass

def kill():
    global asked
    asked += 1
    if asked == 2:
        raise Killed

begin(torch.device("cpu"))
ranks = Ranks.of_environment()
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
from theodolite.engine.training.distributed import Ranks, begin, end
from theodolite.engine.training.spec import TrainSpec
from tests.fakes.runs import tiny_run

begin(torch.device("cpu"))
ranks = Ranks.of_environment()
try:
    tiny_run(TrainSpec.from_dict(json.loads(sys.argv[1 + ranks.rank])), ranks)
except UserError as error:
    sys.stdout.write(error.message + "\\n")
end()
"""


def launched(folder: Path, script: str, *specs: object) -> list[str]:
    """What two processes printed."""
    file = folder / "child.py"
    file.write_text(script)
    made = subprocess.run(
        [*LAUNCH, str(file), *(json.dumps(spec.to_dict()) for spec in specs)],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT)},
    )
    assert made.returncode == 0, made.stderr
    return made.stdout.splitlines()


def assert_alike(left: Path, right: Path, within: float) -> None:
    """The weights of two encoders."""
    one, other = (load_file(folder / "model.safetensors") for folder in (left, right))
    for name in one:
        torch.testing.assert_close(one[name], other[name], atol=within, rtol=0)


@pytest.mark.long
def test_two_processes_train_as_one_and_only_the_first_speaks(tmp_path):
    """On a packed file of 25 sentences, so that the last batch of an epoch has a single one."""
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(sentences(tmp_path, 25).read_bytes()))
    spec = tiny_spec(tmp_path, dropout=0.0, train=str(packed))
    events = [json.loads(line) for line in launched(tmp_path, CHILD, spec)]
    assert [e["kind"] for e in events].count("started") == 1
    assert [e["step"] for e in events if e["kind"] == "looked"] == [4, 8, 12]
    assert events[-1]["kind"] == "finished"

    alone = tiny_spec(tmp_path, dropout=0.0, train=str(packed), out=str(tmp_path / "alone"))
    last = list(train(alone, TinyCatalog()))[-1]
    assert events[-1]["best_step"] == last.best_step
    # A wrong gradient moves a weight by the learning rate, 1e-3, every time.
    assert_alike(tmp_path / "encoder", tmp_path / "alone", within=1e-4)

    again = [json.loads(line)["kind"] for line in launched(tmp_path, CHILD, spec)]
    assert again == ["noted", "finished"]


@pytest.mark.long
def test_two_processes_go_on_each_with_its_own_random_numbers(tmp_path):
    """And end with the very weights of a run that was not broken off."""
    # All that draws at random: dropout, crops, hidden tokens.
    settings = {"augmentation": "crop", "mlm_weight": 0.1, "steps": 16}
    whole = tiny_spec(tmp_path, **settings, out=str(tmp_path / "unbroken"))
    broken = tiny_spec(tmp_path, **settings)
    found = sorted(json.loads(line) for line in launched(tmp_path, RESUMED, whole, broken))
    assert [rank for rank, *_ in found] == [0, 1]
    assert found[0][1] == found[1][1] > 0
    for own, others in zip(found[0][2:], found[1][2:], strict=True):
        assert own != others
    assert_alike(tmp_path / "encoder", tmp_path / "unbroken", within=0.0)


@pytest.mark.long
def test_processes_that_see_different_checkpoints_are_told(tmp_path):
    """Rather than one waiting for the other for ever."""
    shared = tiny_spec(tmp_path)
    run = tiny_run(shared)
    run.state.step = 3
    run.save()
    other = tiny_spec(tmp_path, out=str(tmp_path / "elsewhere"))
    output = launched(tmp_path, APART, shared, other)
    assert len(output) == 2
    assert all("different checkpoints" in line and "steps 0, 3" in line for line in output)


@pytest.mark.parametrize(("before", "told"), [(3, "Begun in 3 processes"), (1, None)])
def test_another_number_of_processes_goes_on_and_is_told(tmp_path, before, told):
    """Whoever was there takes up its own random numbers; the card says that not all were."""
    first = tiny_run(tiny_spec(tmp_path))
    first.state.step, first.state.processes = 3, before
    first.save()
    following = first.rng.random()
    kept = checkpoint.peek(first.spec.working_folder)
    assert kept["processes"] == before
    run = tiny_run(first.spec)
    assert run.rng.random() == following
    notes = [e.message for e in train(first.spec, TinyCatalog()) if e.kind == "noted"]
    assert [note[:20] for note in notes] == ([] if told is None else [told])
    if told:
        assert told in (tmp_path / "encoder" / "README.md").read_text("utf-8")
