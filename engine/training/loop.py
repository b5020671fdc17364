"""The training loop of encoders and of decoders.

Each batch updates the weights. At intervals the weights are evaluated, the best of them kept, and a
checkpoint is written, from which a killed run resumes: on a CPU it ends with exactly the weights of
an uninterrupted one. A loss that is NaN or infinity ends the run with the last good weights. The
subclasses define the loss, the data and the score: `engine.train`,
`engine.decoding.train`.
"""

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from theodolite.engine import memory
from theodolite.engine.errors import UserError
from theodolite.engine.memory import most_used
from theodolite.engine.training import checkpoint, devices
from theodolite.engine.training.base_spec import BaseSpec
from theodolite.engine.training.devices import Precision, Ranks
from theodolite.engine.training.events import Evaluated, Event, Noted, Stepped

CHECKPOINT_SECONDS = 120.0
"""The longest time between two checkpoints."""
CHECKPOINT_SHARE = 0.05
"""The largest share of the time that checkpoints at evaluations may take."""
_REASONS = ("", "stopped", "patience", "diverged")
_MEET_EVERY = 10
"""Updates between two agreements of several processes on stopping and saving: each is a wait."""


def never() -> bool:
    """Return False: train to the end."""
    return False


@dataclass
class State:
    """The state of a run besides its tensors; JSON-able, part of every checkpoint.

    Attributes:
        spec, data_hash: of the run and its training data.
        fingerprint: of the encoder whose vectors a decoder reads.
        step: updates made.
        seconds: spent on them.
        micro_batch: examples at once, reduced where the memory ran out.
        best_step, best_score: of the best evaluation so far.
        base_score: of the base; None if it was not scored.
        evaluated_step: of the last evaluation.
        evals_without_improvement: since the best one.
        curve: reports and scores so far, as the trainer keeps them.
        notes: on the trained model, for people.
        scaler: state of the loss scaler of fp16.
        processes: number of processes that train together.
    """

    spec: dict[str, Any]
    data_hash: str
    fingerprint: str = ""
    step: int = 0
    seconds: float = 0.0
    micro_batch: int | None = None
    best_step: int | None = None
    best_score: float | None = None
    base_score: float | None = None
    evaluated_step: int | None = None
    evals_without_improvement: int = 0
    curve: list[Any] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    scaler: dict[str, Any] = field(default_factory=dict)
    processes: int = 1


