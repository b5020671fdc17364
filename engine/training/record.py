"""The record of a training: the content of `theodolite.json` in an encoder's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from theodolite.engine.encoders.spec import EncoderSpec, SourceSpec
from theodolite.engine.errors import UserError
from theodolite.engine.training.events import Finished
from theodolite.engine.training.spec import TrainSpec

VERSION = 1
RECORD = "theodolite.json"


@dataclass(frozen=True)
class Record:
    """How an encoder was trained.

    Attributes:
        spec: of the run.
        data_hash: content hash of the training data.
        examples: number of training examples.
        notes: what was left out of the data, and anything else worth knowing.
        steps: updates made.
        best_step: the update whose weights were kept.
        best_score: their dev score; None without a dev set.
        base_score: that of the base; None without a dev set or a trained base.
        seconds: of training.
        why: as in `Finished`.
        curve: the `Stepped` and `Evaluated` events as dictionaries, in their order.
    """

    spec: TrainSpec
    data_hash: str
    examples: int
    notes: tuple[str, ...] = ()
    steps: int = 0
    best_step: int = 0
    best_score: float | None = None
    base_score: float | None = None
    seconds: float = 0.0
    why: str = "done"
    curve: Sequence[Mapping[str, Any]] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; `hash` is that of the full spec, `spec` is without absolute paths."""
        own = {k: v for k, v in asdict(self).items() if k not in ("spec", "curve")}
        return {
            "version": VERSION,
            "hash": self.spec.hash,
            "spec": self.spec.relative_paths().to_dict(),
            **own,
            "curve": [dict(event) for event in self.curve],
        }


def finished(record: Mapping[str, Any], folder: Path) -> Finished:
    """The last event of a run, from its record (see `Record.to_dict`) and its folder."""
    return Finished(
        record["steps"],
        record["best_step"],
        record["best_score"],
        record["seconds"],
        str(folder),
        encoder_of(folder),
        record["why"],
        record.get("base_score"),
    )


def encoder_of(folder: Path) -> str:
    """The spec string that loads an encoder folder."""
    return str(EncoderSpec((SourceSpec("dir", str(folder)),)))


def read(folder: Path) -> dict[str, Any] | None:
    """Read `theodolite.json` in a folder; None if there is none, or not of this version."""
    try:
        found = json.loads((folder / RECORD).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("version") == VERSION else None


def check_free(folder: Path, spec: TrainSpec) -> None:
    """Check that the encoder of a run would overwrite nothing else in a folder."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if (read(folder) or {}).get("hash") != spec.hash:
        raise UserError(
            f"{folder} already exists, and is not the encoder with these settings.",
            "Choose another folder; nothing is overwritten.",
            code="conflict",
        )
