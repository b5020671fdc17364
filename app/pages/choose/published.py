"""Decision sheets in published pages: those of published encoders on published texts."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from theodolite.app.pages.choose import example, sheet
from theodolite.app.pages.choose.answer import CHOOSE
from theodolite.app.pages.choose.sheet import Sheet
from theodolite.app.pages.choose.spec import ChooseSpec
from theodolite.app.published import Published
from theodolite.app.spec import query
from theodolite.app.surfaces.static import Static
from theodolite.engine.errors import UserError


def _carry(published: Published) -> None:
    """Publish the sheets of published encoders on data whose texts are published."""
    for spec, found in _sheets(published):
        with suppress(UserError):
            key = sheet.key(published.workspace, _public(published, spec))
            published.workspace.store.derived.put(key, sheet.KIND, published.renamed(found))


def _views(published: Published) -> Iterator[tuple[str, ChooseSpec]]:
    """Every sheet, and the shipped example if its encoders and data are published."""
    specs = [_public(published, spec) for spec, _ in _sheets(published)]
    shipped = example.read(published.workspace)
    if shipped and not any(spec.data == example.DATA for spec in specs):
        kept = [name for name in shipped["asked"] if name in published.encoders.values()]
        if len(kept) > 1:
            specs.append(ChooseSpec(example.DATA, kept))
    for spec in specs:
        values = query(spec)
        limits = [str(value) for name, value in values.items() if name not in ("data", "encoder")]
        yield " · ".join([spec.data, *limits]), spec


def _sheets(published: Published) -> Iterator[tuple[ChooseSpec, Sheet]]:
    """Questions with a stored sheet, the newest first."""
    for row in published.source.store.derived.list(sheet.KIND):
        found = row["info"]
        if found["data"] in published.texts and set(found["asked"]) <= published.encoders.keys():
            spec = ChooseSpec(found["data"], found["asked"], **found["limits"])
            with suppress(UserError):  # the data set was removed
                if sheet.key(published.source, spec) == row["key"]:
                    yield spec, found


def _public(published: Published, spec: ChooseSpec) -> ChooseSpec:
    return ChooseSpec(**published.renamed(vars(spec)))


PUBLISHED = Static(CHOOSE, _views, _carry)
