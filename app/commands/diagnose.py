"""`theodolite diagnose`: what a decoder gives back of sentences that it never saw."""

from __future__ import annotations

from typing import Annotated

import typer

from app.commands.output import DataOption, JsonOption, StoreOption, plain_errors


@plain_errors
def diagnose(
    encoder: Annotated[str, typer.Argument(metavar="ENCODER", help="A spec string.")],
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Diagnose.

    theodolite diagnose minilm
    """
    raise NotImplementedError
