"""Checkpoints: everything a killed run needs to resume exactly where it was.

A working folder holds the newest one:

    step-00000250/
        model.safetensors        weights and buffers
        best.safetensors         those of the best evaluation, if they are not the same
        optimiser.safetensors    AdamW's moments
        random.safetensors       the states of the random generators (`generators`)
        random-1.safetensors     those of the second process, if several train, and so on
        state.json               step and scores

A checkpoint is written under another name, flushed to the disk and only then renamed, and only then
is the previous one removed: whenever a run is killed or the disk is full, a complete one exists. No
pickle: tensors in safetensors, the rest in JSON.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from filelock import FileLock, Timeout
from safetensors import SafetensorError
from safetensors.torch import load_file, save as to_bytes, save_file
from torch import nn

from theodolite.engine.errors import UserError, first_line
from theodolite.engine.training import devices

Weights = dict[str, torch.Tensor]


@contextmanager
def lock(folder: Path) -> Iterator[None]:
    """Lock a working folder, which is created if missing and, left empty, removed.

    Two processes at once would damage each other's work. The system releases the lock when the
    process dies.
    """
    # A generator is closed by whichever thread drops it, which need not be the one that began it.
    file_lock = FileLock(folder / "lock", thread_local=False)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file_lock.acquire(timeout=0)
    except Timeout as error:
        raise UserError(
            f"Another process is at work in {folder}.",
            "Wait until it is done or stop it; or choose another folder for the trained model.",
            code="conflict",
        ) from error
    except OSError as error:
        raise UserError(
            f"{folder} cannot be written: {first_line(error)}",
            "Choose another folder.",
            code="no-file",
        ) from error
    try:
        yield
    finally:
        file_lock.release()
        if not any(entry.name != "lock" for entry in folder.glob("*")):
            shutil.rmtree(folder, ignore_errors=True)


def save(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    rng: np.random.Generator,
    state: dict[str, Any],
    best: Weights | None = None,
    others: Sequence[bytes] = (),
) -> None:
    """Write a checkpoint, then remove the previous one.

    Args:
        folder: the working folder; created if missing.
        model: its weights and buffers, shared ones once.
        optimiser: its state by the number of the parameter.
        rng: NumPy's generator of the run. Torch's and Python's are the global ones.
        state: JSON-able; `step` (int) names the checkpoint.
        best: weights of the best evaluation, as `weights_of` gives them.
        others: the generators of the other processes, from the second on, as `generators_of` gives
            them.
    """
    place = folder / f"step-{state['step']:08d}"
    if place.exists():  # a run that went on from this very step has nothing to add
        return
    part = place.with_name(place.name + ".part")
    try:
        shutil.rmtree(part, ignore_errors=True)  # of a run that was killed while it wrote
        part.mkdir(parents=True)
        _write_tensors(part / "model.safetensors", _tensors(model))
        if best is not None:
            _write_tensors(part / "best.safetensors", best)
        state_of = optimiser.state_dict()["state"]
        moments = {f"{n}.{key}": t for n, entries in state_of.items() for key, t in entries.items()}
        _write_tensors(part / "optimiser.safetensors", moments)
        for rank, states in enumerate([generators_of(rng, _device(optimiser)), *others]):
            _random(part, rank).write_bytes(states)
            flush(_random(part, rank))
        (part / "state.json").write_text(json.dumps(state), "utf-8")
        flush(part / "state.json")
        part.rename(place)
        flush(folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(part, ignore_errors=True)
        raise _not_written(folder, state["step"], error) from error
    for path in folder.glob("step-*"):
        if path != place:
            shutil.rmtree(path, ignore_errors=True)


def peek(folder: Path) -> dict[str, Any] | None:
    """The state of the newest checkpoint, or None."""
    newest = _newest(folder)
    if newest is None:
        return None
    return json.loads((newest / "state.json").read_text("utf-8"))


def newest_step(folder: Path) -> int | None:
    """The step of the newest checkpoint, or None."""
    newest = _newest(folder)
    return None if newest is None else int(newest.name.removeprefix("step-"))


def generators_of(rng: np.random.Generator, device: torch.device) -> bytes:
    """The states of this process's generators, as they are written; see `devices.states`."""
    return to_bytes(devices.states(rng, device))


