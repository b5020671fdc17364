"""`theodolite train | sweep`: encoders trained from a terminal."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.pages.train import materials, service
from app.pages.train.options import takes_settings
from app.terminal import (
    DataOption,
    JsonOption,
    QueueOption,
    StoreOption,
    emit,
    emit_json,
    line,
    open_workspace,
    plain_errors,
    progress_bar,
    queued,
    say,
)
from engine.errors import UserError
from engine.training import Evaluated, Event, Finished, Noted, Started, Stepped, TrainSpec
from engine.training.fields import defaults
from store.errors import StoreError

if TYPE_CHECKING:
    from app.jobs.job import Job
    from app.pages.train.making import TrainJob
    from app.pages.train.sweeping import SweepJob
    from app.workspace import Workspace

ObjectiveArgument = Annotated[
    str, typer.Argument(metavar="OBJECTIVE", help="unsup, sup, mlm or next-sentence.")
]
BaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="BASE",
        help="What is trained: minilm, hf:NAME, dir:FOLDER, or new:layers=4,hidden=256,heads=4,"
        "vocab=8000 for a BERT from scratch.",
    ),
]
TrainOption = Annotated[
    str,
    typer.Option(
        "--train", metavar="FILE", help="One sentence a line, csv, tsv or NLI as JSON lines, or "
        "the name of a data set: see `theodolite data list`.",
    ),
]  # fmt: skip
OutOption = Annotated[
    str, typer.Option("--out", metavar="FOLDER", help="The folder that becomes the encoder.")
]


@plain_errors
@takes_settings(TrainSpec)
def train(
    objective: ObjectiveArgument,
    base: BaseArgument,
    train: TrainOption,
    out: OutOption,
    settings: dict[str, Any],
    queue: QueueOption = False,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train a sentence encoder: SimCSE in all its forms, or MLM to begin with.

    theodolite train unsup minilm --train sentences.txt --out my-encoder

    theodolite train sup hf:bert-base-uncased --train nli.csv --out mine --epochs 3 --head mlp

    theodolite train mlm new:layers=4,hidden=256,heads=4,vocab=8000 --train text.txt --out small

    Ctrl-C keeps the checkpoint; the same command goes on from it, also after a crash. What is
    trained is listed among the encoders at once. With --json every event is one object, and the
    last is the outcome.
    """
    from app.pages.train import making
    from app.pages.trainings import service as runs

    workspace = open_workspace(store, data)
    settings = _with_dev(workspace, settings)
    asked = TrainSpec(objective=objective, base=base, train=train, out=out, **settings)  # type: ignore[arg-type]
    asked = runs.whole(workspace, asked)
    if queue:
        queued(service.EncoderTraining(workspace).start(asked), as_json, trains=True)
        return
    _perform(workspace, making.TrainJob(asked), [asked], as_json)


