"""`theodolite train-decoder | decoders`: decoders trained, listed, removed from a terminal."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from theodolite.app import decoders
from theodolite.app.pages.train import progress, service
from theodolite.app.pages.train.options import EstimateOption, takes_settings
from theodolite.app.terminal import JsonOption, QueueOption, done, emit, line, say, verb, verbs
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding import presets
from theodolite.engine.decoding.spec import DecoderSpec


@verb
@takes_settings(DecoderSpec)
def train_decoder(
    workspace: Workspace,
    encoder: Annotated[
        str,
        typer.Argument(metavar="ENCODER", help="Spec of the encoder whose vectors are decoded."),
    ],
    train: Annotated[
        list[str] | None,
        typer.Option(
            "--train",
            metavar="FILE",
            help="One sentence per line, or the name of a data set; may be repeated. Default: "
            "the texts of the data folder, or the starter set.",
        ),
    ] = None,
    out: Annotated[
        str,
        typer.Option(
            "--out",
            metavar="FOLDER",
            help="Output folder for the decoder. Default: a folder in the store.",
        ),
    ] = "",
    settings: dict[str, Any] = {},  # noqa: B006 - given by `takes_settings`
    preset: Annotated[
        str, typer.Option(help="Preset to start from: ours, paper or code.")
    ] = "ours",
    estimate: EstimateOption = False,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train a decoder: from the vectors of an encoder back to sentences.

    theodolite train-decoder minilm --train sentences.txt --out my-decoder

    theodolite train-decoder wordllama --limit 20000 --estimate

    theodolite train-decoder minilm --preset paper --train news.txt --out paper --queue

    Ctrl-C keeps the checkpoint; the same command goes on from it, also after a crash. What is
    trained is used at once wherever its encoder is decoded. With --json every event is one object,
    and the last is the outcome.
    """
    texts = tuple(train) if train else presets.default_texts(workspace.catalog)
    given = presets.preset(preset).changes | settings
    training = service.DecoderTraining(workspace)
    spec = DecoderSpec(encoder, texts, out, **given)
    progress.train(training, spec, estimate=estimate, queue=queue, as_json=as_json)


Name = Annotated[str, typer.Argument(metavar="DECODER", help="A name from `decoders list`.")]

decoder_verbs = verbs("List and remove decoders, show their cards.")


@decoder_verbs.command("list")
@verb
def list_decoders(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show every decoder that can be used; of several for an encoder the first is taken.

    theodolite decoders list --json
    """
    rows = [vars(row) for row in decoders.listed(workspace)]
    columns = ("name", "encoder", "architecture", "trained_on", "sentences", "words", "shipped")
    emit(rows, columns, as_json)
    if not rows and not as_json:
        say("None yet; train one with `theodolite train-decoder ENCODER`.")


@decoder_verbs.command("card")
@verb
def show_card(workspace: Workspace, name: Name) -> None:
    """Print a decoder's card, Markdown: on what and how it was trained, how well it does.

    theodolite decoders card minilm
    """
    for text in decoders.card_of(workspace, name).splitlines():
        line(text)


@decoder_verbs.command("remove")
@verb
def remove_decoder(workspace: Workspace, name: Name, as_json: JsonOption = False) -> None:
    """Remove a decoder. One in the store is deleted; a folder of yours only leaves the list.

    theodolite decoders remove minilm-36e4305ecb

    Diagnoses of it are kept. Decoders that ship with the app cannot be removed.
    """
    found = decoders.remove(workspace, name)
    row = {"removed": name, "folder": str(found.folder), "deleted": found.deleted}
    done(row, decoders.removal_notice(found), as_json)


VERBS = {"train-decoder": train_decoder, "decoders": decoder_verbs}
