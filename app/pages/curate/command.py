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
