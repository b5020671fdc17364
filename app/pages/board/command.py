"""`theodolite board`: every measured encoder in order, from a terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from app import formats
from app.terminal import (
    EncodersArgument,
    JsonOption,
    QueueOption,
    do_here,
    emit,
    queued,
    say,
    verb,
)
from app.workspace import Workspace


@verb
def board(
    workspace: Workspace,
    suite: Annotated[
        str, typer.Option(help="Tasks of this suite; all: every task that was measured.")
    ] = "all",
    protocol: Annotated[
        str, typer.Option(help="Results under this protocol only; default: each task's own.")
    ] = "",
    types: Annotated[
        str, typer.Option("--type", help="Comma-separated types of tasks, such as STS.")
    ] = "",
    languages: Annotated[
        str, typer.Option("--language", help="Comma-separated languages of tasks, such as eng.")
    ] = "",
    most_parameters: Annotated[
        float | None, typer.Option(help="At most so many million parameters.", min=0)
    ] = None,
    most_dimensions: Annotated[
        int | None, typer.Option(help="Vectors of at most so many dimensions.", min=1)
    ] = None,
    least_tokens: Annotated[
        int | None, typer.Option(help="Reads at least so many tokens of a text.", min=1)
    ] = None,
    licences: Annotated[
        str, typer.Option("--licence", help="Comma-separated licences, such as apache-2.0.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Put every measured encoder in order: means, Borda count, rank intervals, tie groups.

    theodolite board

    theodolite board --suite sts --most-parameters 50 --json

    A mean says over how many of the tasks it is: a missing task is left out, never counted as zero.
    Borda is counted as MTEB does: n - rank points a task, none for a task that is missing. Results
    of mteb's own code (protocol mteb-VERSION) are never in one mean with others.
    """
    from app.pages.board import service

    spec = service.BoardSpec(
        suite, protocol, _listed(types), _listed(languages), most_parameters, most_dimensions,
        least_tokens, _listed(licences),
    )  # fmt: skip
    found = service.board(workspace, spec)
    rows = found.rows(service.ranking(workspace, found))
    columns = ("encoder", "rank", "borda", "mean", "over", "mean_by_type", "rank_interval",
               "tie_group")  # fmt: skip
    emit(rows if as_json else [_in_words(row) for row in rows], columns, as_json)
    if not as_json and found.left_out:
        say(f"{formats.plural(found.left_out, 'encoder')} left out by the filters.")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _in_words(row: dict[str, Any]) -> dict[str, Any]:
    low, high = row["rank_low"], row["rank_high"]
    interval = None if low is None else f"{low} to {high}"
    return {**row, "over": f"{row['tasks']} of {row['of']}", "rank_interval": interval}


@verb
def cost(
    workspace: Workspace,
    encoders: EncodersArgument,
    again: Annotated[
        bool, typer.Option("--again", help="Measure anew what was measured here before.")
    ] = False,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure what encoders cost on this machine: speed, latency, loading, memory, disk.

    theodolite encoders cost minilm wordllama

    theodolite encoders cost minilm --again --json

    Each is measured in a process of its own, on sentences that no cache has: sentences a second of
    16, 64 and 256 tokens (5 repeats each), single sentences, and three loads of which the first
    reads the libraries too. With --json: the lowest and the highest of the repeats.
    """
    from app.jobs import submit
    from app.pages.board import cost as service

    job = service.CostJob.of(encoders)
    if again:
        service.forget(workspace, job.encoders)
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    do_here(workspace, job)
    found = service.measured(workspace)
    rows = [found[name] for name in job.encoders]
    emit(rows if as_json else [service.in_words(row) for row in rows],
         ("encoder", *service.AXES), as_json)  # fmt: skip


VERBS = {"board": board, "encoders cost": cost}
