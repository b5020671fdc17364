"""The files of a published app: a small store, the data it shows, its source and start script."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from theodolite.app import vectors
from theodolite.app.pages.map import service as maps
from theodolite.app.publish import source, targets
from theodolite.app.publish.choice import PartWorkspace, part
from theodolite.app.publish.mask import SHIPPED, UPLOAD, private
from theodolite.app.publish.site import Site
from theodolite.app.published import Choice
from theodolite.engine.encoders.base import Encoder, sentence_key
from theodolite.engine.encoders.spec import TASK_DATA
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.spec import parse

if TYPE_CHECKING:
    from theodolite.app.publish.targets import Target
    from theodolite.app.workspace import Workspace

EVERY_PAGE = "All pages, for looking only"


def make(workspace: Workspace, choice: Choice, target: Target, *, texts: bool) -> Site:
    """Make the files."""
    files = targets.files(target, hub_models(choice))
    files |= {f"{targets.SOURCE}/{name}": data for name, data in source.files().items()}
    listed_sets: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        small = part(workspace, choice, folder, texts=texts)
        if texts:
            datasets = _readable(workspace, small)
            for dataset in datasets:
                listed_sets[dataset] = len(workspace.catalog.sentences(dataset)[0])
                _copy_upload(workspace, small, choice, dataset)
                files |= _data_files(workspace, dataset)
            kept = [name for name, public in choice.encoders.items() if name == public]
            for encoder in (name for name in kept if usable(name, datasets)):
                _copy_vectors(workspace, small, encoder, datasets)
            for row in reversed(workspace.store.derived.list(maps.KIND)):
                info = row["info"]
                if info["encoder"] in kept and info["dataset"] in datasets:
                    small.store.derived.put(row["key"], maps.KIND, info, files=row["files"])
        small.close()
        files |= dict(_stored(folder))
    return Site(files, [EVERY_PAGE], listed_sets)


def hub_models(choice: Choice) -> list[str]:
    """Models of the hub in the published names of the encoders."""
    named = (parse(name).sources for name in choice.encoders.values())
    found = [one.value for one in chain.from_iterable(named) if one.kind == "hf"]
    return sorted(set(found))


def usable(name: str, datasets: Collection[str]) -> bool:
    """Whether an encoder can run where the app runs; if not, only its results are shown."""
    spec = parse(name)
    fitted_on = {step.data for one in spec.encoders for step in one.steps} - {"", TASK_DATA}
    kinds = {one.kind for one in spec.sources}
    return kinds <= {*SHIPPED, "hf"} and fitted_on <= set(datasets) and not private([name])


def _readable(workspace: Workspace, small: PartWorkspace) -> list[str]:
    """The published data sets that are here; those on the hub are not fetched for visitors."""
    here = set(workspace.catalog.names())
    return [name for name in small.catalog.real_names if name in here]


def _data_files(workspace: Workspace, dataset: str) -> dict[str, bytes]:
    root = workspace.catalog.root
    if root is None:
        return {}
    return {
        f"{targets.DATA}/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in workspace.catalog.files(dataset)
    }


def _copy_upload(workspace: Workspace, small: PartWorkspace, choice: Choice, dataset: str) -> None:
    """Copy an upload under its published name; other data sets are left alone."""
    row = workspace.store.uploads.get(dataset.removeprefix(UPLOAD))
    if not dataset.startswith(UPLOAD) or row is None:
        return
    public = choice.texts[dataset]
    name = public.removeprefix(UPLOAD)
    filename = row["filename"] if public == dataset else name + Path(row["filename"]).suffix
    small.store.uploads.add(
        name, row["kind"], row["path"], mapping=row["mapping"], info=row["info"], filename=filename
    )


def _copy_vectors(
    workspace: Workspace, small: PartWorkspace, encoder: str, datasets: Sequence[str]
) -> None:
    """Copy the cached vectors of the published texts: the read-only app adds none."""
    try:
        loaded = workspace.ranker(encoder)
    except UserError:  # it was evaluated, but is gone now
        return
    for dataset in datasets:
        sentences, _ = workspace.catalog.sentences(dataset)
        for one in vectors.sources(loaded):
            found, rows = _known(workspace, one, sentences)
            if len(rows):
                small.store.vectors.of(encoder).put(one.fingerprint, found, rows)


def _known(
    workspace: Workspace, encoder: Encoder, sentences: Sequence[str]
) -> tuple[list[bytes], np.ndarray]:
    keys = [sentence_key(text) for text in sentences]
    there, rows = workspace.store.vectors.get(encoder.fingerprint, keys, encoder.dim)
    return [key for key, known in zip(keys, there, strict=True) if known], rows


def _stored(folder: Path) -> Iterator[tuple[str, bytes]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.suffix != ".lock":
            yield f"{targets.STORE}/{path.relative_to(folder).as_posix()}", path.read_bytes()
