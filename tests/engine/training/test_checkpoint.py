"""What a checkpoint keeps, and what happens to it when it cannot be written."""

import random
import resource
import signal
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn
from torch.testing import assert_close

from tests.errors import refused
from theodolite.engine.training import checkpoint


def begun(seed=0, width=4):
    """A model whose layers share a weight and that has buffers, its optimiser and a generator."""
    torch.manual_seed(seed)
    last = nn.Linear(width, width, bias=False)
    net = nn.Sequential(nn.Linear(width, width), nn.BatchNorm1d(width), nn.Dropout(), last)
    last.weight = net[0].weight
    return net, torch.optim.AdamW(net.parameters(), lr=0.1, fused=True), np.random.default_rng(seed)


def updated(net, optimiser, rng):
    """Three updates that draw from all generators."""
    for _ in range(3):
        noise = torch.tensor(rng.standard_normal((5, 4)), dtype=torch.float32) + random.random()
        net(noise).square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()


@contextmanager
def full_disk(limit: int):
    """No file may grow beyond so many bytes: writing fails as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)


def test_after_loading_everything_goes_on_as_before(tmp_path):
    """The best weights are kept too, and can be put back."""
    run, other = begun(), begun(seed=1)
    best = checkpoint.weights_of(run[0])
    updated(*run)
    checkpoint.save(tmp_path, *run, {"step": 3}, best)
    updated(*run)
    random.seed(9)
    state, kept = checkpoint.load(tmp_path, *other)
    updated(*other)
    assert state["step"] == 3
    assert_close(run[0].state_dict(), other[0].state_dict(), rtol=0, atol=0)
    checkpoint.put_back(run[0], kept)
    assert torch.equal(run[0][0].weight, begun()[0][0].weight)


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
    updated(*run)
    checkpoint.save(tmp_path, *run, {"step": 3})
    (tmp_path / "step-00000020.part").mkdir()
    (tmp_path / "step-00000020.part" / "model.safetensors").write_bytes(b"half of it")
    assert checkpoint.peek(tmp_path)["step"] == 3
    checkpoint.save(tmp_path, *run, {"step": 20})
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(path.relative_to(tmp_path).as_posix() for path in files) == [
        "step-00000020/model.safetensors",
        "step-00000020/optimiser.safetensors",
        "step-00000020/random.safetensors",
        "step-00000020/state.json",
    ]
    assert checkpoint.peek(tmp_path)["step"] == 20


def test_a_folder_that_refuses_and_another_model_are_refused(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with refused("no-file", tmp_path / "taken", "Not a directory"):
        checkpoint.save(tmp_path / "taken", *begun(), {"step": 3})
    checkpoint.save(tmp_path, *begun(), {"step": 3})
    with refused("mismatch"):
        checkpoint.load(tmp_path, *begun(width=8))
