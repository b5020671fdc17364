"""`theodolite train | sweep | train-decoder | decoders`: models trained from a terminal."""

from __future__ import annotations

import inspect
import os
import re
import shlex
import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from typing import Annotated, Any

import typer

from theodolite.app import decoders, formats
from theodolite.app.jobs.processes import under_torchrun
from theodolite.app.pages.train.choices import default_dev
from theodolite.app.pages.train.job import SweepJob, TrainingJob, whole_path
from theodolite.app.pages.train.service import (
    DecoderTraining,
    EncoderTraining,
    SweepSpec,
    Training,
)
from theodolite.app.terminal import (
    INTERRUPTED,
    JsonOption,
    QueueOption,
    done,
    emit,
    emit_json,
    line,
    progress_bar,
    queued,
    say,
    takes,
    takes_values,
    verb,
    verbs,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding import presets
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError
from theodolite.engine.training import (
    Evaluated,
    Event,
    Finished,
    Noted,
    Started,
    Stepped,
    TrainSpec,
)
from theodolite.engine.training.events import Encoded, against_base
from theodolite.engine.training.fields import defaults, read, types_of, written
from theodolite.store.errors import StoreError
from theodolite.store.run_rows import LIVE

ObjectiveArgument = Annotated[
    str, typer.Argument(metavar="OBJECTIVE", help="unsup, sup, mlm or next-sentence.")
]
BaseArgument = Annotated[
    str,
    typer.Argument(
        metavar="BASE",
        help="Model: minilm, hf:NAME, dir:FOLDER, or "
        "new:layers=4,hidden=256,heads=4,vocab=8000 for a BERT from scratch.",
    ),
]
TrainOption = Annotated[
    str,
    typer.Option(
        "--train",
        metavar="FILE",
        help="One sentence per line, csv, tsv, JSON lines or Parquet, or the name of a data set: "
        "see `theodolite data list`.",
    ),
]
OutOption = Annotated[
    str, typer.Option("--out", metavar="FOLDER", help="Output folder for the encoder.")
]
EstimateOption = Annotated[
    bool, typer.Option("--estimate", help="Estimate the cost, and train nothing.")
]


@cache
def _options(spec: Any) -> list[inspect.Parameter]:
    """An option for each field with a default; its value is None unless given.

    Its help is the field's description in the docstring. Numbers are read as on the pages.
    """
    described = re.findall(
        r"^ {4}(\w+(?:, \w+)*): (.+(?:\n {8}.+)*)", inspect.getdoc(spec) or "", re.MULTILINE
    )
    meanings = {name: text for names, text in described for name in names.split(", ")}
    options = []
    for name, default in defaults(spec).items():
        types = types_of(spec)[name]
        text = " ".join(meanings[name].split()).replace("None", "none")
        if choices := [one for one in types if isinstance(one, str)]:
            text += f" One of {', '.join(choices)}."
        usual = ("no", "yes")[default] if isinstance(default, bool) else written(default)
        option = typer.Option(
            help=f"{text[0].upper()}{text[1:]} Default: {usual}.",
            metavar="<int>" if int in types else "<float>" if float in types else None,
        )
        kind: Any = bool if bool in types else str
        annotation = Annotated[kind | None, option]
        options.append(
            inspect.Parameter(
                name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
            )
        )
    return options


def takes_settings(spec: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of `_options`; it receives those given as `settings`.

    Options by hand would repeat the names, types, defaults and descriptions of the fields.

    Args:
        spec: class with the fields; those without a default are the command's own arguments.
    """

    def read_those_given(**given: Any) -> dict[str, Any]:
        return {n: read(spec, n, str(value)) for n, value in given.items() if value is not None}

    return takes("settings", read_those_given, _options(spec))


@verb
@takes_settings(TrainSpec)
def train(
    workspace: Workspace,
    objective: ObjectiveArgument,
    base: BaseArgument,
    train: TrainOption,
    out: OutOption,
    settings: dict[str, Any],
    estimate: EstimateOption = False,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a sentence encoder: SimCSE in all its forms, or MLM to begin with.

    theodolite train unsup minilm --train sentences.txt --out my-encoder

    theodolite train sup hf:bert-base-uncased --train nli.csv --out mine --epochs 3 --head mlp

    theodolite train mlm new:layers=4,hidden=256,heads=4,vocab=8000 --train text.txt --out small

    theodolite train unsup minilm --train sentences.txt --out my-encoder --estimate

    Ctrl-C keeps the checkpoint; the same command goes on from it, also after a crash. What is
    trained is listed among the encoders at once. With --json every event is one object, and the
    last is the outcome.
    """
    settings = _with_dev(workspace, settings)
    spec = TrainSpec(objective=objective, base=base, train=train, out=out, **settings)  # type: ignore[arg-type]
    _train(EncoderTraining(workspace), spec, estimate=estimate, queue=queue, as_json=as_json)


@verb
@takes_settings(TrainSpec)
@takes_values("sweep", SweepSpec)
def sweep(
    workspace: Workspace,
    objective: ObjectiveArgument,
    base: BaseArgument,
    train: TrainOption,
    out: OutOption,
    settings: dict[str, Any],
    sweep: SweepSpec,
    estimate: EstimateOption = False,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train one encoder for each value of a field, or for each row of a table, and tell the best.

    theodolite sweep unsup minilm --train sentences.txt --out lr --set learning_rate=1e-5,3e-5

    theodolite sweep sup minilm --train nli.csv --out drawn --set temperature=0.01..0.2:log --draw 8

    theodolite sweep unsup minilm --train text.txt --out d --ablation dropout --scale try --queue

    theodolite sweep unsup minilm --train text.txt --out d --set batch_size=64,128 --estimate

    Each gets a folder under FOLDER. An encoder that is already trained is not trained again: after
    Ctrl-C the same command goes on. A training that fails does not end the others.
    """
    if under_torchrun():
        raise UserError(
            "A sweep cannot run under torchrun: its trainings start and end separately.",
            "Use --processes, or train one after the other.",
            code="unsupported",
        )
    settings = _with_dev(workspace, settings)
    base_spec = TrainSpec(
        objective=objective,  # type: ignore[arg-type]
        base=base,
        train=train,
        out=whole_path(out),
        **settings,
    )
    training, job = EncoderTraining(workspace), sweep.job(workspace, base_spec)
    if estimate:
        _print_estimate(training, job, as_json)
    elif queue:
        queued(training.start_sweep(base_spec, sweep), as_json, trains=True)
    elif run_id := _perform(workspace, job, as_json):
        _report_sweep(workspace, run_id, job, as_json)


def _with_dev(workspace: Workspace, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with an installed dev set: without a data folder, that of the starter set."""
    usual = defaults(TrainSpec)["dev"]
    found = settings.get("dev", default_dev(workspace))
    if "dev" not in settings and found != usual:
        say(f"{usual} is not available, so the best weights are chosen on {found}; see --dev.")
    return settings | {"dev": found}


def _report_sweep(workspace: Workspace, run_id: str, job: SweepJob, as_json: bool) -> None:
    """Print the children of a sweep and name the best; exit 1 unless the sweep is done."""
    from theodolite.app.pages.trainings import service as runs

    run = workspace.store.runs.get(run_id)
    rows = runs.rows_of(workspace, run)
    if as_json:
        scored = job.scores(workspace.store, run_id)
        best = job.best(scored)
        child = {} if best is None else job.children[best]
        outcome = {
            "kind": "swept",
            "run": run_id,
            "best": best,
            "label": child.get("label"),
            "score": None if best is None else scored[best],
            "out": child.get("spec", {}).get("out"),
            "scores": scored,
        }
        emit_json(outcome)
    else:
        emit(
            [vars(row) for row in rows],
            ("label", "state", "score", "best_step", "seconds", "out", "error"),
            False,
        )
        line(run["message"])
    if run["state"] != "done":
        raise typer.Exit(1)


@verb
@takes_settings(DecoderSpec)
def train_decoder(
    workspace: Workspace,
    encoder: Annotated[
        str,
        typer.Argument(metavar="ENCODER", help="Spec of the encoder whose vectors are decoded."),
    ],
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="One sentence per line, or the name of a data set; may be repeated. Default: "
            "the texts of the data folder, or the starter set.",
        ),
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Output folder for the decoder. Default: a folder in the store.",
        ),
    ] = "",
    settings: dict[str, Any] = {},  # noqa: B006 - given by `takes_settings`
    preset: Annotated[
        str, typer.Option(help="Preset to start from: ours, paper or code.")
    ] = "ours",
    estimate: EstimateOption = False,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a decoder: from the vectors of an encoder back to sentences.

    theodolite train-decoder minilm --train sentences.txt --out my-decoder

    theodolite train-decoder wordllama --limit 20000 --estimate

    theodolite train-decoder minilm --preset paper --train news.txt --out paper --queue

    Ctrl-C keeps the checkpoint; the same command goes on from it, also after a crash. What is
    trained is used at once wherever its encoder is decoded. With --json every event is one object,
    and the last is the outcome.
    """
    texts = tuple(train) if train else presets.default_texts(workspace.catalog)
    given = presets.preset(preset).changes | settings
    spec = DecoderSpec(encoder, texts, out, **given)
    _train(DecoderTraining(workspace), spec, estimate=estimate, queue=queue, as_json=as_json)


Name = Annotated[str, typer.Argument(metavar="DECODER", help="A name from `decoders list`.")]

decoder_verbs = verbs("List and remove decoders, show their cards.")


@decoder_verbs.command("list")
@verb
def list_decoders(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show every decoder that can be used; of several for an encoder the first is taken.

    theodolite decoders list --json
    """
    rows = [vars(row) for row in decoders.listed(workspace)]
    columns = ("name", "encoder", "architecture", "trained_on", "sentences", "words", "shipped")
    emit(rows, columns, as_json)
    if not rows and not as_json:
        say("None yet; train one with `theodolite train-decoder ENCODER`.")


@decoder_verbs.command("card")
@verb
def show_card(workspace: Workspace, name: Name) -> None:
    """Print a decoder's card, Markdown: on what and how it was trained, how well it does.

    theodolite decoders card minilm
    """
    for text in decoders.card_of(workspace, name).splitlines():
        line(text)


@decoder_verbs.command("remove")
@verb
def remove_decoder(workspace: Workspace, name: Name, as_json: JsonOption = False) -> None:
    """Remove a decoder. One in the store is deleted; a folder of yours only leaves the list.

    theodolite decoders remove minilm-36e4305ecb

    Diagnoses of it are kept. Decoders that ship with the app cannot be removed.
    """
    found = decoders.remove(workspace, name)
    row = {"removed": name, "folder": str(found.folder), "deleted": found.deleted}
    done(row, decoders.removal_notice(found), as_json)


Move = Callable[[float, float, str], None]
WHY = {
    "done": "done in",
    "stopped": "stopped as asked after",
    "patience": "stopped early, as the dev score no longer improved, after",
    "diverged": "the loss was NaN or infinity after",
}


def _train(
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
        for note in getattr(cost, "notes", ()):
            say(note)
    elif queue:
        queued(training.start(spec), as_json, trains=True)
    else:
        _perform(training.workspace, training.job(spec), as_json)


def _print_estimate(training: EncoderTraining, job: SweepJob, as_json: bool) -> None:
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


def _perform(workspace: Workspace, job: TrainingJob[Any] | SweepJob, as_json: bool) -> str:
    """Train here and print progress; return the id of the run, empty on ranks above 0."""
    from theodolite.app.jobs.submit import perform as begin

    specs = [job.spec] if isinstance(job, TrainingJob) else job.specs()
    if int(os.environ.get("RANK", "0")):  # of torchrun: rank 0 prints and records
        from theodolite.engine.train import train as train_along

        for _ in train_along(specs[0], workspace.catalog):
            pass
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


class ProgressPrinter:
    """Prints the events of a run: all of them as JSON, the relevant ones as text.

    Args:
        job: the job of the run.
        as_json: print one object per event.
        move: updates the progress bar.
    """

    def __init__(self, job: TrainingJob[Any] | SweepJob, as_json: bool, move: Move) -> None:
        self._labels = job.units() if isinstance(job, SweepJob) else []
        self._json = as_json
        self._move = move
        self._best = ""

    def show(self, position: int, event: object) -> None:
        """Print an event, or the error, of the child at a position."""
        if self._json and isinstance(event, Event | UserError | StoreError):
            self._object(position, event)
        match event:
            case UserError() | StoreError():
                self._say(position, f"failed. {event.message} {event.hint}")
            case Encoded():
                self._move(event.done, event.sentences, "encoding")
            case Started():
                self._best = ""
                self._say(position, _begins(event))
            case Stepped():
                done, total = float(event.step), event.steps
                if self._labels:
                    done, total = done / total + position, len(self._labels)
                self._move(done, total, f"loss {event.loss:.4f}{self._best}")
            case Evaluated():
                self._evaluated(position, event)
            case Noted():
                self._say(position, event.message)
            case Finished():
                self._ended(position, event)

    def _evaluated(self, position: int, event: Evaluated) -> None:
        if event.score is None:
            samples = (f"\n    {given}\n    -> {decoded}" for given, decoded in event.samples[:2])
            text = f"loss {event.loss:.3f} on held-out sentences{''.join(samples)}"
        else:
            self._best = f", best {event.score:.2f}" if event.best else self._best
            text = (
                f"dev {event.score:.2f}{' (best)' if event.best else ''}, "
                f"alignment {event.alignment:.4g}, uniformity {event.uniformity:.4g}"
            )
        self._say(position, f"update {event.step:,}: {text}")

    def _object(self, position: int, event: Event | UserError | StoreError) -> None:
        child = {"position": position, "label": self._labels[position]} if self._labels else {}
        if isinstance(event, Event):
            emit_json(child | event.to_dict())
            return
        code = {"code": event.code} if isinstance(event, UserError) else {}
        emit_json(child | {"kind": "failed", "error": event.message, "hint": event.hint} | code)

    def _ended(self, position: int, event: Finished) -> None:
        base = against_base(event.best_score, event.base_score)
        best = {"dev": event.best_score, "loss": event.best_loss}
        facts = [
            f"{name} {value:.{2 + (name == 'loss')}f}"
            for name, value in best.items()
            if value is not None
        ]
        kept = ", ".join(
            [
                f"update {event.best_step:,} of {event.step:,} was kept",
                *facts,
                *filter(None, [base]),
            ]
        )
        if self._labels:
            self._say(position, f"{kept}.")
        elif not self._json:
            line(f"{event.out}: {kept}; {WHY[event.why]} {event.seconds:,.1f} s.")
            encoder = shlex.quote(event.encoder)
            say(
                f"Use it anywhere as {event.encoder}"
                if event.best_loss is None
                else f"Try it: theodolite decode 'A sentence.' --encoder {encoder}"
            )

    def _say(self, position: int, text: str) -> None:
        if not self._json:
            say(f"{self._labels[position]}: {text}" if self._labels else text)


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
