"""The home's side of a fleet: send the units of a run out, and store the answers.

The store here stays the single source of truth. Units are looked up by ids made of the run, its
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
from typing import TYPE_CHECKING, Any, cast

from theodolite.app.fleet import files as bundles
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.files import Bundle, Damaged, Files
from theodolite.app.fleet.needs import Needs, lacking
from theodolite.app.fleet.unit import VERSION, WORK, Answer
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store import StoreError
from theodolite.store.fleet import LOG, Member, Reports, Roster, Units, UnitState
from theodolite.store.run_rows import STOP

if TYPE_CHECKING:
    from theodolite.app.jobs.job import Job
    from theodolite.store.run_rows import RunRow, UnitRow

FINISHED = "finished"
"""The event that describes the output of a training."""
LOOK_EVERY = 0.5
AHEAD = 256
"""Maximum number of units of a run in the database; all of them are looked up every round."""
MAX_STARTS = 20
"""Times that a unit is claimed by workers that each crash, before it is given up."""

_BEGUN = 1e-6  # least progress of a unit that a worker is executing
_MAX_DAMAGED = 3


class Coordinator:
    """Executes runs on a fleet. Safe to use from several threads, one run each.

    Args:
        workspace: its store holds runs and results, its catalog the data that workers must have
            unchanged.
        address: of the fleet's database.
        files: the address for files; None if only work without files goes out.
    """

    def __init__(self, workspace: Workspace, address: Address, files: Files | None = None) -> None:
        self._workspace, self._files = workspace, files
        self._store, self._catalog = workspace.store, workspace.catalog
        self._name, database = str(address), address.database()
        self._roster, self._units = Roster(database), Units(database)
        self._reports = Reports(database)
        self._away: dict[str, dict[str, Any]] = {}  # the progress last sent to the roster, by run

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
            resources, out = job.resources(self._catalog), part.resources(self._catalog).out
            if why := resources.local_only_reason():
                return why
            if self._files is None and (out or resources.paths()):
                return f"{job.title} needs files to be shared, so without --files it is done here."
            if bundles.is_address(out) and not (self._files and self._files.is_below(out)):
                return f"{out} is not below the address of --files, so nothing is written there."
            for path in resources.paths():
                bundles.pack(path)
        except UserError as error:  # its units will report it, or it is too large
            return error.message
        return ""

    def work(self, run: RunRow, attempt: int, job: Job) -> str:
        """Have the fleet do all waiting units; "ended", or "stopped" when the run was cancelled."""
        runs, run_id = self._store.runs, run["id"]
        sent = _SentRun(run, attempt, job)
        try:
            while True:
                shares: dict[int, float] = {}
                try:
                    word = runs.asked(run_id, attempt)
                    if word == STOP:
                        self._stop(sent, self._waiting(run_id))
                    waiting = self._waiting(run_id)
                    if word is None or not waiting:
                        self.cancel(run_id, attempt)  # also what a crash may have left there
                        return "stopped" if word is None else "ended"
                    message, shares = self._round(sent, waiting[:AHEAD])
                    self._announce(sent, len(waiting), message)
                except (StoreError, UserError) as error:  # the fleet's database, the disk, the data
                    message = error.message
                with contextlib.suppress(StoreError):
                    runs.shares(run_id, attempt, shares, message)
                time.sleep(LOOK_EVERY)
        finally:
            self._away.pop(run_id, None)

    def cancel(self, run_id: str, attempt: int) -> None:
        """Remove what is left of an attempt from the fleet; its workers stop within seconds.

        Raises:
            FleetAway: when the database does not answer.
        """
        self._units.remove_all(f"{run_id}-{attempt}-")

    def _waiting(self, run_id: str) -> list[UnitRow]:
        return [unit for unit in self._store.runs.units(run_id) if unit["state"] == "waiting"]

    def _announce(self, sent: _SentRun, waiting: int, message: str) -> None:
        """Report this home's runs in the fleet to the roster."""
        self._away[sent.run_id] = {"title": sent.title, "wait": waiting, "said": message}
        host = socket.gethostname()
        self._roster.home_seen(
            f"{host}:{self._store.folder}", host, list(self._away.copy().values())
        )

    def _stop(self, sent: _SentRun, waiting: Sequence[UnitRow]) -> None:
        """Have trainings in progress keep their best; skip those not begun."""
        known = self._units.of([sent.id_of(unit) for unit in waiting])
        begun = [name for name, state in known.items() if state["slot"] is not None]
        self._units.ask(begun, STOP)
        for unit in waiting:
            if sent.id_of(unit) not in begun:
                self._store.runs.end_unit(
                    sent.run_id,
                    unit["position"],
                    0.0,
                    "It was to stop before it began.",
                    "Retry the run to train it as well.",
                    left_out=sent.several,
                )
        self._units.remove([name for name in known if name not in begun])

    def _round(self, sent: _SentRun, waiting: Sequence[UnitRow]) -> tuple[str, dict[int, float]]:
        """Look the units up once, and send, store or send again each as needed.

        Returns:
            A status message, and position -> progress of the units in progress.
        """
        workers = [one for one in self._roster.list() if sent.work in one["has"].get("only", ())]
        units = {sent.id_of(unit): unit for unit in waiting}
        known = self._units.of(list(units))
        claimed = {s["slot"] for s in known.values() if s["slot"] and s["answer"] is None}
        forsaken = self._roster.forsaken([slot for slot in claimed if slot])
        self._hear(sent.run_id, units)
        missing: Counter[str] = Counter()
        gone: list[str] = []
        slots = {one["slot"] for one in workers}
        for name, unit in units.items():
            state = known.get(name)
            if state is None:
                missing.update(self._send(sent, unit, workers))
            elif state["answer"] is not None:
                self._keep(sent, unit, state["answer"])
                gone.append(name)
            elif state["starts"] > MAX_STARTS:
                error = f"{unit['label']} was given up: its worker ended {MAX_STARTS} times."
                hint = "Try it again; the log of its worker may have more."
                self._store.runs.end_unit(sent.run_id, unit["position"], 0.0, error, hint)
                gone.append(name)
            elif _is_stuck(state, forsaken, slots):
                gone.append(name)
        if gone:  # those that are not over are sent again in the next round
            self._units.remove(gone)
        shares = {
            units[at]["position"]: min(1.0, max(_BEGUN, one["doing"].get("share", 0.0)))
            for one in workers
            if (at := str(one["doing"].get("unit", ""))) in units
        }
        return _message(sent, workers, missing, self._name), shares

    def _send(self, sent: _SentRun, unit: UnitRow, workers: Sequence[Member]) -> list[str]:
        """Send a unit to the workers that can do it, else return what they lack."""
        end_unit, position = self._store.runs.end_unit, unit["position"]
        try:
            part = sent.part(position)
            if part.is_stored(self._workspace):
                end_unit(sent.run_id, position, 0.0)
                return []
            resources = part.resources(self._catalog)
            needs = resources.needs(self._catalog)
            found = {one["slot"]: lacking(needs, one["has"]) for one in workers}
            able = [slot for slot, lack in found.items() if not lack]
            if workers and not able:
                return list(dict.fromkeys(what for lack in found.values() for what in lack))
            for path in resources.paths():
                if self._files is not None and path not in sent.bundles:
                    sent.bundles[path] = self._files.put(path)
            files = {path: sent.bundles[path] for path in resources.paths()}
        except UserError as error:
            end_unit(sent.run_id, position, 0.0, error.message, error.hint)
            return []
        given = {"kind": part.kind, "spec": part.to_spec(), "label": unit["label"]}
        self._units.add(
            sent.id_of(unit),
            sent.work,
            VERSION,
            {**given, "needs": needs, "files": files},
            sent.priority,
            None if len(able) == len(workers) else able,
        )
        return []

    def _keep(self, sent: _SentRun, unit: UnitRow, text: str) -> None:
        """Store the answer to a unit; a unit that was not done is sent again."""
        position, slot = unit["position"], "its worker"
        try:
            answer: Answer = json.loads(text)
            if not isinstance(answer, dict):
                raise TypeError(type(answer))
            slot = answer.get("slot", slot)
            if "damaged" in answer:
                raise Damaged(str(answer["damaged"]), "Try it again.")
            if "outcome" in answer:
                outcome = self._store_answer(sent, unit, answer)
                self._store.runs.end_unit(sent.run_id, position, **outcome)
            return  # else the roster shows by now what that worker lacks
        except Damaged as error:  # whoever has the file still puts it there again
            sent.damaged[position] += 1
            sent.bundles.clear()
            if sent.damaged[position] < _MAX_DAMAGED:
                return
            message, hint = error.message, error.hint
        except (AttributeError, KeyError, TypeError, ValueError):
            message = f"The answer of {slot} to {unit['label']} cannot be read."
            hint = "Have that worker run the version of Theodolite that runs here."
        self._store.runs.end_unit(sent.run_id, position, 0.0, message, hint)

    def _store_answer(self, sent: _SentRun, unit: UnitRow, answer: Answer) -> dict[str, Any]:
        """Store what a worker did; return how the unit ended, as `Runs.end_unit` takes it."""
        run_id, position = sent.run_id, unit["position"]
        outcome, part = dict(answer["outcome"]), sent.part(position)
        took = outcome["error"] or f"Took {outcome['seconds']:.1f} s."
        for kind, data in answer.get("reports", ()):
            self._keep_report(run_id, position, kind, data)
        try:
            resources = part.resources(self._catalog)
            folder = answer.get("folder")
            if folder is not None and resources.out and not part.is_stored(self._workspace):
                self._bring(resources.out, folder)
            if resources.out and outcome["error"] is None:
                part.receive(
                    self._workspace, self._store.events.last(run_id, FINISHED, position) or {}
                )
            self._keep_results(resources.needs(self._catalog), answer.get("results", ()))
        except UserError as error:
            outcome |= {"error": error.message, "hint": error.hint}
        self._store.logs.note(run_id, f"{unit['label']}, by {answer['slot']}: {took}")
        return outcome

    def _keep_results(self, needs: Needs, results: Sequence[Mapping[str, Any]]) -> None:
        for result in results:
            if result["data_hash"] and result["data_hash"] not in needs["data"].values():
                raise UserError("It was evaluated on other data.", "Try again.", code="mismatch")
            try:
                self._store.results.keep(result)
            except StoreError as error:
                if error.__cause__ is None or isinstance(error.__cause__, OSError):
                    raise  # the disk: the answer stays where it is until there is room
                raise UserError(error.message, error.hint, code="damaged") from error

    def _bring(self, place: str, bundle: Bundle) -> None:
        """Copy an output folder to where the part's spec has it; the same folder there stays."""
        if self._files is None:
            raise UserError(f"{place} cannot be fetched.", "Give --files.", code="missing")
        if bundles.is_address(place):
            self._files.copy(bundle, place)
        else:
            out = Path(place)
            arriving = out.with_name(f"{out.name}.arriving")
            if not (out.is_dir() and any(out.iterdir())):
                self._files.fetch(bundle, arriving).rename(out)
            elif not bundles.same_content(bundles.pack(place), bundle):
                raise UserError(
                    f"{out} is there already, and is not what was trained.",
                    "Choose another folder; nothing is overwritten.",
                    code="conflict",
                )
            shutil.rmtree(arriving, ignore_errors=True)
        self._files.forget(bundle)

    def _hear(self, run_id: str, units: Mapping[str, UnitRow]) -> None:
        """Store new reports of a run's units."""
        while heard := self._reports.of(list(units)):
            for one in heard:
                self._keep_report(run_id, units[one["unit"]]["position"], one["kind"], one["data"])
            self._reports.remove([one["id"] for one in heard])

    def _keep_report(self, run_id: str, position: int, kind: str, data: Mapping[str, Any]) -> None:
        """Store a report: lines of the log, or an event; the event `FINISHED` only once."""
        if kind == LOG:
            lines = data.get("lines")
            self._store.logs.note(run_id, *map(str, lines if isinstance(lines, list) else ()))
        elif kind != FINISHED or self._store.events.last(run_id, kind, position) != data:
            self._store.events.add(run_id, kind, data, position)


