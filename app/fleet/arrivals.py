"""Store the results, folders and reports that arrive from the workers of a fleet."""

from __future__ import annotations

import contextlib
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.app.fleet import parcels
from theodolite.engine.errors import UserError
from theodolite.store import StoreError
from theodolite.store.fleet import LOG, Reports

if TYPE_CHECKING:
    from theodolite.app.fleet.needs import Needs
    from theodolite.app.fleet.queue import Answer
    from theodolite.app.jobs.job import Job
    from theodolite.app.workspace import Workspace
    from theodolite.store.run_rows import UnitRow
    from theodolite.store.transfers import Transfers

FINISHED = "finished"
"""The event that describes the output of a training."""


OWN = (".safetensors", ".npy", ".parquet")
"""Endings of the files of a folder that no other folder has."""


class Arrivals:
    """Stores results, folders, events and logs under the runs of this home, each once."""

    def __init__(self, workspace: Workspace, reports: Reports, transfers: Transfers) -> None:
        self._workspace, self._store = workspace, workspace.store
        self._reports, self._transfers = reports, transfers

    def hear(self, run_id: str, units: Mapping[str, int]) -> None:
        """Store new reports of a run's units, given as name -> position."""
        heard = self._reports.of(list(units))
        for one in heard:
            self._keep_report(run_id, units[one["unit"]], one["kind"], one["data"])
        if heard:
            self._reports.kept([one["id"] for one in heard])

    def keep(
        self, run_id: str, unit: UnitRow, part: Job, needs: Needs, answer: Answer
    ) -> dict[str, Any]:
        """Store the answer to a unit; return how it ended, as `Runs.end_unit` takes it."""
        outcome, position = dict(answer["outcome"]), unit["position"]
        took = outcome["error"] or f"Took {outcome['seconds']:.1f} s."
        for kind, data in answer["reports"]:
            self._keep_report(run_id, position, kind, data)
        try:
            if answer["folder"] is not None and not part.is_stored(self._workspace):
                self._bring(part, answer["folder"])
            if part.leaves() and outcome["error"] is None:
                finished = self._store.events.last(run_id, FINISHED, position) or {}
                part.arrived(self._workspace, finished)
            self._results(needs, answer)
        except UserError as error:
            outcome |= {"error": error.message, "hint": error.hint}
        self._note(run_id, f"{unit['label']}, by {answer['slot']}: {took}")
        return outcome

    def _results(self, needs: Needs, answer: Answer) -> None:
        for result in answer["results"]:
            if result["data_hash"] and result["data_hash"] not in needs.data.values():
                raise UserError("It was evaluated on other data.", "Try again.", code="mismatch")
            try:
                self._store.results.keep(result)
            except StoreError as error:
                if error.__cause__ is None or isinstance(error.__cause__, OSError):
                    raise  # the disk: it stays in the queue until there is room
                raise UserError(error.message, error.hint, code="damaged") from error

    def _bring(self, part: Job, parcel: parcels.Parcel) -> None:
        """Receive a folder at the path in the part's spec; the same folder there stays."""
        out = Path(part.leaves())
        arriving = out.with_name(f"{out.name}.arriving")
        if not (out.is_dir() and any(out.iterdir())):
            parcels.receive(self._transfers, parcel, arriving).rename(out)
        elif parcels.pack(str(out))["files"] != parcels.under(parcel, out.name)["files"]:
            raise UserError(
                f"{out} is there already, and is not what was trained.",
                "Choose another folder; nothing is overwritten.",
                code="conflict",
            )
        shutil.rmtree(arriving, ignore_errors=True)
        # A tokenizer is in other folders too, which may be on their way: `clean` deletes it.
        own = [digest for name, (digest, _) in parcel["files"].items() if name.endswith(OWN)]
        self._transfers.forget(own)

    def _keep_report(self, run_id: str, position: int, kind: str, data: Mapping[str, Any]) -> None:
        """Store a report: lines of the log, or an event; the event `FINISHED` only once."""
        if kind == LOG:
            lines = data.get("lines")
            self._note(run_id, *map(str, lines if isinstance(lines, list) else ()))
        elif kind != FINISHED or self._store.events.last(run_id, kind, position) != data:
            self._store.events.add(run_id, kind, data, position)

    def _note(self, run_id: str, *lines: str) -> None:
        stamp = time.strftime("%H:%M:%S")
        with (
            contextlib.suppress(OSError, StoreError),
            self._store.logs.path(run_id).open("a", encoding="utf-8") as file,
        ):
            file.writelines(f"{stamp}  {line}\n" for line in lines)
