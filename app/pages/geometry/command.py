"""`theodolite geometry | curate`: the shape of a space, and what stands out in a collection."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from app.pages.evaluate.command import EncodersArgument, open_workspace
from app.terminal import (
    DataOption,
    JsonOption,
    SpreadsheetOption,
    StoreOption,
    emit,
    emit_json,
    plain_errors,
    progress_bar,
    say,
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
    from app.pages.geometry import views as shape_views

    workspace = open_workspace(store, data)
    names = {info.name for info in workspace.catalog.list()}
    chosen = dataset or ("STSBenchmark" if "STSBenchmark" in names else "starter-pairs")
    measured = []
    with progress_bar("measuring") as move:
        for encoder in encoders:
            measured.append(
                service.measure(
                    workspace, encoder, chosen, split,
                    lambda done, total, encoder=encoder: move(done, total, encoder),  # type: ignore[misc]
                )
            )  # fmt: skip
    _, rows = shape_views.table(measured)
    shown = ("encoder", "alignment_over", "n_over", "uniformity", "n_data", "effective_rank",
             "isoscore", "mean_cosine", "hub_skew")  # fmt: skip
    emit(rows, shown, as_json)


@plain_errors
def curate(
    job: Annotated[str, typer.Argument(help="exact, near, outliers, typical or leaks.")],
    dataset: Annotated[
        str, typer.Argument(help="Where to look; see `theodolite data`.")
    ] = "starter-topics",
    encoder: Annotated[str, typer.Option("--encoder", "-e", help="A spec string.")] = "minilm",
    split: Annotated[str, typer.Option(help="A split, or all of them.")] = "all",
    threshold: Annotated[
        float, typer.Option(help="Least cosine of near duplicates and leaks.")
    ] = 0.9,
    neighbours: Annotated[int, typer.Option(help="Nearest others of an outlier.")] = 10,
    many: Annotated[int, typer.Option("-n", help="Outliers, or typical ones at either end.")] = 100,
    against: Annotated[
        str, typer.Option(help="Leaks: the data set trained on; default: the same.")
    ] = "",
    against_split: Annotated[str, typer.Option(help="Leaks: its split.")] = "all",
    out: Annotated[Path | None, typer.Option("--out", help="Write the table here, as CSV.")] = None,
    spreadsheet: SpreadsheetOption = False,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find duplicates, outliers, leaks, or the most and least typical sentences.

    theodolite curate near starter-pairs -e minilm --threshold 0.95 --out twins.csv

    theodolite curate leaks STSBenchmark --split test --against-split train -e wordllama --json
    """
    from app.pages.curate import service as curations
    from app.pages.curate import tables as curation_tables
    from app.pages.evaluate.command import check_writable

    if out is not None:
        check_writable(out)
    asked = curations.wanted(
        job, dataset, split=split, encoder=encoder, threshold=threshold, neighbours=neighbours,
        many=many, against=against, against_split=against_split,
    )  # fmt: skip
    workspace = open_workspace(store, data)
    with progress_bar(curations.NAMES[asked.job]) as move:
        found = curations.answer(
            workspace, asked, lambda done, total: move(done, total, curations.NAMES[asked.job])
        )
    table = curation_tables.frame(found)
    if out is not None:
        out.write_bytes(curation_tables.csv(found, spreadsheet=spreadsheet))
        say(f"{len(table)} rows written to {out}.")
    if as_json:
        for row in table.to_dict("records"):
            emit_json(row)
    elif out is None:
        emit(table.to_dict("records"), tuple(table.columns), False)
    say(curation_tables.sentence(found))
