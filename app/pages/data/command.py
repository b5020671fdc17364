"""`theodolite data`: the data sets that can be used, and files of your own."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.app import formats
from theodolite.app.pages.data import samples, service
from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    do_here,
    done,
    emit,
    emit_json,
    queued,
    say,
    verb,
    verbs,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import DatasetInfo

data_verbs = verbs("List and inspect data sets, add your own.")


@data_verbs.command("list")
@verb
def list_data(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show every data set: starter, folder and uploads.

    theodolite data list --data ~/senteval
    """
    from dataclasses import asdict

    catalog = workspace.catalog
    unread = catalog.unread()
    if as_json:
        emit([asdict(info) for info in catalog.with_sizes([*catalog.list(), *unread])], (), True)
        return
    rows = [
        {**asdict(info), "languages": " ".join(info.languages), "tasks": _tasks(info)}
        for info in catalog.list()
    ]
    emit(rows, ("name", "kind", "origin", "languages", "tasks", "description"), as_json)
    for info in unread:
        say(f"{info.name} cannot be read: {info.problem}")


def _tasks(info: DatasetInfo) -> str:
    """Names of tasks, without the data set's name as a prefix."""
    return " ".join(task.removeprefix(info.name) or task for task in info.tasks)


@data_verbs.command("show")
@verb
def show_data(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(metavar="DATASET", help="A name from `data list`.")],
    limit: Annotated[int, typer.Option("-n", min=1, help="Number of rows.")] = 10,
    as_json: JsonOption = False,
) -> None:
    """Show the first rows of a data set, with labels, scores or judgements, its size and its hash.

    theodolite data show starter-topics -n 3
    """
    dataset = workspace.catalog.load(name)
    n = len(dataset.sentences)
    if as_json:
        emit_json({"name": name, "kind": dataset.kind, "hash": dataset.hash, "n": n})
    else:
        say(f"{name}: {n} sentences ({dataset.kind}), hash {dataset.hash}")
        for what, value in samples.counts(dataset).items():
            say(f"{what}: {value}")
    heads, rows = samples.table(dataset)
    names = [head.lower() for head in heads]
    shown = [dict(zip(names, map(_cell, row), strict=True)) for row in islice(rows, limit)]
    emit(shown, names, as_json)


def _cell(value: Any) -> Any:
    """A cell for a table: the judged documents of a query as one text."""
    return "; ".join(f"{n} {text}" for n, text in value) if isinstance(value, list) else value


@data_verbs.command("add")
@verb
def add_data(
    workspace: Workspace,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="CSV, TSV, Excel, JSONL, Parquet, plain text or ZIP; a folder or several files of "
            "one data set.",
        ),
    ],
    name: Annotated[str | None, typer.Option(help="Name; default: the file's.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="pairs, labels, labelled-pairs, sentences, triplets, retrieval or parallel; "
            "default: a guess."
        ),
    ] = None,
    type: Annotated[
        str | None,
        typer.Option(help="Type of task, as MTEB spells it: Reranking, Clustering, …"),
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="role=column,…  e.g. left=text_a,right=text_b,score=grade"),
    ] = None,
    sheet: Annotated[
        str | None, typer.Option(help="The sheet of an Excel file; default: the first.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Add a file of your own. Without --columns its columns are guessed and shown.

    theodolite data add pairs.csv --name mine --columns left=text_a,right=text_b,score=grade

    theodolite data add corpus.jsonl queries.jsonl qrels.tsv --name mine

    theodolite evaluate minilm --tasks upload:mine
    """
    from theodolite.engine.datasets import tables

    with service.bring(files, sheet or "") as brought:
        file = brought.path
        shown = tables.preview(file, file.name)
        mapping = service.mapping_of(file, kind, columns, type, shown)
        row = service.keep(
            workspace, file, file.name, name or file.stem, mapping, notes=brought.notes
        )
    used = ", ".join(f"{role} = {column}" for role, column in mapping.columns.items())
    lines = [f"Added as upload:{row['name']}: {row['kind']}{f'; {used}' if used else ''}."]
    done(row, " ".join([*lines, *shown.problems, *row["info"].get("notes", [])]), as_json)


@data_verbs.command("suite")
@verb
def list_suite(
    workspace: Workspace,
    name: Annotated[
        str | None, typer.Argument(metavar="[SUITE]", help="Such as 'MTEB(eng, v2)'.")
    ] = None,
    fetch: Annotated[bool, typer.Option("--fetch", help="Download what is missing.")] = False,
    tasks: Annotated[
        str, typer.Option(help="Comma-separated: download the data of these tasks only.")
    ] = "",
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Show the tasks of a suite of MTEB's: which data are here, and how large the others are.

    Nothing is fetched without --fetch; without a name, the suites themselves. Needs the extra
    `mteb`.

    theodolite data suite "MTEB(eng, v2)"

    theodolite data suite "MTEB(eng, v2)" --fetch

    theodolite evaluate minilm --tasks "MTEB(eng, v2)"
    """
    from dataclasses import asdict

    from theodolite.app import suites as names
    from theodolite.app.pages.data import suites

    if name is None:
        listed = names.look_up(workspace).listed
        emit([asdict(one) for one in listed], ("name", "tasks", "description"), as_json)
        return
    if fetch or tasks:
        some = [task.strip() for task in tasks.split(",") if task.strip()]
        job = suites.fetching(name, some)
        if queue:
            queued(suites.run_fetch(workspace, name, some), as_json)
            return
        do_here(workspace, job)
    found = suites.suite(name)
    rows = [asdict(one) for one in found.tasks]
    sizes = [{**row, "size": formats.size(row["bytes"])} for row in rows]
    columns = ("task", "type", "examples", "size", "licence", "access", "here", "problem")
    emit(rows if as_json else sizes, columns, as_json)
    if not as_json:
        say(f"{suites.in_words(found)}.")


@data_verbs.command("remove")
@verb
def remove_data(
    workspace: Workspace,
    name: Annotated[str, typer.Argument(metavar="DATASET", help="upload:NAME or corpus:NAME")],
    as_json: JsonOption = False,
) -> None:
    """Remove an upload, or unregister an encoded corpus, keeping its folder. Results are kept.

    theodolite data remove upload:mine
    """
    service.remove(workspace, name)
    done({"removed": name}, f"Removed {name}.", as_json)
