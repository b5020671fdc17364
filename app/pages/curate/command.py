"""`theodolite curate`: checks of a collection, from a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    SpreadsheetOption,
    check_writable,
    do_here,
    emit,
    emit_json,
    queued,
    say,
    verb,
)
from theodolite.app.workspace import Workspace


@verb
def curate(
    workspace: Workspace,
    check: Annotated[str, typer.Argument(help="exact, near, outliers, typical or leaks.")],
    dataset: Annotated[
        str, typer.Argument(help="The collection to use; see `theodolite data`.")
    ] = "starter-topics",
    encoder: Annotated[str, typer.Option("--encoder", "-e", help="A spec string.")] = "minilm",
    split: Annotated[str, typer.Option(help="A split, or all of them.")] = "all",
    threshold: Annotated[
        float, typer.Option(help="Minimum cosine of near duplicates and leaks.")
    ] = 0.9,
    neighbours: Annotated[
        int, typer.Option(help="Number of neighbours used to find outliers.")
    ] = 10,
    many: Annotated[
        int, typer.Option("-n", help="Number of outliers, or of sentences at each end of typical.")
    ] = 100,
    against: Annotated[
        str, typer.Option(help="Leaks: the training data set; default: the same.")
    ] = "",
    against_split: Annotated[str, typer.Option(help="Leaks: its split.")] = "all",
    out: Annotated[Path | None, typer.Option("--out", help="Write the table here, as CSV.")] = None,
    spreadsheet: SpreadsheetOption = False,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find duplicates, outliers, leaks, or the most and least typical sentences.

    theodolite curate near starter-pairs -e minilm --threshold 0.95 --out twins.csv

    theodolite curate leaks STSBenchmark --split test --against-split train -e wordllama --json
    """
    from theodolite.app.jobs import submit
    from theodolite.app.pages.curate import service, tables

    if out is not None:
        check_writable(out)
    job = service.spec(
        check,
        dataset,
        split=split,
        encoder=encoder,
        threshold=threshold,
        neighbours=neighbours,
        many=many,
        against=against,
        against_split=against_split,
    )
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    do_here(workspace, job)
    found = service.answer(workspace, job)
    table = tables.frame(found)
    if out is not None:
        out.write_bytes(tables.csv(found, spreadsheet=spreadsheet))
        say(f"{len(table)} rows written to {out}.")
    if as_json:
        for row in table.to_dict("records"):
            emit_json(row)
    elif out is None:
        emit(table.to_dict("records"), tuple(table.columns), False)
    say(tables.sentence(found))


@verb
def leaks(
    workspace: Workspace,
    encoder: Annotated[str, typer.Argument(help="The encoder whose training data are searched.")],
    tasks: Annotated[
        str, typer.Option(help="Comma-separated; default: those it was evaluated on, or all.")
    ] = "",
    trained_on: Annotated[
        str,
        typer.Option("--in", help="Comma-separated data sets; default: the known training data."),
    ] = "",
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Search the training data of an encoder for the texts of tasks, exact or nearly so.

    theodolite encoders leaks minilm

    theodolite encoders leaks minilm --tasks STSBenchmark --in SNLI,nli --json

    The training data are those that its files and MTEB name, as far as they are installed. Two
    texts are nearly the same when the Jaccard index of their character 5-grams is at least 0.8
    (Broder 1997). The search is for the examples of a task's main score, and for the documents of
    a retrieval task; it goes through the split train of a training set that has one.
    """
    from theodolite.app.jobs import submit
    from theodolite.app.pages.board import trained
    from theodolite.app.pages.curate import leaks as service

    trained.look_up(workspace, [encoder])
    names = service.known(workspace, encoder)
    there = service.here(workspace, names)
    if not trained_on:
        say(service.summary(encoder, names, there))
    job = service.LeakJob.of(
        _names(tasks) or service.tasks(workspace, encoder),
        _names(trained_on) or [name for those in there.values() for name in those],
    )
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    do_here(workspace, job)
    rows = [leak.row() for leak in service.ordered(service.found(workspace, job).values())]
    emit(
        rows,
        ("task", "part", "trained_on", "same", "nearly", "tested", "share", "problem"),
        as_json,
    )


def _names(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]
