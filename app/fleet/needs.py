"""What a job reads and writes, what it needs of a machine, and what a machine has or lacks."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from theodolite.engine.encoders.packaged import MINILM, WORDLLAMA
from theodolite.engine.encoders.spec import SOURCES, parse
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.engine.datasets import Catalog

PACKAGES = {"minilm": MINILM, "wordllama": WORDLLAMA, "mteb": "mteb"}
"""Source of an encoder -> the distribution it needs, which not every machine has."""


Needs = dict[str, Any]
"""What a unit needs: `data`, name of a data set -> its hash at home; `packages`, names of
distributions; `files`, whether files go there or come back."""


@dataclass(frozen=True)
class Resources:
    """What a job reads and writes, as its spec names it.

    Attributes:
        encoders: spec strings.
        data: names of data sets.
        files: files and folders of this machine; in the spec also as `dir:FOLDER`.
        out: the output folder or address; empty when it only makes results.
        record: the file of the output folder that records how it was made, and those of its
            entries that depend on the paths of this machine.
    """

    encoders: Sequence[str] = ()
    data: Sequence[str] = ()
    files: Sequence[str] = ()
    out: str = ""
    record: tuple[str, Mapping[str, Any]] = ("", {})

    def paths(self) -> list[str]:
        """Files and folders of this machine that are read, those of encoders included."""
        of_encoders = (path for encoder in self.encoders for path in parse(encoder).paths)
        return list(dict.fromkeys([*self.files, *of_encoders]))

    def local_only_reason(self) -> str:
        """Why only this machine can use them, in words; empty when others can, too.

        An endpoint may be called only from the machine on which a person has allowed it.
        """
        for encoder in self.encoders:
            if any(SOURCES[one.kind].value_is == "address" for one in parse(encoder).sources):
                return f"{encoder} may be asked from this machine only, so it is done here."
        for name in self._data_sets():
            if name.startswith(("upload:", "corpus:")):
                return f"{name} was given to this machine only, so it is done here."
            if name.startswith(("hub:", "mteb:")):
                return (
                    f"The contents of {name} are not known before it is fetched: it is done here."
                )
        return ""

    def needs(self, catalog: Catalog) -> Needs:
        """What another machine needs."""
        found = [catalog.load(name) for name in self._data_sets()]
        kinds = [source.kind for encoder in self.encoders for source in parse(encoder).sources]
        kinds = ["wordllama" if kind == "borep" else kind for kind in kinds]
        return {
            "data": {dataset.name: dataset.hash for dataset in found},
            "packages": list(dict.fromkeys(PACKAGES[kind] for kind in kinds if kind in PACKAGES)),
            "files": bool(self.out or self.paths()),
        }

    def new_names(self, places: Mapping[str, str]) -> dict[str, str]:
        """Texts of the spec of a job that has these resources -> those with other paths."""
        new = {encoder: move_encoder(encoder, places) for encoder in self.encoders}
        for path in (*self.files, self.out):
            there = places.get(path, path)
            new |= {path: there, f"dir:{path}": f"dir:{there}"}
        return new

    def _data_sets(self) -> list[str]:
        """The data sets, and those on which encoders are fitted beside the data of a task."""
        fitted = (name for encoder in self.encoders for name in parse(encoder).data_sets)
        return [*self.data, *fitted]


def replace_texts(value: Any, new: Mapping[str, str]) -> Any:
    """A JSON-able value in which each text that is a key of `new` is replaced."""
    if isinstance(value, str):
        return new.get(value, value)
    if isinstance(value, Mapping):
        return {name: replace_texts(one, new) for name, one in value.items()}
    return [replace_texts(one, new) for one in value] if isinstance(value, list | tuple) else value


def move_encoder(encoder: str, places: Mapping[str, str]) -> str:
    """The spec of an encoder with its paths replaced as in `places`."""
    return str(parse(encoder).with_paths(places))


def lacking(needs: Needs, has: Mapping[str, Any]) -> list[str]:
    """What a machine lacks by its report `has`, in words; empty when the unit can go there.

    A data set whose hash the machine does not know yet is assumed to match: it checks before it
    begins.
    """
    data, lack = has.get("data", {}), []
    for name, wanted in needs["data"].items():
        if name not in data:
            lack.append(f"the data set {name} ({wanted[:12]})")
        elif data[name] not in ("", wanted):
            lack.append(f"{name} with the same contents ({wanted[:12]}, there {data[name][:12]})")
    lack += [f"the package {n}" for n in needs["packages"] if n not in has.get("packages", {})]
    return lack + (
        ["an address for files (--files)"] if needs["files"] > bool(has.get("files")) else []
    )


class Machine:
    """What this machine has; a data set is read when a unit first needs it.

    Args:
        catalog: of the data folder that the worker was started with.
        only: kinds of work that it takes.
        files: its address for files, for people; empty for none.
    """

    def __init__(self, catalog: Catalog, only: tuple[str, ...], files: str = "") -> None:
        self._catalog = catalog
        self._hashes: dict[str, tuple[object, str]] = {}
        self._fixed = {
            "only": list(only),
            "files": files,
            "packages": dict(_installed()),
            "devices": _devices(),
            "cores": os.cpu_count() or 1,
            "memory": psutil.virtual_memory().total,
            "system": f"{platform.system()} {platform.machine()}",
        }

    def has(self) -> dict[str, Any]:
        """The report for the roster, JSON-able; data sets not read yet have an empty hash."""
        names = self._catalog.names()
        read = {name: self._hashes.get(name, (None, ""))[1] for name in names}
        return {**self._fixed, "data": read}

    def lacking(self, needs: Needs) -> list[str]:
        """What this machine lacks, in words, after reading the data sets in question."""
        known = {}
        for name in needs["data"]:
            try:
                known[name] = self._hash(name)
            except UserError:  # there is none, or it cannot be read
                continue
        return lacking(needs, {**self._fixed, "data": known})

    def _hash(self, name: str) -> str:
        stamp = self._catalog.stamp(name)
        if self._hashes.get(name, (None, ""))[0] != stamp:
            self._hashes[name] = stamp, self._catalog.load(name).hash
        return self._hashes[name][1]


def _installed() -> Iterator[tuple[str, str]]:
    for name in PACKAGES.values():
        try:
            yield name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue


def _devices() -> list[str]:
    """Names of the GPUs, else `CPU`; without torch, which would take seconds and memory."""
    found = [
        line.partition(":")[2].strip()
        for file in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
        for line in file.read_text("utf-8", "replace").splitlines()
        if line.startswith("Model")
    ]
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        found.append("Apple GPU")
    return found or ["CPU"]
