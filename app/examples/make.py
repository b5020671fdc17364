"""Make the shipped examples: `python -m theodolite.app.examples.make [NAME ...]`, or all.

They are made in a fresh store, with the encoders and the starter set that ship. The files are part
of the repository; a test fails when one no longer fits the default query of its page.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.app.examples import results, shipped
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.board import cost
from theodolite.app.pages.board import standings as board
from theodolite.app.pages.board.standings import BoardSpec
from theodolite.app.pages.choose import example as choose
from theodolite.app.pages.curate import answer as curate
from theodolite.app.pages.curate import leaks
from theodolite.app.pages.data import similarity
from theodolite.app.pages.decode import example as decode
from theodolite.app.pages.diagnose import example as diagnose
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.pages.geometry import service as geometry
from theodolite.app.pages.judge import example as judge
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.search import example as search
from theodolite.app.pages.spaces.job import SpacesSpec
from theodolite.app.pages.train.job import TrainJob
from theodolite.app.pages.trainings import service as trainings
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine.tasks import SUITES
from theodolite.engine.training import TrainSpec
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.pages.map.service import StoredMap

ENCODERS, COLLECTION, PAIRS = ("minilm", "wordllama"), "starter-topics", "starter-pairs"
TRAINING = TrainSpec(
    "sup",
    "new:layers=2,hidden=128,heads=4,vocab=6000",
    "nli",
    "",
    steps=600,
    limit=40_000,
    learning_rate=1e-3,
    warmup=0.1,
    pooling="avg",
    head="none",
    dev_every=25,
)
"""A two-layer BERT trained from scratch on NLI triplets, in a few minutes."""


def _make_map(workspace: Workspace) -> None:
    """Make the UMAP of the starter set."""
    job = MapSpec(ENCODERS[0], COLLECTION)
    _write_maps(workspace, "map", [(job.question(workspace), job.make(workspace))])


def _make_spaces(workspace: Workspace) -> None:
    """Make the starter set's maps by two encoders."""
    job = SpacesSpec(ENCODERS, COLLECTION)
    pair = job.make(workspace)
    sides = (pair.first, pair.second)
    _write_maps(workspace, "spaces", list(zip(job.questions(workspace), sides, strict=True)))


def _write_maps(
    workspace: Workspace, name: str, made: Sequence[tuple[Mapping[str, Any], StoredMap]]
) -> None:
    """Write maps, each with the query it answers and the nearest neighbours of each point."""
    keys: dict[str, str] = {}
    facts: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for question, found in made:
        keys[hash_of(to_json(question))] = found.key
        columns = [vars(column) for column in found.columns]
        regions = [vars(region) for region in found.regions]
        facts[found.key] = found.info | {"columns": columns, "regions": regions}
        own = {"points": found.points, **found.values, **_nearest(workspace, found)}
        arrays |= {f"{found.key}/{key}": array for key, array in own.items()}
    shipped.write(name, {"keys": keys, "maps": facts}, arrays)


def _nearest(workspace: Workspace, found: StoredMap) -> dict[str, np.ndarray]:
    """Nearest neighbours of each point in the full space, so that the page needs no vectors."""
    import numpy as np

    ids, cosines = maps.nearest(workspace, found)
    return {"nearest": ids.astype(np.uint16), "nearest_cosine": cosines.astype(np.float32)}


def _make_geometry(workspace: Workspace) -> None:
    """Measure the shipped encoders on the graded pairs of the starter set."""
    facts: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for encoder in STARTER_ENCODERS:
        found = geometry.measure(workspace, encoder, PAIRS)
        info = found.info
        key = geometry.key(info["fingerprint"], info["data_hash"], info["split"])
        facts[key] = info
        arrays |= {f"{key}/{name}": getattr(found, name) for name in geometry.ARRAYS}
    shipped.write("geometry", facts, arrays)


def _make_cost(workspace: Workspace) -> None:
    """Measure the shipped encoders' cost on this machine, and their scores on the starter set."""
    for encoder in STARTER_ENCODERS:
        cost.measure(workspace, encoder)
        for task in SUITES["starter"]:
            evaluated(workspace, encoder, task)
    standings = board.board(workspace, BoardSpec("starter"))
    shipped.write(
        cost.KIND,
        {
            "rows": list(cost.measured(workspace).values()),
            "quality": standings.quality,
            "tasks": len(standings.shared),
        },
    )


def _make_training(workspace: Workspace) -> None:
    """Train TRAINING, and write what its page shows. Needs the data that it names."""
    for _ in perform(workspace, TrainJob.of(workspace, TRAINING)):
        pass
    (run,) = trainings.table(workspace)
    row = replace(run, encoder=None)  # the folder is gone with the store
    shipped.write("trainings", trainings.frozen((row, trainings.curves(workspace, run.key))))


MAKERS: dict[str, Callable[[Workspace], None]] = {
    "map": _make_map,
    "spaces": _make_spaces,
    "geometry": _make_geometry,
    "search": search.make,
    "curate": curate.make_example,
    "decode": decode.make_decode,
    "interpolate": decode.make_interpolate,
    "arithmetic": decode.make_arithmetic,
    "diagnose": diagnose.make,
    "judge": judge.make,
    "results": results.make,
    "similarity": similarity.make_example,
    "leaks": leaks.make_example,
    "trainings": _make_training,
    "cost": _make_cost,
    "choose": choose.make_example,
}
"""Name -> function which makes and writes that example."""


def main(names: list[str]) -> None:
    """Make the examples of these names."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "store")
        for encoder in STARTER_ENCODERS:
            encoders.add(workspace, encoder)
        for name in names or MAKERS:
            shipped.forget(name)
            MAKERS[name](workspace)
        workspace.close()


if __name__ == "__main__":
    main(sys.argv[1:])
