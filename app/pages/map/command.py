"""`theodolite project`: a collection in two dimensions, from a terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from theodolite.app.pages.map import service
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    SpreadsheetOption,
    do_here,
    emit,
    emit_json,
    queued,
    say,
    takes_values,
    verb,
)
from theodolite.app.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.pages.map.service import StoredMap
    from theodolite.engine.datasets.types import Dataset

ENDINGS = (".csv", ".parquet", ".npy")
MAX_SHOWN = 10


@verb
@takes_values("spec", MapSpec)
def project(
    workspace: Workspace,
    spec: MapSpec,
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
    from theodolite.app.pages.map.answer import trust
    from theodolite.engine.errors import UserError

    if out is not None and out.suffix not in ENDINGS:
        raise UserError(
            f"{str(out)!r} has no known ending.",
            f"Use one of {', '.join(ENDINGS)}.",
            code="wrong-kind",
        )
    if queue:
        queued(submit.queue(workspace, spec), as_json)
        return
    do_here(workspace, spec)
    made = spec.make(workspace)
    dataset = workspace.catalog.load(spec.data)
    place = {sentence: number for number, sentence in enumerate(made.sentences)}
    ids = np.array([place[sentence] for sentence in dataset.sentences], np.int64)
    if out is not None:
        try:
            _write(made, dataset, ids, out, spreadsheet)
        except OSError as error:
            reason = str(error.strerror)
            raise UserError(f"{str(out)!r} cannot be written.", reason, code="no-file") from error
        different = "" if len(ids) == len(place) else f" ({len(place):,} different sentences)"
        say(f"{len(ids):,} rows written to {out}{different}.")
    if as_json:
        info = {name: value for name, value in made.info.items() if name != "fingerprint"}
        emit_json({"key": made.key, **info})
        for number, point in enumerate(ids.tolist()):
            x, y = made.points[point].tolist()
            emit_json({"id": number, "x": x, "y": y, "sentence": made.sentences[point]})
        return
    regions = [region for region in made.regions if region.level == 0][:MAX_SHOWN]
    if regions:
        rows = [{"region": region.text, "sentences": region.size} for region in regions]
        emit(rows, ("region", "sentences"), False)
    for text in trust(made.info):
        say(text)


def _write(
    made: StoredMap, dataset: Dataset, ids: np.ndarray, out: Path, spreadsheet: bool
) -> None:
    import numpy as np

    from theodolite.app.pages.map.job import labels

    if out.suffix == ".npy":
        with out.open("wb") as file:
            np.save(file, made.points[ids], allow_pickle=False)
        return
    is_csv = out.suffix == ".csv"
    # A sentence that occurs twice may have two labels.
    labelled = {key: values for key, _, values in labels(dataset)}
    table = service.table(made, ids, labelled, spreadsheet=spreadsheet and is_csv)
    table["id"] = np.arange(len(ids))
    if is_csv:
        table.to_csv(out, index=False, encoding="utf-8")
    else:
        table.to_parquet(out, index=False)
