"""`theodolite train | sweep | train-decoder | decoders`: models trained from a terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from theodolite.app import decoders
from theodolite.app.jobs.processes import under_torchrun
from theodolite.app.pages.train import choices, progress, service
from theodolite.app.pages.train.job import whole_path
from theodolite.app.pages.train.options import EstimateOption, takes_settings
from theodolite.app.pages.train.sweep_job import SweepJob, scores
from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    done,
    emit,
    emit_json,
    line,
    queued,
    say,
    verb,
    verbs,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding import presets
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.fields import defaults

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
    training = service.EncoderTraining(workspace)
    progress.train(training, spec, estimate=estimate, queue=queue, as_json=as_json)


@verb
@takes_settings(TrainSpec)
def sweep(
    workspace: Workspace,
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
            help="Values of a field; with --draw also LOW..HIGH or LOW..HIGH:log. Repeat for "
            "each field.",
        ),
    ] = None,
    draw: Annotated[
        int | None, typer.Option(min=1, help="Number of combinations to draw, instead of all.")
    ] = None,
    draw_seed: Annotated[int, typer.Option(min=0, help="Random seed of the draws.")] = 0,
    ablation: Annotated[
        str | None, typer.Option(help="Use the rows of a table of the SimCSE paper instead.")
    ] = None,
    scale: Annotated[
        str | None,
        typer.Option(help="try, small or paper: number of examples, with ten evaluations."),
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, max=20, help="Number of seeds for each, starting at --seed.")
    ] = 1,
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
    from theodolite.app.jobs import submit
    from theodolite.engine.training import ablations, sweeps

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
    if scale is not None:
        base_spec = ablations.scaled(base_spec, scale)
    if (ablation is None) != bool(vary):
        raise UserError(
            "A sweep either varies fields or uses the rows of a table.",
            f"Give --set FIELD=A,B,C or --ablation ({', '.join(ablations.ABLATIONS)}), not both.",
            code="conflict",
        )
    drawn = range(base_spec.seed, base_spec.seed + seeds)
    if ablation is None:
        children = service.varied(base_spec, vary or [], draw, draw_seed)
    else:
        children = ablations.children(ablation, base_spec)
    job = SweepJob.of(workspace, base_spec, sweeps.seeded(children, drawn))
    training = service.EncoderTraining(workspace)
    if estimate:
        progress.print_estimate(training, job, as_json)
    elif queue:
        training.check(base_spec)
        queued(submit.queue(workspace, job), as_json, trains=True)
    elif run_id := progress.perform(workspace, job, as_json):
        _report_sweep(workspace, run_id, job, as_json)


def _with_dev(workspace: Workspace, settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with an installed dev set: without a data folder, that of the starter set."""
    usual = defaults(TrainSpec)["dev"]
    found = settings.get("dev", choices.default_dev(workspace))
    if "dev" not in settings and found != usual:
        say(f"{usual} is not available, so the best weights are chosen on {found}; see --dev.")
    return settings | {"dev": found}


def _report_sweep(workspace: Workspace, run_id: str, job: SweepJob, as_json: bool) -> None:
    """Print the children of a sweep and name the best; exit 1 unless the sweep is done."""
    from theodolite.app.pages.trainings import service as runs

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
    scored = scores(workspace.store, run_id, len(job.children))
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
    training = service.DecoderTraining(workspace)
    spec = DecoderSpec(encoder, texts, out, **given)
    progress.train(training, spec, estimate=estimate, queue=queue, as_json=as_json)


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
