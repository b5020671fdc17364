"""What a training run holds between two updates, and how it goes on after a kill."""

from __future__ import annotations

import shutil
import time
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from engine import memory
from engine.errors import UserError
from engine.training import checkpoint, distributed, generators, outcome
from engine.training.dev import DevSet
from engine.training.distributed import Ranks
from engine.training.events import Finished, Looked, Noted, Started, Stepped
from engine.training.examples import Examples
from engine.training.meter import Meter
from engine.training.model import TrainingModel
from engine.training.objectives import objective_of
from engine.training.optimiser import adamw
from engine.training.order import steps_of
from engine.training.precision import Precision
from engine.training.spec import TrainSpec, of_today

CHECKPOINT_SECONDS = 120.0
"""The longest between two checkpoints."""
CHECKPOINT_SHARE = 0.05
"""Of the time, that checkpoints at looks may take."""


CURVE = 2000
"""Reports kept for the model card; of more, every second is dropped."""


def out_folder(spec: TrainSpec) -> Path:
    """Where the encoder of a run will be."""
    return Path(spec.out).expanduser().absolute()


def working_folder(spec: TrainSpec) -> Path:
    """Where the checkpoint of a run is until its encoder is written."""
    out = out_folder(spec)
    return out.with_name(out.name + ".training")


@dataclass
class State:
    """What a run knows besides tensors; JSON-able, part of every checkpoint.

    Attributes:
        spec, data_hash: what it is a run of.
        step: updates made.
        seconds: that they took.
        micro_batch: examples at once, as far as the memory allowed.
        best_step, best_score: of the best look so far.
        looks: without a better one since.
        curve: the reports and looks so far.
        notes: what else a person should know of the encoder.
        scaler: of fp16.
        processes: that train together.
    """

    spec: dict[str, Any]
    data_hash: str
    step: int = 0
    seconds: float = 0.0
    micro_batch: int | None = None
    best_step: int | None = None
    best_score: float | None = None
    looks: int = 0
    curve: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scaler: dict[str, Any] = field(default_factory=dict)
    processes: int = 1


