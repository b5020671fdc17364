"""The workers on this store's queue and in a fleet, and the runs that wait for them."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Caveat, Caveats, Code, Finding, Table, Text
from theodolite.app.fleet.address import VARIABLE, Address
from theodolite.app.question import Answer
from theodolite.store import StoreError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.store.fleet import Roster
    from theodolite.store.run_rows import RunRow

TURN = "Waits for its turn."
START = "theodolite worker --fleet postgresql://user@host/database --data FOLDER"
_NAMED = 6
"""Data sets named before the others are counted."""


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


@dataclass(frozen=True, repr=False)
class Workers(Answer):
    """A snapshot of workers, homes and waiting runs.

    Attributes:
        fleet: address of the fleet's database, without a password; empty without a fleet.
        problem: why the fleet cannot be read; else empty.
        workers: the workers, those of this store first.
        homes: name -> seconds since its last heartbeat.
        waiting: the waiting runs.
        visitor: whether it is for somebody who can start no worker.
    """

    columns: ClassVar[Mapping[str, Any]] = {"slot": str, "host": str, "doing": str, "share": float}

    fleet: str
    problem: str
    workers: tuple[WorkerNow, ...]
    homes: Mapping[str, float]
    waiting: tuple[Waiting, ...]
    visitor: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """A row for each worker, home and waiting run; `kind` says which."""
        homes = [{"name": name, "silent": silent} for name, silent in self.homes.items()]
        return [
            {"kind": kind, **row}
            for kind, rows in (
                ("worker", map(vars, self.workers)),
                ("home", homes),
                ("waiting", map(vars, self.waiting)),
            )
            for row in rows
        ]

    def blocks(self) -> list[Block]:
        """Who is at what, what waits, and who gives work to the fleet."""
        at_work = sum(bool(one.doing) for one in self.workers)
        finding = f"{formats.plural(len(self.workers), 'worker')}, {at_work} at work"
        if not self.workers:
            finding = "No worker is running"
        fleet = f"Fleet at {self.fleet}." if self.fleet else ""
        blocks: list[Block] = [Finding(finding, fleet)]
        if self.problem:
            blocks.append(Caveats([Caveat(self.problem)]))
        if self.workers:
            heads = ("worker", "host", "now", "done", "machine", "takes", "has", "started", "seen")
            blocks.append(Table("workers", heads, [_cells(one) for one in self.workers]))
        elif not self.visitor:
            start = "The app starts one; start more from a terminal:"
            blocks += [Text("", start), Code(["theodolite worker"])]
        if self.waiting:
            waiting = [(w.title, w.home or "this machine", w.parts, w.why) for w in self.waiting]
            columns = ("run", "home", "parts", "at work, or waiting for")
            blocks += [Text("To do"), Table("waiting", columns, waiting)]
        if self.homes:
            homes = [(name, f"{silent:.0f} s ago") for name, silent in self.homes.items()]
            blocks += [Text("Homes"), Table("homes", ("home", "last seen"), homes)]
        if not (self.fleet or self.visitor):
            more = (
                "Evaluations and trainings can be spread over machines that share a Postgres "
                "database: start the app with --fleet URL, and on each of the other machines run:"
            )
            blocks += [Text("More machines", more), Code([START])]
        return blocks


def _cells(one: WorkerNow) -> tuple[Any, ...]:
    has, data = one.has, list(one.has.get("data", {}).items())
    machine = [*has.get("devices", ()), formats.plural(int(has.get("cores", 1)), "core")]
    named = [f"{name} ({digest[:8]})" if digest else name for name, digest in data[:_NAMED]]
    more = [formats.plural(len(data) - _NAMED, "more data set")] if len(data) > _NAMED else []
    files = [f"files at {has['files']}"] if has.get("files") else []
    return (
        one.slot,
        f"{one.host}, this machine" if one.local else one.host,
        one.doing or "free",
        f"{one.share or 0.0:.0%}" if one.doing else None,
        ", ".join([*machine, formats.size(has.get("memory"))]),
        ", ".join(has.get("only", ())),
        ", ".join([*has.get("packages", {}), *files, *named, *more]),
        formats.ago(one.started),
        formats.ago(one.seen),
    )


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
        return Workers("", "", local, {}, tuple(queued), workspace.read_only)
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
