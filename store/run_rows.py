"""Runs and units as the store returns them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypedDict

State = Literal["queued", "running", "done", "partly failed", "failed", "cancelled"]
LIVE: tuple[State, ...] = ("queued", "running")
STOP = "stop"
"""What a training is asked that is to end now and keep its best."""


class RunRow(TypedDict):
    """A run; times are seconds since 1970; `done`, `failed` and `total` count units.

    `fraction` (0 to 1) is of the whole, units by their weight; `unit_fraction` of the present unit.
    `asked` is a word that its work looks out for: `STOP`, or nothing.
    """

    id: str
    kind: str
    title: str
    spec: dict[str, Any]
    spec_hash: str
    state: State
    priority: int
    attempt: int
    total: int
    done: int
    failed: int
    fraction: float
    unit_fraction: float
    eta_seconds: float | None
    message: str
    worker: str | None
    created: float
    started: float | None
    finished: float | None
    updated: float
    error: str | None
    hint: str
    asked: str


class UnitRow(TypedDict):
    """A part of a run that is finished as a whole.

    `crashes` counts processes lost over it in a row, without one that got further than those before
    it; `weight` is its share of the run, in any unit. `left out` is what was not begun as asked.
    `share` (0 to 1) is how far another machine is with it, while it waits here.
    """

    position: int
    label: str
    state: Literal["waiting", "done", "failed", "left out"]
    crashes: int
    seconds: float | None
    error: str | None
    hint: str
    weight: float
    share: float


def at_work(units: Sequence[UnitRow]) -> set[int]:
    """Positions of the units that are being done: here the first that waits, elsewhere any."""
    waiting = [unit for unit in units if unit["state"] == "waiting"]
    away = {unit["position"] for unit in waiting if unit["share"] > 0}
    return away or {unit["position"] for unit in waiting[:1]}
