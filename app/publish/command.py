"""`theodolite publish`: chosen results as a folder, frozen or as an app, and its upload."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from theodolite.app import formats
from theodolite.app.publish import choice as choices, folder as folders, targets
from theodolite.app.terminal import JsonOption, TasksOption, done, emit, progress_bar, say, verb
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.given import names_in


@verb
def publish(
    workspace: Workspace,
    folder: Annotated[Path, typer.Argument(help="New, empty, or one that was published before.")],
    encoder: Annotated[
        list[str] | None,
        typer.Option("--encoder", "-e", help="Default: those that Compare opens with."),
    ] = None,
    tasks: TasksOption = None,
    target: Annotated[
        targets.Name,
        typer.Option(help="Files without Python; or the app, for a Space or a container."),
    ] = "static",
    pages: Annotated[
        str,
        typer.Option(help="With static: comma-separated pages beside Home; default: all."),
    ] = "",
    collection: Annotated[
        list[str] | None,
        typer.Option(
            help="A data set for maps, spaces and geometry; default: those of the tasks, or if "
            "these are many, those with stored pictures."
        ),
    ] = None,
    view: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ADDRESS",
            help="With static: publish the page at this address of the app, as it is, and only "
            "pages that are named so.",
        ),
    ] = None,
    training: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RUN",
            help="A training whose curves are shown; default: those that made the encoders.",
        ),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts/--no-texts", help="Whether texts of data sets may be shown.")
    ] = True,
    mask: Annotated[
        choices.Mask,
        typer.Option(help="Remove paths of this machine, or all names that are not public."),
    ] = "none",
    upload: Annotated[
        str | None,
        typer.Option(metavar="OWNER/NAME", help="Then put it on the hub, as this Space."),
    ] = None,
    private: Annotated[bool, typer.Option("--private", help="Make a new Space private.")] = False,
    title: Annotated[str, typer.Option(help="Title of the Space.")] = "Sentence encoders compared",
    yes: Annotated[
        bool, typer.Option("--yes", help="Accept the list of what is published.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Publish chosen results as a folder: frozen pages, or an app that visitors search with.

    theodolite publish site --encoder minilm --encoder wordllama --pages compare,board

    python -m http.server --directory site

    theodolite publish site --view "map?encoder=minilm&in=upload:reviews"

    theodolite publish demo --target docker --encoder minilm

    theodolite publish demo --target zerogpu --encoder minilm --upload ada/encoders

    static is a folder of files that any web server shows. The others are the app itself, for
    looking only, with its source, pinned requirements and a small store: zerogpu for a Space of
    the hub, docker for a container.

    Before anything is written, everything that would leave this machine is listed for you to
    confirm: pages, encoders, tasks, data sets whose texts can be read, paths in names, files with
    their sizes and licences. Without a terminal --yes has to be given. The folder holds
    only what is on that list: no other results, and vectors only of these texts, for Search or in
    an app.

    Maps, pairs of spaces and geometry are those that were computed before; for data that is already
    encoded, the quick versions are drawn. Fairness compares the published results
    only: name the steps of an encoder as well, such as "minilm | dims:256,random,0".

    --yes accepts that list and nothing more: only --upload puts the folder on the hub, as a Space,
    with the token of `hf auth login` or of HF_TOKEN.
    """
    workspace.refuse_visitors()
    if not yes and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UserError(
            "Nothing was written: without a terminal nobody can be asked to accept the list of "
            "what will be published.",
            "Add --yes: the list is printed, and only --upload sends anything.",
            code="denied",
        )
    folders.check(folder)
    if upload is not None:
        folders.check_name(upload)
    place = targets.TARGETS[target]
    if place.live and (pages or view):
        raise UserError(
            f"--{'pages' if pages else 'view'} was given with --target {target}, which has all of "
            "them.",
            "Leave one of the two out.",
            code="conflict",
        )
    views = [choices.read_address(one) for one in view or ()]
    if views and (encoder or tasks or collection or training or pages):
        raise UserError(
            "--view was given with what it names itself: encoders, tasks, data sets, "
            "trainings or pages.",
            "Leave one of the two out.",
            code="conflict",
        )
    # Lays out pages, as the app does: Gradio is imported here, and by no other verb but `serve`.
    from theodolite.app.publish import live, manifest, site

    if views:
        choice = site.of_views(workspace, views, mask)
    else:
        choice = choices.choose(
            workspace, encoder or [], tasks, mask, collection or [], training or []
        )
    if place.live:
        outcome = live.make(workspace, choice, place, texts=texts)
    else:
        names = names_in(pages)
        with progress_bar("Publishing") as move:
            outcome = site.freeze(
                workspace,
                choice,
                names,
                at=views,
                texts=texts,
                progress=lambda page, finished, of: move(finished, of, page),
            )
    about = manifest.readme(workspace, choice, outcome, place, title)
    files = {**outcome.files, "README.md": about.encode(), **targets.licence()}
    outcome = replace(outcome, files=files)
    emit(manifest.rows(workspace, choice, outcome), manifest.COLUMNS, as_json)
    if not yes and not typer.confirm(f"Write these to {folder}?", err=True):
        say("Nothing was written.")
        raise typer.Exit(1)
    folders.write(folder, files)
    size = sum(map(len, files.values()))
    done(
        {"folder": str(folder), "files": len(files), "bytes": size},
        f"{formats.plural(len(files), 'file')} written to {folder}, {formats.size(size)}.",
        as_json,
    )
    if upload is not None:
        say(f"Uploading it as {upload} …")
        where = folders.upload(files, folder, place, upload, private=private)
        done({"uploaded": where}, f"It is at {where}", as_json)
    elif place.live:
        say(f"To have it on the hub, add --upload OWNER/NAME. {place.hosting}")