def load(
    folder: Path,
    model: nn.Module,
    optimiser: torch.optim.Optimizer,
    rng: np.random.Generator,
    rank: int = 0,
) -> tuple[dict[str, Any], Weights | None]:
    """Restore everything from the newest checkpoint; return its state and best weights.

    The generators of a rank without saved states stay as they are.

    Raises:
        FileNotFoundError: there is no checkpoint.
    """
    newest = _newest_or_error(folder)
    state = json.loads((newest / "state.json").read_text("utf-8"))
    load_weights(folder, model)
    _restore_moments(optimiser, load_file(newest / "optimiser.safetensors"))
    best = newest / "best.safetensors"
    weights = load_file(best) if best.exists() else None
    if _random(newest, rank).exists():
        devices.restore(load_file(_random(newest, rank)), rng, _device(optimiser))
    return state, weights


def load_weights(folder: Path, model: nn.Module) -> int:
    """Restore only the weights of the newest checkpoint; return its step."""
    newest = _newest_or_error(folder)
    put_back(model, load_file(newest / "model.safetensors"))
    return int(newest.name.removeprefix("step-"))


def weights_of(model: nn.Module) -> Weights:
    """A copy of a model's weights and buffers in CPU memory."""
    return {name: t.detach().to("cpu", copy=True) for name, t in _tensors(model).items()}


@torch.no_grad()
def put_back(model: nn.Module, weights: Weights) -> None:
    """Restore the weights that `weights_of` copied from a model."""
    own = _tensors(model)
    if {n: t.shape for n, t in weights.items()} != {n: t.shape for n, t in own.items()}:
        raise UserError(
            "The checkpoint was written by another model.",
            "Remove its folder to train from the start.",
            code="mismatch",
        )
    for name, tensor in own.items():
        tensor.copy_(weights[name])


def why_unwritten(error: Exception) -> str:
    """The reason for a failed write, as the system or safetensors gives it."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _not_written(folder: Path, step: int, error: Exception) -> UserError:
    last = newest_step(folder)
    left = "There is no earlier one." if last is None else f"That of step {last} is whole."
    start = "from the beginning" if last is None else "on from there"
    return UserError(
        f"The checkpoint of step {step} could not be written to {folder}: {why_unwritten(error)}. "
        f"{left}",
        f"Make room there and start the same training again: it goes {start}.",
        code="no-file",
    )


def _newest_or_error(folder: Path) -> Path:
    newest = _newest(folder)
    if newest is None:
        raise FileNotFoundError(folder)
    return newest


def _newest(folder: Path) -> Path | None:
    whole = [path for path in folder.glob("step-*") if re.fullmatch(r"step-\d+", path.name)]
    return max(whole, default=None)


def _tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Trained parameters and buffers by name, each once even if it has several names."""
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    return trained | dict(model.named_buffers())


def _write_tensors(file: Path, tensors: dict[str, torch.Tensor]) -> None:
    save_file({name: tensor.detach().contiguous() for name, tensor in tensors.items()}, file)
    flush(file)


def _restore_moments(optimiser: torch.optim.Optimizer, stored: dict[str, torch.Tensor]) -> None:
    state: dict[int, dict[str, torch.Tensor]] = {}
    for name, tensor in stored.items():
        number, key = name.split(".")
        state.setdefault(int(number), {})[key] = tensor
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})


def _random(place: Path, rank: int) -> Path:
    return place / (f"random-{rank}.safetensors" if rank else "random.safetensors")


def _device(optimiser: torch.optim.Optimizer) -> torch.device:
    return optimiser.param_groups[0]["params"][0].device


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    if os.name != "posix":
        return  # Windows opens no folder, and flushes no file that was opened to be read
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def flush_all(folder: Path) -> None:
    """Wait until all files of a folder are on the disk."""
    for file in folder.rglob("*"):
        if file.is_file():
            flush(file)
