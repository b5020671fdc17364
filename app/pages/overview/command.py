"""`theodolite results`: what was measured, and letting go of it."""

from __future__ import annotations

from typing import Annotated

import typer

from app import formats
from app.pages.overview import service
from app.terminal import JsonOption, done, emit, verb, verbs
from app.workspace import Workspace
from engine.errors import UserError

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
    """Forget results for good: those of some numbers, or all of some encoders, tasks, protocols.

    theodolite results remove 12 13

    theodolite results remove --encoder "minilm | normalise" --task MR
    """
    if not (ids or encoder or task or protocol):
        raise UserError("Which results?", "Give their numbers, or --encoder, --task, --protocol.")
    rows = service.stored(workspace, encoder, task, protocol, ids)
    size = service.remove(workspace, rows)
    said = f"{formats.plural(len(rows), 'result')} removed: {formats.size(size)}."
    done({"removed": [row["id"] for row in rows], "bytes": size}, said, as_json)


VERBS = {"results": result_verbs}
