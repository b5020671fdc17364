"""Files in a data folder that no reader recognises."""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial
from pathlib import Path

from theodolite.engine.datasets import beir, parallel, summaries, table_folders
from theodolite.engine.datasets.files import DatasetSource
from theodolite.engine.datasets.types import Dataset, DatasetInfo, Kind
from theodolite.engine.errors import UserError

_EXPECTED: dict[str, tuple[Kind, str]] = {
    "mteb/retrieval": ("retrieval", beir.EXPECTED),
    "mteb/bitext": ("parallel", parallel.EXPECTED),
    "mteb/summarization": ("summaries", summaries.EXPECTED),
    **{place: (kind, table_folders.EXPECTED) for place, (kind, _) in table_folders.FOLDERS.items()},
}
"""Folder -> kind of its data sets, and the expected layout."""


def taken(sources: Iterable[DatasetSource]) -> set[Path]:
    """Return the files and folders that readers cover, and all their parent folders."""
    paths = {path for source in sources for path in source.paths}
    return paths | {folder for path in paths for folder in path.parents}


def sources(root: Path, taken: set[Path]) -> list[DatasetSource]:
    """List the folders below `mteb/*/`, `nli/` and `captions/` that are not taken."""
    places = (
        path
        for pattern in ("mteb/*/*/", "nli/*/", "captions/*/")
        for path in sorted(root.glob(pattern))
        if path not in taken
    )
    return [_source(path.relative_to(root).as_posix()) for path in places]


def _source(place: str) -> DatasetSource:
    kind, expected = _EXPECTED.get(place.rpartition("/")[0], (None, ""))
    problem = f"The folder {place} holds no data set that can be read"
    problem += f": expected are {expected}." if expected else "."
    info = DatasetInfo(
        place, kind, "folder", "Files of a kind that is not known here.", problem=problem
    )
    return DatasetSource(info, partial(_refuse, problem))


def _refuse(problem: str) -> Dataset:
    raise UserError(problem, "`theodolite data list` shows what can be read.", code="wrong-kind")