class Trainer(ABC):
    """A training run from its first update to its last.

    Subclasses call `__init__` at the end of their own, because it resumes from the checkpoint.

    Args:
        spec: of the run.
        model: on its device, in training mode.
        optimiser: of its parameters.
        rng: NumPy's generator of the run.
        state: of a new run.
        steps: updates in all.
        precision: device and precision.
        ranks: rank of this process.

    Attributes:
        best: weights of the best evaluation so far.
        resumed: notes on resuming from a checkpoint.
    """

    scored: str
    """The name of the score, in words."""
    eval_every: int | None
    """Updates between two evaluations; None for none, and the last weights are kept."""
    patience: int | None = None
    """Evaluations without a better score until training stops; None for never."""
    lower_is_better: ClassVar[bool] = False
    remedy: ClassVar[str] = "A lower learning rate may hold it."
    identity: ClassVar[dict[str, str]] = {"data_hash": "the training data have changed"}
    """Fields of the state that must match the checkpoint's, and the message if they do not."""

    def __init__(
        self,
        spec: BaseSpec,
        model: torch.nn.Module,
        optimiser: torch.optim.AdamW,
        rng: np.random.Generator,
        state: State,
        steps: int,
        precision: Precision,
        ranks: Ranks | None = None,
    ) -> None:
        self.spec, self.model, self.optimiser, self.rng = spec, model, optimiser, rng
        self.state, self.steps, self.precision = state, steps, precision
        self.ranks = ranks or Ranks()
        state.processes = self.ranks.world_size
        self.scaler = precision.scaler()
        self.folder = spec.working_folder
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

    @abstractmethod
    def opening(self) -> Iterator[Event]:
        """Yield the events before the first update."""

    @abstractmethod
    def batches(self, start: int) -> Iterator[np.ndarray]:
        """Yield the positions of the examples of each update from `start` on."""

    @abstractmethod
    def update(self, batch: np.ndarray) -> list[Noted]:
        """Make one update from the examples at some positions; return notes on it."""

    def move(
        self, rate: float, max_norm: float, parameters: Iterable[nn.Parameter] | None = None
    ) -> torch.Tensor:
        """Clip the gradients, move the weights, drop the gradients, and count the update.

        The scaler of fp16 skips an update whose gradients overflowed, and lowers its scale. Nothing
        here waits for a GPU.

        Args:
            rate: the learning rate; a group of parameters may have a `share` of it.
            max_norm: longer gradients are scaled down to this; 0 for never.
            parameters: those of the optimiser in another order: sums of floats depend on it.

        Returns:
            The norm of all gradients before clipping, a scalar on the device.
        """
        groups = self.optimiser.param_groups
        self.scaler.unscale_(self.optimiser)
        if parameters is None:
            parameters = [p for group in groups for p in group["params"]]
        norm = nn.utils.clip_grad_norm_(parameters, max_norm or math.inf)
        for group in groups:
            group["lr"] = rate * group.get("share", 1.0)
        self.scaler.step(self.optimiser)
        self.scaler.update()
        self.optimiser.zero_grad(set_to_none=True)
        self.state.step += 1
        return norm.detach()

    @abstractmethod
    def score(self) -> tuple[float, Evaluated]:
        """Score the current weights; return the score and the event that reports it."""

    @abstractmethod
    def remember(self, event: Stepped | Evaluated) -> None:
        """Add a report, or an evaluation, to the curve."""

    @abstractmethod
    def export(self, why: str) -> Event:
        """Write the trained model, remove the checkpoint, and return the last event.

        Args:
            why: reason the run ended: `done`, `stopped`, `patience` or `diverged`.
        """

    @property
    def step(self) -> int:
        """Updates made."""
        return self.state.step

    def events(self, stop: Callable[[], bool] = never) -> Iterator[Event]:
        """Train to the end, from the checkpoint if there is one."""
        yield from self.opening()
        why = ""
        for batch in self.batches(self.step):
            if why := self._why_to_stop(stop):
                break
            yield from self.update(batch)
            evaluating = self.eval_every is not None and (
                self.step == self.steps or self.step % self.eval_every == 0
            )
            meeting = evaluating or self._is_time_to_agree
            saving = meeting and self.must_save()
            if evaluating or saving or self.meter.due:
                yield from self._report()
            if evaluating:
                yield from self.evaluate()
            # A checkpoint now takes little of the time since the last.
            most = CHECKPOINT_SHARE * (time.perf_counter() - self._saved)
            saving = saving or (evaluating and self._save_seconds <= most)
            # Weights that may be NaN or infinity are not saved.
            if meeting and _agree(saving and not self.meter.failure):
                self.save()
        yield from self._finish(why or "done")

    def evaluate(self) -> Iterator[Event]:
        """Score the weights, unless a loss failed, and keep them if they are the best so far."""
        if self.eval_every is None or self.ranks.rank > 0 or self.meter.failure:
            return
        began = time.perf_counter()
        score, event = self.score()
        if not math.isfinite(score):
            self.meter.failure = f"After step {self.step} {self.scored} was {score}."
            return
        state = self.state
        if self.is_best(score):
            self.best = checkpoint.weights_of(self.model)
            state.best_step, state.best_score = self.step, score
            state.evals_without_improvement = 0
        else:
            state.evals_without_improvement += 1
        state.evaluated_step = self.step
        self.remember(event)
        self.meter.pause(time.perf_counter() - began)
        yield event

    def is_best(self, score: float) -> bool:
        """Whether no score before was as good."""
        best = self.state.best_score
        return best is None or (score < best if self.lower_is_better else score > best)

    def note(self, message: str) -> Noted:
        """Keep a message for the model card, and return it as an event."""
        self.state.notes.append(message)
        return Noted(self.step, message)

    def must_save(self) -> bool:
        """Whether the last checkpoint is too long ago."""
        return time.perf_counter() - self._saved > CHECKPOINT_SECONDS

    def save(self) -> None:
        """Write a checkpoint, on all ranks at once; the weights must be known to be good."""
        began = time.perf_counter()
        own = checkpoint.generators_of(self.rng, self.precision.device)
        others = devices.gather_bytes(own)[1:]
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

    @property
    def _is_time_to_agree(self) -> bool:
        """Whether processes are to agree on what is next after this update; a single one always."""
        return self.ranks.world_size == 1 or self.step % _MEET_EVERY == 0

    def _why_to_stop(self, stop: Callable[[], bool]) -> str:
        """One of `_REASONS`; the same on all ranks."""
        if not self._is_time_to_agree:
            return ""
        why = ""
        if self.meter.failure:
            why = "diverged"
        elif self.patience is not None and self.state.evals_without_improvement >= self.patience:
            why = "patience"
        elif stop():
            why = "stopped"
        return devices.broadcast(why, _REASONS)

    def _report(self) -> Iterator[Event]:
        """Losses and speed since the last report; a failure is left in `meter.failure`."""
        report = self.meter.read()
        if report is not None:
            self.remember(report)
            yield report

    def _finish(self, why: str) -> Iterator[Event]:
        """Put the best weights back and export them."""
        yield from self._report()
        if self.state.evaluated_step != self.step:
            yield from self.evaluate()  # stopped between two evaluations: these may be the best
        if good := _agree(not self.meter.failure):
            self.save()
        if self.ranks.rank > 0:
            return
        if not good:
            why = "diverged"
            yield self._back_to_good()
        if why == "patience":
            count = self.state.evals_without_improvement
            yield self.note(f"Stopped early: no better score in {count} evaluations.")
        if self.best is not None:
            checkpoint.put_back(self.model, self.best)
        yield self.export(why)

    def _back_to_good(self) -> Noted:
        """Fall back to the best weights, or those of the last checkpoint, after NaN or infinity."""
        failure = self.meter.failure
        if self.best is None:
            if checkpoint.peek(self.folder) is None:
                raise UserError(
                    f"{failure} No checkpoint had been written before.",
                    self.remedy,
                    code="not-finite",
                )
            self.state.best_step = checkpoint.load_weights(self.folder, self.model)
        ending = f"Training stopped; the weights of step {self.state.best_step} are kept."
        return self.note(f"{failure} {ending} {self.remedy}")

    def _resume(self) -> None:
        """Resume from the checkpoint, if there is one."""
        if (header := checkpoint.peek(self.folder)) is not None:
            self._check_same(header)
            self._load()
        # No process writes into the folder before all have read it.
        if len(steps := set(devices.gather_numbers(self.step))) > 1:
            text = ", ".join(str(step) for step in sorted(steps))
            raise UserError(
                f"The processes found different checkpoints in {self.folder}, of steps {text}.",
                "All of them need the same folder, on a disk that they share.",
                code="mismatch",
            )

    def _check_same(self, before: Mapping[str, Any]) -> None:
        """Refuse to resume from the checkpoint of another run."""
        then, now = type(self.spec).from_dict(before["spec"]).to_dict(), self.spec.to_dict()
        other = [
            f"{name.replace('_', ' ')} was {then[name]!r} and is {now[name]!r}"
            for name in now
            if name not in ("out", "processes") and then[name] != now[name]
        ]
        other += [
            value
            for name, value in self.identity.items()
            if before[name] != getattr(self.state, name)
        ]
        if other:
            raise UserError(
                f"{self.folder} holds a training that was interrupted at step {before['step']}, "
                f"with other settings: {'; '.join(other)}.",
                "Give the same settings to resume it, choose another folder to train into, or "
                "remove it.",
                code="mismatch",
            )

    def _load(self) -> None:
        rank, processes = self.ranks.rank, self.ranks.world_size
        weights, self.best = checkpoint.load(
            self.folder, self.model, self.optimiser, self.rng, rank
        )
        self.state = State(**weights)
        if self.state.scaler:  # a run that began without a scaler finds its scale anew
            self.scaler.load_state_dict(self.state.scaler)
        if self.state.best_step == self.step:
            self.best = checkpoint.weights_of(self.model)
        before, self.state.processes = self.state.processes, processes
        if rank >= before:
            self.rng = devices.seed(self.spec.seed, rank, self.step)
        if before != processes:
            self.resumed = [
                self.note(
                    f"Begun in {_processes(before)} and continued in {_processes(processes)} at "
                    f"step {self.step}: the batches are the same, but dropout and other random "
                    "draws differ from those of an uninterrupted run."
                )
            ]


