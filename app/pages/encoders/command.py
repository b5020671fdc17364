"""`theodolite encoders`: the listed encoders."""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.app.pages.encoders import service
from theodolite.app.pages.encoders.checks import check_poolings
from theodolite.app.terminal import (
    JsonOption,
    done,
    emit,
    emit_json,
    say,
    verb,
    verbs,
)
from theodolite.app.workspace import Workspace

encoder_verbs = verbs("List, add, examine and remove encoders.")


SpecArgument = Annotated[str, typer.Argument(metavar="ENCODER", help="A spec string.")]


@encoder_verbs.command("list")
@verb
def list_encoders(workspace: Workspace, as_json: JsonOption = False) -> None:
    """Show every encoder that this store knows.

    theodolite encoders list --json
    """
    rows = service.listed(workspace)
    emit(rows, ("name", "kind", "dim", "parameters", "pooling"), as_json)
    if not rows and not as_json:
        say(
            "No encoders listed yet. The app lists minilm, wordllama and random:256 when it "
            "first starts, and every encoder that is evaluated; a spec can be used without "
            "being listed."
        )


@encoder_verbs.command("add")
@verb
def add_encoder(
    workspace: Workspace,
    spec: SpecArgument,
    send_texts: Annotated[
        bool,
        typer.Option("--send-texts", help="Allow texts to be sent to its endpoint."),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Check a spec and remember it, so that pages offer it.

    theodolite encoders add "hf:bert-base-uncased?pooling=avg_first_last | normalise"

    theodolite encoders add "api:https://api.openai.com/v1#text-embedding-3-small" --send-texts
    """
    row = service.add(workspace, spec, send_texts=send_texts)
    emit([row], ("name", "kind", "dim", "parameters", "pooling"), as_json)
    if not as_json:
        for warning in row.get("warnings") or ():
            say(f"Warning: {warning}")


@encoder_verbs.command("doctor")
@verb
def examine_encoder(
    workspace: Workspace,
    source: Annotated[str, typer.Argument(help="hf:ID or dir:FOLDER, without options.")],
    check: Annotated[
        bool, typer.Option("--check", help="Also evaluate every pooling on STS-B dev.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say which pooling fits a checkpoint, and why: from its files, and by measuring it.

    theodolite encoders doctor hf:princeton-nlp/sup-simcse-bert-base-uncased --check
    """
    from theodolite.engine.encoders.facts import diagnose

    diagnosis = diagnose(source)
    fields = {"source": source, "pooling": diagnosis.pooling}
    if as_json:
        emit_json(
            fields | {"reasons": list(diagnosis.reasons), "warnings": list(diagnosis.warnings)}
        )
    else:
        say(f"Recommended pooling: {diagnosis.pooling}")
        for line in (*diagnosis.reasons, *diagnosis.warnings):
            say(f"  {line}")
    if check:
        measured_on, rows = check_poolings(workspace, source)
        say(f"On {measured_on}:")
        emit(rows, ("pooling", "spearman", "seconds"), as_json)


@encoder_verbs.command("remove")
@verb
def remove_encoder(workspace: Workspace, spec: SpecArgument, as_json: JsonOption = False) -> None:
    """Forget an encoder. Its results stay; `store clean` reclaims its vectors.

    theodolite encoders remove "minilm | normalise"
    """
    service.remove(workspace, spec)
    done({"removed": spec}, f"{spec} is no longer listed.", as_json)
