"""The workers on this store's queue and in a fleet, and the runs that wait for them."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from theodolite.app.fleet.address import VARIABLE, Address
from theodolite.store import StoreError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.store.fleet import Roster
    from theodolite.store.run_rows import RunRow

TURN = "Waits for its turn."


@dataclass(frozen=True)
class WorkerNow:
    """A worker and its current work.

    Attributes:
        slot: its name.
        host: host name of its machine.
        local: whether it works on the store of this machine, and not in the fleet.
        doing: its current work, as text; empty if idle.
        share: share of that work done, 0 to 1; None if idle.
        since: start of that work, seconds since 1970; None if idle.
        started: start of the worker, seconds since 1970.
        seen: its last heartbeat, seconds since 1970.
        has: capabilities of its machine: `only` (the kinds of work it takes), `data` (name -> hash,
            empty before the data is read), `devices`, `cores`, `memory` in bytes, `packages` (name
            -> version).
    """

    slot: str
    host: str
    local: bool
    doing: str
    share: float | None
    since: float | None
    started: float
    seen: float
    has: Mapping[str, Any]


@dataclass(frozen=True)
class Waiting:
    """A run with waiting parts.

    Attributes:
        title: title of the run.
        home: name of its home; empty for this machine's own queue.
        parts: number of its parts that wait or run elsewhere.
        why: reason for waiting.
    """

    title: str
    home: str
    parts: int
    why: str


@dataclass(frozen=True)
class Workers:
    """A snapshot of workers, homes and waiting runs.

    Attributes:
        fleet: address of the fleet's database, without a password; empty without a fleet.
        problem: why the fleet cannot be read; else empty.
        workers: the workers, those of this store first.
        homes: name -> seconds since its last heartbeat.
        waiting: the waiting runs.
    """

    fleet: str
    problem: str
    workers: tuple[WorkerNow, ...]
    homes: Mapping[str, float]
    waiting: tuple[Waiting, ...]


def now(workspace: Workspace) -> Workers:
    """The workers on this store, and in the fleet of THEODOLITE_FLEET, if set.

    Visitors see no other machine.
    """
    local = _local(workspace)
    queued = [
        Waiting(run["title"], "", max(1, run["total"] - run["done"]), TURN)
        for run in workspace.store.runs.list(["queued"])
    ]
    if not in_fleet(workspace):
        return Workers("", "", local, {}, tuple(queued))
    address = Address.parse(None)
    try:
        roster = _roster(address)
        moment = time.time()
        away = tuple(_member(member, moment) for member in roster.list())
        homes = roster.homes()
    except StoreError as error:
        return Workers(str(address), str(error), local, {}, tuple(queued))
    waiting = [
        Waiting(str(run["title"]), home["name"], int(run["wait"]), str(run["said"]))
        for home in homes
        for run in home["runs"]
    ]
    silent = {home["name"]: home["silent"] for home in homes}
    return Workers(str(address), "", local + away, silent, tuple(queued + waiting))


def in_fleet(workspace: Workspace) -> bool:
    """Whether other machines are shown: there is a fleet, and nobody here is a visitor."""
    return bool(os.environ.get(VARIABLE)) and not workspace.read_only


@functools.lru_cache(maxsize=1)
def _roster(address: Address) -> Roster:
    from theodolite.store.fleet import Roster

    return Roster(address.database())


def _local(workspace: Workspace) -> tuple[WorkerNow, ...]:
    from theodolite.app.fleet.needs import Machine

    rows = workspace.store.workers.list()
    if not rows:
        return ()
    at_work: dict[str | None, RunRow] = {
        run["worker"]: run for run in workspace.store.runs.list(["running"])
    }
    has = Machine(workspace.catalog, ("everything",)).has()
    found = []
    for row in rows:
        run = at_work.get(row["slot"])
        doing = "" if run is None else f"{run['title']}: {run['message']}".removesuffix(": ")
        found.append(
            WorkerNow(
                row["slot"],
                row["host"],
                True,
                doing,
                run and run["fraction"],
                run and run["started"],
                row["started"],
                row["seen"],
                has,
            )
        )
    return tuple(found)


def _member(member: Mapping[str, Any], moment: float) -> WorkerNow:
    doing = member["doing"]
    labels = dict.fromkeys(filter(None, (doing.get("label"), doing.get("message"))))
    return WorkerNow(
        member["slot"],
        member["host"],
        False,
        ": ".join(labels),
        doing.get("share"),
        doing.get("since"),
        member["started"],
        moment - member["silent"],
        member["has"],
    )
