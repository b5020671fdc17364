"""A training in several processes, started by `--processes` or by `torchrun` on each machine."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
import torch
from safetensors.torch import load_file

from tests.app.fleet.network import Network
from tests.errors import refused
from tests.fakes.runs import BASE, sentences
from tests.waiting import wait_until
from theodolite.app.jobs.processes import ROOT
from theodolite.app.pages.train import launch
from theodolite.app.workspace import Workspace
from theodolite.engine.train import train
from theodolite.engine.training import Event, Finished, Noted, TrainSpec
from theodolite.engine.training.checkpoint import newest_step
from theodolite.engine.training.loop import never

STEPS = 16


def spec(folder: Path, out: str, *, processes: int = 1, steps: int = STEPS) -> TrainSpec:
    """As it is asked for usually, but nothing in it is drawn per process."""
    return TrainSpec(
        "unsup",
        BASE,
        str(sentences(folder)),
        str(folder / out),
        batch_size=10,
        steps=steps,
        dropout=0.0,
        dev="starter-pairs",
        dev_every=4,
        device="cpu",
        processes=processes,
    )


def assert_alike(left: Path, right: Path) -> None:
    """The weights of two encoders, to 1e-5: a wrong gradient moves them by 3e-5 a step."""
    one, other = (load_file(folder / "model.safetensors") for folder in (left, right))
    assert one.keys() == other.keys()
    for name in one:
        torch.testing.assert_close(one[name], other[name], atol=1e-5, rtol=0)


def assert_trained(encoder: Path, tmp_path: Path) -> None:
    """Check that the weights are those of one process, and not those that it began with."""
    list(train(spec(tmp_path, "alone")))
    assert_alike(encoder, tmp_path / "alone")
    list(train(spec(tmp_path, "begun", steps=1)))
    with pytest.raises(AssertionError):
        assert_alike(encoder, tmp_path / "begun")


def ranks() -> list[psutil.Process]:
    """Those that train for this process: neither launchers, nor what only waits to be reaped."""
    found = []
    for one in psutil.Process().children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.AccessDenied):
            if "theodolite.app.pages.train.launch" in one.cmdline() and "RANK" in one.environ():
                found.append(one)
    return found


def test_events_are_read_among_what_libraries_print(tmp_path: Path) -> None:
    event = Noted(3, "a note")
    lines = f"noise\n{launch.MARK}{json.dumps(event.to_dict())}\nmore\n"
    with subprocess.Popen(["printf", "%s", lines], stdout=subprocess.PIPE) as printing:
        assert list(launch._follow(printing, tmp_path / "stop", never)) == [event]


@pytest.mark.long  # `test_distributed` has the weights of two in one process, what follows an error
@pytest.mark.parametrize("processes", [2, 4])
def test_several_processes_train_as_one(workspace: Workspace, tmp_path: Path, processes) -> None:
    """And one of them tells."""
    wanted = spec(tmp_path, "together", processes=processes)
    events = list(launch.train(workspace, wanted, never))
    assert [event.kind for event in events].count("started") == 1
    assert isinstance(events[-1], Finished)
    assert ranks() == []
    assert_trained(tmp_path / "together", tmp_path)


@pytest.mark.long
def test_a_killed_process_ends_all_and_the_training_goes_on(
    workspace: Workspace, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From its checkpoint, to the weights of one process that nothing befell."""
    monkeypatch.setenv("THEODOLITE_HOME", str(tmp_path / "store"))
    wanted = spec(tmp_path, "together", processes=2)
    with refused("failed"):
        for _ in launch.train(workspace, wanted, never):
            if newest_step(wanted.working_folder):
                os.kill(ranks()[-1].pid, signal.SIGKILL)
    assert ranks() == []
    assert 0 < (newest_step(wanted.working_folder) or 0) < STEPS
    events = list(launch.train(workspace, wanted, never))
    assert (events[0].kind, events[0].step > 0, events[-1].kind) == ("started", True, "finished")
    assert_trained(tmp_path / "together", tmp_path)


def test_what_cannot_be_trained_is_said_in_a_sentence(workspace: Workspace, tmp_path: Path) -> None:
    """As by one process, and nothing of it stays."""
    wanted = spec(tmp_path, "together", processes=2)
    Path(wanted.train).unlink()
    with refused("no-file", wanted.train):
        list(launch.train(workspace, wanted, never))
    assert ranks() == []


@pytest.mark.long
def test_stopped_it_keeps_what_it_has(workspace: Workspace, tmp_path: Path) -> None:
    """By asking the first process; and left alone, all end."""
    wanted = spec(tmp_path, "together", processes=2, steps=2000)
    seen: list[Event] = []
    seen.extend(launch.train(workspace, wanted, lambda: any(e.kind == "stepped" for e in seen)))
    assert isinstance(seen[-1], Finished)
    assert (seen[-1].why, seen[-1].step < 2000) == ("stopped", True)
    following = launch.train(workspace, spec(tmp_path, "left", processes=2, steps=2000), never)
    next(following)
    assert len(ranks()) == 2
    following.close()
    assert ranks() == []


@pytest.fixture
def network() -> Iterator[Network]:
    """Machines with a network of their own; skips where none can be made."""
    try:
        made = Network()
    except OSError as error:
        pytest.skip(f"network namespaces cannot be made here: {error}")
    yield made
    made.close()


def start(network: Network, machine: int, asked: TrainSpec, home: Path) -> subprocess.Popen[bytes]:
    """`torchrun` on a machine, as the form says it."""
    words = launch.on_several_machines(asked.command(), machines=2, rank=machine)
    at = words.index("--no-python")
    assert (words[0], words[at + 1]) == ("torchrun", "theodolite")
    torchrun = [sys.executable, "-m", "torch.distributed.run", *words[1:at]]
    command = [*torchrun, "-m", "theodolite.app", *words[at + 2 :]]
    first = network.address_of(0)
    return subprocess.Popen(
        [*network.inside(machine), *(word.replace("HOST", first) for word in command)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "OMP_NUM_THREADS": "1",
            "THEODOLITE_HOME": str(home / f"store-{machine}"),
        },
    )


@pytest.mark.long
def test_two_machines_train_as_one_also_after_a_kill(
    home: Path, tmp_path: Path, network: Network
) -> None:
    """Each with its own network and store; folder and data are shared."""
    wanted = spec(tmp_path, "together")
    pair = [start(network, machine, wanted, home) for machine in (0, 1)]
    wait_until(lambda: newest_step(wanted.working_folder))
    for launched in pair:
        for one in psutil.Process(launched.pid).children(recursive=True):
            one.kill()
        launched.kill()
        launched.communicate()
    assert newest_step(wanted.working_folder) < STEPS
    pair = [start(network, machine, wanted, home) for machine in (0, 1)]
    for launched in pair:
        _, output = launched.communicate(timeout=300)
        assert launched.returncode == 0, output.decode()
    assert_trained(tmp_path / "together", tmp_path)
