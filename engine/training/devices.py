"""What a training runs on: its device and precision, its processes and their random generators.

Every process (rank) holds the whole model and passes its shard of the batch through it. The
vectors of all ranks are gathered, and each rank computes the loss of the whole batch; only its own
vectors carry gradients, as in SimCSE's reference code. A loss of the whole batch has the gradient

    dL/dtheta = sum_i dL/dh_i dh_i/dtheta,

whose terms lie each on the rank that made h_i: summed over the ranks they are the gradient of one
process with the whole batch. (The reference lets DistributedDataParallel average, which makes its
gradients smaller by the number of ranks; AdamW hides most of that.)

Where a batch, such as the last of an epoch, has fewer examples than there are ranks, the ranks
without any pass a stand-in through the model that does not count: their gradients are zero, and
every rank still takes part in every collective.

Control messages go over the CPU (gloo), even where gradients go from GPU to GPU: a GPU could only
answer after finishing its work.

`torchrun` and `accelerate launch` both set RANK, WORLD_SIZE and LOCAL_RANK.
"""

from __future__ import annotations

import json
import os
import random
import socket
from collections.abc import Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import distributed

from theodolite.engine.encoders.transformer import default_device, device_of
from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import BaseSpec

_HALVES = {"bf16": torch.bfloat16, "fp16": torch.float16}


@dataclass(frozen=True)
class Precision:
    """The device and the precision of a run.

    Weights, gradients and moments are float32 throughout; `bf16` and `fp16` are the types in
    which matrices are multiplied (automatic mixed precision).

    Attributes:
        device: of the model.
        name: `fp32`, `bf16` or `fp16`.
    """

    device: torch.device
    name: Literal["fp32", "bf16", "fp16"]

    @classmethod
    def of(cls, spec: BaseSpec, local_rank: int = 0, world_size: int = 1) -> Precision:
        """The device of a spec, and the precision, if the device supports it.

        Args:
            spec: without a device, takes the first GPU if there is one. The precision `auto` is
                bf16 on an Nvidia GPU that has it, fp16 on older ones, else fp32.
            local_rank: number of the process on this machine; of several, each takes its own GPU.
            world_size: number of processes that train together.
        """
        precision = spec.precision
        device = _device(spec.device, local_rank, world_size)
        has_bf16 = device.type == "cpu" or (
            device.type == "cuda" and torch.cuda.is_bf16_supported(including_emulation=False)
        )
        if precision == "auto":
            if device.type != "cuda":
                return cls(device, "fp32")
            return cls(device, "bf16" if has_bf16 else "fp16")
        if (precision == "bf16" and not has_bf16) or (
            precision == "fp16" and device.type != "cuda"
        ):
            raise UserError(
                f"{precision} is not available on {device}.",
                "Choose the precision auto, which takes what the device has.",
                code="unsupported",
            )
        return cls(device, precision)

    def autocast(self) -> AbstractContextManager[object]:
        """The context of forward passes and losses."""
        if self.name == "fp32":
            return nullcontext()
        return torch.autocast(self.device.type, _HALVES[self.name])

    def scaler(self) -> torch.amp.GradScaler:
        """The loss scaler, which keeps small gradients from underflowing in fp16; else disabled."""
        return torch.amp.GradScaler(self.device.type, enabled=self.name == "fp16")


def exact(x: torch.Tensor) -> torch.Tensor:
    """Convert to float32; float64 is left alone."""
    return x if x.dtype == torch.float64 else x.float()


def widest(device: torch.device) -> torch.dtype:
    """The most precise type of a device: float64, which Apple's GPUs lack."""
    return torch.float32 if device.type == "mps" else torch.float64


def _device(requested: str | None, local_rank: int, world_size: int) -> torch.device:
    name = requested or default_device()
    if name == "cuda" and world_size > 1:
        name = f"cuda:{local_rank}"
    return torch.device(device_of(name))


