"""`theodolite project`: a collection in two dimensions, from a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.pages.map.job import MapJob, seed_of
from app.terminal import (
    JsonOption,
    QueueOption,
    SpreadsheetOption,
    do_here,
    emit,
    emit_json,
    queued,
    say,
    takes,
    verb,
)
from app.workspace import Workspace

if TYPE_CHECKING:
    from app.pages.map.service import StoredMap

ENDINGS = (".csv", ".parquet", ".npy")
SHOWN = 10


def map_job(
    encoder: Annotated[str, typer.Argument(help="A spec string, e.g. minilm | normalise.")],
    dataset: Annotated[
        str, typer.Argument(help="What to draw; see `theodolite data`.")
    ] = "starter-topics",
    method: Annotated[
        str,
        typer.Option(help="umap, umap-learn (the reference), tsne, pca, or (an extra) pacmap."),
    ] = "umap",
    neighbours: Annotated[
        int, typer.Option(help="n_neighbors: few show detail, many the overall structure.")
    ] = 15,
    min_dist: Annotated[float, typer.Option(help="Minimum distance between points (UMAP).")] = 0.1,
    seed: Annotated[str, typer.Option(help="Random seed, or any: different every time.")] = "0",
) -> MapJob:
    """The map to compute; each parameter is an option of every command about maps."""
    return MapJob.of(
        encoder, dataset, method=method, neighbours=neighbours, min_dist=min_dist,
        seed=seed_of(seed),
    )  # fmt: skip


@verb
@takes("job", map_job)
def project(
    workspace: Workspace,
    job: MapJob,
    out: Annotated[
        Path | None, typer.Option("--out", help="Write the points here: .csv, .parquet or .npy.")
    ] = None,
    spreadsheet: SpreadsheetOption = False,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Put the sentences of a collection on a plane, and say how far to trust it.

    theodolite project minilm starter-topics --out map.csv

    theodolite project wordllama STSBenchmark --method pca --data senteval --json

    A map made before is read, not made again; the page Map shows it.
    """
    from app.jobs import submit
    from engine.errors import UserError

    if out is not None and out.suffix not in ENDINGS:
        raise UserError(f"{str(out)!r} has no known ending.", f"Use one of {', '.join(ENDINGS)}.")
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    do_here(workspace, job)
    found = job.make(workspace)
    if out is not None:
        _write(found, out, spreadsheet)
        say(f"{len(found.points):,} points written to {out}.")
    _print(found, as_json)


def _write(found: StoredMap, out: Path, spreadsheet: bool) -> None:
    import numpy as np

    from app.pages.map import service
    from engine.errors import UserError

    ids = np.arange(len(found.points))
    try:
        if out.suffix == ".npy":
            with out.open("wb") as file:
                np.save(file, found.points, allow_pickle=False)
        elif out.suffix == ".parquet":
            service.table(found, ids).to_parquet(out, index=False)
        else:
            table = service.table(found, ids, spreadsheet=spreadsheet)
            table.to_csv(out, index=False, encoding="utf-8")
    except OSError as error:
        raise UserError(f"{str(out)!r} cannot be written.", str(error.strerror)) from error


def _print(found: StoredMap, as_json: bool) -> None:
    """Print facts and points as JSON, or a table of regions and the trust of the map."""
    info = {name: value for name, value in found.info.items() if name != "fingerprint"}
    if as_json:
        emit_json({"key": found.key, **info})
        for number, (x, y) in enumerate(found.points.tolist()):
            emit_json({"id": number, "x": x, "y": y, "sentence": found.sentences[number]})
        return
    rows: list[dict[str, Any]] = [
        {"region": region.text, "sentences": region.size}
        for region in found.regions
        if region.level == 0
    ]
    emit(rows[:SHOWN], ("region", "sentences"), False)
    trust = info["trust"]
    if trust:
        say(
            f"Of the {trust['k']} nearest of a sentence {trust['recall']:.0%} are its nearest here "
            f"too; trustworthiness {trust['trustworthiness']:.3f}, continuity "
            f"{trust['continuity']:.3f}."
        )


VERBS = {"project": project}
