"""What a unit needs of a machine, what a machine has, and what it lacks."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from engine.encoders.packaged import MINILM, WORDLLAMA
from engine.errors import UserError

if TYPE_CHECKING:
    from engine.datasets import Catalog

PACKAGES = {"minilm": MINILM, "wordllama": WORDLLAMA, "mteb": "mteb"}
"""Source of an encoder -> the distribution it needs, which not every machine has."""


@dataclass(frozen=True)
class Needs:
    """What a unit cannot be done without.

    Attributes:
        data: name of a data set -> its hash at home.
        packages: names of distributions.
    """

    data: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """For the queue."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Needs:
        """What `to_json` made."""
        return cls(dict(given["data"]), tuple(given["packages"]))


def lacking(needs: Needs, has: Mapping[str, Any]) -> list[str]:
    """What a machine that says it `has` this lacks, in words; nothing when a unit can go there.

    A data set whose hash it does not know yet is taken for the right one: it looks before it
    begins.
    """
    return [*_data(needs, has["data"]), *_packages(needs, has["packages"])]


def _data(needs: Needs, data: Mapping[str, str]) -> Iterator[str]:
    for name, wanted in needs.data.items():
        if name not in data:
            yield f"the data set {name} ({wanted[:12]})"
        elif data[name] not in ("", wanted):
            yield f"{name} with the same contents ({wanted[:12]}, there {data[name][:12]})"


def _packages(needs: Needs, packages: Mapping[str, str]) -> Iterator[str]:
    for name in needs.packages:
        if name not in packages:
            yield f"the package {name}"


class Machine:
    """What this machine has; data sets are read when somebody first needs one.

    Args:
        catalog: of the data folder that the worker was started with.
        only: kinds of work that it takes.
    """

    def __init__(self, catalog: Catalog, only: tuple[str, ...]) -> None:
        self._catalog = catalog
        self._hashes: dict[str, tuple[object, str]] = {}
        self._fixed = {
            "only": list(only),
            "packages": dict(_installed()),
            "devices": _devices(),
            "cores": os.cpu_count() or 1,
            "memory": psutil.virtual_memory().total,
            "system": f"{platform.system()} {platform.machine()}",
        }

    def has(self) -> dict[str, Any]:
        """What is said in the roster, JSON-able; of data sets not read yet the hash is empty."""
        names = [info.name for info in self._catalog.list()]
        read = {name: self._hashes.get(name, (None, ""))[1] for name in names}
        return {**self._fixed, "data": read}

    def lacking(self, needs: Needs) -> list[str]:
        """What this machine lacks, in words, after the data sets in question were read."""
        known = {}
        for name in needs.data:
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
    """Names of what computes here, without asking torch: that would take seconds and memory."""
    found = [
        line.partition(":")[2].strip()
        for file in sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
        for line in file.read_text("utf-8", "replace").splitlines()
        if line.startswith("Model")
    ]
    if platform.system() == "Darwin" and platform.machine() == "arm64":
        found.append("Apple GPU")
    return found or ["CPU"]
