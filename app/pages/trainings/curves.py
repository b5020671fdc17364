"""What training runs said, as columns to draw: read once, then only what came after."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.workspace import Workspace
    from store import Store

STEPPED = ("step", "loss", "learning_rate", "grad_norm", "sentences_per_second", "seconds",
           "seconds_left", "gpu_bytes")  # fmt: skip
LOOKED = ("step", "score", "alignment", "uniformity", "best")
NOTED = ("step", "message")
_PAGE = 5000
_KEPT = 256
"""Runs whose curves stay in memory."""


def _columns(names: tuple[str, ...]) -> dict[str, list[Any]]:
    return {name: [] for name in names}


@dataclass
class Curves:
    """The course of one run, in the order of its steps; every column of a table is as long.

    Attributes:
        started: the newest event `started`, or None while there is none.
        stepped: columns of `engine.training.events.Stepped`.
        looked: columns of `Looked`.
        noted: columns of `Noted`.
        finished: the event `finished`, or None.
        cursor: id of the last event in here; with the same cursor nothing is new.
    """

    started: dict[str, Any] | None = None
    stepped: dict[str, list[Any]] = field(default_factory=lambda: _columns(STEPPED))
    looked: dict[str, list[Any]] = field(default_factory=lambda: _columns(LOOKED))
    noted: dict[str, list[Any]] = field(default_factory=lambda: _columns(NOTED))
    finished: dict[str, Any] | None = None
    cursor: int = 0

    def add(self, kind: str, data: dict[str, Any]) -> None:
        """Take in the next event.

        A run that went on from a checkpoint did some steps over: those of before are forgotten.
        """
        if kind == "started":
            self.started, self.finished = data, None
            for table in (self.stepped, self.looked, self.noted):
                keep = sum(step <= data["step"] for step in table["step"])
                for column in table.values():
                    del column[keep:]
        elif kind == "finished":
            self.finished = data
        elif kind in ("stepped", "looked", "noted"):
            for name, column in getattr(self, kind).items():
                column.append(data.get(name))


_known: OrderedDict[tuple[str, str], Curves] = OrderedDict()
_lock = threading.Lock()


def parts_of(key: str) -> tuple[str, int]:
    """Run and position of a key: `RUN` is its first unit, `RUN:2` the third child of a sweep."""
    run, _, position = key.partition(":")
    return run, int(position) if position.isdecimal() else 0


def curves(workspace: Workspace, key: str) -> Curves:
    """The curves of a run or of a sweep's child, as far as they are; a copy to keep.

    Args:
        workspace: where it runs.
        key: as `table` gives it: `RUN` or `RUN:POSITION`.
    """
    with _lock:
        found = _current(workspace.store, key)
        stepped, looked, noted = (
            {name: [*column] for name, column in columns.items()}
            for columns in (found.stepped, found.looked, found.noted)
        )
        return replace(found, stepped=stepped, looked=looked, noted=noted)


def cursor(workspace: Workspace, key: str) -> int:
    """The `cursor` of a run's curves, without the copy: for asking often whether they grew."""
    with _lock:
        return _current(workspace.store, key).cursor


def summary(workspace: Workspace, key: str) -> tuple[dict[str, Any], tuple[int, float] | None]:
    """The newest `stepped`, and the best look; a few events are read, however many there are."""
    run, position = parts_of(key)
    last = workspace.store.events.last
    stepped = last(run, "stepped", position) or dict.fromkeys(STEPPED)
    steps = (last(run, "started", position) or {}).get("steps")
    look = last(run, "looked", position, having="best")
    best = None if look is None else (int(look["step"]), float(look["score"]))
    return {**stepped, "steps": steps}, best


def _current(store: Store, key: str) -> Curves:
    known = _known.setdefault((str(store.folder), key), Curves())
    _known.move_to_end((str(store.folder), key))
    while len(_known) > _KEPT:
        _known.popitem(last=False)
    run, position = parts_of(key)
    while True:
        events = store.events.of(run, position, known.cursor, _PAGE)
        for event in events:
            known.add(event["kind"], event["data"])
            known.cursor = event["id"]
        if len(events) < _PAGE:
            return known
