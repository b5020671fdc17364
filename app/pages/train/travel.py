"""The inputs of a training, and how another machine obtains them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from theodolite.app.fleet import needs as fleet
from theodolite.app.fleet import parcels
from theodolite.app.fleet.needs import Needs
from theodolite.engine.datasets import Catalog
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training.dev import data_set_of
from theodolite.engine.training.examples import is_file
from theodolite.engine.training.presets import STARTER
from theodolite.engine.training.spec import TrainSpec


@dataclass(frozen=True)
class Reads:
    """Inputs of a training, by how another machine obtains them.

    Attributes:
        data: names of data sets, which must be installed there.
        dev: name of the dev set or of its task; empty for none.
        encoders: specs of encoders, whose packages must be installed there.
        files: files and folders, which are sent.
    """

    data: list[str]
    dev: str
    encoders: list[str]
    files: list[str]


def of_encoder(spec: TrainSpec) -> Reads:
    """The inputs of an encoder's training; a base with random weights is no encoder."""
    shipped = "starter-pairs" if spec.objective == "sup" else "starter-topics"
    encoders = [] if spec.base.startswith("new:") else [spec.base]
    files = [*_folder(spec.base), *filter(is_file, [spec.train])]
    return Reads(_data_sets([spec.train], shipped), spec.dev or "", encoders, files)


def of_decoder(spec: DecoderSpec) -> Reads:
    """The inputs of a decoder's training."""
    models = [spec.encoder, *filter(None, [spec.base])]
    files = [*parcels.paths_of(spec.encoder), *_folder(spec.base), *filter(None, [spec.start])]
    files += filter(is_file, spec.train)
    return Reads(_data_sets(spec.train, "starter-topics"), "", models, files)


def needs(reads: Reads, catalog: Catalog, out: str) -> Needs:
    """Requirements on another machine: the inputs, and write access to the address `out`."""
    data = [*reads.data, *([data_set_of(reads.dev, catalog)] if reads.dev else [])]
    return Needs.of(catalog, data, reads.encoders, out)


def stays(reads: Reads) -> str:
    """Why the inputs may be read on this machine only, in words; empty otherwise."""
    reasons = [*map(fleet.data_stays, [*reads.data, reads.dev])]
    reasons += map(fleet.encoder_stays, reads.encoders)
    return next(filter(None, reasons), "")


def moved_encoder(spec: TrainSpec, places: Mapping[str, str]) -> TrainSpec:
    """The spec with some paths replaced."""
    train, out = (places.get(path, path) for path in (spec.train, spec.out))
    return replace(spec, base=_base(spec.base, places), train=train, out=out)


def moved_decoder(spec: DecoderSpec, places: Mapping[str, str]) -> DecoderSpec:
    """The spec with some paths replaced."""
    return replace(
        spec,
        encoder=parcels.moved(spec.encoder, places),
        train=tuple(places.get(name, name) for name in spec.train),
        base=spec.base and _base(spec.base, places),
        start=spec.start and places.get(spec.start, spec.start),
        out=places.get(spec.out, spec.out),
    )


def _folder(base: str | None) -> list[str]:
    return [base.removeprefix("dir:")] if base and base.startswith("dir:") else []


def _base(base: str, places: Mapping[str, str]) -> str:
    (folder,) = _folder(base) or [""]
    return f"dir:{places.get(folder, folder)}" if folder else base


def _data_sets(names: Sequence[str], shipped: str) -> list[str]:
    """The data sets among names of training data; the starter set under its own name."""
    return [shipped if name == STARTER else name for name in names if not is_file(name)]