@plain_errors
@takes_settings(TrainSpec)
def sweep(
    objective: ObjectiveArgument,
    base: BaseArgument,
    train: TrainOption,
    out: OutOption,
    settings: dict[str, Any],
    vary: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=A,B,C",
            help="Values of a field; with --draw also LOW..HIGH or "
            "LOW..HIGH:log. Once for each field.",
        ),
    ] = None,
    draw: Annotated[
        int | None, typer.Option(min=1, help="Draw so many combinations instead of taking all.")
    ] = None,
    draw_seed: Annotated[int, typer.Option(min=0, help="Decides what is drawn.")] = 0,
    ablation: Annotated[
        str | None, typer.Option(help="Take the rows of a table of the SimCSE paper instead.")
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(help="try, small or paper: how many examples, with ten evaluations."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=20, help="Each with so many seeds, from --seed on.")
    ] = 1,
    queue: QueueOption = False,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Train one encoder for each value of a field, or for each row of a table, and tell the best.

    theodolite sweep unsup minilm --train sentences.txt --out lr --set learning_rate=1e-5,3e-5

    theodolite sweep sup minilm --train nli.csv --out drawn --set temperature=0.01..0.2:log --draw 8

    theodolite sweep unsup minilm --train text.txt --out d --ablation dropout --scale try --queue

    Each is a folder under FOLDER. What is trained already is not trained again: after Ctrl-C the
    same command goes on. A training that fails does not end the others.
    """
    from app.pages.trainings import service as runs
    from app.pages.trainings import verdicts
    from engine.training import ablations

    workspace = open_workspace(store, data)
    settings = _with_dev(workspace, settings)
    base_spec = TrainSpec(objective=objective, base=base, train=train,  # type: ignore[arg-type]
                          out=str(Path(out).expanduser().absolute()), **settings)  # fmt: skip
    base_spec = runs.whole(workspace, base_spec)
    if scale is not None:
        base_spec = ablations.scaled(base_spec, scale)
    if (ablation is None) != bool(vary):
        raise UserError(
            "A sweep varies fields or takes the rows of a table.",
            f"Give --set FIELD=A,B,C or --ablation ({', '.join(ablations.ABLATIONS)}), not both.",
        )
    drawn = range(base_spec.seed, base_spec.seed + seeds)
    if ablation is None:
        children = verdicts.seeded(service.varied(base_spec, vary or [], draw, draw_seed), drawn)
    else:
        children = verdicts.children(ablations.rows(ablation, base_spec), drawn)
    if queue:
        service.EncoderTraining(workspace).check(base_spec)
        queued(runs.queue_sweep(workspace, base_spec, children), as_json, trains=True)
        return
    job = runs.sweep_job(workspace, base_spec, children)
    specs = [job.child(position) for position in range(len(children))]
    run_id = _perform(workspace, job, specs, as_json)
    if run_id:
        _told_best(workspace, run_id, job, as_json)


def _with_dev(workspace: Workspace, settings: dict[str, Any]) -> dict[str, Any]:
    """Settings with a dev set that is here: without a data folder that is the starter set's."""
    usual = defaults(TrainSpec)["dev"]
    found = settings.get("dev", materials.default_dev(workspace))
    if "dev" not in settings and found != usual:
        say(f"{usual} is not here, so {found} chooses the best weights; see --dev.")
    return settings | {"dev": found}


def _perform(
    workspace: Workspace, job: TrainJob | SweepJob, specs: Sequence[TrainSpec], as_json: bool
) -> str:
    """Train here, and tell how it goes; the id of the run, empty in a process that only helps."""
    from app.jobs.submit import perform
    from app.pages.train.making import newest_checkpoint

    if int(os.environ.get("RANK", "0")):
        _assist(workspace, specs)
        return ""
    run_id, step = "", 0
    try:
        with progress_bar(job.title) as move:
            teller = Teller(job, as_json, move)
            for run, position, event in perform(workspace, job):
                run_id = run["id"]
                step = getattr(event, "step", step)
                teller.tell(position, event)
    except KeyboardInterrupt:
        _interrupted(run_id, step, newest_checkpoint([spec.out for spec in specs]), as_json)
        raise typer.Exit(130) from None
    return run_id


def _assist(workspace: Workspace, specs: Sequence[TrainSpec]) -> None:
    """Be one of the further processes that `torchrun` started: the first tells and remembers."""
    from engine.train import train as train_along

    for spec in specs:
        for _ in train_along(spec, workspace.catalog):
            pass


