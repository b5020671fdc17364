"""The home's side of a fleet: send the units of a run out, and store the answers.

The store here stays the single source of truth. Units are read by ids made of the run, its
attempt and the position, so a home that was killed resumes by looking them up again.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from theodolite.app.fleet import files as bundles
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.files import Bundle, Damaged, Files
from theodolite.app.fleet.needs import FINISHED, VERSION, WORK, Resources, unmet
from theodolite.app.jobs.job import Job
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store import StoreError
from theodolite.store.fleet import LOG, FleetAway, Row
from theodolite.store.run_rows import LIVE, STOP, RunRow, UnitRow

LOOK_EVERY = 0.5
AHEAD = 256
"""Maximum number of units of a run in the database; all of them are read every round."""
MAX_STARTS = 20
"""Times that a unit is claimed by workers that each crash, before it is given up."""

_BEGUN = 1e-6  # least progress of a unit that a worker is executing
_MAX_DAMAGED = 3


def attempt_id(run_id: str, attempt: int) -> str:
    """How the ids of all units of an attempt begin; its own id in the fleet."""
    return f"{run_id}-{attempt}-"


class Coordinator:
    """Executes runs on a fleet. Safe to use from several threads, one run each.

    Args:
        workspace: its store holds runs and results, its catalog the data that workers must have
            unchanged.
        address: of the fleet's database.
        files: the address for files; None if only work without files goes out.
    """

    def __init__(self, workspace: Workspace, address: Address, files: Files | None = None) -> None:
        self.workspace, self.files = workspace, files
        self.fleet = address.database()
        self.name = f"{socket.gethostname()}:{workspace.store.folder}"

    @classmethod
    def here(cls, store_folder: Path, data_root: Path | None) -> Coordinator:
        """That of the fleet in THEODOLITE_FLEET, which no list of processes shows."""
        address = os.environ.get(bundles.VARIABLE)
        files = Files(address) if address else None
        return cls(Workspace(store_folder, data_root), Address.parse(None), files)

    def local_only_reason(self, job: Job) -> str:
        """Why a job cannot be sent to the fleet, in words; empty when it can."""
        try:
            part = job.part(0)
            if part is None or part.kind not in WORK:
                return f"Work of the kind {job.kind} is done at home."
            catalog = self.workspace.catalog
            resources, out = job.resources(catalog), part.resources(catalog).out
            if why := resources.local_only_reason():
                return why
            if self.files is None and (out or resources.paths()):
                return f"{job.title} needs files to be shared, so without --files it is done here."
            if bundles.is_address(out) and not (self.files and self.files.is_below(out)):
                return f"{out} is not below the address of --files, so nothing is written there."
            for path in resources.paths():
                bundles.pack(path)
        except UserError as error:  # its units will report it, or it is too large
            return error.message
        return ""

    def work(self, run: RunRow, attempt: int, job: Job) -> str:
        """Have the fleet do all waiting units; "ended", or "stopped" when the run was cancelled."""
        return SentRun(self, run, attempt, job).work()

    def cancel(self, run_id: str, attempt: int) -> None:
        """Remove what is left of an attempt from the fleet; its workers stop within seconds.

        Raises:
            FleetAway: when the database does not answer.
        """
        self.fleet.end(attempt_id(run_id, attempt))

    def clean(self) -> None:
        """Remove what is in the fleet of runs that ended while no worker was running here."""
        runs = self.workspace.store.runs.list(LIVE, 10_000)
        live = {attempt_id(run["id"], run["attempt"]) for run in runs}
        with contextlib.suppress(FleetAway):
            for run in self.fleet.runs(self.name):
                if run["id"] not in live:
                    self.fleet.end(run["id"])


class SentRun:
    """A run whose units go out, and how far they are."""

    def __init__(self, home: Coordinator, run: RunRow, attempt: int, job: Job) -> None:
        self._home, self._run, self._attempt, self._job = home, run, attempt, job
        self._store, self._fleet = home.workspace.store, home.fleet
        self._work = WORK[self._part(0).kind]
        self._damaged: Counter[int] = Counter()  # times that files of a unit were damaged
        self._bundles: dict[str, Bundle] = {}  # of the paths that were put at the address for files

    def _part(self, position: int) -> Job:
        return cast("Job", self._job.part(position))

    def id_of(self, unit: UnitRow) -> str:
        """The id under which a unit is sent, once."""
        return f"{attempt_id(self._run['id'], self._attempt)}{unit['position']}"

    def waiting(self) -> list[UnitRow]:
        """The units that are not over."""
        return [u for u in self._store.runs.units(self._run["id"]) if u["state"] == "waiting"]

    def work(self) -> str:
        """Have the fleet do all waiting units; "ended", or "stopped" when the run was cancelled."""
        runs, run_id = self._store.runs, self._run["id"]
        here, message = attempt_id(run_id, self._attempt), ""
        shares: Mapping[int, float] = {}  # while the database is away, the last known
        while True:
            try:
                word = runs.request(run_id, self._attempt)
                if word == STOP:
                    self._stop()
                waiting = self.waiting()
                if word is None or not waiting:
                    self._home.cancel(run_id, self._attempt)  # also what a crash left there
                    return "stopped" if word is None else "ended"
                title = self._run["title"]
                self._fleet.announce(here, self._home.name, title, len(waiting), message)
                message, shares = self.round(waiting[:AHEAD])
            except (StoreError, UserError) as error:  # the fleet's database, the disk, the data
                message = error.message
            with contextlib.suppress(StoreError):
                runs.shares(run_id, self._attempt, shares, message)
            time.sleep(LOOK_EVERY)

    def _end(self, unit: UnitRow, error: str, hint: str, *, left_out: bool = False) -> None:
        runs, position = self._store.runs, unit["position"]
        runs.end_unit(self._run["id"], position, 0.0, error, hint, left_out=left_out)

    def _stop(self) -> None:
        """Have trainings in progress keep their best; skip those not begun."""
        units = {self.id_of(unit): unit for unit in self.waiting()}
        known = self._fleet.units(list(units))
        started = [name for name, row in known.items() if row["slot"] is not None]
        self._fleet.ask(started, STOP)
        for name in units.keys() - started:
            error, hint = "It was stopped before it began.", "Retry the run to train it as well."
            self._end(units[name], error, hint, left_out=len(self._job.units()) > 1)
        self._fleet.remove(list(known.keys() - started))

    def round(self, waiting: Sequence[UnitRow]) -> tuple[str, dict[int, float]]:
        """Look the units up once, and send, store or send again each as needed.

        Returns:
            A status message, and position -> progress of the units in progress.
        """
        units = {self.id_of(unit): unit for unit in waiting}
        workers = [one for one in self._fleet.workers() if self._work in one["takes"]]
        known = self._fleet.units(list(units))
        while reports := self._fleet.reports(list(units)):
            for one in reports:
                self._keep_report(units[one["unit"]]["position"], one["kind"], one["data"])
            self._fleet.remove_reports([one["id"] for one in reports])
        missing: Counter[str] = Counter()
        over = []
        for name, unit in units.items():
            row = known.get(name)
            if row is None:
                self._send(name, unit)
            elif row["answer"] is not None:
                self._keep(unit, row["answer"])
                over.append(name)  # one that is to be done again is sent in the next round
            elif row["starts"] > MAX_STARTS:
                error = f"{unit['label']} was given up after its worker ended {MAX_STARTS} times."
                self._end(unit, error, "Try it again; the log of its worker may have more.")
                over.append(name)
            elif row["slot"] is None:
                lack = [unmet(row["needs"], worker["has"]) for worker in workers]
                missing.update({what for each in lack for what in each} if all(lack) else ())
        self._fleet.remove(over)
        busy = [one for one in workers if one["unit"] in units]
        shares = {units[one["unit"]]["position"]: max(_BEGUN, one["share"]) for one in busy}
        return self._message(workers, busy, missing), shares

    def _message(self, workers: Sequence[Row], busy: Sequence[Row], missing: Counter[str]) -> str:
        if not workers:
            return f"No worker takes it yet: theodolite worker --fleet {self._fleet.name}"
        for what, count in missing.most_common(1):
            return f"No worker has {what}: {count} of the parts wait for it."
        at_it = [f"{one['slot']}: {one['message'] or one['label']}" for one in busy]
        more = f" and {len(at_it) - 3} more" if len(at_it) > 3 else ""
        return ", ".join(at_it[:3]) + more or "Waiting for a worker."

    def _send(self, name: str, unit: UnitRow) -> None:
        """Send a unit out, with its files, unless its answer is stored."""
        workspace, part = self._home.workspace, self._part(unit["position"])
        try:
            if part.is_stored(workspace):
                self._store.runs.end_unit(self._run["id"], unit["position"], 0.0)
                return
            resources = part.resources(workspace.catalog)
            for path in resources.paths():
                if self._home.files is not None and path not in self._bundles:
                    self._bundles[path] = self._home.files.put(path)
            needs = resources.needs(workspace.catalog)
            fields = {
                "kind": part.kind,
                "spec": part.to_spec(),
                "label": unit["label"],
                "needs": needs,
                "files": {path: self._bundles[path] for path in resources.paths()},
            }
        except UserError as error:
            self._end(unit, error.message, error.hint)
            return
        self._fleet.send(name, self._work, VERSION, fields, needs, self._run["priority"])

    def _keep(self, unit: UnitRow, text: str) -> None:
        """Store the answer to a unit; one whose files were damaged is sent again."""
        position = unit["position"]
        part = self._part(position)
        try:
            answer = json.loads(text)
            if "damaged" in answer:
                raise Damaged(str(answer["damaged"]), "Try it again.")
            outcome, slot = dict(answer["outcome"]), str(answer["slot"])
            took = outcome["error"] or f"Took {outcome['seconds']:.1f} s."
            if outcome["error"] is None:
                try:
                    resources = part.resources(self._home.workspace.catalog)
                    self._keep_output(unit, part, resources, answer["bundle"])
                    self._keep_results(resources, answer["results"])
                except UserError as error:
                    outcome |= {"error": error.message, "hint": error.hint}
            self._store.runs.end_unit(self._run["id"], position, **outcome)
            self._store.logs.note(self._run["id"], f"{unit['label']}, by {slot}: {took}")
        except Damaged as error:  # whoever has the file still puts it there again
            self._damaged[position] += 1
            self._bundles.clear()
            if self._damaged[position] >= _MAX_DAMAGED:
                self._end(unit, error.message, error.hint)
        except (AttributeError, KeyError, TypeError, ValueError):
            message = f"The answer to {unit['label']} cannot be read."
            self._end(unit, message, "Have all machines run the same version of Theodolite.")

    def _keep_results(self, resources: Resources, results: Sequence[Mapping[str, Any]]) -> None:
        needs = resources.needs(self._home.workspace.catalog)
        for result in results:
            digest = result["data_hash"]
            if digest and not any(f"({digest[:12]})" in need for need in needs):
                raise UserError("It was evaluated on other data.", "Try again.", code="mismatch")
            try:
                self._store.results.keep(result)
            except StoreError as error:
                if error.__cause__ is None or isinstance(error.__cause__, OSError):
                    raise  # the disk: the answer stays where it is until there is room
                raise UserError(error.message, error.hint, code="damaged") from error

    def _keep_output(
        self, unit: UnitRow, part: Job, resources: Resources, bundle: Bundle | None
    ) -> None:
        """Copy an output folder to where the part's spec has it; the same folder there stays."""
        if not resources.out or bundle is None or self._home.files is None:
            return
        files, out = self._home.files, Path(resources.out)
        if not part.is_stored(self._home.workspace):
            if bundles.is_address(resources.out):
                files.copy(bundle, resources.out)
            elif not (out.is_dir() and any(out.iterdir())):
                arriving = out.with_name(f"{out.name}.arriving")
                files.fetch(bundle, arriving).rename(out)
                shutil.rmtree(arriving, ignore_errors=True)
            elif sorted(bundles.pack(str(out))["files"].values()) != sorted(
                map(list, bundle["files"].values())
            ):
                raise UserError(
                    f"{out} is there already, and is not what was trained.",
                    "Choose another folder; nothing is overwritten.",
                    code="conflict",
                )
        last = self._store.events.last(self._run["id"], FINISHED, unit["position"])
        if resources.receive is not None:
            resources.receive(self._home.workspace, last or {})
        files.remove(bundle)

    def _keep_report(self, position: int, kind: str, data: Mapping[str, Any]) -> None:
        """Store a report: lines of the log, or an event; the event `FINISHED` only once."""
        run_id = self._run["id"]
        if kind == LOG:
            lines = data.get("lines")
            self._store.logs.note(run_id, *map(str, lines if isinstance(lines, list) else ()))
        elif kind != FINISHED or self._store.events.last(run_id, kind, position) != data:
            self._store.events.add(run_id, kind, data, position)