def _agree(choice: bool) -> bool:
    """The choice of rank 0, on all ranks: clocks differ, and only rank 0 has scores."""
    return devices.broadcast("yes" if choice else "no", ("yes", "no")) == "yes"


def _processes(count: int) -> str:
    return "one process" if count == 1 else f"{count} processes"


REPORT_SECONDS = 1.0
"""Seconds between two reports."""


class Meter:
    """Losses and speed of the updates since the last report.

    Args:
        step: updates made before this run was resumed.
        steps: updates in all.
        seconds: spent on those made before.
        device: of the model.
        skips: whether updates whose gradients overflow are skipped, as in fp16.

    Attributes:
        failure: the first failure, as a sentence; empty until then.
    """

    def __init__(
        self, step: int, steps: int, seconds: float, device: torch.device, *, skips: bool = False
    ) -> None:
        self.first, self.step, self.steps = step, step, steps
        self.device, self.skips = device, skips
        self.failure = ""
        self._before, self._began = seconds, time.perf_counter()
        self._losses: list[torch.Tensor] = []
        self._norms: list[torch.Tensor] = []
        self._count, self._rate = 0, 0.0
        self._since, self._pause = self._began, 0.0

    @property
    def seconds(self) -> float:
        """Seconds of the whole run so far."""
        return self._before + time.perf_counter() - self._began

    @property
    def due(self) -> bool:
        """Whether to report: after the first update, and then about once a second."""
        first = self.step == self.first + 1
        return first or time.perf_counter() - self._since >= REPORT_SECONDS

    def add(self, loss: torch.Tensor, norm: torch.Tensor, count: int, rate: float) -> None:
        """Add an update: scalars that stay on the device, its sentences and its learning rate."""
        self._losses.append(loss)
        self._norms.append(norm)
        self._count += count
        self._rate = rate
        self.step += 1

    def pause(self, seconds: float) -> None:
        """Exclude time that was not spent on updates."""
        self._pause += seconds

    def read(self) -> Stepped | None:
        """The report; None without an update since the last one, or after a failure."""
        if not self._losses:
            return None
        both = torch.stack([torch.stack(self._losses).float(), torch.stack(self._norms).float()])
        losses, norms = both.tolist()  # the one place that waits for the device
        # The first failure stays, even if later losses are finite.
        self.failure = self.failure or self._failure(losses, norms)
        now = time.perf_counter()
        spent = max(now - self._since - self._pause, 1e-9)
        pace = (now - self._began) / (self.step - self.first)
        report = Stepped(
            step=self.step,
            steps=self.steps,
            loss=sum(losses) / len(losses),
            learning_rate=self._rate,
            grad_norm=norms[-1] if math.isfinite(norms[-1]) else 0.0,
            sentences_per_second=self._count / spent,
            seconds=self.seconds,
            seconds_left=pace * (self.steps - self.step),
            gpu_bytes=most_used(self.device),
        )
        self._losses, self._norms, self._count = [], [], 0
        self._since, self._pause = now, 0.0
        return None if self.failure else report

    def _failure(self, losses: list[float], norms: list[float]) -> str:
        """Name the first update whose loss or gradient was NaN or infinity."""
        before = self.step - len(losses)
        for i, (loss, norm) in enumerate(zip(losses, norms, strict=True), start=1):
            rate = f"The learning rate was about {self._rate:.2g}"
            last = f" and the norm of the gradient before it {norms[i - 2]:.3g}" if i > 1 else ""
            if not math.isfinite(loss):
                return f"The loss of step {before + i} was {loss}. {rate}{last}."
            if not math.isfinite(norm) and not self.skips:
                return f"The gradient of step {before + i} was {norm}, its loss {loss:.4g}. {rate}."
        return ""
