"""What to know of an encoder before it encodes: said before a run by whatever starts one."""

import math
from collections.abc import Iterable, Iterator
from functools import partial

from theodolite.app.recent import Recent
from theodolite.app.workspace import Workspace
from theodolite.engine import encoders
from theodolite.engine.datasets import hub
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import own_tasks

UNKNOWN_BYTES = 100_000
"""Assumed of a data set whose size is not known, such as one that ships."""
_cuts: Recent[object, list[str]] = Recent(256)
"""Warnings on long texts, since pages ask for them at every click."""


def of(
    workspace: Workspace, spec: str, datasets: Iterable[str] = (), most_bytes: float = math.inf
) -> list[str]:
    """Warnings on an encoder, and on texts that it will cut.

    Args:
        workspace: holds the data.
        spec: of the encoder.
        datasets: what is to be encoded, by name.
        most_bytes: of all of these, the first to be read; a page has to answer soon.
    """
    return [*encoders.warnings_of(spec), *cuts(workspace, spec, datasets, most_bytes)]


def cuts(
    workspace: Workspace, spec: str, datasets: Iterable[str], most_bytes: float = math.inf
) -> Iterator[str]:
    """Warnings on texts of data sets that an encoder will cut; without what is to be downloaded."""
    from theodolite.engine.rankers import parse

    sizes = {info.name: info.bytes for info in workspace.catalog.list()}
    for name in datasets:
        most_bytes -= sizes.get(name) or UNKNOWN_BYTES
        if most_bytes < 0:
            return
        if name.startswith((hub.PREFIX, own_tasks.PREFIX)):
            continue
        try:
            files = encoders.stamp_of(parse(spec).sources, ())
            key = spec, files, name, workspace.catalog.stamp(name)
            yield from _cuts.get(key, partial(_cut, workspace, spec, name))
        except UserError:  # the run says why
            continue


def _cut(workspace: Workspace, spec: str, name: str) -> list[str]:
    data = workspace.catalog.load(name)
    return [] if getattr(data, "late", False) else encoders.cuts_of(spec, data.sentences, name)
