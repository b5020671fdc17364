"""What a job reads and writes, what it needs of a machine, and what a machine has.

Needs are texts for people, such as `the data set MR (1a2b…)` or `the package mteb`: a machine has
what is needed if it says the same, or the same without the hash, while it has not read the data.
"""

import contextlib
import importlib.metadata
import os
import platform
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from theodolite.app import formats
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders.packaged import MINILM, WORDLLAMA
from theodolite.engine.encoders.spec import SOURCES
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.spec import parse

PACKAGES = {"minilm": MINILM, "wordllama": WORDLLAMA, "borep": WORDLLAMA, "mteb": "mteb"}
"""Source of an encoder -> the distribution it needs, which not every machine has."""
FILES = "an address for files (--files)"
WORK = {
    "evaluate": "evaluate",
    "train": "train",
    "train-decoder": "train",
    "encode-shard": "encode",
}
"""Kind of job whose units go out -> kind of work that workers take, see `--only`."""
FINISHED = "finished"
"""The event that describes the output of a training."""
VERSION = "4"
"""Version of units and answers: workers take what homes of their version send."""
Unit = dict[str, Any]
"""A unit as it goes out: `kind` and `spec` of the job that it is by itself, see `Job.part`; `label`
for people; `needs`; `files`, path at home -> its bundle."""
Answer = dict[str, Any]
"""A worker's answer: its `slot`; `outcome`, arguments of `Runs.end_unit`; `results`, packed by
`Results.pack`; `bundle` of the output, if any. Or what is `damaged`, in words."""


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
        receive: registers the output at home, given the workspace and the event `FINISHED`.
    """

    encoders: Sequence[str] = ()
    data: Sequence[str] = ()
    files: Sequence[str] = ()
    out: str = ""
    record: tuple[str, Mapping[str, Any]] = ("", {})
    receive: Callable[[Workspace, Mapping[str, Any]], None] | None = None

    def paths(self) -> list[str]:
        """Files and folders of this machine that are read, those of encoders included."""
        of_encoders = (path for encoder in self.encoders for path in parse(encoder).paths)
        return list(dict.fromkeys([*self.files, *of_encoders]))

    def local_only_reason(self) -> str:
        """Why only this machine can use them, in words; empty when others can, too.

        An endpoint may be called only from the machine on which a person has allowed it.
        """
        for encoder in self.encoders:
            if any(SOURCES[source.kind].value_is == "address" for source in parse(encoder).sources):
                return f"{encoder} may be asked from this machine only, so it is done here."
        for name in self._data_sets():
            if name.startswith(("upload:", "corpus:", "hub:", "mteb:")):
                return f"Other machines may not have {name}, so it is done here."
        return ""

    def needs(self, catalog: Catalog) -> list[str]:
        """What another machine needs."""
        kinds = [source.kind for encoder in self.encoders for source in parse(encoder).sources]
        datasets = map(catalog.load, self._data_sets())
        packages = [_package(PACKAGES[kind]) for kind in kinds if kind in PACKAGES]
        files = [FILES] if self.out or self.paths() else []
        data = [_data_set(dataset.name, dataset.hash) for dataset in datasets]
        return list(dict.fromkeys([*data, *packages, *files]))

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


def unmet(needs: Iterable[str], has: Sequence[str]) -> list[str]:
    """What a machine lacks; `Fleet.claim` decides by the same rule."""
    return [need for need in needs if need not in has and need.rpartition(" (")[0] not in has]


def _data_set(name: str, digest: str = "") -> str:
    return f"the data set {name}" + (f" ({digest[:12]})" if digest else "")


def _package(name: str) -> str:
    return f"the package {name}"


class Machine:
    """What this machine has; a data set is read when a unit first needs it.

    Args:
        catalog: of the data folder that the worker was started with.
        files: whether it has an address for files.

    Attributes:
        summary: its devices, cores and memory, for people.
    """

    def __init__(self, catalog: Catalog, *, files: bool = False) -> None:
        self._catalog = catalog
        self._hashes: dict[str, tuple[object, str]] = {}  # name -> stamp of its files, hash
        self._fixed = [FILES] if files else []
        for name in dict.fromkeys(PACKAGES.values()):
            with contextlib.suppress(importlib.metadata.PackageNotFoundError):
                importlib.metadata.version(name)
                self._fixed.append(_package(name))
        cores = formats.plural(os.cpu_count() or 1, "core")
        memory = formats.size(psutil.virtual_memory().total)
        self.summary = ", ".join([*_devices(), cores, memory])

    def has(self) -> list[str]:
        """What it has; data sets that were not read yet are without a hash."""
        names = self._catalog.names()
        return [*self._fixed, *(_data_set(n, self._hashes.get(n, (None, ""))[1]) for n in names)]

    def missing(self, needs: Sequence[str]) -> list[str]:
        """What this machine lacks, after reading the data sets in question."""
        for name in self._catalog.names():
            if any(need.startswith(f"{_data_set(name)} (") for need in needs):
                stamp = self._catalog.stamp(name)
                if self._hashes.get(name, (None, ""))[0] != stamp:
                    try:
                        digest = self._catalog.load(name).hash
                    except UserError:
                        digest = "unreadable"
                    self._hashes[name] = stamp, digest
        return unmet(needs, self.has())


def _devices() -> list[str]:
    """Names of the GPUs, else `CPU`; without torch, which would take seconds and memory."""
    devices = [
        line.partition(":")[2].strip()
        for file in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
        for line in file.read_text("utf-8", "replace").splitlines()
        if line.startswith("Model")
    ]
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        devices.append("Apple GPU")
    return devices or ["CPU"]
