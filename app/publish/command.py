"""`theodolite publish`: a frozen workbench that any web server shows."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from app import formats
from app.publish import choice as choices
from app.publish import folder as folders
from app.publish import leaving
from app.publish.choice import Mask
from app.terminal import JsonOption, done, emit, progress_bar, say, verb
from app.workspace import Workspace
from engine.errors import UserError


@verb
def publish(
    workspace: Workspace,
    folder: Annotated[Path, typer.Argument(help="New, empty, or one that was published before.")],
    encoder: Annotated[
        list[str] | None,
        typer.Option("--encoder", "-e", help="Default: those that Compare opens with."),
    ] = None,
    tasks: Annotated[
        str | None, typer.Option(help="Comma-separated tasks or suites; default: all measured.")
    ] = None,
    pages: Annotated[
        str, typer.Option(help="Comma-separated pages beside Overview; default: all there are.")
    ] = "",
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Whether texts of data sets may be shown.")
    ] = True,
    mask: Annotated[
        Mask,
        typer.Option(help="Take paths of this machine out of names, or all names of your own."),
    ] = "none",
    yes: Annotated[bool, typer.Option("--yes", help="Accept the list of what leaves.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Freeze pages into a folder of files that any web server shows, without Python.

    theodolite publish site --encoder minilm --encoder wordllama --pages compare,board

    python -m http.server --directory site

    Before anything is written, what would leave this machine is listed and asked about: pages,
    encoders, tasks, data sets whose texts can be read, paths in names, files with their sizes and
    licences. Without a terminal nothing is written unless --yes is given. The folder holds nothing
    else than that list: no other result, and none of the vectors. What Fairness and Stability say
    they say of these results: name what an encoder became by a step as well, such as
    "minilm | dims:256,random,0".
    """
    workspace.refuse_visitors()
    folders.check(folder)
    chosen = choices.choose(workspace, encoder or [], tasks, mask)
    # Lays out pages, as the app does: Gradio is imported here, and by no other verb but `serve`.
    from app.publish import site

    names = [name.strip() for name in pages.split(",") if name.strip()]
    with progress_bar("Publishing") as move:
        made = site.freeze(
            workspace, chosen, names, texts=texts,
            progress=lambda title, finished, of: move(finished, of, title),
        )  # fmt: skip
    emit(leaving.listed(workspace, chosen, made), leaving.COLUMNS, as_json)
    if not yes:
        _ask(folder)
    folders.write(folder, made.files)
    size = sum(map(len, made.files.values()))
    done({"folder": str(folder), "files": len(made.files), "bytes": size},
         f"{formats.plural(len(made.files), 'file')} written to {folder}, {formats.size(size)}.",
         as_json)  # fmt: skip


def _ask(folder: Path) -> None:
    """Have a person accept the list.

    Raises:
        UserError: there is nobody to ask.
        Exit: they do not.
    """
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError("Nothing was written: what is listed was not accepted, and there is no "
                        "terminal to ask at.", "Read the list, and add --yes.")  # fmt: skip
    if not typer.confirm(f"Write these to {folder}?", err=True):
        say("Nothing was written.")
        raise typer.Exit(1)


VERBS = {"publish": publish}
