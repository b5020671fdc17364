"""`theodolite results`: what was measured, and letting go of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from app import formats
from app.terminal import (
    DataOption,
    JsonOption,
    StoreOption,
    done,
    emit,
    open_workspace,
    plain_errors,
    verbs,
)
from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace

result_verbs = verbs("List and remove results.")

EncoderOption = Annotated[list[str] | None, typer.Option("--encoder", "-e", help="Only of these.")]
TaskOption = Annotated[list[str] | None, typer.Option("--task", help="Only on these.")]
ProtocolOption = Annotated[list[str] | None, typer.Option("--protocol", help="Only under these.")]


@result_verbs.command("list")
@plain_errors
def list_results(
    encoder: EncoderOption = None,
    task: TaskOption = None,
    protocol: ProtocolOption = None,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show every result, older versions too, with the bytes of its values per example.

    theodolite results list --encoder minilm --json
    """
    workspace = open_workspace(store, data)
    rows = _rows(workspace, encoder, task, protocol)
    sizes = workspace.store.results.sizes(rows)
    emit(
        [{**row, "bytes": sizes[row["id"]]} for row in rows],
        ("id", "encoder", "task", "protocol", "seed", "score", "bytes", "error"),
        as_json,
    )


@result_verbs.command("remove")
@plain_errors
def remove_results(
    ids: Annotated[
        list[int] | None, typer.Argument(metavar="[ID]…", help="See `results list`.")
    ] = None,
    encoder: EncoderOption = None,
    task: TaskOption = None,
    protocol: ProtocolOption = None,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Forget results for good: those of some numbers, or all of some encoders, tasks, protocols.

    theodolite results remove 12 13

    theodolite results remove --encoder "minilm | normalise" --task MR
    """
    workspace = open_workspace(store, data)
    if not (ids or encoder or task or protocol):
        raise UserError("Which results?", "Give their numbers, or --encoder, --task, --protocol.")
    rows = _rows(workspace, encoder, task, protocol)
    if ids:
        rows = [row for row in rows if row["id"] in ids]
        if unknown := sorted(set(ids) - {row["id"] for row in rows}):
            raise UserError(f"There is no such result: {unknown[0]}.", "`results list` has all.")
    size = sum(workspace.store.results.sizes(rows).values())
    count = workspace.store.results.remove([row["id"] for row in rows])
    said = f"{formats.plural(count, 'result')} removed: {formats.size(size)}."
    done({"removed": [row["id"] for row in rows], "bytes": size}, said, as_json)


def _rows(
    workspace: Workspace,
    encoders: list[str] | None,
    tasks: list[str] | None,
    protocols: list[str] | None,
) -> list[dict[str, Any]]:
    from engine.encoders import parse

    names = None if not encoders else [str(parse(spec)) for spec in encoders]
    return workspace.store.results.table(
        encoders=names, tasks=tasks or None, protocols=protocols or None, all_versions=True
    )
