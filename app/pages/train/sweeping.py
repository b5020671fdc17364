"""The job *sweep*: several encoders in a row, each a unit, and the best of them told."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from app.jobs.job import Job, LeftOut
from app.pages.train import making
from engine.training import Event, Finished, TrainSpec, sweeps
from store.run_rows import STOP

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace
    from store import Store

LEFT_OUT = "Left out: the sweep was asked to stop before."


@dataclass(frozen=True)
class SweepJob(Job):
    """Several trainings.

    Attributes:
        children: of each a `label` for people, and the `spec` of a training.
    """

    kind = "sweep"
    continue_on_crash = True
    continue_on_failure = True

    children: tuple[Mapping[str, Any], ...]

    @property
    def title(self) -> str:
        """`3 × unsup from minilm on sentences.txt`."""
        return f"{len(self.children)} × {making.TrainJob(self.child(0)).title}"

    def child(self, position: int) -> TrainSpec:
        """What the child at a position is asked to train."""
        return TrainSpec.from_dict(self.children[position]["spec"])

    def units(self) -> list[str]:
        """The children in order, by their labels."""
        return [child["label"] for child in self.children]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Event]:
        """Train one child; once the sweep was asked to stop, none is begun any more.

        Raises:
            UserError: it cannot be trained.
            LeftOut: the sweep was asked to stop before.
        """
        over = workspace.store.events.last(reporter.run, Finished.kind, position)
        if over is None and reporter.asked(STOP):
            raise LeftOut(LEFT_OUT, "Try the run again to train it as well.")
        return making.events(workspace, self.child(position), reporter)

    def ending(self, store: Store, run_id: str) -> str:
        """Which child is best by its dev score, and how many there are none of."""
        states = store.runs.units(run_id)
        scored = scores(store, run_id, len(self.children))
        said = []
        first = self.best(scored)
        if first is not None:
            said.append(
                f"Best of {sum(score is not None for score in scored)}: "
                f"{self.children[first]['label']}, {scored[first]:.2f} on "
                f"{self.children[first]['spec']['dev']} dev."
            )
        left_out = sum(unit["state"] == "left out" for unit in states)
        failed = sum(unit["state"] == "failed" for unit in states)
        said += [f"{failed} failed."] if failed else []
        said += [f"{left_out} left out."] if left_out else []
        return " ".join(said)

    def best(self, scored: Sequence[float | None]) -> int | None:
        """The position of the best child; None without scores, or if of several tasks."""
        if len({child["spec"]["dev"] for child in self.children}) > 1:
            return None
        return sweeps.best(scored)


def scores(store: Store, run_id: str, children: int) -> list[float | None]:
    """The dev score of the weights that were kept, one a child; None where there is none."""
    ends = [store.events.last(run_id, Finished.kind, position) for position in range(children)]
    return [None if over is None else over["best_score"] for over in ends]
