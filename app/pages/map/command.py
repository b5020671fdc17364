"""`theodolite project`: a collection in two dimensions, from a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.app.pages.map import service
from theodolite.app.pages.map.job import MapJob, seed_of
from theodolite.app.terminal import (
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
from theodolite.app.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.pages.map.service import StoredMap
    from theodolite.engine.datasets.types import Dataset

ENDINGS = (".csv", ".parquet", ".npy")
MAX_SHOWN = 10


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
        encoder,
        dataset,
        method=method,
        neighbours=neighbours,
        min_dist=min_dist,
        seed=seed_of(seed),
    )


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

    With --out and --json there is a row for every sentence of the collection, in its order and as
    often as it occurs: of pairs, all left ones, then all right ones.

    theodolite project minilm starter-topics --out map.csv

    theodolite project wordllama STSBenchmark --method pca --data senteval --json

    A map made before is read, not made again; the page Map shows it.
    """
    import numpy as np

    from theodolite.app.jobs import submit
    from theodolite.engine.errors import UserError

    if out is not None and out.suffix not in ENDINGS:
        raise UserError(
            f"{str(out)!r} has no known ending.",
            f"Use one of {', '.join(ENDINGS)}.",
            code="wrong-kind",
        )
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    do_here(workspace, job)
    found = job.make(workspace)
    dataset = workspace.catalog.load(job.dataset)
    place = {sentence: number for number, sentence in enumerate(found.sentences)}
    ids = np.array([place[sentence] for sentence in dataset.sentences], np.int64)
    if out is not None:
        _write(found, dataset, ids, out, spreadsheet)
        different = "" if len(ids) == len(place) else f" ({len(place):,} different sentences)"
        say(f"{len(ids):,} rows written to {out}{different}.")
    _print(found, ids, as_json)


def _write(
    found: StoredMap, dataset: Dataset, ids: np.ndarray, out: Path, spreadsheet: bool
) -> None:
    import numpy as np

    from theodolite.app.pages.map.facts import labels
    from theodolite.engine.errors import UserError

    try:
        if out.suffix == ".npy":
            with out.open("wb") as file:
                np.save(file, found.points[ids], allow_pickle=False)
            return
        is_csv = out.suffix == ".csv"
        # A sentence that occurs twice may have two labels.
        labelled = {key: values for key, _, values in labels(dataset)}
        table = service.table(found, ids, labelled, spreadsheet=spreadsheet and is_csv)
        table["id"] = np.arange(len(ids))
        if is_csv:
            table.to_csv(out, index=False, encoding="utf-8")
        else:
            table.to_parquet(out, index=False)
    except OSError as error:
        raise UserError(
            f"{str(out)!r} cannot be written.", str(error.strerror), code="no-file"
        ) from error


def _print(found: StoredMap, ids: np.ndarray, as_json: bool) -> None:
    """Print facts and rows as JSON, or a table of regions and the trust of the map."""
    info = {name: value for name, value in found.info.items() if name != "fingerprint"}
    if as_json:
        emit_json({"key": found.key, **info})
        for number, ((x, y), point) in enumerate(
            zip(found.points[ids].tolist(), ids.tolist(), strict=True)
        ):
            emit_json({"id": number, "x": x, "y": y, "sentence": found.sentences[point]})
        return
    rows: list[dict[str, Any]] = [
        {"region": region.text, "sentences": region.size}
        for region in found.regions
        if region.level == 0
    ]
    if rows:
        emit(rows[:MAX_SHOWN], ("region", "sentences"), False)
    if same := service.equal_vectors(info):
        say(same)
    trust = info["trust"]
    if trust:
        say(
            f"Of the {trust['k']} nearest of a sentence {trust['recall']:.0%} are its nearest here "
            f"too; trustworthiness {trust['trustworthiness']:.3f}, continuity "
            f"{trust['continuity']:.3f}."
        )
