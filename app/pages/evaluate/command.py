"""`theodolite evaluate`: encoders evaluated on tasks, from a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.app.terminal import (
    EncodersArgument,
    JsonOption,
    PriceOption,
    QueueOption,
    emit,
    emit_json,
    line,
    progress_bar,
    queued,
    say,
    verb,
)
from theodolite.app.workspace import Workspace

if TYPE_CHECKING:
    from theodolite.app.pages.evaluate.job import EvaluateJob


@verb
def evaluate(
    workspace: Workspace,
    encoders: EncodersArgument,
    tasks: Annotated[
        str | None,
        typer.Option(
            help="Comma-separated tasks or suites; default: the starter set and STS, or with "
            "--protocol all it covers."
        ),
    ] = None,
    protocol: Annotated[
        str | None, typer.Option(help="A protocol's name; default: each task's own.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Default: the protocol's own seed.")] = None,
    seeds: Annotated[
        int,
        typer.Option(
            help="Number of consecutive seeds, starting at --seed; 1 to 20. Shows the spread."
        ),
    ] = 1,
    estimate: Annotated[
        bool, typer.Option("--estimate", help="Estimate the cost, and evaluate nothing.")
    ] = False,
    price: PriceOption = None,
    unlisted: Annotated[
        bool,
        typer.Option("--unlisted", help="Do not add the encoders to the list shown on the pages."),
    ] = False,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Evaluate encoders on tasks; stored results are read, not computed again.

    theodolite evaluate minilm wordllama random:256 --tasks StarterSTS,StarterTopics

    theodolite evaluate hf:bert-base-uncased?pooling=avg --tasks sts --data senteval --json

    theodolite evaluate minilm --tasks transfer --protocol senteval --seeds 3

    theodolite evaluate minilm --tasks senteval --protocol senteval --estimate

    With --json every number is one object; `main` is true on the one a table shows. With --seeds,
    deterministic tasks are evaluated once, and the others end with one line on their spread.
    """
    from theodolite.app import suites
    from theodolite.app.pages.evaluate import service
    from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation

    job = EvaluateJob.of(workspace, encoders, tasks, protocol, seed, seeds)
    for warning in service.warnings(workspace, encoders, job.tasks):
        say(f"Warning: {warning}")
    if fetched := suites.to_fetch(job.tasks):
        say(fetched)
    if queue:
        run = queue_evaluation(
            workspace, encoders, tasks, protocol, seed, seeds=seeds, listed=not unlisted
        )
        queued(run, as_json)
        return
    if estimate:
        _print_estimate(workspace, job, price, as_json)
        return
    table: list[dict[str, Any]] = []
    with progress_bar(job.title) as move:
        for row in service.evaluate(workspace, job, move, listed=not unlisted):
            if as_json:
                _emit_scores(workspace, row)
            table.append(row)
    _print_results(table, as_json, with_seed=seeds > 1)
    if protocol is None:
        say("No protocol given: each task used its own, which is shown beside its score.")
    if any(row["error"] is not None for row in table):
        raise typer.Exit(1)


@verb
def add_job(
    workspace: Workspace,
    encoders: Annotated[list[str], typer.Argument(metavar="ENCODER…", help="Spec strings.")],
    tasks: Annotated[str | None, typer.Option(help="Comma-separated tasks or suites.")] = None,
    protocol: Annotated[str | None, typer.Option(help="Default: each task's own.")] = None,
    seed: Annotated[int | None, typer.Option(help="Default: the protocol's own.")] = None,
    seeds: Annotated[int, typer.Option(help="Number of consecutive seeds, 1 to 20.")] = 1,
    priority: Annotated[int, typer.Option(help="Lower runs earlier; 0 is usual.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Queue an evaluation for the worker of a running app (or of `theodolite worker`).

    theodolite jobs add minilm random:256 --tasks starter --priority -1
    """
    from theodolite.app.pages.evaluate.job import queue_evaluation

    run = queue_evaluation(
        workspace, encoders, tasks, protocol, seed, seeds=seeds, priority=priority
    )
    queued(run, as_json)


def _print_results(table: list[dict[str, Any]], as_json: bool, *, with_seed: bool) -> None:
    """Rows for people, and the spread over seeds for both."""
    from theodolite.app.metrics import metric
    from theodolite.engine.stats.spread import spreads, words

    found = spreads(table)
    if as_json:
        for (encoder, task, protocol), over in found.items():
            head = {"encoder": encoder, "task": task, "protocol": protocol}
            emit_json({**head, "spread": vars(over)})
        return
    rows = [{**row, "metric": "" if row["error"] else metric(row)} for row in table]
    seed_column = ("seed",) if with_seed else ()
    emit(
        rows,
        ("encoder", "task", *seed_column, "score", "metric", "n", "protocol", "error"),
        False,
    )
    for (encoder, task, protocol), over in found.items():
        line(f"{encoder} on {task} under {protocol}: mean {over.mean:.2f} {words(over)}")


def _print_estimate(
    workspace: Workspace, job: EvaluateJob, price: float | None, as_json: bool
) -> None:
    from theodolite.app import endpoints
    from theodolite.app.pages.evaluate import costs

    found: list[costs.Estimate] = []
    with progress_bar("estimating") as move:
        for share, what, made in costs.estimates(workspace, job):
            move(share, 1.0, f"estimating {what}")
            found += [made] if made is not None else []
    if as_json:
        for made in found:
            emit_json(made.row())
        return
    emit(
        [costs.row_in_words(made) for made in found],
        (
            "encoder",
            "results",
            "new_sentences",
            "encoding",
            "training",
            "in_all",
            "memory",
            "disk",
            "error",
        ),
        False,
    )
    for made in found:
        for text in endpoints.in_words(made.sending, price):
            say(f"{made.encoder} would send {text}.")
    say("Estimates for this machine under its current load, mostly within a factor of two.")


def _emit_scores(workspace: Workspace, row: dict[str, Any]) -> None:
    if row["error"] is not None:
        keys = ("encoder", "fingerprint", "task", "protocol", "seed", "error", "hint")
        emit_json({key: row[key] for key in keys})
        return
    for score in workspace.store.results.scores(row["id"]):
        emit_json(score)
