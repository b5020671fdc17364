"""Curves of trainings, of encoders and decoders: read once, then only new events."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.store import Store

Event = dict[str, Any]
_PAGE = 5000
_KEPT = 256
"""Trainings whose curves stay in memory."""


@dataclass
class Curves:
    """The events of one training, as in `engine.training.events`.

    Attributes:
        started: the newest `started`, or None before it.
        steps: the events `stepped`, in the order of their steps.
        evals: the events `looked`, likewise.
        notes: the events `noted`.
        finished: the event `finished`, or None.
        cursor: id of the last event included; an unchanged cursor means no new event.
    """

    started: Event | None = None
    steps: list[Event] = field(default_factory=list)
    evals: list[Event] = field(default_factory=list)
    notes: list[Event] = field(default_factory=list)
    finished: Event | None = None
    cursor: int = 0

    def kinds(self) -> dict[str, list[Event]]:
        """The lists by the kind of their events."""
        return {"stepped": self.steps, "looked": self.evals, "noted": self.notes}

    def add(self, kind: str, data: Event) -> None:
        """Add the next event.

        A training that resumes from a checkpoint repeats some steps; their earlier events are
        dropped.
        """
        if kind == "started":
            self.started, self.finished = data, None
            for events in self.kinds().values():
                events[:] = [event for event in events if event.get("step", 0) <= data["step"]]
        elif kind == "finished":
            self.finished = data
        elif kind in self.kinds() and not (kind == "noted" and data in self.notes):
            self.kinds()[kind].append(data)


_known: OrderedDict[tuple[str, str], Curves] = OrderedDict()
_lock = threading.Lock()


def parts_of(key: str) -> tuple[str, int]:
    """Run and position of a key: `RUN` is its first unit, `RUN:2` the third child of a sweep."""
    run, _, position = key.partition(":")
    return run, int(position) if position.isdecimal() else 0


def curves(workspace: Workspace, key: str) -> Curves:
    """A copy of the curves of a training so far.

    Args:
        workspace: where the training runs.
        key: as `table` gives it: `RUN` or `RUN:POSITION`.
    """
    with _lock:
        found = _current(workspace.store, key)
        return replace(found, steps=[*found.steps], evals=[*found.evals], notes=[*found.notes])


def cursor(workspace: Workspace, key: str) -> int:
    """The `cursor` of a training's curves, without copying them: cheap enough to poll."""
    with _lock:
        return _current(workspace.store, key).cursor


def best_eval(workspace: Workspace, key: str) -> Event | None:
    """The eval whose weights would be kept so far."""
    run, position = parts_of(key)
    return workspace.store.events.last(run, "looked", position, having="best")


def base_score(workspace: Workspace, key: str) -> float | None:
    """The dev score of the base, from the eval before the first update; None without one."""
    evals = curves(workspace, key).evals
    return evals[0]["score"] if evals and evals[0]["step"] == 0 else None


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
