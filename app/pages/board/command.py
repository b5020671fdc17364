"""`theodolite board`: all evaluated encoders ranked, from a terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from theodolite.app import formats
from theodolite.app.terminal import (
    EncodersArgument,
    JsonOption,
    QueueOption,
    do_here,
    emit,
    queued,
    say,
    verb,
)
from theodolite.app.workspace import Workspace


@verb
def board(
    workspace: Workspace,
    suite: Annotated[
        str, typer.Option(help="Tasks of this suite; all: every evaluated task.")
    ] = "all",
    protocol: Annotated[
        str,
        typer.Option(
            help=(
                "Results under this protocol only; default: each task's own. published: "
                "published scores and those of mteb's own code."
            )
        ),
    ] = "",
    types: Annotated[
        str, typer.Option("--type", help="Comma-separated types of tasks, such as STS.")
    ] = "",
    languages: Annotated[
        str, typer.Option("--language", help="Comma-separated languages of tasks, such as eng.")
    ] = "",
    most_parameters: Annotated[
        float | None, typer.Option(help="Maximum number of parameters, in millions.", min=0)
    ] = None,
    most_dimensions: Annotated[
        int | None, typer.Option(help="Maximum number of dimensions.", min=1)
    ] = None,
    least_tokens: Annotated[
        int | None, typer.Option(help="Minimum max sequence length, in tokens.", min=1)
    ] = None,
    least_characters: Annotated[
        float | None, typer.Option(help="Tasks whose texts have so many in the mean.", min=0)
    ] = None,
    most_characters: Annotated[
        float | None, typer.Option(help="Tasks whose texts have at most so many.", min=0)
    ] = None,
    least_words: Annotated[
        float | None, typer.Option(help="Tasks whose texts have so many in the mean.", min=0)
    ] = None,
    most_words: Annotated[
        float | None, typer.Option(help="Tasks whose texts have at most so many.", min=0)
    ] = None,
    licences: Annotated[
        str, typer.Option("--licence", help="Comma-separated licences, such as apache-2.0.")
    ] = "",
    as_json: JsonOption = False,
) -> None:
    """Put every evaluated encoder in order: means, Borda count, rank intervals, tie groups.

    theodolite board

    theodolite board --suite sts --most-parameters 50 --json

    Means, Borda count and ranks are over the tasks that the ranked encoders share, whose number is
    `over`; one that lacks some of them, or is still being evaluated, is not ranked. Borda is
    counted as MTEB does: n - rank points a task. Results of mteb's own code (protocol mteb-VERSION)
    are never in one mean with others. `trained_on` are the tasks whose data an encoder's files or
    MTEB name among what it was trained on.
    """
    from theodolite.app.pages.board import published, service, trained

    spec = service.BoardSpec(
        suite,
        protocol,
        _listed(types),
        _listed(languages),
        most_parameters,
        most_dimensions,
        least_tokens,
        _listed(licences),
        least_characters,
        most_characters,
        least_words,
        most_words,
    )
    found = service.board(workspace, spec)
    trained.look_up(workspace, found.encoders)
    rows = found.rows(service.ranking(workspace, found), service.trained_on(workspace, found))
    if found.spec.protocol == service.PUBLISHED:
        references = published.references(workspace, found)
        over = published.compared(found, references)
        rows += [one.row(found, over) for one in references]
    columns = (
        "encoder",
        "rank",
        "borda",
        "mean",
        "over",
        "mean_by_type",
        "rank_interval",
        "tie_group",
        "trained_on",
    )
    emit(rows if as_json else [_in_words(row) for row in rows], columns, as_json)
    if not as_json and found.left_out:
        say(f"{formats.plural(found.left_out, 'encoder')} left out by the filters.")


def _listed(text: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip())


def _in_words(row: dict[str, Any]) -> dict[str, Any]:
    low, high = row.get("rank_low"), row.get("rank_high")
    interval = None if low is None else f"{low} to {high}"
    seen = row.get("trained_on") and ", ".join(row["trained_on"])
    return {
        **row,
        "over": f"{row['mean_over']} of {row['of']}",
        "rank_interval": interval,
        "trained_on": seen,
    }


@verb
def cost(
    workspace: Workspace,
    encoders: EncodersArgument,
    again: Annotated[
        bool, typer.Option("--again", help="Measure again even if measured before.")
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

    If other programs used the processor meanwhile, or repeats differ by half, it is measured up to
    three times and the least disturbed is kept, with its load and date.
    """
    from theodolite.app.jobs import submit
    from theodolite.app.pages.board import cost as service

    job = service.CostJob.of(encoders)
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    do_here(workspace, job, again=again)
    found = service.measured(workspace)
    rows = [found[name] for name in job.encoders]
    emit(
        rows if as_json else [service.in_words(row) for row in rows],
        ("encoder", *service.AXES, "other_load", "measured"),
        as_json,
    )
    if text := service.disturbance(rows):
        say(text)
