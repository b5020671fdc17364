"""`theodolite train | sweep | train-decoder | decoders`: models trained from a terminal."""

import inspect
import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from theodolite.app import decoders, formats
from theodolite.app.jobs import submit
from theodolite.app.jobs.processes import under_torchrun
from theodolite.app.pages.train import job as jobs
from theodolite.app.terminal import (
    INTERRUPTED,
    JsonOption,
    QueueOption,
    done,
    emit,
    emit_json,
    line,
    progress_bar,
    report_queued,
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
from theodolite.engine.training import TrainSpec, events
from theodolite.engine.training.base_spec import defaults, settings, written
from theodolite.engine.training.presets import default_dev
from theodolite.engine.training.record import WHY
from theodolite.store.errors import StoreError
from theodolite.store.run_rows import LIVE

ObjectiveArgument = Annotated[
    str, typer.Argument(metavar="OBJECTIVE", help="unsup, sup, mlm, next-sentence, st or static.")
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
        help="One sentence per line, csv, tsv, JSON lines, Parquet, Arrow or Excel, or the name of "
        "a data set: see `theodolite data list`. Several have commas between.",
    ),
]
OutOption = Annotated[
    str, typer.Option("--out", metavar="FOLDER", help="Output folder for the encoder.")
]
EstimateOption = Annotated[
    bool,
    typer.Option("--estimate", help="Estimate the time from earlier trainings, and train nothing."),
]


