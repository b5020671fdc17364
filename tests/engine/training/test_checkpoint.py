"""What a checkpoint keeps, and what happens to it when it cannot be written."""

from __future__ import annotations

import random
import resource
import signal
from contextlib import contextmanager

import numpy as np
import pytest
import torch
from torch import nn

from tests.errors import refused
from theodolite.engine.training import checkpoint


class Net(nn.Module):
    """Two layers that share a weight, and a buffer."""

    def __init__(self, seed: int, width: int = 4) -> None:
        super().__init__()
        torch.manual_seed(seed)
        self.first = nn.Linear(width, width)
        self.second = nn.Linear(width, width, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("seen", torch.zeros(()))

    def forward(self, x):
        """Count, and multiply twice."""
        self.seen += 1
        return self.second(nn.functional.dropout(self.first(x)))


def updated(net, optimiser, rng, times=3):
    """Updates that draw from all generators."""
    for _ in range(times):
        noise = torch.tensor(rng.standard_normal((5, 4)), dtype=torch.float32) + random.random()
        net(noise).square().sum().backward()
        optimiser.step()
        optimiser.zero_grad()


def begun(seed=0):
    """A model, its optimiser and a generator."""
    net = Net(seed)
    optimiser = torch.optim.AdamW(net.parameters(), lr=0.1, fused=True)
    return net, optimiser, np.random.default_rng(seed)


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


def files(folder):
    """Names of all files in a folder."""
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_after_loading_everything_goes_on_as_before(tmp_path):
    net, optimiser, rng = begun()
    updated(net, optimiser, rng)
    checkpoint.save(tmp_path, net, optimiser, rng, {"step": 3})
    updated(net, optimiser, rng)

    other, other_optimiser, other_rng = begun(seed=1)
    random.seed(9)
    state, best = checkpoint.load(tmp_path, other, other_optimiser, other_rng)
    updated(other, other_optimiser, other_rng)

    assert state["step"] == 3
    assert best is None
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensor, other.state_dict()[name]), name


def test_every_process_has_its_own_random_numbers(tmp_path):
    """The second process finds its own; the third was not there, and keeps what it has."""
    net, optimiser, rng = begun()
    second = np.random.default_rng(7)
    torch.manual_seed(7)
    own = checkpoint.generators_of(second, torch.device("cpu"))
    following = second.random(), torch.rand(()).item(), random.random()
    torch.manual_seed(8)
    checkpoint.save(tmp_path, net, optimiser, rng, {"step": 3}, None, [own])
    checkpoint.load(tmp_path, *begun(seed=1)[:2], other := np.random.default_rng(), rank=1)
    assert (other.random(), torch.rand(()).item(), random.random()) == following
    third = np.random.default_rng(9)
    checkpoint.load(tmp_path, *begun(seed=1)[:2], third, rank=2)
    assert third.random() == np.random.default_rng(9).random()


def test_it_keeps_the_best_weights_too(tmp_path):
    net, optimiser, rng = begun()
    best = checkpoint.weights_of(net)
    updated(net, optimiser, rng)
    checkpoint.save(tmp_path, net, optimiser, rng, {"step": 3}, best)
    _, kept = checkpoint.load(tmp_path, *begun(seed=1))
    assert not torch.equal(kept["first.weight"], net.first.weight)
    checkpoint.put_back(net, kept)
    assert torch.equal(net.first.weight, Net(0).first.weight)


def test_only_the_newest_whole_one_stays_and_none_of_it_is_a_pickle(tmp_path):
    for folder in (tmp_path, tmp_path / "nowhere"):
        assert checkpoint.peek(folder) is None
    net, optimiser, rng = begun()
    with pytest.raises(FileNotFoundError):
        checkpoint.load(tmp_path, net, optimiser, rng)
    updated(net, optimiser, rng)
    checkpoint.save(tmp_path, net, optimiser, rng, {"step": 3})
    (tmp_path / "step-00000020.part").mkdir()
    (tmp_path / "step-00000020.part" / "model.safetensors").write_bytes(b"half of it")
    assert checkpoint.peek(tmp_path)["step"] == 3
    checkpoint.save(tmp_path, net, optimiser, rng, {"step": 20})
    assert files(tmp_path) == [
        "step-00000020/model.safetensors",
        "step-00000020/optimiser.safetensors",
        "step-00000020/random.safetensors",
        "step-00000020/state.json",
    ]
    assert checkpoint.peek(tmp_path)["step"] == 20


def test_a_full_disk_leaves_the_one_before_and_says_so(tmp_path):
    net, optimiser, rng = begun()
    updated(net, optimiser, rng)
    checkpoint.save(tmp_path, net, optimiser, rng, {"step": 3})
    before = {name: (tmp_path / name).read_bytes() for name in files(tmp_path)}
    updated(net, optimiser, rng)

    with full_disk(300), refused("no-file", "step 6", "File too large", "step 3 is whole"):
        checkpoint.save(tmp_path, net, optimiser, rng, {"step": 6})
    assert {name: (tmp_path / name).read_bytes() for name in files(tmp_path)} == before
    checkpoint.load(tmp_path, *begun(seed=1))


def test_a_folder_that_refuses_is_named(tmp_path):
    (tmp_path / "taken").write_text("a file")
    with refused("no-file", tmp_path / "taken", "Not a directory"):
        checkpoint.save(tmp_path / "taken", *begun(), {"step": 3})


def test_another_models_is_refused(tmp_path):
    checkpoint.save(tmp_path, *begun(), {"step": 3})
    with refused("mismatch"):
        checkpoint.load(tmp_path, Net(0, width=8), *begun()[1:])
