"""`theodolite geometry`: the geometry of a space, from a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.app.terminal import (
    EncodersArgument,
    JsonOption,
    QueueOption,
    do_here,
    emit,
    queued,
    verb,
)
from theodolite.app.workspace import Workspace


@verb
def geometry(
    workspace: Workspace,
    encoders: EncodersArgument,
    dataset: Annotated[
        str | None,
        typer.Option("--on", metavar="DATASET", help="Default: STSBenchmark, else starter-pairs."),
    ] = None,
    split: Annotated[str, typer.Option(help="A split, or all of them.")] = "all",
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Measure how encoders fill their space, over all pairs of a data set.

    theodolite geometry minilm wordllama random:256

    theodolite geometry minilm --on STSBenchmark --split test --data senteval --json

    Alignment is given over pairs graded above four fifths of the scale (`over`, the paper's) and
    from there on (`from`), each with its number of pairs.
    """
    from theodolite.app.jobs import submit
    from theodolite.app.pages.geometry import service
    from theodolite.app.pages.geometry.job import GeometryJob

    names = set(workspace.catalog.names())
    chosen = dataset or next(name for name in service.USUAL if name in names)
    job = GeometryJob.of(encoders, chosen, split)
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    do_here(workspace, job)
    measured = [service.measure(workspace, encoder, chosen, split) for encoder in job.encoders]
    shown = (
        "encoder",
        "alignment_over",
        "n_over",
        "uniformity",
        "n_data",
        "effective_rank",
        "isoscore",
        "mean_cosine",
        "hub_skew",
    )
    emit(service.rows(measured), shown, as_json)
