"""`theodolite data`: the data sets that can be used, and files of your own."""

from dataclasses import asdict, fields
from itertools import islice
from pathlib import Path
from typing import Annotated

import typer

from theodolite.app import formats
from theodolite.app.pages.data import service, sets
from theodolite.app.pages.data.job import MineSpec
from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    do_here,
    done,
    emit,
    emit_json,
    progress_bar,
    report_queued,
    say,
    takes_values,
    verb,
    verbs,
)
from theodolite.app.workspace import Workspace
from theodolite.engine.given import names_in
from theodolite.engine.training.mining import Mined

data_verbs = verbs("List and inspect data sets, add your own.")


@data_verbs.command("list")
@verb
def list_data(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show every data set: starter, folder and uploads.

    theodolite data list --data ~/senteval
    """
    catalog = workspace.catalog
    infos, unread = catalog.list(), catalog.unread()
    rows = [asdict(info) for info in (catalog.with_sizes([*infos, *unread]) if as_json else infos)]
    for row in () if as_json else rows:
        prefix = row["name"]  # which every task of the set has in common
        row["tasks"] = " ".join(task.removeprefix(prefix) or task for task in row["tasks"])
        row["languages"] = " ".join(row["languages"])
    emit(rows, ("name", "kind", "origin", "languages", "tasks", "description"), as_json)
    for info in () if as_json else unread:
        say(f"{info.name} cannot be read: {info.problem}")


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
    data = workspace.catalog.load(name)
    n = len(data.sentences)
    if as_json:
        emit_json({"name": name, "kind": data.kind, "hash": data.hash, "n": n})
    else:
        say(f"{name}: {n} sentences ({data.kind}), hash {data.hash}")
        for what, value in sets.counts(data).items():
            say(f"{what}: {value}")
    heads, rows = sets.table(data)
    names = [head.lower() for head in heads]
    emit([dict(zip(names, row, strict=True)) for row in islice(rows, limit)], names, as_json)


@data_verbs.command("add")
@verb
def add_data(
    workspace: Workspace,
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE...",
            help="CSV, TSV, Excel, JSONL, Parquet, plain text or ZIP; a folder or several files of "
            "one data set; documents in Markdown, HTML or PDF.",
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
        str | None, typer.Option(help="The sheet of an Excel file; default: the first with rows.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Add a file of your own. Without --columns its columns are guessed and shown.

    theodolite data add pairs.csv --name mine --columns left=text_a,right=text_b,score=grade

    theodolite data add corpus.jsonl queries.jsonl qrels.tsv --name mine

    theodolite evaluate minilm --tasks upload:mine
    """
    from theodolite.engine.datasets import tables

    with service.bring(files, sheet or "") as folder:
        file = folder.path
        preview = tables.preview(file, file.name)
        mapping = service.mapping_of(file, kind, columns, type, preview)
        name = name or service.name_for(file.name)
        row = service.keep(workspace, file, file.name, name, mapping, notes=folder.notes)
    known_columns = row["mapping"]["columns"]  # without a label, if no row has one
    used = "".join(
        f"; {role} = {c}" for role, c in mapping.columns.items() if role in known_columns
    )
    lines = [f"Added as upload:{row['name']}: {row['kind']}{used}.", *preview.problems]
    done(row, " ".join([*lines, *row["info"].get("notes", [])]), as_json)


@data_verbs.command("mine")
@verb
@takes_values("spec", MineSpec)
def mine_data(
    workspace: Workspace,
    spec: MineSpec,
    limit: Annotated[int, typer.Option("-n", min=0, help="Number of examples shown.")] = 5,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Find hard negatives for pairs, and keep the triplets as a data set to train on.

    theodolite data mine pairs.csv --name mined --margin 0.05

    theodolite data mine pairs.csv --name mined --documents upload:manual -e minilm

    theodolite train st minilm --train upload:mined --out mine

    Near texts that are no partner become negatives; with a margin, those that are nearly as close
    as a partner are left out, since they are probably right.
    """
    from theodolite.app.jobs import submit

    if queue:
        report_queued(submit.queue(workspace, spec), as_json)
        return
    with progress_bar(spec.title) as move:
        every = submit.perform(workspace, spec, move=move)
        triplets = [one for *_, one in every if isinstance(one, Mined)]
    rows = [asdict(one) for one in triplets[:limit]]
    row = {"name": spec.result_name, "triplets": len(triplets), "examples": rows}
    done(row, f"Kept {len(triplets):,} triplets as {spec.result_name}.", as_json)
    if not as_json:
        emit(rows, [field.name for field in fields(Mined)], False)


@data_verbs.command("queries")
@verb
def write_queries(
    workspace: Workspace,
    documents: Annotated[
        str, typer.Argument(metavar="DATASET", help="Documents, such as upload:handbook.")
    ],
    by: Annotated[str, typer.Option(help="The language model: api:URL#MODEL.")],
    name: Annotated[str, typer.Option(help="Name of the data set with queries.")],
    limit: Annotated[int, typer.Option("-n", min=1, help="Documents drawn, one query each.")] = 100,
    send_texts: Annotated[
        bool, typer.Option("--send-texts", help="Allow the documents to be sent to the model.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Have a language model write queries for documents, and keep both as a data set.

    theodolite data queries upload:handbook --by "api:http://localhost:11434/v1#qwen3" --name asked

    theodolite choose upload:asked --rankers "bm25,minilm"

    Choose says 'by rule' of scores on such queries, until marks of a person correct them.
    """
    with progress_bar("Queries") as move:
        row = service.write_queries(
            workspace, documents, by, name, limit, send_texts=send_texts, tell=say, move=move
        )
    notes = " ".join(row["info"].get("notes", []))
    done(row, f"Added as upload:{row['name']}. {notes}", as_json)


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
    from theodolite.app import suites as names
    from theodolite.app.jobs import submit
    from theodolite.app.pages.data import suites

    if name is None:
        rows = [asdict(one) for one in names.look_up(workspace).listed]
        emit(rows, ("name", "tasks", "description"), as_json)
        return
    some = names_in(tasks)
    if queue and (fetch or some):
        report_queued(submit.queue(workspace, suites.fetch_job(name, some)), as_json)
        return
    if fetch or some:
        do_here(workspace, suites.fetch_job(name, some))
    suite = suites.suite(name)
    rows = [asdict(one) | {"size": formats.size(one.bytes)} for one in suite.tasks]
    columns = ("task", "type", "examples", "size", "licence", "access", "here", "problem")
    emit(rows, columns, as_json)
    if not as_json:
        say(f"{suite.state}.")


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
