"""The page and the verb *Workers*: who executes jobs, here and in a fleet, and what waits."""

import functools
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Caveat, Caveats, Code, Finding, Table, Text
from theodolite.app.fleet.address import VARIABLE, Address
from theodolite.app.fleet.needs import Machine
from theodolite.app.question import Answer
from theodolite.app.web.progress import how_far
from theodolite.app.workspace import Workspace
from theodolite.store import StoreError
from theodolite.store.fleet import Fleet

TITLE = "Workers"
PATH = "workers"
DESCRIPTION = "The processes that execute jobs: here, and on the machines of a fleet."
POLL_SECONDS = 2
START = "theodolite worker --fleet postgresql://user@host/database --data FOLDER"
_MAX_NAMED = 8
"""What a worker has that is named before the rest is counted."""


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
        takes: the kinds of work it takes.
        machine: devices, cores and memory.
        has: its packages and data sets, these with a hash once they have been read.
    """

    slot: str
    host: str
    local: bool
    doing: str
    share: float | None
    since: float | None
    started: float
    seen: float
    takes: Sequence[str]
    machine: str
    has: Sequence[str]


@dataclass(frozen=True)
class Waiting:
    """A run with waiting parts.

    Attributes:
        title: title of the run.
        home: name of its home; empty for this machine's own queue.
        parts: number of its parts that wait or run elsewhere.
        why: reason for waiting, or who is at it.
    """

    title: str
    home: str
    parts: int
    why: str


@dataclass(frozen=True, repr=False)
class Workers(Answer):
    """A snapshot of workers and waiting runs.

    Attributes:
        fleet: address of the fleet's database, without a password; empty without a fleet.
        problem: why the fleet cannot be read; else empty.
        workers: the workers, those of this store first.
        waiting: the waiting runs.
        visitor: whether it is for somebody who can start no worker.
    """

    columns: ClassVar[Mapping[str, Any]] = {"slot": str, "host": str, "doing": str, "share": float}

    fleet: str
    problem: str
    workers: Sequence[WorkerNow]
    waiting: Sequence[Waiting]
    visitor: bool

    def rows(self) -> list[dict[str, Any]]:
        """A row for each worker and waiting run; `kind` says which."""
        return [
            *({"kind": "worker", **asdict(one)} for one in self.workers),
            *({"kind": "waiting", **asdict(one)} for one in self.waiting),
        ]

    def blocks(self) -> list[Block]:
        """Who is at what, and what waits."""
        at_work = sum(bool(worker.doing) for worker in self.workers)
        finding = f"{formats.plural(len(self.workers), 'worker')}, {at_work} at work"
        fleet = f"Fleet at {self.fleet}." if self.fleet else ""
        blocks: list[Block] = [Finding(finding if self.workers else "No worker is running", fleet)]
        if self.problem:
            blocks.append(Caveats([Caveat(self.problem)]))
        if self.workers:
            heads = ("worker", "host", "now", "done", "machine", "takes", "has", "started", "seen")
            blocks.append(Table("workers", heads, [_cells(worker) for worker in self.workers]))
        elif not self.visitor:
            start = "The app starts one; start more from a terminal:"
            blocks += [Text("", start), Code(["theodolite worker"])]
        if self.waiting:
            waiting = [(w.title, w.home or "this machine", w.parts, w.why) for w in self.waiting]
            columns = ("run", "home", "parts", "at work, or waiting for")
            blocks += [Text("To do"), Table("waiting", columns, waiting)]
        if not (self.fleet or self.visitor):
            more = (
                "Evaluations and trainings can be spread over machines that share a Postgres "
                "database: start the app with --fleet URL, and on each of the other machines run:"
            )
            blocks += [Text("More machines", more), Code([START])]
        return blocks


def _cells(one: WorkerNow) -> tuple[Any, ...]:
    has = [name.removeprefix("the package ").removeprefix("the data set ") for name in one.has]
    more = [f"{len(has) - _MAX_NAMED} more"] if len(has) > _MAX_NAMED else []
    return (
        one.slot,
        f"{one.host}, this machine" if one.local else one.host,
        one.doing or "free",
        formats.percent(one.share or 0.0) if one.doing else None,
        one.machine,
        ", ".join(one.takes),
        ", ".join([*has[:_MAX_NAMED], *more]),
        formats.ago(one.started),
        formats.ago(one.seen),
    )


def now(workspace: Workspace) -> Workers:
    """The workers on this store, and in the fleet of THEODOLITE_FLEET, if set.

    Visitors see no other machine.
    """
    workers, waiting = _local(workspace)
    fleet = problem = ""
    if in_fleet(workspace):
        address, moment = Address.parse(None), time.time()
        fleet = str(address)
        try:
            database = _database(address)
            for worker in database.workers():
                doing = ": ".join(dict.fromkeys(filter(None, (worker["label"], worker["message"]))))
                facts = {
                    name: worker[name] for name in ("slot", "host", "share", "since", "started")
                }
                facts |= {name: worker[name] for name in ("takes", "machine", "has")}
                silence = moment - worker["silent"]
                workers.append(WorkerNow(local=False, doing=doing, seen=silence, **facts))
            waiting += [
                Waiting(run["title"], run["home"], run["waiting"], run["message"])
                for run in database.runs()
            ]
        except StoreError as error:
            problem = str(error)
    return Workers(fleet, problem, workers, waiting, workspace.read_only)


def in_fleet(workspace: Workspace) -> bool:
    """Whether other machines are shown: there is a fleet, and nobody here is a visitor."""
    return bool(os.environ.get(VARIABLE)) and not workspace.read_only


@functools.lru_cache(maxsize=1)
def _database(address: Address) -> Fleet:
    return address.database()


def _local(workspace: Workspace) -> tuple[list[WorkerNow], list[Waiting]]:
    """The workers on this store, and the runs that wait for them."""
    runs, workers = workspace.store.runs, []
    at_work = {run["worker"]: run for run in runs.list(["running"])}
    machine = Machine(workspace.catalog)
    for row in workspace.store.workers.list():
        run = at_work.get(row["slot"])
        workers.append(
            WorkerNow(
                row["slot"],
                row["host"],
                True,
                f"{run['title']}: {run['message']}".removesuffix(": ") if run else "",
                run and run["fraction"],
                run and run["started"],
                row["started"],
                row["seen"],
                ("everything",),
                machine.summary,
                machine.has(),
            )
        )
    queued = [
        Waiting(run["title"], "", max(1, run["total"] - run["done"]), how_far(run))
        for run in runs.list(["queued"])
    ]
    return workers, queued


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    import gradio as gr

    import theodolite.app.surfaces.web as web
    from theodolite.app.web import parts
    from theodolite.app.web.controls import Answer as Changes, on_load, poll

    with parts.bar(TITLE, DESCRIPTION):
        pass
    answer = web.answer(elem_id="workers", elem_classes=["t-answer"])

    def load(request: gr.Request) -> Changes:
        return {answer: web.value(now(workspace).blocks())}

    def refresh(known: str) -> Changes:
        current = web.value(now(workspace).blocks())
        return None if current == known else {answer: current}

    opened = on_load(load, [answer], parts.notice())
    poll(POLL_SECONDS, opened, refresh, [answer], [answer])
