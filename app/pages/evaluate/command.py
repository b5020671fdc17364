"""`theodolite evaluate`: encoders evaluated on tasks, from a terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from theodolite.app.pages.evaluate.job import EvaluateJob, start
from theodolite.app.terminal import (
    JsonOption,
    PriceOption,
    QueueOption,
    emit,
    emit_json,
    line,
    progress_bar,
    queued,
    say,
    takes_values,
    verb,
)
from theodolite.app.workspace import Workspace


@verb
@takes_values("job", EvaluateJob)
def evaluate(
    workspace: Workspace,
    job: EvaluateJob,
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

    own_protocols, job = job.protocol is None, job.resolve(workspace)
    for warning in service.warnings(workspace, job.encoders, job.tasks):
        say(f"Warning: {warning}")
    if fetched := suites.to_fetch(job.tasks):
        say(fetched)
    if queue:
        queued(start(workspace, job, listed=not unlisted), as_json)
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
    _print_results(table, as_json, with_seed=job.seeds > 1)
    if own_protocols:
        say("No protocol given: each task used its own, which is shown beside its score.")
    if any(row["error"] is not None for row in table):
        raise typer.Exit(1)


@verb
@takes_values("job", EvaluateJob)
def add_job(
    workspace: Workspace,
    job: EvaluateJob,
    priority: Annotated[int, typer.Option(help="Lower runs earlier; 0 is usual.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Queue an evaluation for the worker of a running app (or of `theodolite worker`).

    theodolite jobs add minilm random:256 --tasks starter --priority -1
    """
    queued(start(workspace, job.resolve(workspace), priority=priority), as_json)


def _print_results(table: list[dict[str, Any]], as_json: bool, *, with_seed: bool) -> None:
    """Rows for people, and the spread over seeds for both."""
    from theodolite.app.metrics import metric
    from theodolite.engine.stats.spread import spreads, words

    if not as_json:
        rows = [{**row, "metric": "" if row["error"] else metric(row)} for row in table]
        seed = ("seed",) if with_seed else ()
        columns = ("encoder", "task", *seed, "score", "metric", "n", "protocol", "error")
        emit(rows, columns, as_json=False)
    for (encoder, task, protocol), over in spreads(table).items():
        if as_json:
            head = {"encoder": encoder, "task": task, "protocol": protocol}
            emit_json({**head, "spread": vars(over)})
        else:
            line(f"{encoder} on {task} under {protocol}: mean {over.mean:.2f} {words(over)}")


def _print_estimate(
    workspace: Workspace, job: EvaluateJob, price: float | None, as_json: bool
) -> None:
    from theodolite.app.pages.evaluate import costs

    found: list[costs.Estimate] = []
    with progress_bar("estimating") as move:
        for share, what, one in costs.estimates(workspace, job):
            move(share, 1.0, f"estimating {what}")
            found += [one] if one is not None else []
    answer = costs.Estimates(found, price)
    emit(answer.rows() if as_json else answer.table_rows(), answer.table_columns(), as_json)
    for text in () if as_json else answer.notes():
        say(text)


def _emit_scores(workspace: Workspace, row: dict[str, Any]) -> None:
    if row["error"] is not None:
        keys = ("encoder", "fingerprint", "task", "protocol", "seed", "error", "hint")
        emit_json({key: row[key] for key in keys})
        return
    for score in workspace.store.results.scores(row["id"]):
        emit_json(score)
