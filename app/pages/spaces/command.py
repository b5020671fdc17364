"""`theodolite spaces`: how much two encoders agree about a collection, from a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    do_here,
    emit,
    emit_json,
    queued,
    say,
    verb,
)
from theodolite.app.workspace import Workspace

if TYPE_CHECKING:
    from theodolite.app.pages.spaces.service import SpacesJob

MAX_SHOWN = 10


@verb
def spaces(
    workspace: Workspace,
    first: Annotated[str, typer.Argument(metavar="ENCODER_A", help="A spec string.")],
    second: Annotated[str, typer.Argument(metavar="ENCODER_B", help="Another one.")],
    collection: Annotated[
        str, typer.Option("--in", metavar="DATASET", help="The sentences; see `theodolite data`.")
    ] = "starter-topics",
    k: Annotated[int, typer.Option("--k", "-k", help="Neighbours compared.")] = 10,
    clusters: Annotated[str, typer.Option(help="k-means or hdbscan.")] = "k-means",
    size: Annotated[
        int | None, typer.Option(help="Number of groups; for hdbscan, the smallest group size.")
    ] = None,
    maps: Annotated[str, typer.Option(help="Projection of the two maps: umap or pca.")] = "umap",
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Compare the spaces of two encoders in all their dimensions.

    theodolite spaces minilm wordllama

    theodolite spaces minilm "minilm | dims:64,pca,starter" --in STSBenchmark -k 20 --json

    Shared neighbours, rank-biased overlap and linear CKA are 1 for the same space, the Procrustes
    residual is 0. The rows below the first say what noise and chance would give. With --json every
    row, changed sentence and the clusters are one object each; `what` tells them apart. Everything
    is kept in the store, the two maps too: the page Two spaces opens it at once.
    """
    from theodolite.app.jobs import submit
    from theodolite.app.pages.spaces.service import SpacesJob

    job = SpacesJob.of(first, second, collection, k=k, clustering=clusters, size=size, method=maps)
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    job.validate(workspace)
    do_here(workspace, job)
    report = job.make(workspace).report
    sentences, _ = workspace.catalog.sentences(collection)
    changed = [
        {"what": "changed", "rank": rank, "sentence": sentences[one["id"]], **one}
        for rank, one in enumerate(report["changed"], 1)
    ]
    if as_json:
        for row in report["rows"]:
            emit_json({"what": "figures", "k": report["k"], **row})
        for one in changed:
            emit_json(one)
        emit_json({"what": "clusters", **report["clusters"]})
        return
    keys = ("name", "how", "jaccard", "overlap", "cka", "residual")
    emit([_rounded(row) for row in report["rows"]], keys, False)
    say(f"{report['n']} sentences, {report['k']} neighbours. Those that changed most:")
    emit([_rounded(one) for one in changed[:MAX_SHOWN]], ("rank", "overlap", "sentence"), False)
    say(f"The two maps, in the app: {_address(job)}")


def _address(job: SpacesJob) -> str:
    """The page's address, without defaults."""
    from urllib.parse import urlencode

    usual = {"k": 10, "groups": "k-means", "size": None, "method": "umap"}
    chosen = {"k": job.k, "groups": job.clustering, "size": job.size, "method": job.method}
    rest = [(name, str(value)) for name, value in chosen.items() if value != usual[name]]
    ends = [("encoder", job.first), ("encoder", job.second), ("in", job.dataset)]
    return "spaces?" + urlencode([*ends, *rest])


def _rounded(row: dict[str, Any]) -> dict[str, Any]:
    """Format floats with three decimals: `emit` gives tables fewer, too few for shares."""
    return {key: f"{v:.3f}" if isinstance(v, float) else v or None for key, v in row.items()}
