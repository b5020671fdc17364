"""`theodolite results`: listing, exporting, importing and removing results."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from theodolite.app import exchange, formats
from theodolite.app.pages.overview import service
from theodolite.app.terminal import JsonOption, done, emit, say, verb, verbs
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

result_verbs = verbs("List and remove results.")

EncoderOption = Annotated[list[str] | None, typer.Option("--encoder", "-e", help="Only of these.")]
TaskOption = Annotated[list[str] | None, typer.Option("--task", help="Only on these.")]
ProtocolOption = Annotated[list[str] | None, typer.Option("--protocol", help="Only under these.")]


@result_verbs.command("list")
@verb
def list_results(
    workspace: Workspace,
    encoder: EncoderOption = None,
    task: TaskOption = None,
    protocol: ProtocolOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every result, older versions too, with the bytes of its values per example.

    theodolite results list --encoder minilm --json
    """
    rows = service.stored(workspace, encoder, task, protocol)
    sizes = workspace.store.results.sizes(rows)
    emit(
        [{**row, "bytes": sizes[row["id"]]} for row in rows],
        ("id", "encoder", "task", "protocol", "seed", "score", "bytes", "error"),
        as_json,
    )


@result_verbs.command("remove")
@verb
def remove_results(
    workspace: Workspace,
    ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID]…", help="See `results list`.")
    ] = None,
    encoder: EncoderOption = None,
    task: TaskOption = None,
    protocol: ProtocolOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove results permanently: by number, or all of some encoders, tasks or protocols.

    theodolite results remove 12 13

    theodolite results remove --encoder "minilm | normalise" --task MR
    """
    if not (ids or encoder or task or protocol):
        raise UserError(
            "No result is named.",
            "Give result numbers, or --encoder, --task, --protocol.",
            code="missing",
        )
    rows = service.stored(workspace, encoder, task, protocol, ids)
    size = service.remove(workspace, rows)
    text = f"{formats.plural(len(rows), 'result')} removed: {formats.size(size)}."
    done({"removed": [row["id"] for row in rows], "bytes": size}, text, as_json)


@result_verbs.command("export")
@verb
def export_results(
    workspace: Workspace,
    folder: Annotated[Path, typer.Argument(help="Created if it does not exist.")],
    form: Annotated[
        str, typer.Option("--format", help="mteb: its folders of JSON; yaml: the hub's list.")
    ] = "mteb",
    encoder: EncoderOption = None,
    task: TaskOption = None,
    protocol: ProtocolOption = None,
    as_json: JsonOption = False,
) -> None:
    """Write results as mteb does, or as the hub lists them beside a model.

    theodolite results export out --format mteb --protocol mteb-v2
    """
    rows = service.stored(workspace, encoder, task, protocol)
    files = exchange.export(workspace, folder, form, rows)
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
    found = exchange.bring(workspace, place, model, revision)
    for problem in found.problems:
        say(f"Left out: {problem}.")
    for note in found.notes:
        say(note)
    rows = [
        {
            "model": one.model,
            "revision": one.revision,
            "task": one.task,
            "version": one.version,
            "data_revision": one.data_revision,
            "metric": one.main.metric,
            "score": one.main.score,
        }
        for one in found.results
    ]
    emit(rows, ("model", "revision", "task", "metric", "score"), as_json)


@result_verbs.command("published")
@verb
def published_results(
    workspace: Workspace,
    model: Annotated[list[str] | None, typer.Option("--model", "-m", help="Only of these.")] = None,
    task: TaskOption = None,
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
