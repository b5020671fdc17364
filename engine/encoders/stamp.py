"""A stamp of the files behind an encoder: a loaded encoder is valid while it is unchanged."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from theodolite.engine.encoders.spec import TASK_DATA, SourceSpec, parse
from theodolite.engine.stamps import Stamp, stamp


def stamp_of(spec: str, data: Callable[[str], object]) -> Stamp:
    """Stamp of an encoder's files and of the data that it learns from.

    Args:
        spec: of the encoder.
        data: the stamp of a data set by name.
    """
    read = parse(spec)
    names = [source.option("data") for source in read.sources] + [step.data for step in read.steps]
    return (
        *(stamp(*_paths(source)) for source in read.sources),
        *(data(name) for name in names if name and name != TASK_DATA),
    )


def _paths(source: SourceSpec) -> Iterator[Path]:
    path = Path(source.value)
    words = source.option("words")
    if source.kind in ("words", "dir"):
        yield path
    if source.kind == "vectors":  # a folder's manifest has the hashes of all its files
        yield path / "manifest.json" if path.is_dir() else path
        # The sentences of an array lie beside it.
        yield from (path.with_suffix(".txt"), path.with_suffix(".txt.gz"))
    if words and words != "wordllama":
        yield Path(words)
    if source.kind == "hf":
        from theodolite.engine.encoders.hub import cached

        folder = cached(source.value, source.option("revision"))
        if folder is not None:  # the folder of one commit, whose files never change
            yield folder
