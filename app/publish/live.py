"""The files of a published app, and its start where a GPU is lent."""

import re
import tempfile
from collections.abc import Collection, Sequence
from contextlib import suppress
from pathlib import Path

import gradio as gr
import numpy as np

from theodolite.app import vectors
from theodolite.app.pages.map import service as maps
from theodolite.app.publish import targets
from theodolite.app.publish.choice import SHIPPED, UPLOAD, Part, private
from theodolite.app.publish.site import Site
from theodolite.app.publish.targets import Target
from theodolite.app.published import Choice
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import zerogpu
from theodolite.engine.encoders.base import sentence_key
from theodolite.engine.encoders.spec import TASK_DATA
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.spec import parse

_TAG = re.compile(r"<[^>]*>")
EVERY_PAGE = "All pages, for looking only"


def make(workspace: Workspace, choice: Choice, target: Target, *, texts: bool) -> Site:
    """Make the files."""
    files = targets.files(target, hub_models(choice))
    files |= {f"{targets.SOURCE}/{name}": data for name, data in targets.source().items()}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        small = Part(workspace, choice, folder, texts=texts)
        here = set(workspace.catalog.names()) if texts else ()  # none is fetched for visitors
        datasets = [dataset for dataset in small.catalog.real_names if dataset in here]
        for dataset in datasets:
            _copy_upload(workspace, small, choice, dataset)
            files |= _data_files(workspace, dataset)
        unmasked = [name for name, public in choice.encoders.items() if name == public]
        for encoder in unmasked if datasets else ():
            if usable(encoder, datasets):
                _copy_vectors(workspace, small, encoder, datasets)
        # A map is found by the name of its data set, and holds it.
        same_names = [dataset for dataset in datasets if choice.texts[dataset] == dataset]
        for row in reversed(workspace.store.derived.list(maps.KIND)):
            info = row["info"]
            if info["encoder"] in unmasked and info["dataset"] in same_names:
                small.store.derived.put(row["key"], maps.KIND, info, files=row["files"])
        small.close()
        files |= {
            f"{targets.STORE}/{path.relative_to(folder).as_posix()}": path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and path.suffix != ".lock"
        }
    numbers = {
        choice.texts[dataset]: len(workspace.catalog.sentences(dataset)[0]) for dataset in datasets
    }
    return Site(files, [EVERY_PAGE], numbers)


def hub_models(choice: Choice) -> list[str]:
    """Models of the hub in the published names of the encoders."""
    sources = (source for name in choice.encoders.values() for source in parse(name).sources)
    return sorted({source.value for source in sources if source.kind == "hf"})


def usable(name: str, datasets: Collection[str]) -> bool:
    """Whether an encoder can run where the app runs; if not, only its results are shown."""
    spec = parse(name)
    fitted_on = {step.data for one in spec.encoders for step in one.steps} - {"", TASK_DATA}
    kinds = {one.kind for one in spec.sources}
    return kinds <= {*SHIPPED, "hf"} and fitted_on <= set(datasets) and not private([name])


def _data_files(workspace: Workspace, dataset: str) -> dict[str, bytes]:
    root = workspace.catalog.root
    if root is None:
        return {}
    return {
        f"{targets.DATA}/{path.relative_to(root).as_posix()}": path.read_bytes()
        for path in workspace.catalog.files(dataset)
    }


def _copy_upload(workspace: Workspace, small: Part, choice: Choice, dataset: str) -> None:
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


def _copy_vectors(workspace: Workspace, small: Part, encoder: str, datasets: Sequence[str]) -> None:
    """Copy the cached vectors of the published texts: the read-only app adds none."""
    try:
        loaded = workspace.ranker(encoder)
    except UserError:  # it was evaluated, but is gone now
        return
    for dataset in datasets:
        keys = [sentence_key(text) for text in workspace.catalog.sentences(dataset)[0]]
        for source in vectors.sources(loaded):
            there, rows = workspace.store.vectors.get(source.fingerprint, keys, source.dim)
            if len(rows):
                present = [key for key, known in zip(keys, there, strict=True) if known]
                small.store.vectors.of(encoder).put(source.fingerprint, present, rows)


def lend(decorated: zerogpu.Encode, store: Path) -> None:
    """Run models through a decorated function, and load the available encoders of a store.

    Args:
        decorated: a function that calls `zerogpu.encode`, decorated by the package `spaces`.
        store: whose encoders stay in memory from now on.
    """

    def ask(number: int, sentences: list[str]) -> list[np.ndarray]:
        try:
            return decorated(number, sentences)
        except gr.Error as error:  # a quota is used up, no GPU is free: it says which
            text = " ".join(_TAG.sub(" ", str(error.message)).split())
            advice = "Try it again later, or with an encoder that needs none."
            raise UserError(
                f"No GPU was available for this: {text}.", advice, code="unreachable"
            ) from error

    zerogpu.use(ask)
    workspace = Workspace(store, demo=True)
    for row in workspace.store.encoders.list():
        with suppress(UserError):  # its results were published, its weights were not
            workspace.ranker(row["name"])
    workspace.close()
