"""`theodolite results`: listing, exporting, importing and removing results."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.app import exchange, formats, suites
from theodolite.app.pages.overview import answer
from theodolite.app.terminal import JsonOption, done, emit, say, takes, verb, verbs
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

result_verbs = verbs("List and remove results.")
Filters = Mapping[str, Any]


def _filters(
    encoder: Annotated[
        list[str] | None, typer.Option("--encoder", "-e", help="Only of these.")
    ] = None,
    task: Annotated[
        list[str] | None, typer.Option("--task", help="Only on these tasks or suites.")
    ] = None,
    protocol: Annotated[
        list[str] | None, typer.Option("--protocol", help="Only under these.")
    ] = None,
) -> Filters:
    """Which results a command is about."""
    from theodolite.engine.encoders import parse

    encoders = [str(parse(spec)) for spec in encoder or ()]
    return {"encoders": encoders or None, "tasks": task or None, "protocols": protocol or None}


def _stored_results(workspace: Workspace, filters: Filters) -> list[dict[str, Any]]:
    """All results that match the filters, older versions included."""
    tasks = suites.measured(workspace, filters["tasks"])
    return workspace.store.results.table(**{**filters, "tasks": tasks}, all_versions=True)


@result_verbs.command("list")
@verb
@takes("filters", _filters)
def list_results(workspace: Workspace, filters: Filters, as_json: JsonOption = False) -> None:
    """Show every result, older versions too, with the bytes of its values per example.

    theodolite results list --encoder minilm --json
    """
    rows = _stored_results(workspace, filters)
    sizes = workspace.store.results.sizes(rows)
    columns = ("id", "encoder", "task", "protocol", "seed", "score", "bytes", "error")
    emit([{**row, "bytes": sizes[row["id"]]} for row in rows], columns, as_json)


@result_verbs.command("remove")
@verb
@takes("filters", _filters)
def remove_results(
    workspace: Workspace,
    filters: Filters,
    ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID]…", help="See `results list`.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Remove results permanently: by number, or all of some encoders, tasks or protocols.

    theodolite results remove 12 13

    theodolite results remove --encoder "minilm | normalise" --task MR
    """
    if not (ids or any(filters.values())):
        raise UserError(
            "No result is named.",
            "Give result numbers, or --encoder, --task, --protocol.",
            code="missing",
        )
    rows = _stored_results(workspace, filters)
    if unknown := set(ids or ()) - {row["id"] for row in rows}:
        raise UserError(
            f"There is no such result: {min(unknown)}.", "`results list` shows all.", code="unknown"
        )
    rows = [row for row in rows if not ids or row["id"] in ids]
    size = answer.remove(workspace, rows)
    text = f"{formats.plural(len(rows), 'result')} removed: {formats.size(size)}."
    done({"removed": [row["id"] for row in rows], "bytes": size}, text, as_json)


@result_verbs.command("export")
@verb
@takes("filters", _filters)
def export_results(
    workspace: Workspace,
    folder: Annotated[Path, typer.Argument(help="Created if it does not exist.")],
    filters: Filters,
    form: Annotated[
        str, typer.Option("--format", help="mteb: its folders of JSON; yaml: the hub's list.")
    ] = "mteb",
    as_json: JsonOption = False,
) -> None:
    """Write results as mteb does, or as the hub lists them beside a model.

    theodolite results export out --format mteb --protocol mteb-v2
    """
    files = exchange.export(workspace, folder, form, _stored_results(workspace, filters))
    emit([{"file": str(file)} for file in files], ("file",), as_json)


@result_verbs.command("import")
@verb
def import_results(
    workspace: Workspace,
    place: Annotated[
        Path, typer.Argument(help="A folder, ZIP or file in mteb's layout, or the hub's YAML.")
    ],
    model: Annotated[
        str, typer.Option(help="The model, if the files do not name it (YAML does not).")
    ] = "",
    revision: Annotated[str, typer.Option(help="Of that model.")] = "",
    as_json: JsonOption = False,
) -> None:
    """Keep results that others published. They are references: shown as such, never tested.

    theodolite results import ~/mteb/results/intfloat__multilingual-e5-small
    """
    imported = exchange.bring(workspace, place, model, revision)
    for problem in imported.problems:
        say(f"Left out: {problem}.")
    for note in imported.notes:
        say(note)
    rows = [
        {
            "model": result.model,
            "revision": result.revision,
            "task": result.task,
            "version": result.version,
            "data_revision": result.data_revision,
            "metric": result.main.metric,
            "score": result.main.score,
        }
        for result in imported.results
    ]
    emit(rows, ("model", "revision", "task", "metric", "score"), as_json)


@result_verbs.command("published")
@verb
def published_results(
    workspace: Workspace,
    model: Annotated[list[str] | None, typer.Option("--model", "-m", help="Only of these.")] = None,
    task: Annotated[list[str] | None, typer.Option("--task", help="Only on these.")] = None,
    remove: Annotated[bool, typer.Option("--remove", help="Remove the listed results.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Show the results that others published, each revision of model and data by itself.

    theodolite results published --model intfloat/multilingual-e5-small
    """
    rows = workspace.store.published.table(models=model or None, tasks=task or None)
    if remove:
        workspace.refuse_visitors()
        workspace.store.published.remove([row["id"] for row in rows])
    emit(rows, ("model", "revision", "task", "version", "metric", "score"), as_json)