@dataclass(frozen=True)
class Ranks:
    """The rank of this process among all.

    Attributes:
        rank: its number, from 0; rank 0 alone writes files and reports.
        world_size: number of processes.
        local_rank: its number on this machine, which is that of its GPU.
    """

    rank: int = 0
    world_size: int = 1
    local_rank: int = 0

    @classmethod
    def of_environment(cls) -> Ranks:
        """Read what the launcher set; a single process without one."""
        rank, world_size = int(os.environ.get("RANK", 0)), int(os.environ.get("WORLD_SIZE", 1))
        return cls(rank, world_size, int(os.environ.get("LOCAL_RANK", rank)))

    def counts(self, n: int) -> list[int]:
        """Examples of every rank where n are sharded; the first have one more, the last may have 0.

        Example:
            >>> Ranks(world_size=3).counts(7)
            [3, 2, 2]
        """
        return [len(part) for part in np.array_split(np.empty(n), self.world_size)]

    def shard(self, batch: np.ndarray) -> np.ndarray:
        """This rank's part of a batch that every rank knows, in order of rank.

        Where there are fewer examples than ranks, the last ranks get the first one as a stand-in.
        """
        own = np.array_split(batch, self.world_size)[self.rank]
        return own if len(own) else batch[:1]


def begin(ranks: Ranks, device: torch.device) -> None:
    """Join the other processes, if a launcher started several; on GPUs by NCCL and gloo."""
    if ranks.world_size > 1 and not distributed.is_initialized():
        if device.type == "cuda":
            torch.cuda.set_device(device)
        if interface := _interface_to(os.environ.get("MASTER_ADDR", "")):
            os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
        distributed.init_process_group("cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo")


def _interface_to(host: str) -> str:
    """The name of the network interface by which this machine reaches another; empty if unknown.

    gloo would take that of the machine's own name, which on many systems is loopback: the other
    machines would then look for it on themselves.
    """
    import psutil

    with suppress(OSError):
        for family, *_, address in socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM):
            with suppress(OSError), socket.socket(family, socket.SOCK_DGRAM) as probe:
                probe.connect(address)  # of UDP: nothing is sent
                own = probe.getsockname()[0]
                for name, places in psutil.net_if_addrs().items():
                    if any(place.address.partition("%")[0] == own for place in places):
                        return name
    return ""


def end() -> None:
    """Leave the other processes."""
    if distributed.is_initialized():
        distributed.destroy_process_group()


def copy_from_first(model: torch.nn.Module) -> None:
    """Give every rank the weights and buffers of rank 0."""
    if distributed.is_initialized():
        for tensor in model.state_dict().values():
            distributed.broadcast(tensor, src=0)


def all_gather(own: torch.Tensor, counts: Sequence[int] = ()) -> torch.Tensor:
    """The rows of all ranks, (n of all, d), in order of rank; gradients flow to the own ones.

    With a single process it is the tensor itself.

    Args:
        own: (at least as many as this rank's count, d).
        counts: rows of every rank, which all of them know; those of a stand-in are left out.
    """
    if not distributed.is_initialized():
        return own
    rank = distributed.get_rank()
    own = own[: counts[rank]]
    padded = own.detach().new_zeros(max(counts), *own.shape[1:])
    padded[: len(own)] = own.detach()
    parts = [torch.empty_like(padded) for _ in counts]
    distributed.all_gather(parts, padded)
    rows = [part[:count] for part, count in zip(parts, counts, strict=True)]
    rows[rank] = own
    return torch.cat(rows)


def is_stand_in(counts: Sequence[int]) -> bool:
    """Whether this rank has only a stand-in instead of examples of the batch."""
    return distributed.is_initialized() and counts[distributed.get_rank()] == 0


def gather_bytes(own: bytes) -> list[bytes]:
    """Gather the bytes of all ranks, in order of rank, on every rank."""
    if not distributed.is_initialized():
        return [own]
    counts = [int(size) for size in _gather(torch.tensor([len(own)]))]
    padded = bytearray(own.ljust(max(counts), b"\0"))
    parts = _gather(torch.frombuffer(padded, dtype=torch.uint8))
    return [part[:count].numpy().tobytes() for part, count in zip(parts, counts, strict=True)]


def barrier() -> None:
    """Wait until all ranks have arrived."""
    gather_numbers(0)