def takes_settings(spec: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command an option for each field with a default; it receives those given.

    Numbers are read as on the pages.

    Args:
        spec: class with the fields; those without a default are the command's own arguments.
    """
    known = {name: one for name, one in settings(spec).items() if not one.required}
    options = []
    for name, one in known.items():
        usual = ("no", "yes")[one.default] if one.kind is bool else written(one.default)
        choices = f"One of {', '.join(one.choices)}." if one.choices else ""
        option = typer.Option(
            help=" ".join(filter(None, [f"{one.label}.", one.help, choices, f"Default: {usual}."])),
            metavar=f"<{one.kind.__name__}>" if one.is_number else None,
        )
        kind: Any = Annotated[(bool if one.kind is bool else str) | None, option]
        keyword = inspect.Parameter.KEYWORD_ONLY
        options.append(inspect.Parameter(name, keyword, default=None, annotation=kind))

    def read_those_given(**given: Any) -> dict[str, Any]:
        return {n: known[n].read(str(value)) for n, value in given.items() if value is not None}

    return takes("settings", read_those_given, options)


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
    """Train a sentence encoder: SimCSE, a loss of sentence-transformers, or MLM to begin with.

    theodolite train unsup minilm --train sentences.txt --out my-encoder

    theodolite train sup hf:bert-base-uncased --train nli.csv --out mine --epochs 3 --head mlp

    theodolite train mlm new:layers=4,hidden=256,heads=4,vocab=8000 --train text.txt --out small

    theodolite train st minilm --loss CachedGISTEmbedLoss --guide minilm --train p.csv --out guided

    theodolite train static minilm --train sentences.txt --out fast

    theodolite train unsup minilm --train sentences.txt --out my-encoder --estimate

    Ctrl-C keeps the checkpoint; the same command goes on from it, also after a crash. What is
    trained is listed among the encoders at once. With --json every event is one object, and the
    last is the outcome.
    """
    spec = _spec(workspace, objective, base, train, out, settings)
    _begin(workspace, jobs.TrainJob.of(workspace, spec), estimate, queue, as_json)


@verb
@takes_settings(TrainSpec)
@takes_values("sweep", jobs.SweepSpec)
def sweep(
    workspace: Workspace,
    objective: ObjectiveArgument,
    base: BaseArgument,
    train: TrainOption,
    out: OutOption,
    settings: dict[str, Any],
    sweep: jobs.SweepSpec,
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
    spec = _spec(workspace, objective, base, train, jobs.whole_path(out), settings)
    job = sweep.job(workspace, spec)
    if not (run_id := _begin(workspace, job, estimate, queue, as_json)):
        return
    run = workspace.store.runs.get(run_id)
    scores = job.scores(workspace.store, run_id)
    best = job.best(scores)
    child: Any = {"label": None, "spec": {"out": None}} if best is None else job.children[best]
    if as_json:
        score = None if best is None else scores[best]
        outcome = {"label": child["label"], "score": score, "out": child["spec"]["out"]}
        emit_json({"kind": "swept", "run": run_id, "best": best, **outcome, "scores": scores})
    else:
        from theodolite.app.pages.trainings.service import rows_of

        rows = [vars(row) for row in rows_of(workspace, run)]
        emit(rows, ("label", "state", "score", "best_step", "seconds", "out", "error"), False)
        line(run["message"])
    if run["state"] != "done":
        raise typer.Exit(1)


def _spec(
    workspace: Workspace, objective: str, base: str, train: str, out: str, settings: dict[str, Any]
) -> TrainSpec:
    """The spec with an installed dev set: without a data folder, that of the starter set."""
    usual, dev = defaults(TrainSpec)["dev"], default_dev(workspace.catalog)
    if "dev" not in settings and dev != usual:
        say(f"{usual} is not available, so the best weights are chosen on {dev}; see --dev.")
    return TrainSpec(objective, base, train, out, **{"dev": dev} | settings)  # type: ignore[arg-type]


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
    spec = DecoderSpec(encoder, texts, out, **presets.preset(preset).changes | settings)
    _begin(workspace, jobs.TrainDecoderJob.of(workspace, spec), estimate, queue, as_json)


Name = Annotated[str, typer.Argument(metavar="DECODER", help="A name from `decoders list`.")]

decoder_verbs = verbs("List and remove decoders, show their cards.")


@decoder_verbs.command("list")
@verb
def list_decoders(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show every decoder that can be used; of several for an encoder the first is taken.

    theodolite decoders list --json
    """
    columns = ("name", "encoder", "architecture", "trained_on", "sentences", "words", "shipped")
    emit([vars(row) for row in decoders.list_all(workspace)], columns, as_json)


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
    removed = decoders.remove(workspace, name)
    row = {"removed": name, "folder": str(removed.folder), "deleted": removed.deleted}
    done(row, removed.notice, as_json)


# What the verbs of training share ---------------------------------------------------------------

Trains = jobs.TrainingJob[Any] | jobs.SweepJob


def _begin(workspace: Workspace, job: Trains, estimate: bool, queue: bool, as_json: bool) -> str:
    """Estimate, queue or do a job; return the id of the run that was done here, else nothing."""
    if estimate:
        _estimate(workspace, job, as_json)
        return ""
    if queue:
        report_queued(submit.queue(workspace, job), as_json, trains=True)
        return ""
    return _perform(workspace, job, as_json)


def _estimate(workspace: Workspace, job: Trains, as_json: bool) -> None:
    """Say how long each training takes, going by the newest one here of the same cost."""
    for label, training in zip(job.units(), job.trainings(), strict=True):
        if as_json:
            pace = training.pace(workspace)
            facts = asdict(pace) | {"seconds": pace.seconds} if pace else {"seconds": None}
            emit_json({"label": label, **facts})
        else:
            line(f"{label}: {training.takes(workspace)}")


def _perform(workspace: Workspace, job: Trains, as_json: bool) -> str:
    """Train here and print progress; return the id of the run, empty on ranks above 0."""
    specs = [training.spec for training in job.trainings()]
    if int(os.environ.get("RANK", "0")):  # of torchrun: rank 0 prints and records
        from theodolite.engine.train import train as train_along

        for _ in train_along(specs[0], workspace.catalog):
            pass
        return ""
    run_id, step, labels = "", 0, job.units() if isinstance(job, jobs.SweepJob) else []
    try:
        with progress_bar(job.title) as move:
            for run, position, event in submit.perform(workspace, job, move=move):
                run_id, step = run["id"], getattr(event, "step", step)
                text = describe(event)
                if as_json:
                    _print_object(event, position, labels)
                elif labels and text:
                    say(f"{labels[position]}: {text}")
                elif text:
                    (line if isinstance(event, events.Finished) else say)(text)
    except KeyboardInterrupt:
        _report_interruption(workspace, run_id, step, specs, as_json)
        raise typer.Exit(INTERRUPTED) from None
    return run_id


def _print_object(event: object, position: int, labels: Sequence[str]) -> None:
    """Print an event, or the error, of a training; of which child of a sweep, if it is one."""
    child = {"position": position, "label": labels[position]} if labels else {}
    if isinstance(event, events.Event):
        emit_json(child | event.to_dict())
    elif isinstance(event, UserError | StoreError):
        facts = {"kind": "failed", "error": event.message, "hint": event.hint}
        emit_json(child | facts | {"code": getattr(event, "code", None)})


def _report_interruption(
    workspace: Workspace, run_id: str, step: int, specs: list[Any], as_json: bool
) -> None:
    """Say what is kept, and how to go on."""
    from theodolite.engine.training.checkpoint import newest_step

    if run_id and workspace.store.runs.get(run_id)["state"] in LIVE:  # another process runs it
        say(f"Run {run_id} continues. Follow it: theodolite jobs wait {run_id}")
        return
    steps = [newest_step(spec.working_folder) for spec in specs]
    saved_step = max((one for one in steps if one is not None), default=None)
    step = max(step, saved_step or 0)  # one that goes on may not have come to its first event
    if as_json:
        emit_json({"kind": "interrupted", "step": step, "checkpoint": saved_step, "run": run_id})
    checkpoint = (
        jobs.AGAIN if saved_step is None else f"Kept: the checkpoint of update {saved_step:,}."
    )
    vectors = " All encoded vectors are kept." if isinstance(specs[0], DecoderSpec) else ""
    say(f"Interrupted after update {step:,}. {checkpoint}{vectors}")
    say(f"Continue here: {shlex.join(['theodolite', *sys.argv[1:]])}")
    if run_id:
        say(f"Continue in the background: theodolite jobs retry {run_id}")


def describe(event: object) -> str:
    """What happened in a training, for people; empty for what a progress bar shows."""
    match event:
        case UserError() | StoreError():
            return f"failed. {event.message} {event.hint}"
        case events.Started():
            at = f"goes on at update {event.step:,} of" if event.step else "begins:"
            return (
                f"{at} {event.steps:,} updates, {event.examples:,} examples, "
                f"{event.parameters:,} parameters, {event.precision} on {event.device}."
            )
        case events.Evaluated(score=None):
            samples = (f"\n    {text}\n    -> {decoded}" for text, decoded in event.samples[:2])
            loss = f"loss {event.loss:.3f} on held-out sentences"
            return f"update {event.step:,}: {loss}{''.join(samples)}"
        case events.Evaluated():
            within = "" if event.low is None else f" [{event.low:.1f}, {event.high:.1f}]"
            return (
                f"update {event.step:,}{'' if event.step else ', the base'}: dev {event.score:.2f}"
                f"{within}{' (best)' if event.best else ''}, "
                f"alignment {event.alignment:.4g}, uniformity {event.uniformity:.4g}"
            )
        case events.Noted():
            return event.message
        case events.Finished():
            figures = {"dev": event.best_score, "loss on held-out sentences": event.best_loss}
            facts = [f"{name} {x:.4g}" for name, x in figures.items() if x is not None]
            verdict = events.headline(event.best_score, event.base_score)
            scores = f" ({', '.join(facts)})" if facts else ""
            use = f"Use it anywhere as {event.encoder}"
            if event.best_loss is not None:
                encoder = shlex.quote(event.encoder)
                use = f"Try it: theodolite decode 'A sentence.' --encoder {encoder}"
            return (
                f"{verdict}{verdict and ' '}{WHY[event.why]} Update {event.best_step:,} of "
                f"{event.step:,} was kept{scores}, after {formats.duration(event.seconds)}. {use}"
            )
    return ""
