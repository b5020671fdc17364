"""What a checkpoint keeps, and what happens to it when it cannot be written."""

import json
import os
import random
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch import nn

from tests.errors import refused
from tests.fakes.runs import TinyCatalog, tiny_base, tiny_run, tiny_spec
from theodolite.engine.threads import one_torch_thread
from theodolite.engine.train import train
from theodolite.engine.training import checkpoint


def begun(seed=0, width=4):
    """A model whose layers share a weight and that has buffers, its optimiser and a generator."""
    torch.manual_seed(seed)
    last = nn.Linear(width, width, bias=False)
    net = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), last)
    last.weight = net[0].weight
    net(torch.randn(5, width))  # which moves the buffers
    return net, torch.optim.AdamW(net.parameters(), lr=0.1, fused=True), np.random.default_rng(seed)


@contextmanager
def full_disk(limit: int):
    """No file may grow beyond so many bytes: writing fails as on a full disk.

    Python ignores the signal that would end the process.
    """
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_weights_buffers_and_the_best_weights_come_back(tmp_path):
    """The rest of a checkpoint is tested by the runs below that go on from one."""
    run, other, best = begun(), begun(seed=1), checkpoint.weights_of(begun(seed=2)[0])
    checkpoint.save(tmp_path, *run, {"step": 3}, best)
    _, kept = checkpoint.load(tmp_path, *other)
    torch.testing.assert_close(other[0].state_dict(), run[0].state_dict(), rtol=0, atol=0)
    torch.testing.assert_close(kept, best, rtol=0, atol=0)


def test_every_process_has_its_own_random_numbers(tmp_path):
    """The second process finds its own; the third was not there, and keeps what it has."""
    second = np.random.default_rng(7)
    torch.manual_seed(7)
    own = checkpoint.generators_of(second, torch.device("cpu"))
    following = second.random(), torch.rand(()).item(), random.random()
    torch.manual_seed(8)
    checkpoint.save(tmp_path, *begun(), {"step": 3}, None, [own])
    net, optimiser, third = begun(seed=9)
    checkpoint.load(tmp_path, net, optimiser, other := np.random.default_rng(), rank=1)
    assert (other.random(), torch.rand(()).item(), random.random()) == following
    checkpoint.load(tmp_path, net, optimiser, third, rank=2)
    assert third.random() == np.random.default_rng(9).random()


def test_only_the_newest_whole_one_stays_and_none_of_it_is_a_pickle(tmp_path):
    assert checkpoint.peek(tmp_path) is checkpoint.peek(tmp_path / "nowhere") is None
    run = begun()
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path, *run)
    checkpoint.save(tmp_path, *run, {"step": 3})
    (tmp_path / "step-00000020.part").mkdir()
    (tmp_path / "step-00000020.part" / "model.safetensors").write_bytes(b"half of it")
    assert checkpoint.peek(tmp_path)["step"] == 3
    checkpoint.save(tmp_path, *run, {"step": 20})
    assert checkpoint.peek(tmp_path)["step"] == 20
    names = ("model.safetensors", "optimiser.safetensors", "random.safetensors", "state.json")
    files = {path for path in tmp_path.rglob("*") if path.is_file()}
    assert files == {tmp_path / "step-00000020" / name for name in names}
    with refused("mismatch"):
        checkpoint.load(tmp_path, *begun(width=8))
    (tmp_path / "taken").write_text("a file")
    with refused("no-file", tmp_path / "taken", "Not a directory"):
        checkpoint.save(tmp_path / "taken", *run, {"step": 3})


# --- a run that was killed goes on ---


# Before the eleventh update it waits to be killed, which may happen anywhere from the eighth on.
CHILD = """
import itertools, json, sys, time
from theodolite.engine.train import train
from theodolite.engine.training.spec import TrainSpec
from tests.fakes.runs import TinyCatalog
spec = TrainSpec.from_dict(json.loads(sys.argv[1]))
asked = itertools.count(1)
for event in train(spec, TinyCatalog(), stop=lambda: next(asked) > 10 and time.sleep(600)):
    print(json.dumps(event.to_dict()), flush=True)
"""
# All that draws at random: dropout, augmentation, hidden tokens; in two passes (GradCache).
EVERYTHING = {"augmentation": "delete", "mlm_weight": 0.1, "micro_batch": 4, "steps": 24}


@pytest.fixture(autouse=True)
def one_thread():
    """Sums in the same order here and in another process."""
    with one_torch_thread():
        yield


def assert_same_weights(folder):
    """The encoder and the unbroken one are equal, bit by bit."""
    tensors = [load_file(folder / out / "model.safetensors") for out in ("encoder", "unbroken")]
    torch.testing.assert_close(*tensors, rtol=0, atol=0)


