"""`theodolite geometry`: the shape of a space, from a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from app.terminal import (
    DataOption,
    EncodersArgument,
    JsonOption,
    StoreOption,
    emit,
    open_workspace,
    plain_errors,
    progress_bar,
)


@plain_errors
def geometry(
    encoders: EncodersArgument,
    dataset: Annotated[
        str | None,
        typer.Option("--on", metavar="DATASET", help="Default: STSBenchmark, else starter-pairs."),
    ] = None,
    split: Annotated[str, typer.Option(help="A split, or all of them.")] = "all",
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how encoders fill their space, over all pairs of a data set.

    theodolite geometry minilm wordllama random:256

    theodolite geometry minilm --on STSBenchmark --split test --data senteval --json

    Alignment is given over pairs graded above four fifths of the scale (`over`, the paper's) and
    from there on (`from`), each with its number of pairs.
    """
    from app.pages.geometry import service

    workspace = open_workspace(store, data)
    names = {info.name for info in workspace.catalog.list()}
    chosen = dataset or next(name for name in service.USUAL if name in names)
    measured = []
    with progress_bar("measuring") as move:
        for encoder in encoders:
            measured.append(
                service.measure(
                    workspace, encoder, chosen, split,
                    lambda done, total, encoder=encoder: move(done, total, encoder),  # type: ignore[misc]
                )
            )  # fmt: skip
    shown = ("encoder", "alignment_over", "n_over", "uniformity", "n_data", "effective_rank",
             "isoscore", "mean_cosine", "hub_skew")  # fmt: skip
    emit(service.rows(measured), shown, as_json)
