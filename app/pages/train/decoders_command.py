"""`theodolite decoders`: those that can be used, their cards, and how one is removed."""

from __future__ import annotations

from typing import Annotated

import typer

from app.terminal import (
    DataOption,
    JsonOption,
    StoreOption,
    done,
    emit,
    line,
    open_workspace,
    plain_errors,
    say,
    verbs,
)

Name = Annotated[str, typer.Argument(metavar="DECODER", help="As `decoders list` names it.")]

decoder_verbs = verbs("List decoders, read their cards, remove them.")


@decoder_verbs.command("list")
@plain_errors
def list_decoders(
    store: StoreOption = None, data: DataOption = None, as_json: JsonOption = False
) -> None:
    """Show every decoder that can be used; of several for an encoder the first is taken.

    theodolite decoders list --json
    """
    from app.pages.train import decoders

    rows = [vars(row) for row in decoders.listed(open_workspace(store, data))]
    columns = ("name", "encoder", "architecture", "trained_on", "sentences", "words", "shipped")
    emit(rows, columns, as_json)
    if not rows and not as_json:
        say("None yet; `theodolite train-decoder ENCODER` makes one.")


@decoder_verbs.command("card")
@plain_errors
def show_card(name: Name, store: StoreOption = None, data: DataOption = None) -> None:
    """Print a decoder's card, Markdown: on what and how it was trained, how well it does.

    theodolite decoders card minilm
    """
    from app.pages.train import decoders

    for text in decoders.card_of(open_workspace(store, data), name).splitlines():
        line(text)


@decoder_verbs.command("remove")
@plain_errors
def remove_decoder(
    name: Name,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a decoder. One in the store is deleted; a folder of yours only leaves the list.

    theodolite decoders remove minilm-36e4305ecb

    Diagnoses of it are kept. Decoders that came with the app cannot be removed.
    """
    from app.pages.train import decoders

    found = decoders.remove(open_workspace(store, data), name)
    row = {"removed": name, "folder": str(found.folder), "deleted": found.deleted}
    done(row, decoders.told(found), as_json)
