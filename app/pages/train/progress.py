"""Trainings in a terminal: estimates, progress, and how to resume."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import typer

from theodolite.app import formats
from theodolite.app.pages.train.job import TrainingJob
from theodolite.app.pages.train.sweep_job import SweepJob
from theodolite.app.terminal import INTERRUPTED, emit, emit_json, line, progress_bar, queued, say
from theodolite.engine.errors import UserError
from theodolite.engine.training import Evaluated, Event, Finished, Noted, Started, Stepped
from theodolite.engine.training.events import Encoded, against_base
from theodolite.store.errors import StoreError
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.pages.train.service import EncoderTraining, Training
    from theodolite.app.workspace import Workspace
    from theodolite.engine.training import TrainSpec

Move = Callable[[float, float, str], None]
WHY = {
    "done": "done in",
    "stopped": "stopped as asked after",
    "patience": "stopped early, as the dev score no longer improved, after",
    "diverged": "the loss was NaN or infinity after",
}


def train(
    training: Training[Any, Any], spec: Any, *, estimate: bool, queue: bool, as_json: bool
) -> None:
    """Estimate, queue or run a training."""
    if estimate:
        with progress_bar("probing"):
            cost = training.probe(spec)
        if as_json:
            emit_json(asdict(cost))
            return
        for name, fact in training.facts(cost).items():
            line(f"{name}: {fact}")
        for note in training.notes(cost):
            say(note)
    elif queue:
        queued(training.start(spec), as_json, trains=True)
    else:
        perform(training.workspace, training.job(spec), as_json)


def print_estimate(training: EncoderTraining, job: SweepJob, as_json: bool) -> None:
    """Print the cost of each child of a sweep, and of all of them in sequence."""
    costs = []
    with progress_bar("probing") as move:
        for label, cost in training.probe_sweep(job):
            costs.append((label, cost))
            move(len(costs), len(job.children), label)
    seconds, most = sum(c.seconds for _, c in costs), max(c.bytes for _, c in costs)
    if as_json:
        for label, cost in costs:
            emit_json({"label": label, **asdict(cost)})
        emit_json({"label": "all", "seconds": seconds, "bytes": most})
        return
    rows = [{"label": label} | training.facts(cost) for label, cost in costs]
    emit(rows, ("label", "Time", "Memory", "Updates"), False)
    line(f"All: about {formats.duration(seconds)}, about {formats.size(most)} of memory")
    for note in dict.fromkeys(note for _, cost in costs for note in cost.notes):
        say(note)


def perform(workspace: Workspace, job: TrainingJob[Any] | SweepJob, as_json: bool) -> str:
    """Train here and print progress; return the id of the run, empty on ranks above 0."""
    from theodolite.app.jobs.submit import perform as begin

    specs = (
        [job.spec]
        if isinstance(job, TrainingJob)
        else [job.child(position) for position in range(len(job.children))]
    )
    if int(os.environ.get("RANK", "0")):
        _assist(workspace, specs[0])
        return ""
    run_id, step = "", 0
    try:
        with progress_bar(job.title) as move:
            printer = ProgressPrinter(job, as_json, move)
            for run, position, event in begin(workspace, job):
                run_id = run["id"]
                step = getattr(event, "step", step)
                printer.show(position, event)
    except KeyboardInterrupt:
        if run_id and workspace.store.runs.get(run_id)["state"] in LIVE:  # another process runs it
            say(f"Run {run_id} continues. Follow it: theodolite jobs wait {run_id}")
            raise typer.Exit(INTERRUPTED) from None
        from theodolite.engine.training.checkpoint import newest_step

        kept = [newest_step(spec.working_folder) for spec in specs]
        _interrupted(run_id, step, max((n for n in kept if n is not None), default=None), as_json)
        raise typer.Exit(INTERRUPTED) from None
    return run_id


def _assist(workspace: Workspace, spec: TrainSpec) -> None:
    """Train as a rank above 0 of `torchrun`; rank 0 prints and records."""
    from theodolite.engine.train import train as train_along

    for _ in train_along(spec, workspace.catalog):
        pass


class ProgressPrinter:
    """Prints the events of a run: all of them as JSON, the relevant ones as text.

    Args:
        job: the job of the run.
        as_json: print one object per event.
        move: updates the progress bar.
    """

    def __init__(self, job: TrainingJob[Any] | SweepJob, as_json: bool, move: Move) -> None:
        self._labels = job.units()
        self._many = isinstance(job, SweepJob)
        self._json = as_json
        self._move = move
        self._best = ""

    def show(self, position: int, event: object) -> None:
        """Print an event, or the error, of the child at a position."""
        if self._json and isinstance(event, Event | UserError | StoreError):
            self._object(position, event)
        if isinstance(event, UserError | StoreError):
            self._say(position, f"failed. {event.message} {event.hint}")
        elif isinstance(event, Encoded):
            self._move(event.done, event.sentences, "encoding")
        elif isinstance(event, Started):
            self._best = ""
            self._say(position, _begins(event))
        elif isinstance(event, Stepped):
            done = (event.step / event.steps + position) if self._many else event.step
            total = len(self._labels) if self._many else event.steps
            self._move(done, total, f"loss {event.loss:.4f}{self._best}")
        elif isinstance(event, Evaluated) and event.score is not None:
            self._best = f", best {event.score:.2f}" if event.best else self._best
            self._say(
                position,
                f"update {event.step:,}: dev {event.score:.2f}{' (best)' if event.best else ''}, "
                f"alignment {event.alignment:.4g}, uniformity {event.uniformity:.4g}",
            )
        elif isinstance(event, Evaluated):
            samples = (f"\n    {given}\n    -> {decoded}" for given, decoded in event.samples[:2])
            text = f"update {event.step:,}: loss {event.loss:.3f} on held-out sentences"
            self._say(position, text + "".join(samples))
        elif isinstance(event, Noted):
            self._say(position, event.message)
        elif isinstance(event, Finished):
            self._ended(position, event)

    def _object(self, position: int, event: Event | UserError | StoreError) -> None:
        child = {"position": position, "label": self._labels[position]} if self._many else {}
        if isinstance(event, UserError | StoreError):
            code = {"code": event.code} if isinstance(event, UserError) else {}
            failure = {"kind": "failed", "error": event.message, "hint": event.hint}
            emit_json(child | failure | code)
        else:
            emit_json(child | event.to_dict())

    def _ended(self, position: int, event: Finished) -> None:
        if event.best_loss is not None:
            best = f", loss {event.best_loss:.3f}"
        else:
            best = "" if event.best_score is None else f", dev {event.best_score:.2f}"
            base = against_base(event.best_score, event.base_score)
            best += f", {base}" if base else ""
        kept = f"update {event.best_step:,} of {event.step:,} was kept{best}"
        if self._many:
            self._say(position, f"{kept}.")
        elif not self._json:
            line(f"{event.out}: {kept}; {WHY[event.why]} {event.seconds:,.1f} s.")
            say(
                f"Use it anywhere as {event.encoder}"
                if event.best_loss is None
                else "Try it: theodolite decode 'A sentence.' "
                f"--encoder {shlex.quote(event.encoder)}"
            )

    def _say(self, position: int, text: str) -> None:
        if not self._json:
            say(f"{self._labels[position]}: {text}" if self._many else text)


def _begins(event: Started) -> str:
    at = f"goes on at update {event.step:,} of" if event.step else "begins:"
    return (
        f"{at} {event.steps:,} updates, {event.examples:,} examples, "
        f"{event.parameters:,} parameters, {event.precision} on {event.device}."
    )


def _interrupted(run_id: str, step: int, kept: int | None, as_json: bool) -> None:
    if as_json:
        emit_json({"kind": "interrupted", "step": step, "checkpoint": kept, "run": run_id})
    checkpoint = (
        ", before there was a checkpoint; vectors that were encoded are kept"
        if kept is None
        else f". The checkpoint of update {kept:,} is kept"
    )
    say(f"Interrupted after update {step:,}{checkpoint}.")
    say(f"Continue here: {shlex.join(['theodolite', *sys.argv[1:]])}")
    if run_id:
        say(f"Continue in the background: theodolite jobs retry {run_id}")
