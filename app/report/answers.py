"""What can be reported that is no question yet: a map.

It is looked up where its page looks it up, and shown as the page shows it. Nothing is evaluated,
drawn for a report: the error for what is missing names the verb that makes it.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from theodolite.app.python import views
from theodolite.app.report.file import CAPS, Report, Table
from theodolite.app.spaced import evenly_spaced
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.pages.map.job import MapJob
    from theodolite.app.pages.map.service import StoredMap
    from theodolite.app.workspace import Workspace

MAX_WITH_NEIGHBOURS = 5_000
"""Points of a map that has the true neighbours of each in its document."""


def map_of(workspace: Workspace, job: MapJob) -> Report:
    """The report of a map that was computed."""
    from theodolite.app.pages.map import service

    found = job.stored(workspace)
    if found is None:
        raise UserError(
            f"{job.title} has not been computed yet.",
            f"Compute it first: theodolite project {job.encoder!r} {job.dataset}",
            code="no-result",
        )
    few = len(found.points) <= MAX_WITH_NEIGHBOURS
    if few and service.drawn_at_once(workspace, job.encoder, job.dataset):
        found = replace(found, nearest=service.nearest(workspace, found))
    return of_map(found)


def of_map(found: StoredMap) -> Report:
    """The report of a map that is given."""
    import numpy as np

    from theodolite.app.pages.map import service

    info = found.info
    table = service.table(found, np.array(evenly_spaced(len(found.points), CAPS[0].rows), np.int64))
    rows = [[_number(cell) for cell in row] for row in table.itertuples(index=False)]
    how = service.NAMES[info["method"]]
    return Report(
        "map",
        f"Map of {info['dataset']} by {info['encoder']}",
        f"By {how[0].lower() + how[1:] if how[1].islower() else how}.",
        lambda cap: views.plane(views.thinned(found, cap.rows)),
        [Table("map", list(table.columns), rows, len(found.points))],
    )


def _number(cell: Any) -> Any:
    """A float32 with as few digits as identify it, None for NaN; text stays as it is."""
    if isinstance(cell, str):
        return cell
    return None if cell != cell else json.loads(str(cell))
