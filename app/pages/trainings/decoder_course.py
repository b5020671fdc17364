"""What the training of a decoder said, read once, then only what came after."""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.workspace import Workspace

_PAGE = 5000
_KEPT = 64
"""Trainings whose course stays in memory."""

Event = dict[str, Any]


@dataclass
class Course:
    """The course of one training; events as `engine.decoding.events` has them.

    Attributes:
        started: the newest `Started`, or None.
        steps: `Stepped`, in the order of their steps.
        looks: `Looked`, likewise.
        notes: messages.
        finished: `Finished`, or None.
        cursor: id of the last event in here; with the same cursor nothing is new.
    """

    started: Event | None = None
    steps: list[Event] = field(default_factory=list)
    looks: list[Event] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    finished: Event | None = None
    cursor: int = 0

    def add(self, kind: str, data: Event) -> None:
        """Take in the next event; steps that are done over are forgotten."""
        if kind == "started":
            self.started, self.finished = data, None
            self.steps = [event for event in self.steps if event["step"] <= data["step"]]
            self.looks = [event for event in self.looks if event["step"] <= data["step"]]
        elif kind == "finished":
            self.finished = data
        elif kind == "stepped":
            self.steps.append(data)
        elif kind == "looked":
            self.looks.append(data)
        elif kind == "noted" and data["message"] not in self.notes:
            self.notes.append(data["message"])


_known: OrderedDict[tuple[str, str], Course] = OrderedDict()
_lock = threading.Lock()


def course(workspace: Workspace, run: str) -> Course:
    """The course of a training as far as it is; a copy to keep."""
    store = workspace.store
    with _lock:
        known = _known.setdefault((str(store.folder), run), Course())
        _known.move_to_end((str(store.folder), run))
        while len(_known) > _KEPT:
            _known.popitem(last=False)
        while True:
            events = store.events.of(run, 0, known.cursor, _PAGE)
            for event in events:
                known.add(event["kind"], event["data"])
                known.cursor = event["id"]
            if len(events) < _PAGE:
                break
        return replace(known, steps=[*known.steps], looks=[*known.looks], notes=[*known.notes])
