"""Geometry in published pages."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from theodolite.app.pages.geometry import service
from theodolite.app.pages.map.service import drawn_at_once
from theodolite.app.web.frozen import Published, View
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace


def carry(published: Published) -> None:
    """Copy the stored geometries of published encoders and data sets."""
    for row in published.source.store.derived.list(service.KIND):
        info = row["info"]
        if info["encoder"] in published.encoders and info["dataset"] in published.data:
            info |= {
                "encoder": published.encoders[info["encoder"]],
                "dataset": published.data[info["dataset"]],
            }
            published.workspace.store.derived.put(row["key"], service.KIND, info, arrays(row))


def views(published: Published) -> list[View]:
    """One view per data set with a geometry to show."""
    small, encoders = published.workspace, published.encoders.values()
    return [
        View(dataset, (("data", dataset),))
        for dataset in published.data.values()
        if any(_there(small, encoder, dataset) for encoder in encoders)
    ]


def _there(workspace: Workspace, encoder: str, dataset: str) -> bool:
    """Whether the geometry is stored, or the page measures it at once."""
    with suppress(UserError):
        if service.found(workspace, encoder, dataset):
            return True
        few = len(workspace.catalog.load(dataset).sentences) <= service.AT_ONCE
        return few and drawn_at_once(workspace, encoder, dataset)
    return False
