"""Decision sheets in published pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from theodolite.app.pages.choose import example, sheet
from theodolite.app.pages.choose.job import MARGIN, ChooseJob
from theodolite.app.web.frozen import Published, View
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.pages.choose.sheet import Sheet


def carry(published: Published) -> None:
    """Publish the sheets of published encoders on data whose texts are published."""
    for job, found in _made(published):
        public = ChooseJob(**published.renamed(vars(job)))
        with suppress(UserError):
            key = sheet.key(published.workspace, _of(public))
            published.workspace.store.derived.put(key, sheet.KIND, published.renamed(found))


def _made(published: Published) -> Iterator[tuple[ChooseJob, Sheet]]:
    """Jobs with a stored sheet, the newest first."""
    for row in published.source.store.derived.list(sheet.KIND):
        found = row["info"]
        if found["data"] not in published.texts:
            continue
        for job in _questions(found):
            wanted = set(job.encoders) <= published.encoders.keys()
            with suppress(UserError):  # the data set was removed
                if wanted and sheet.key(published.source, job) == row["key"]:
                    yield job, found


def _questions(found: Mapping[str, Any]) -> Iterator[ChooseJob]:
    """Jobs that may have made a sheet: the baseline is in every sheet, requested or not."""
    names = [row["encoder"] for row in found["encoders"]]
    without = [name for name in names if name != found["baseline"]]
    for encoders in (names, without):
        if encoders:
            yield ChooseJob.of(found["data"], encoders, **found["limits"])


def _of(job: ChooseJob) -> ChooseJob:
    return ChooseJob.of(
        job.dataset, job.encoders, job.max_ms, job.max_bytes, job.licences, job.margin
    )


def views(published: Published) -> list[View]:
    """Every sheet, and the shipped example if its encoders and data are published."""
    found = [_view(_of(ChooseJob(**published.renamed(vars(job))))) for job, _ in _made(published)]
    shipped = example.read(published.workspace)
    if shipped and not any(dict(view.query)["data"] == example.DATA for view in found):
        encoders = [row["encoder"] for row in shipped["encoders"]]
        kept = [name for name in encoders if name in published.encoders.values()]
        if len(kept) > 1:
            found.append(_view(ChooseJob.of(example.DATA, kept)))
    return found


def _view(job: ChooseJob) -> View:
    margin = None if job.margin == MARGIN else job.margin
    limits = (
        ("max_ms", job.max_ms),
        ("max_bytes", job.max_bytes),
        ("margin", margin),
        *(("licence", one) for one in job.licences),
    )
    values = tuple(
        (name, f"{value:g}" if isinstance(value, float) else str(value))
        for name, value in limits
        if value is not None
    )
    label = " · ".join([job.dataset, *(value for _, value in values)])
    return View(
        label, (*(("encoder", one) for one in job.encoders), ("data", job.dataset), *values)
    )
