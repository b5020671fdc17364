"""Pairs of spaces in published pages."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from itertools import combinations, permutations
from typing import TYPE_CHECKING

from theodolite.app.pages.map.service import drawn_at_once
from theodolite.app.web.frozen import Published, View
from theodolite.engine.errors import UserError
from theodolite.store.derived import arrays

if TYPE_CHECKING:
    from theodolite.app.pages.spaces.service import SpacesJob

METHODS = ("umap", "pca")


def carry(published: Published) -> None:
    """Copy the stored pairs of published encoders that were compared with default settings."""
    source, small = published.source.store.projections, published.workspace
    for home, public in _questions(published):
        with suppress(UserError):  # an encoder whose files are gone
            for key, new in zip(home.keys(published.source), public.keys(small), strict=True):
                if row := source.get(key):
                    small.store.projections.put(new, arrays(row), published.renamed(row["info"]))


def _questions(published: Published) -> Iterator[tuple[SpacesJob, SpacesJob]]:
    """Yield each possible comparison twice: with its local names, and with the published ones."""
    from theodolite.app.pages.spaces.service import SpacesJob

    names = published.encoders
    for data, public in published.data.items():
        for first, second in permutations(names, 2):
            for method in METHODS:
                yield (
                    SpacesJob.of(first, second, data, method=method),
                    SpacesJob.of(names[first], names[second], public, method=method),
                )


def views(published: Published) -> list[View]:
    """Views of every stored pair, and of the first encoder with each other that draws at once."""
    from theodolite.app.pages.spaces.service import SpacesJob

    small, found = published.workspace, []
    first, *_ = published.encoders.values()
    made = set()
    for _, job in _questions(published):
        with suppress(UserError):
            if job.is_stored(small):
                made.add(frozenset((job.first, job.second, job.dataset)))
                found.append(_view(job))
    for dataset in published.data.values():
        for one, other in combinations(published.encoders.values(), 2):
            known = frozenset((one, other, dataset)) in made
            with suppress(UserError):
                if (
                    one == first
                    and not known
                    and all(drawn_at_once(small, name, dataset) for name in (one, other))
                ):
                    found.append(_view(SpacesJob.of(one, other, dataset, method="pca")))
    return found


def _view(job: SpacesJob) -> View:
    how = () if job.method == type(job).method else (("method", job.method),)
    query = (("encoder", job.first), ("encoder", job.second), ("in", job.dataset), *how)
    return View(f"{job.first} and {job.second} · {job.dataset}", query)
