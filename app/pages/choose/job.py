"""The job *choose*: evaluates encoders on your own data, one unit each, then makes the sheet."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.board import cost
from theodolite.app.pages.choose import data, sheet
from theodolite.app.pages.choose.sheet import Sheet
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import parse
from theodolite.engine.errors import UserError

BASELINE = "random:256"
"""Baseline of every sheet: random word vectors, without learned knowledge."""
MIN_BYTES = 16
MARGIN = 2.0
"""Points that a cheaper form may lose, unless the person sets others."""


@dataclass(frozen=True)
class ChooseJob(Job):
    """Chooses among encoders for a data set; made with `of`.

    Attributes:
        dataset: name in the catalog.
        encoders: canonical specs.
        max_ms: most milliseconds for a single sentence on this machine.
        max_bytes: most bytes per vector; encoders are measured in a precision and size that fit.
        licences: allowed licences of the weights; empty for any.
        margin: points that a cheaper form may lose.
    """

    kind = "choose"
    continue_on_crash = True
    continue_on_failure = True

    dataset: str
    encoders: tuple[str, ...]
    max_ms: float | None = None
    max_bytes: int | None = None
    licences: tuple[str, ...] = ()
    margin: float = MARGIN

    @classmethod
    def of(
        cls,
        dataset: str,
        encoders: Sequence[str],
        max_ms: float | None = None,
        max_bytes: int | None = None,
        licences: Sequence[str] = (),
        margin: float | None = None,
    ) -> ChooseJob:
        """A job from validated arguments in canonical form: equal requests are equal jobs."""
        names = tuple(dict.fromkeys(str(parse(encoder)) for encoder in encoders))
        if not names:
            raise UserError("No encoder chosen.", "Choose at least one.", code="missing")
        if max_ms is not None and max_ms <= 0:
            raise UserError(f"No encoder takes {max_ms:g} ms per sentence.", "Give more than 0.")
        if max_bytes is not None and max_bytes < MIN_BYTES:
            raise UserError(
                f"{max_bytes} bytes are too few for a vector.", f"Give at least {MIN_BYTES}."
            )
        lost = MARGIN if margin is None else float(margin)
        if not 0 < lost <= 100:
            raise UserError(f"{lost:g} cannot be a margin.", "Give points from 0 to 100.")
        kept = tuple(sorted({one.strip().casefold() for one in licences if one.strip()}))
        return cls(dataset, names, max_ms, max_bytes, kept, lost)

    @property
    def title(self) -> str:
        """`Choose among 3 encoders for upload:reviews`."""
        many = f"{len(self.encoders)} encoders" if len(self.encoders) > 1 else self.encoders[0]
        return f"Choose among {many} for {self.dataset}"

    @property
    def baseline(self) -> str:
        """The random encoder that the others must beat."""
        from theodolite.engine.encoders.variants import baseline

        return next((name for name in self.encoders if baseline(name) == "random"), BASELINE)

    def with_baseline(self) -> list[str]:
        """The requested encoders and the baseline."""
        return list(dict.fromkeys([*self.encoders, self.baseline]))

    def validate(self, workspace: Workspace) -> None:
        """Refuse data that cannot be read, or whose labels are all the same."""
        data.check(workspace.catalog.load(self.dataset))

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether a current sheet of the same encoders and data exists."""
        found = sheet.stored(workspace, self)
        return found is not None and sheet.is_current(workspace, found)

    def units(self) -> list[str]:
        """One unit per encoder, and one for the sheet."""
        return [
            *(f"Evaluating {name} on {self.dataset}" for name in self.with_baseline()),
            "Decision sheet",
        ]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Sheet]:
        """Measure one encoder, or make and yield the sheet."""
        names = self.with_baseline()
        if position == len(names):
            yield sheet.make(workspace, self, reporter.tick)
            return
        encoder = names[position]
        task = data.task_of(workspace, self.dataset)
        if task is None:
            data.vectors(workspace, encoder, self.dataset, reporter)
        else:
            row = evaluated(workspace, encoder, task, data.protocol_of(task), progress=reporter)
            if row["error"] is not None:
                raise UserError(row["error"], row["hint"] or "", code="failed")
        with contextlib.suppress(UserError):  # files of vectors cannot encode
            cost.ensure(workspace, encoder)
        found = sheet.stored(workspace, self)
        if found is not None and any(row["error"] for row in found["encoders"]):
            sheet.make(workspace, self)  # the encoder may have failed in that sheet
