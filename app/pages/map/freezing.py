"""Maps in published pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from itertools import product
from typing import TYPE_CHECKING, Any

from theodolite.app.pages.map import service
from theodolite.app.web.frozen import Published, View
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

if TYPE_CHECKING:
    from theodolite.app.pages.map.job import MapJob

FIELDS = ("method", "neighbours", "min_dist", "seed")
IN_ADDRESS = {
    "method": "method",
    "neighbours": "neighbours",
    "min_dist": "distance",
    "seed": "seed",
}


def carry(published: Published) -> None:
    """Copy the stored maps of published encoders and data sets."""
    small = published.workspace
    for row in published.source.store.projections.list():
        for job, key, info in _made(published, row["info"]):
            if row["key"] == key:
                small.store.projections.put(job.key(small), arrays(row), info)


def _made(
    published: Published, info: Mapping[str, Any]
) -> Iterator[tuple[MapJob, str, dict[str, Any]]]:
    """Yield a map's job under its published names, its key in the source store, and its facts."""
    from theodolite.app.pages.map.job import MapJob

    encoder, dataset = info["encoder"], info["dataset"]
    wanted = encoder in published.encoders and dataset in published.data
    if not wanted or "spaces" in info or info["initial"] or info["method"] == "quick":
        return
    how = {name: info[name] for name in FIELDS}
    public = {"encoder": published.encoders[encoder], "dataset": published.data[dataset]}
    with suppress(UserError):  # an encoder whose files are gone
        key = MapJob.of(encoder, dataset, **how).key(published.source)
        yield MapJob.of(**public, **how), key, dict(info) | public


def views(published: Published) -> list[View]:
    """One view per computed map, else of the principal components if they are drawn at once."""
    found = []
    for dataset, encoder in product(published.data.values(), published.encoders.values()):
        jobs = list(_jobs(published, encoder, dataset))
        for job in jobs:
            name = service.NAMES[job.method] if len(jobs) > 1 else ""
            label = " · ".join(part for part in (encoder, dataset, name) if part)
            found.append(View(label, _query(job)))
    return found


def _jobs(published: Published, encoder: str, dataset: str) -> Iterator[MapJob]:
    """The maps of a data set by one encoder, the page's default first."""
    from theodolite.app.pages.map.job import MapJob

    small = published.workspace
    infos = [row["info"] for row in reversed(small.store.projections.list())]
    made = [
        MapJob.of(encoder, dataset, **{name: info[name] for name in FIELDS})
        for info in infos
        if (info["encoder"], info["dataset"]) == (encoder, dataset)
        and "spaces" not in info
        and info["method"] != "quick"
    ]
    usual = MapJob.of(encoder, dataset)
    with suppress(UserError):
        if usual not in made and usual.is_stored(small):  # it ships
            made.insert(0, usual)
        if not made and service.drawn_at_once(small, encoder, dataset):
            made.append(MapJob.of(encoder, dataset, method="pca"))
    yield from sorted(dict.fromkeys(made), key=lambda job: job != usual)


def _query(job: MapJob) -> tuple[tuple[str, str], ...]:
    query = {
        IN_ADDRESS[name]: getattr(job, name)
        for name in FIELDS
        if getattr(job, name) != getattr(type(job), name)
    }
    if "seed" in query:
        query["seed"] = "any" if job.seed is None else job.seed
    how = tuple((name, str(value)) for name, value in query.items())
    return (("encoder", job.encoder), ("in", job.dataset), *how)
