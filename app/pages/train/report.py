"""Records the events and the progress of a running training in the store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from theodolite.engine.training import Evaluated, Event, Started, Stepped
from theodolite.engine.training.events import Encoded

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.pages.train.job import TrainingJob
    from theodolite.app.workspace import Workspace

WHOLE = 1_000_000
"""Total of a unit's progress, of which the work before the updates has its share."""


class TrainingReport:
    """A callback that records each event of a training and updates its progress."""

    def __init__(self, job: TrainingJob[Any], workspace: Workspace, reporter: Reporter) -> None:
        self._job, self._reporter = job, reporter
        # Progress of an earlier process.
        self._encoded = (last_event(workspace, reporter, Encoded) or {"done": 0})["done"]
        self._begun = (last_event(workspace, reporter, Started) or {"step": 0})["step"]
        self._share = job.preparation(workspace)
        self._kept, self._best = 0, ""
        self._does = {
            Encoded.kind: self._encodes,
            Started.kind: self._starts,
            Stepped.kind: self._steps,
            Evaluated.kind: self._evaluates,
        }

    def __call__(self, event: Event) -> None:
        """Record an event."""
        data = event.to_dict()
        self._reporter.event(data.pop("kind"), data)
        if event.kind in self._does:
            self._does[event.kind](data)

    def _encodes(self, event: Mapping[str, Any]) -> None:
        done, sentences = event["done"], event["sentences"]
        text = f"{done:,} of {sentences:,} sentences encoded"
        self._reporter(int(WHOLE * self._share * done / sentences), WHOLE, text)
        if done > self._encoded:  # these are in the cache
            self._reporter.checkpointed()

    def _starts(self, event: Mapping[str, Any]) -> None:
        self._kept = event["step"]
        if self._kept or self._share:  # earlier work ran at another speed
            further = self._kept > self._begun
            self._reporter.resumed(self._of_whole(event), WHOLE, further=further)

    def _steps(self, event: Mapping[str, Any]) -> None:
        from theodolite.engine.training.checkpoint import (
            newest_step,  # imports torch, needless on pages
        )

        text = f"update {event['step']:,} of {event['steps']:,}{self._best}"
        self._reporter(self._of_whole(event), WHOLE, text)
        newest = newest_step(self._job.spec.working_folder) or 0
        if newest > self._kept:
            self._reporter.checkpointed()
        self._kept = max(newest, self._kept)

    def _evaluates(self, event: Mapping[str, Any]) -> None:
        self._best = self._job.evaluation_note(event) or self._best

    def _of_whole(self, event: Mapping[str, Any]) -> int:
        """Progress of the unit after the event's updates, out of `WHOLE`."""
        done = event["step"] / max(1, event["steps"])
        return int(WHOLE * (self._share + (1 - self._share) * done))


def last_event(
    workspace: Workspace, reporter: Reporter, kind: type[Event]
) -> dict[str, Any] | None:
    """The data of the unit's newest event of a kind; None for none."""
    return workspace.store.events.last(reporter.run, kind.kind, reporter.position)