def gather_numbers(own: int) -> list[int]:
    """Gather a number from every rank, in order of rank; no rank goes on before all have sent."""
    if not distributed.is_initialized():
        return [own]
    return [int(number) for number in _gather(torch.tensor([own]))]


def _gather(own: torch.Tensor) -> list[torch.Tensor]:
    """Gather a tensor of the CPU from every rank, all of one shape."""
    parts = [torch.empty_like(own) for _ in range(distributed.get_world_size())]
    distributed.all_gather(parts, own)
    return parts


def sum_over_ranks(own: torch.Tensor) -> torch.Tensor:
    """The sum over all ranks, without gradients."""
    total = own.detach().clone()
    if distributed.is_initialized():
        distributed.all_reduce(total)
    return total


def broadcast(word: str, words: Sequence[str]) -> str:
    """Broadcast rank 0's word, one of `words`; every rank must call this at the same step."""
    if not distributed.is_initialized():
        return word
    number = torch.tensor([words.index(word)])
    distributed.broadcast(number, src=0)
    return words[int(number)]


def sum_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Sum every parameter's gradient over the ranks, in place.

    A parameter that only some ranks used (an MLM head where no token was chosen) counts as zero
    on the others; one that none used is left without a gradient.
    """
    if not distributed.is_initialized():
        return
    trained = [parameter for parameter in parameters if parameter.requires_grad]
    used = torch.tensor([p.grad is not None for p in trained], dtype=torch.int32)
    distributed.all_reduce(used)
    used_parameters = [p for p, users in zip(trained, used.tolist(), strict=True) if users]
    for parameter in used_parameters:
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    for dtype in {parameter.dtype for parameter in used_parameters}:
        same = [p.grad for p in used_parameters if p.dtype == dtype and p.grad is not None]
        # One message: a message for each gradient would pay the network's latency each time.
        flat = torch.cat([gradient.flatten() for gradient in same])
        distributed.all_reduce(flat)
        parts = flat.split([gradient.numel() for gradient in same])  # type: ignore[no-untyped-call]
        for gradient, part in zip(same, parts, strict=True):
            gradient.copy_(part.view_as(gradient))


States = dict[str, torch.Tensor]
"""The states of a process's random generators, to be saved: torch's of the CPU and of the device,
which dropout draws from; Python's; and NumPy's, used to crop sentences and mask tokens."""


def seed(number: int, rank: int, step: int = 0) -> np.random.Generator:
    """Seed the global generators of a process, and return NumPy's.

    Args:
        number: of the run.
        rank: of the process, so that each has masks of its own.
        step: updates made before, if the states at that step are not known.
    """
    torch.manual_seed(number + rank + step)
    random.seed(number + rank + step)
    return np.random.default_rng([number, rank, step] if step else [number, rank])


def states(rng: np.random.Generator, device: torch.device) -> States:
    """The states of all generators.

    Args:
        rng: NumPy's generator of the run; Torch's and Python's are the global ones.
        device: of the model.
    """
    dropout = dropout_states(device)
    return dropout | {"numpy": _pack(rng.bit_generator.state), "python": _pack(random.getstate())}


def restore(states: States, rng: np.random.Generator, device: torch.device) -> None:
    """Restore the states of all generators."""
    rng.bit_generator.state = _unpack(states["numpy"])
    version, numbers, gauss = _unpack(states["python"])
    random.setstate((version, tuple(numbers), gauss))
    restore_dropout(states, device)


def dropout_states(device: torch.device) -> States:
    """The states of torch's generators, of the CPU and of a device."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    elif device.type == "mps":
        states["mps"] = torch.mps.get_rng_state()
    return states


def restore_dropout(states: States, device: torch.device) -> None:
    """Restore torch's generators; that of the device only if its kind of device was saved."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
    elif device.type == "mps" and "mps" in states:
        torch.mps.set_rng_state(states["mps"])


def _pack(state: Any) -> torch.Tensor:
    return torch.frombuffer(bytearray(json.dumps(state).encode()), dtype=torch.uint8)


def _unpack(state: torch.Tensor) -> Any:
    return json.loads(state.numpy().tobytes())
