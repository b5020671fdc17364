"""The job *choose*: evaluates encoders on your own data, one unit each, then makes the sheet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from theodolite.app import beforehand, sending
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose import data, sheet
from theodolite.app.pages.choose.spec import ChooseSpec
from theodolite.app.pages.encoders.service import ensure_listed
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError


@dataclass(frozen=True)
class ChooseJob(ChooseSpec, Job):
    """Chooses among encoders for a data set."""

    kind = "choose"
    continue_on_crash = True
    continue_on_failure = True

    @property
    def title(self) -> str:
        """`Choose among 3 encoders for upload:reviews`."""
        many = f"{len(self.encoders)} encoders" if len(self.encoders) > 1 else self.encoders[0]
        return f"Choose among {many} for {self.data}"

    def validate(self, workspace: Workspace) -> None:
        """Refuse data that cannot be read, or whose labels are all the same."""
        data.check(workspace.catalog.load(self.data))

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether a current sheet of the same encoders and data exists."""
        found = sheet.stored(workspace, self)
        return found is not None and sheet.is_current(workspace, found)

    def notices(self, workspace: Workspace) -> Iterator[str]:
        """The texts that endpoints would get, and settings that a model's files deny."""
        timed = cost.measured(workspace)
        for name, counts in sending.announced(workspace, self.encoders, self.data):
            yield counts if name in timed else f"{counts} Made-up texts are sent too, to time it."
        for name in self.encoders:
            for text in beforehand.of(workspace, name, [self.data]):
                yield f"{name}: {text}"

    def units(self) -> list[str]:
        """One unit per encoder, and one for the sheet."""
        return [*(f"Evaluating {name} on {self.data}" for name in self.measured), "Decision sheet"]

    def work(
        self, workspace: Workspace, position: int, reporter: Reporter
    ) -> Iterator[sheet.Sheet]:
        """Measure one encoder, or make and yield the sheet."""
        if position == len(self.measured):
            yield sheet.make(workspace, self, reporter.tick)
            return
        encoder = self.measured[position]
        if encoder in self.encoders:
            ensure_listed(workspace, [encoder])
        task = data.task_of(workspace, self.data)
        if task is None:
            data.vectors(workspace, encoder, self.data, reporter)
        else:
            row = evaluated(workspace, encoder, task, data.protocol_of(task), progress=reporter)
            if row["error"] is not None:
                raise UserError(row["error"], row["hint"] or "", code="failed")
        with contextlib.suppress(UserError):  # files of vectors cannot encode
            cost.ensure(workspace, encoder)
        found = sheet.stored(workspace, self)
        if found is not None and any(row["error"] for row in found["encoders"]):
            sheet.make(workspace, self)  # the encoder may have failed in that sheet
