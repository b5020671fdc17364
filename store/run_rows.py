"""Runs and units as the store returns them."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, TypedDict

State = Literal["queued", "running", "done", "partly failed", "failed", "cancelled"]
LIVE: tuple[State, ...] = ("queued", "running")
STOP = "stop"
"""The request to a training to end now and keep its best weights."""


class RunRow(TypedDict):
    """A run; times are seconds since 1970; `done`, `failed` and `total` count units.

    `fraction` (0 to 1) is the progress of the whole, with units weighted; `unit_fraction` that of
    the present unit. `asked` is a request to the process that executes it: `STOP`, or empty.
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


def is_stopping(run: Mapping[str, Any]) -> bool:
    """Whether a training was asked to stop and keep its best, and is still running."""
    return bool(run["state"] == "running" and run["asked"] == STOP)


class UnitRow(TypedDict):
    """A part of a run that is finished as a whole.

    `crashes` counts the processes in a row that crashed without getting further than those before;
    `weight` is its relative length. It is `left out` if its run was asked to stop before it began.
    `share` (0 to 1) is the progress of another machine on it, while it waits here.
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
    """Positions of the units in progress: on other machines any, here the first that waits."""
    waiting = [unit for unit in units if unit["state"] == "waiting"]
    away = {unit["position"] for unit in waiting if unit["share"] > 0}
    return away or {unit["position"] for unit in waiting[:1]}