class _SentRun:
    """A run, its job, and facts about its units."""

    def __init__(self, run: RunRow, attempt: int, job: Job) -> None:
        self.run_id, self.attempt, self.priority = run["id"], attempt, run["priority"]
        self.title, self.job = run["title"], job
        self.several = len(job.units()) > 1
        self.damaged: Counter[int] = Counter()  # times that files of a unit were damaged
        self.bundles: dict[str, Bundle] = {}  # of the paths that were put at the address for files
        self.work = WORK[self.part(0).kind]

    def part(self, position: int) -> Job:
        """A unit as a job of its own."""
        return cast("Job", self.job.part(position))

    def id_of(self, unit: UnitRow) -> str:
        """The id under which a unit is sent, once."""
        return f"{self.run_id}-{self.attempt}-{unit['position']}"


def _is_stuck(state: UnitState, forsaken: set[str], slots: set[str]) -> bool:
    """Whether a unit would never be done where it is: its workers are gone for good."""
    if state["slot"] is not None:
        return state["slot"] in forsaken
    return state["slots"] is not None and not slots.intersection(state["slots"])


def _message(
    sent: _SentRun, workers: Sequence[Member], missing: Mapping[str, int], name: str
) -> str:
    """Status message of a run in progress."""
    if not workers:
        return f"No worker takes it yet: theodolite worker --fleet {name}"
    if missing:
        what, count = max(missing.items(), key=lambda item: item[1])
        return f"No worker has {what}: {count} of the parts wait for it."
    at_it = [
        f"{one['slot']}: {one['doing'].get('message') or one['doing'].get('label', '')}"
        for one in workers
        if str(one["doing"].get("unit", "")).startswith(f"{sent.run_id}-")
    ]
    more = f" and {len(at_it) - 3} more" if len(at_it) > 3 else ""
    return ", ".join(at_it[:3]) + more or "Waiting for a worker."
