"""`theodolite evaluate`: encoders evaluated on tasks, from a terminal."""

from typing import Annotated, Any

import typer

from theodolite.app.pages.evaluate import job as jobs
from theodolite.app.pages.evaluate.job import EvaluateJob, start
from theodolite.app.terminal import (
    JsonOption,
    PriceOption,
    QueueOption,
    emit,
    emit_json,
    last,
    line,
    print_answer,
    progress_bar,
    report_queued,
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

    own_protocols, job = job.protocol is None, job.resolve(workspace)
    for warning in job.warnings(workspace):
        say(f"Warning: {warning}")
    if fetched := suites.to_fetch(job.tasks):
        say(fetched)
    if queue:
        report_queued(start(workspace, job, listed=not unlisted), as_json)
        return
    if estimate:
        from theodolite.app.pages.evaluate.estimate import estimate as estimates

        with progress_bar("estimating") as move:
            answer = last(estimates(workspace, job, price), move)
        print_answer(answer, (), as_json)
        return
    table: list[dict[str, Any]] = []
    with progress_bar(job.title) as move:
        for row in jobs.evaluate(workspace, job, move, listed=not unlisted):
            table.append(row)
            for score in _scores(workspace, row) if as_json else ():
                emit_json(score)
    _print_results(table, as_json, with_seed=job.seeds > 1)
    for note in dict.fromkeys(
        f"{row['task']}: {note}"
        for row in table
        for note in (row["details"] or {}).get("notes") or ()
    ):
        say(f"Note: {note}")
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
    report_queued(start(workspace, job.resolve(workspace), priority=priority), as_json)


def _scores(workspace: Workspace, row: dict[str, Any]) -> list[dict[str, Any]]:
    """Every number of a result, or its error."""
    if row["error"] is None:
        return workspace.store.results.scores(row["id"])
    keys = ("encoder", "fingerprint", "task", "protocol", "seed", "error", "hint")
    return [{key: row[key] for key in keys}]


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
