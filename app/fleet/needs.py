"""What a unit needs, what a machine has or lacks, and what cannot leave the home."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from theodolite.app.fleet import outs
from theodolite.engine.encoders.packaged import MINILM, WORDLLAMA
from theodolite.engine.encoders.spec import SOURCES, EncoderSpec, parse
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.engine.datasets import Catalog

PACKAGES = {"minilm": MINILM, "wordllama": WORDLLAMA, "mteb": "mteb"}
"""Source of an encoder -> the distribution it needs, which not every machine has."""
_FETCHED = ("hub:", "mteb:")


@dataclass(frozen=True)
class Needs:
    """The requirements of a unit.

    Attributes:
        data: name of a data set -> its hash at home.
        packages: names of distributions.
        out: the address to write the output to; empty when it comes home.
    """

    data: Mapping[str, str] = field(default_factory=dict)
    packages: tuple[str, ...] = ()
    out: str = ""

    @classmethod
    def of(
        cls, catalog: Catalog, data: Sequence[str], encoders: Sequence[str], out: str = ""
    ) -> Needs:
        """The requirements of encoders and data sets, and of those that encoders are fitted on."""
        specs = [parse(encoder) for encoder in encoders]
        names = [*data, *(name for spec in specs for name in _fitted(spec))]
        kinds = dict.fromkeys(
            "wordllama" if source.kind == "borep" else source.kind
            for spec in specs
            for source in spec.sources
        )
        found = [catalog.load(name) for name in names]
        return cls(
            {dataset.name: dataset.hash for dataset in found},
            tuple(PACKAGES[kind] for kind in kinds if kind in PACKAGES),
            out,
        )

    def to_json(self) -> dict[str, Any]:
        """A JSON-able mapping for the queue."""
        return asdict(self)

    @classmethod
    def from_json(cls, given: Mapping[str, Any]) -> Needs:
        """The inverse of `to_json`."""
        return cls(dict(given["data"]), tuple(given["packages"]), str(given["out"]))


def encoder_stays(encoder: str) -> str:
    """Why an encoder can be used at home only, in words; empty when it may travel.

    An endpoint may be called only from the machine on which a person has allowed it.
    """
    spec = parse(encoder)
    if any(SOURCES[source.kind].value_is == "address" for source in spec.sources):
        return f"{encoder} may be asked from this machine only, so it is done here."
    return next(filter(None, map(data_stays, _fitted(spec))), "")


def data_stays(name: str) -> str:
    """Why a data set can be used at home only, in words; empty when others may have it too."""
    if name.startswith(("upload:", "corpus:")):
        return f"{name} was given to this machine only, so it is done here."
    if name.startswith(_FETCHED):
        return f"{name} is fetched, and not known by its contents before, so it is done here."
    return ""


def _fitted(spec: EncoderSpec) -> list[str]:
    """Data sets that word weights and steps are fitted on, beside those of a task."""
    named = [source.option("data") for source in spec.sources] + [s.data for s in spec.steps]
    return [name for name in named if name and not name.startswith("@")]


def lacking(needs: Needs, has: Mapping[str, Any]) -> list[str]:
    """What a machine lacks by its report `has`, in words; empty when the unit can go there.

    A data set whose hash the machine does not know yet is assumed to match: it checks before it
    begins.
    """
    lack = [*_data(needs, has.get("data", {})), *_packages(needs, has.get("packages", {}))]
    if needs.out and not any(outs.is_below(needs.out, root) for root in has.get("out", ())):
        lack.append(f"leave to write to {needs.out}")
    return lack


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
    """What this machine has; a data set is read when a unit first needs it.

    Args:
        catalog: of the data folder that the worker was started with.
        only: kinds of work that it takes.
        out: addresses under which it may write output.
    """

    def __init__(self, catalog: Catalog, only: tuple[str, ...], out: tuple[str, ...] = ()) -> None:
        self._catalog = catalog
        self._hashes: dict[str, tuple[object, str]] = {}
        self._fixed = {
            "only": list(only),
            "out": list(out),
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
