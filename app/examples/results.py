"""Shipped results of the included encoders on the starter set, until they are evaluated here.

They are in a store of their own, in a temporary folder of the process: a page reads it like any
store, and the user's store never holds results computed elsewhere.
"""

from __future__ import annotations

import tempfile
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.app.examples import shipped

if TYPE_CHECKING:
    from collections.abc import Iterable

    import numpy as np

    from theodolite.app.workspace import Workspace

NAME = "results"


def make(workspace: Workspace) -> None:
    """Evaluate the encoders, and write their scores with the values per example."""
    from theodolite.app.pages.evaluate.results import evaluated
    from theodolite.app.workspace import STARTER_ENCODERS
    from theodolite.engine.tasks import SUITES
    from theodolite.store.results import KEY

    rows: list[dict[str, Any]] = []
    arrays: dict[str, np.ndarray] = {}
    fields = (*KEY, "dim", "seconds", "error", "hint")
    for encoder in STARTER_ENCODERS:
        for task in SUITES["starter"]:
            row = evaluated(workspace, encoder, task)
            full = workspace.store.results.in_full([row["id"]])[row["id"]]
            own = workspace.store.results.examples(row["id"])
            arrays |= {f"{len(rows)}/{name}": array for name, array in own.items()}
            rows.append({name: row[name] for name in fields} | full)
    data = [info.name for info in workspace.catalog.list() if info.name.startswith("starter-")]
    shipped.write_answer(workspace, NAME, rows, STARTER_ENCODERS, data, arrays)


def scores(workspace: Workspace, encoders: Iterable[str]) -> dict[tuple[str, str], float]:
    """(encoder, task) -> main score, of the given encoders whose weights and data match."""
    kept = shipped.read(NAME)
    if kept is None:
        return {}
    mine = [name for name in encoders if kept.is_of(workspace, name)]
    return {
        (row["encoder"], row["task"]): score["score"]
        for row in kept.answer
        if row["encoder"] in mine
        for score in row["scores"]
        if score["main"]
    }


@lru_cache(maxsize=4)
def standing_in(workspace: Workspace) -> Workspace:
    """A workspace with the same data and only these results."""
    from theodolite.app.workspace import Workspace

    made = Workspace(Path(_folder().name) / str(id(workspace)))
    made.catalog = workspace.catalog
    kept = shipped.read(NAME)
    if kept is None:
        return made
    for position, row in enumerate(kept.answer):
        own = f"{position}/"
        made.store.results.put(
            row,
            {
                name.removeprefix(own): array
                for name, array in kept.arrays.items()
                if name.startswith(own)
            },
        )
    return made


@lru_cache(maxsize=1)
def _folder() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="theodolite-", ignore_cleanup_errors=True)