@pytest.mark.parametrize(
    "changes",
    [
        EVERYTHING,
        pytest.param({"train": "graded, starter-topics", "steps": 24}, marks=pytest.mark.long),
        pytest.param({"lora": 4, "head": "none", "steps": 24}, marks=pytest.mark.long),
    ],
    ids=["everything random", "several data sets", "LoRA"],
)
def test_a_killed_run_ends_with_the_weights_of_an_unbroken_one(tmp_path, changes):
    trained = {"base": tiny_base(tmp_path)} if "lora" in changes else {}
    spec = tiny_spec(tmp_path, **changes, **trained)
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, json.dumps(spec.to_dict())],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    with child:
        events = map(json.loads, child.stdout)
        next(event for event in events if event["kind"] == "looked" and event["step"] == 8)
        child.kill()
    assert child.returncode == -signal.SIGKILL
    assert not (tmp_path / "encoder").exists()

    resumed = list(train(spec, TinyCatalog()))
    assert resumed[0].step in (4, 8)
    assert not (tmp_path / "encoder.training").exists()
    whole = list(train(replace(spec, out=str(tmp_path / "unbroken")), TinyCatalog()))
    assert_same_weights(tmp_path)
    first, second = ([e for e in events if e.kind == "looked"] for events in (whole, resumed))
    assert second == [e for e in first if e.step > resumed[0].step]
    assert resumed[-1].best_step == whole[-1].best_step
    record = json.loads((tmp_path / "encoder" / "theodolite.json").read_text())
    looked = [e["step"] for e in record["curve"] if e["kind"] == "looked"]
    assert looked == [e.step for e in first] and looked[-6:] == [4, 8, 12, 16, 20, 24]


@pytest.mark.parametrize(
    ("objective", "changes"),
    [
        ("mlm", {"dev": None}),
        ("sup", {"dual": True, "head": "mlp", "warmup": 0.3, "weight_decay": 0.01}),
        ("unsup", {"fixed_mask": True, "patience": 3}),
        ("st", {"loss": "CoSENTLoss", "train": "graded", "batch_size": 4}),
        ("unsup", {"train": "graded, starter-topics"}),
        ("unsup", {"train": "graded, starter-topics", "sampler": "round-robin"}),
    ],
)
def test_it_goes_on_in_the_middle_of_an_epoch(tmp_path, objective, changes):
    first = tiny_run(tiny_spec(tmp_path, objective, **changes))
    next(event for event in first.events() if event.kind == "stepped" and event.step == 1)
    first.save()  # and never came back
    resumed = list(train(first.spec, TinyCatalog()))
    assert resumed[0].step == 1
    whole = list(train(replace(first.spec, out=str(tmp_path / "unbroken")), TinyCatalog()))
    assert_same_weights(tmp_path)
    assert resumed[-1].best_score == whole[-1].best_score


def test_the_same_run_alone_goes_on(tmp_path):
    """It remembers a smaller micro-batch and the time before the kill."""
    spec = tiny_spec(tmp_path)
    first = tiny_run(spec)
    first.reduce_micro_batch(8)
    first.meter._before = 1000.0
    first.save()
    resumed = tiny_run(spec)
    assert resumed.state.micro_batch == 4 and resumed.meter.seconds > 1000.0
    with refused("mismatch", spec.working_folder, "seed was 42 and is 7"):
        list(train(tiny_spec(tmp_path, seed=7), TinyCatalog()))
    (tmp_path / "sentences.txt").write_text("other sentences\nthan before")
    with refused("mismatch", spec.working_folder, "data have changed"):
        list(train(spec, TinyCatalog()))


HOLDER = """
import sys
from pathlib import Path
from theodolite.engine.training.checkpoint import lock
with lock(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_one_trains_in_a_folder_until_it_is_gone(tmp_path: Path) -> None:
    """Killed without a chance to tidy up, it holds nothing any more; its file is no hindrance."""
    spec = tiny_spec(tmp_path)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(spec.working_folder)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout.readline() == "held\n"
    with refused("conflict", spec.working_folder):
        next(train(spec, TinyCatalog()))
    holder.kill()
    holder.communicate(timeout=30)
    first = train(spec, TinyCatalog())
    next(first)
    with refused("conflict", spec.working_folder):
        next(train(spec, TinyCatalog()))
    assert [event.kind for event in first][-1] == "finished"
    # What is in a folder stays and an empty one goes: no litter where there was nothing to keep.
    with checkpoint.lock(tmp_path / "empty"), checkpoint.lock(tmp_path / "kept"):
        (tmp_path / "kept" / "file").write_text("to keep")
    assert (tmp_path / "kept" / "file").exists() and not (tmp_path / "empty").exists()
    with refused("no-file", tmp_path / "kept/file"), checkpoint.lock(tmp_path / "kept/file"):
        pass
    refusing = tiny_spec(tmp_path, dev="nowhere", out=str(tmp_path / "refused"))
    with refused("unknown", "nowhere"):
        next(train(refusing, TinyCatalog()))
    assert not refusing.working_folder.exists()


# --- of several processes ---


def launched(*command: object) -> list[str]:
    """What two processes with gloo printed."""
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node=2", "--no-python"]
    done = subprocess.run(
        [sys.executable, *torchrun, sys.executable, *map(str, command)],
        cwd=Path(__file__).parents[3],
        capture_output=True,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


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
    (first, step, *drawn), (second, other_step, *others) = sorted(map(json.loads, lines))
    assert (first, second, other_step) == (0, 1, step) and step > 0
    assert not set(drawn) & set(others)
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