class Run:
    """A training run; `engine.train.events` trains it.

    Args:
        spec: everything that is asked.
        model: in training mode; moved to the device.
        examples: what it learns from.
        dev: chooses the best weights; None keeps the last.
        precision: where and how precisely it computes.
        ranks: this process among all.

    Attributes:
        best: weights of the best look so far.
        resumed: what there is to tell of how it goes on from a checkpoint.

    Raises:
        UserError: a batch without negatives or of fewer examples than there are processes, or the
            working folder is another run's, or not the same for all processes.
    """

    def __init__(
        self,
        spec: TrainSpec,
        model: TrainingModel,
        examples: Examples,
        dev: DevSet | None,
        precision: Precision,
        ranks: Ranks | None = None,
    ) -> None:
        self.spec, self.examples, self.dev, self.precision = spec, examples, dev, precision
        self.ranks = ranks or Ranks()
        _check_batch(spec, examples, self.ranks)
        self.folder = working_folder(spec)
        self.steps = steps_of(spec, len(examples))
        self.objective = objective_of(spec)
        self.model = model.to(precision.device)
        distributed.copy_from_first(self.model)
        self.objective.begin(self.model)
        self.optimiser = adamw(self.model, spec)
        self.scaler = precision.scaler()
        # Order and weights are the same on all ranks; dropout masks and augmentations are not.
        self.rng = generators.seed(spec.seed, self.ranks.rank)
        self.state = State(
            spec.to_dict(),
            examples.hash,
            micro_batch=spec.micro_batch,
            processes=self.ranks.world_size,
        )
        self.best: checkpoint.Weights | None = None
        self.resumed: list[Noted] = []
        self._resume()
        self.meter = Meter(
            self.step,
            self.steps,
            self.state.seconds,
            precision.device,
            skips=self.scaler.is_enabled(),
        )
        self._saved, self._save_seconds = time.perf_counter(), 0.0

    @property
    def step(self) -> int:
        """Updates made."""
        return self.state.step

    @property
    def looked(self) -> bool:
        """Whether the dev task was scored with the weights as they are."""
        last = self.state.curve[-1] if self.state.curve else {}
        return last.get("kind") == Looked.kind and last["step"] == self.step

    def remember(self, event: Stepped | Looked) -> None:
        """Add to the curve."""
        curve = self.state.curve
        if len(curve) >= CURVE:
            curve = [e for i, e in enumerate(curve) if i % 2 or e["kind"] == Looked.kind]
        self.state.curve = [*curve, event.to_dict()]

    def note(self, message: str) -> Noted:
        """Tell something that the model card shall tell too."""
        self.state.notes.append(message)
        return Noted(self.step, message)

    def started(self) -> Started:
        """The first event."""
        return Started(
            step=self.step,
            steps=self.steps,
            examples=len(self.examples),
            parameters=sum(p.numel() for p in self.model.parameters() if p.requires_grad),
            device=str(self.precision.device),
            precision=self.precision.name,
            data_hash=self.examples.hash,
        )

    def must_save(self) -> bool:
        """Whether the last checkpoint is too long ago."""
        return time.perf_counter() - self._saved > CHECKPOINT_SECONDS

    def may_save(self) -> bool:
        """Whether a checkpoint now takes little of the time since the last."""
        return self._save_seconds <= CHECKPOINT_SHARE * (time.perf_counter() - self._saved)

    def save(self) -> None:
        """Write a checkpoint, on all ranks at once; the weights must be known to be good.

        Raises:
            UserError: it could not be written; the one before is whole.
        """
        began = time.perf_counter()
        own = checkpoint.generators_of(self.rng, self.precision.device)
        others = distributed.gather_bytes(own)[1:]
        if self.ranks.rank > 0:
            return
        state = self.state
        state.seconds, state.scaler = self.meter.seconds, self.scaler.state_dict()
        # The best weights of this very step are the model's own.
        best = None if state.best_step == state.step else self.best
        checkpoint.save(
            self.folder, self.model, self.optimiser, self.rng, asdict(state), best, others
        )
        memory.empty_cache(self.precision.device)
        self._saved = time.perf_counter()
        self._save_seconds = self._saved - began
        self.meter.pause(self._save_seconds)

    def reduce_micro_batch(self, examples: int) -> Noted:
        """Pass half as many examples through the model at once from now on.

        Args:
            examples: of the batch that did not fit.

        Raises:
            UserError: there is nothing left to halve.
        """
        self.optimiser.zero_grad(set_to_none=True)
        device = self.precision.device
        memory.empty_cache(device)
        size = min(self.state.micro_batch or examples, examples)
        # The other ranks wait for this one within the update: it cannot be begun again.
        if size == 1 or self.ranks.world_size > 1:
            raise UserError(
                f"A micro-batch of {size} does not fit the memory of {device}.",
                "Lower the micro-batch or the max length, or let gradient checkpointing compute "
                "activations again.",
            )
        self.state.micro_batch = (size + 1) // 2
        return self.note(
            f"{size} examples at once did not fit the memory of {device}: it is "
            f"{self.state.micro_batch} from here on. The loss is still that of the whole batch."
        )

    def write(self, why: str) -> Finished:
        """Write the encoder, remove the checkpoint, and tell where it is.

        Args:
            why: as in `Finished`.

        Raises:
            UserError: it could not be written; the checkpoint is still there.
        """
        state = self.state
        best_step = self.step if state.best_step is None else state.best_step
        record = outcome.Record(
            spec=self.spec,
            data_hash=state.data_hash,
            examples=len(self.examples),
            notes=(*self.examples.notes, *state.notes),
            steps=self.step,
            best_step=best_step,
            best_score=state.best_score,
            seconds=self.meter.seconds,
            why=why,
            curve=state.curve,
        )
        folder = out_folder(self.spec)
        encoder = outcome.write(self.model, record, folder)
        shutil.rmtree(self.folder, ignore_errors=True)
        return Finished(
            self.step, best_step, state.best_score, record.seconds, str(folder), encoder, why
        )

    def _resume(self) -> None:
        """Go on from the checkpoint, if there is one."""
        if (kept := checkpoint.peek(self.folder)) is not None:
            _check_same(self.spec, self.examples, kept, self.folder)
            self._load()
        # Nobody writes into the folder before all have read.
        if len(steps := set(distributed.gather_numbers(self.step))) > 1:
            told = ", ".join(str(step) for step in sorted(steps))
            raise UserError(
                f"The processes found different checkpoints in {self.folder}: of the steps {told}.",
                "All of them need the same folder, on a disk that they share.",
            )

    def _load(self) -> None:
        rank, processes = self.ranks.rank, self.ranks.world_size
        kept, self.best = checkpoint.load(self.folder, self.model, self.optimiser, self.rng, rank)
        self.state = State(**{f.name: kept[f.name] for f in fields(State) if f.name in kept})
        if self.state.scaler:  # begun where there was none, it finds its scale anew
            self.scaler.load_state_dict(self.state.scaler)
        if self.state.best_step == self.step:
            self.best = checkpoint.weights_of(self.model)
        before, self.state.processes = self.state.processes, processes
        if rank >= before:
            self.rng = generators.seed(self.spec.seed, rank, self.step)
        if before != processes:
            self.resumed = [
                self.note(
                    f"Begun in {_processes(before)} and gone on with in {_processes(processes)} at "
                    f"step {self.step}: the loss is that of the same batches, but dropout and "
                    "whatever else is random differ from those of an unbroken run."
                )
            ]


def _processes(count: int) -> str:
    return "one process" if count == 1 else f"{count} processes"


def _check_batch(spec: TrainSpec, examples: Examples, ranks: Ranks) -> None:
    """Refuse a batch that cannot be sharded, or that has nothing to contrast with."""
    if spec.batch_size < ranks.world_size:
        raise UserError(
            f"A batch of {spec.batch_size} cannot be sharded over {ranks.world_size} processes.",
            "Raise the batch size, or start fewer processes.",
        )
    hard = spec.objective == "sup" and spec.hard_negatives and len(examples.columns) > 2
    if spec.objective != "mlm" and spec.batch_size == 1 and not hard:
        raise UserError(
            "With a batch size of 1 nothing can be learned: the other examples of a batch are the "
            "negatives, and without any the loss is 0 whatever the weights.",
            "Give a batch size of 2 or more; the paper takes 64. A small micro-batch saves memory.",
        )


def _check_same(spec: TrainSpec, examples: Examples, kept: dict[str, Any], folder: Path) -> None:
    """Refuse to go on with the checkpoint of another run."""
    then, now = of_today(kept["spec"]), spec.to_dict()
    other = [
        f"{name.replace('_', ' ')} was {then.get(name)!r} and is {now[name]!r}"
        for name in now
        if name != "out" and then.get(name) != now[name]
    ]
    if kept["data_hash"] != examples.hash:
        other.append("the training data have changed")
    if other:
        raise UserError(
            f"{folder} holds a training that was broken off at step {kept['step']}, with other "
            f"settings: {'; '.join(other)}.",
            "Give the same settings to go on, choose another folder to train into, or remove it.",
        )
