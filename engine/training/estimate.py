"""The estimated cost of a training run, from a few real updates, timed and then discarded.

Time and memory of a whole batch are extrapolated linearly from those of growing parts, measured on
this machine with whatever else runs on it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from theodolite.engine.cost.speed import encoding_speed, extended, spread, timed_updates, trial
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.training.examples import Examples, examples_of
from theodolite.engine.training.spec import TrainSpec

if TYPE_CHECKING:
    import torch

    from theodolite.engine.training.dev import DevSet
    from theodolite.engine.training.encoder import EncoderTrainer

_VOCABULARY_FROM = 5_000
"""Examples from which the estimate learns a new vocabulary; the run takes all of them."""
_PROCESS = 500 * 10**6
"""Bytes of a process that has imported torch and transformers and does nothing yet."""


@dataclass(frozen=True)
class TrainEstimate:
    """The estimated cost of a run.

    Attributes:
        seconds: from start to end: opening, updates and evaluations on the dev set; patience may
            end it earlier.
        bytes: peak memory, of the GPU if it runs on one, else of the process.
        steps: updates in all.
        examples: in the training data; only those that the updates need where `steps` is given.
        seconds_per_step: of one update.
        seconds_per_eval: of one evaluation on the dev set; 0 without one.
        evals: number of evaluations.
        sentences_per_second: over all columns, without evaluations.
        device: used for the measurement.
        micro_batch: examples at once, None for the whole batch; fewer than the spec's where those
            did not fit the memory.
        batch_measured: examples of the largest batch that was timed.
        notes: what was left out of the data, and what could not be measured.
    """

    seconds: float
    bytes: int
    steps: int
    examples: int
    seconds_per_step: float
    seconds_per_eval: float
    evals: int
    sentences_per_second: float
    device: str
    micro_batch: int | None
    batch_measured: int
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Timed:
    """One update: its examples, the number at once, its seconds, and the peak bytes so far."""

    examples: int
    at_once: int
    seconds: float
    bytes: int


def estimate(
    spec: TrainSpec, catalog: Catalog | None = None, seconds: float = 2.0
) -> TrainEstimate:
    """Estimate the cost of a run by making some of its updates.

    Nothing is kept: a packed training file is unpacked into a temporary folder, the state of the
    random generators is restored, and the memory freed.

    Args:
        spec: of the run; `out` is ignored.
        catalog: where data sets come from; by default the starter set and THEODOLITE_DATA.
        seconds: approximate time to spend on updates; a single one may take longer.
    """
    with trial() as folder:
        return _probed(spec, catalog or Catalog(), folder, seconds)


def _probed(spec: TrainSpec, catalog: Catalog, folder: Path, seconds: float) -> TrainEstimate:
    from theodolite.engine.training.dev import DevSet
    from theodolite.engine.training.encoder import EncoderTrainer
    from theodolite.engine.training.model import open_model
    from theodolite.engine.training.precision import Precision

    began = time.perf_counter()
    precision = Precision.of(spec)
    # The folder holds nothing to resume; a model would take longer to compile than to run.
    probe = replace(spec, out=str(folder / "probe"), compile=False)
    examples = _examples(spec, catalog, folder)
    dev = None if spec.dev is None else DevSet.open(spec.dev, catalog)
    model = open_model(probe, _for_vocabulary(spec, examples))
    trainer = EncoderTrainer(probe, model, examples, dev, precision)
    memory = _Memory(precision.device)
    opening = time.perf_counter() - began

    notes = [*examples.notes]
    if spec.compile:
        notes.append("Measured without compiling, which takes a minute first and is faster then.")
    measured = _measure(trainer, seconds, memory)
    notes += trainer.state.notes
    whole = min(spec.batch_size, len(examples))
    step = extended(whole, [(m.examples, m.seconds) for m in measured[1:]])
    columns = len(trainer.objective.columns([examples[0]], trainer.model, trainer.rng))
    per_eval = 0.0 if dev is None else _seconds_per_eval(trainer, dev)
    evals = 0 if dev is None else -(-trainer.steps // spec.dev_every)
    return TrainEstimate(
        seconds=opening + trainer.steps * step + evals * per_eval,
        bytes=_bytes(trainer, memory, measured, whole),
        steps=trainer.steps,
        examples=len(examples),
        seconds_per_step=step,
        seconds_per_eval=per_eval,
        evals=evals,
        sentences_per_second=whole * columns / step,
        device=str(precision.device),
        micro_batch=trainer.state.micro_batch,
        batch_measured=measured[-1].examples,
        notes=tuple(notes),
    )


def _examples(spec: TrainSpec, catalog: Catalog, folder: Path) -> Examples:
    """The training data; only as many examples as the updates need where `steps` is given."""
    needed = None if spec.steps is None else max(2, spec.steps * spec.batch_size)
    limits = [limit for limit in (spec.limit, needed) if limit is not None]
    return examples_of(replace(spec, limit=min(limits, default=None)), catalog, folder)


def _for_vocabulary(spec: TrainSpec, examples: Examples) -> Examples:
    few = min(len(examples), _VOCABULARY_FROM)
    return replace(examples, count=few) if spec.base.startswith("new:") else examples


def _measure(trainer: EncoderTrainer, seconds: float, memory: _Memory) -> list[_Timed]:
    """Make updates with growing batches until the time is up, and watch the memory."""
    found = []
    with memory.watched():
        whole = min(trainer.spec.batch_size, len(trainer.examples))
        for batch, took in timed_updates(trainer, whole, seconds):
            at_once = min(trainer.state.micro_batch or len(batch), len(batch))
            found.append(_Timed(len(batch), at_once, took, memory.most))
    return found


def _bytes(trainer: EncoderTrainer, memory: _Memory, measured: list[_Timed], whole: int) -> int:
    """The peak memory of a whole batch; on a CPU with the process and the best weights."""
    at_once = min(trainer.state.micro_batch or whole, whole)
    weights = 4 * sum(p.numel() for p in trainer.model.parameters())
    most = extended(at_once, [(m.at_once, float(m.bytes)) for m in measured])
    if trainer.precision.device.type != "cpu":
        return int(most)
    # Growth during the updates: gradients and two moments at least, and activations.
    best = weights if trainer.dev is not None else 0
    return int(_PROCESS + weights + max(most, 3 * weights) + best)


def _seconds_per_eval(trainer: EncoderTrainer, dev: DevSet) -> float:
    """Seconds of an evaluation, from encoding some sentences and comparing random vectors."""
    speed = encoding_speed(trainer.model, spread(dev.sentences))
    began = time.perf_counter()
    dev.score(_Random(trainer.model.dim))
    return speed.seconds(len(dev.sentences)) + time.perf_counter() - began


class _Random:
    """An encoder that gives random vectors."""

    def __init__(self, dim: int) -> None:
        self._dim = dim

    def encode(self, sentences: list[str]) -> np.ndarray:
        """float32 (n, dim)."""
        rng = np.random.default_rng(0)
        return rng.standard_normal((len(sentences), self._dim), dtype=np.float32)


class _Memory:
    """The peak memory: of a GPU as torch counts it, else the growth of the process."""

    def __init__(self, device: torch.device) -> None:
        import psutil

        self._device = device
        self._process = psutil.Process()
        self._before = self._most = self._process.memory_info().rss
        self._over = threading.Event()
        self._gpu = device.type == "cuda"

    @property
    def most(self) -> int:
        """Peak bytes so far."""
        if self._gpu:
            import torch

            return torch.cuda.max_memory_allocated(self._device)
        self._read()
        return self._most - self._before

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Sample every few milliseconds: memory of an update is freed before it ends."""
        if self._gpu:
            import torch

            torch.cuda.reset_peak_memory_stats(self._device)
            yield
            return
        watcher = threading.Thread(target=self._watch, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            self._over.set()
            watcher.join()

    def _watch(self) -> None:
        while not self._over.wait(0.005):
            self._read()

    def _read(self) -> None:
        self._most = max(self._most, self._process.memory_info().rss)
