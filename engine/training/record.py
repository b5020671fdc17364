"""The record of a training: the content of `theodolite.json` in an encoder's folder."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from engine.encoders.spec import EncoderSpec, SourceSpec
from engine.errors import UserError
from engine.training.events import Finished
from engine.training.spec import TrainSpec

VERSION = 1
RECORD = "theodolite.json"


@dataclass(frozen=True)
class Record:
    """How an encoder came to be.

    Attributes:
        spec: what was asked for.
        data_hash: content hash of the training data.
        examples: how many there were.
        notes: what was left out of them, and what else a person should know.
        steps: updates made.
        best_step: the update whose weights these are.
        best_score: their dev score; None without a dev set.
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
    seconds: float = 0.0
    why: str = "done"
    curve: Sequence[Mapping[str, Any]] = ()

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; `hash` is that of the whole spec, which is told without whole paths."""
        own = {k: v for k, v in asdict(self).items() if k not in ("spec", "curve")}
        return {
            "version": VERSION,
            "hash": self.spec.hash,
            "spec": self.spec.relative_paths().to_dict(),
            **own,
            "curve": [dict(event) for event in self.curve],
        }


def finished(record: Mapping[str, Any], folder: Path) -> Finished:
    """The last event of a run that left a record, as `Record.to_dict` gives it, in a folder."""
    return Finished(
        record["steps"],
        record["best_step"],
        record["best_score"],
        record["seconds"],
        str(folder),
        encoder_of(folder),
        record["why"],
    )


def encoder_of(folder: Path) -> str:
    """The spec string that loads an encoder folder."""
    return str(EncoderSpec((SourceSpec("dir", str(folder)),)))


def read(folder: Path) -> dict[str, Any] | None:
    """What `theodolite.json` in a folder says; None when we did not write it."""
    try:
        found = json.loads((folder / RECORD).read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("version") == VERSION else None


def check_free(folder: Path, spec: TrainSpec) -> None:
    """Refuse a folder in which the encoder of a run would overwrite something.

    Raises:
        UserError: it holds anything but the encoder of a run of the same settings.
    """
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if (read(folder) or {}).get("hash") != spec.hash:
        raise UserError(
            f"{folder} already exists, and is not the encoder with these settings.",
            "Choose another folder; nothing is overwritten.",
        )