class Teller:
    """Says what happens in a run: to a program all of it, to a person what matters.

    Args:
        job: what is done.
        as_json: one object an event.
        move: of a progress bar.
    """

    def __init__(self, job: Job, as_json: bool, move: Callable[[float, float, str], None]) -> None:
        self._labels = job.units()
        self._many = job.kind == "sweep"
        self._json = as_json
        self._move = move
        self._steps = 1
        self._best = ""

    def tell(self, position: int, event: object) -> None:
        """One event of the child at a position, or what went wrong with it."""
        if self._json and isinstance(event, Event | UserError | StoreError):
            self._object(position, event)
        if isinstance(event, UserError | StoreError):
            self._say(position, f"failed. {event.message} {event.hint}")
        elif isinstance(event, Started):
            self._began(position, event)
        elif isinstance(event, Stepped):
            done = (event.step / event.steps + position) if self._many else event.step
            total = len(self._labels) if self._many else event.steps
            self._move(done, total, f"loss {event.loss:.4f}{self._best}")
        elif isinstance(event, Evaluated):
            self._looked(position, event)
        elif isinstance(event, Noted):
            self._say(position, event.message)
        elif isinstance(event, Finished):
            self._ended(position, event)

    def _object(self, position: int, event: Event | UserError | StoreError) -> None:
        child = {"position": position, "label": self._labels[position]} if self._many else {}
        if isinstance(event, UserError | StoreError):
            emit_json(child | {"kind": "failed", "error": event.message, "hint": event.hint})
        else:
            emit_json(child | event.to_dict())

    def _began(self, position: int, event: Started) -> None:
        self._best = ""
        at = f"begins: {event.steps:,} updates"
        if event.step:
            at = f"goes on at update {event.step:,} of {event.steps:,}"
        self._say(
            position,
            f"{at}, {event.examples:,} examples, {event.parameters:,} weights, "
            f"{event.precision} on {event.device}.",
        )

    def _looked(self, position: int, event: Evaluated) -> None:
        if event.best:
            self._best = f", best {event.score:.2f}"
        self._say(
            position,
            f"update {event.step:,}: dev {event.score:.2f}{' (best)' if event.best else ''}, "
            f"alignment {event.alignment:.4g}, uniformity {event.uniformity:.4g}",
        )

    def _ended(self, position: int, event: Finished) -> None:
        score = "" if event.best_score is None else f", dev {event.best_score:.2f}"
        kept = f"update {event.best_step:,} of {event.step:,} was kept{score}"
        if self._json:
            return
        if self._many:
            self._say(position, f"{kept}.")
        else:
            line(f"{event.out}: {kept}; {WHY[event.why]} {event.seconds:,.1f} s.")
            say(f"Use it anywhere as {event.encoder}")

    def _say(self, position: int, text: str) -> None:
        if not self._json:
            say(f"{self._labels[position]}: {text}" if self._many else text)


WHY = {
    "done": "done in",
    "stopped": "stopped as asked after",
    "patience": "stopped early, as the dev score no longer improved, after",
    "diverged": "the loss was NaN or infinity after",
}


def _interrupted(run_id: str, step: int, kept: int | None, as_json: bool) -> None:
    command = shlex.join(["theodolite", *sys.argv[1:]])
    if as_json:
        emit_json({"kind": "interrupted", "step": step, "checkpoint": kept, "run": run_id})
    if kept is None:
        say(f"Interrupted after update {step:,}, before there was a checkpoint.")
        say(f"Begin anew: {command}")
        return
    say(f"Interrupted after update {step:,}. The checkpoint of update {kept:,} is kept.")
    say(f"Go on here: {command}")
    if run_id:
        say(f"Go on in the background: theodolite jobs retry {run_id}")


def _told_best(workspace: Workspace, run_id: str, job: SweepJob, as_json: bool) -> None:
    """The children of a sweep, the best of them named; exit 1 when any failed."""
    from app.pages.trainings import service as runs

    run = workspace.store.runs.get(run_id)
    rows = runs.rows_of(workspace, run)
    if as_json:
        emit_json(_outcome(workspace, run_id, job))
    else:
        emit(
            [vars(row) for row in rows],
            ("label", "state", "score", "best_step", "seconds", "out", "error"),
            False,
        )
        line(run["message"])
    if run["state"] != "done":
        raise typer.Exit(1)


def _outcome(workspace: Workspace, run_id: str, job: SweepJob) -> dict[str, Any]:
    from app.pages.train import sweeping

    scored = sweeping.scores(workspace.store, run_id, len(job.children))
    best = job.best(scored)
    child = None if best is None else job.children[best]
    return {
        "kind": "swept",
        "run": run_id,
        "best": best,
        "label": child and child["label"],
        "score": None if best is None else scored[best],
        "out": child and child["spec"]["out"],
        "scores": scored,
    }
