"""The job *sweep*: several trainings of encoders, one unit each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any, Self

from theodolite.app.fleet.needs import Resources
from theodolite.app.jobs.job import Job, LeftOut
from theodolite.app.pages.train.job import TrainJob, encoder_home, slug
from theodolite.app.pages.train.report import last_event
from theodolite.engine.errors import UserError
from theodolite.engine.training import Event, Finished, TrainSpec, sweeps
from theodolite.store.run_rows import STOP

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace
    from theodolite.engine.datasets import Catalog
    from theodolite.store import Store

LEFT_OUT = "Left out: the sweep was asked to stop before."
Children = Sequence[tuple[str, Mapping[str, Any]]]
"""Children of a sweep: a label for people, and the fields that differ from its base."""


@dataclass(frozen=True)
class SweepJob(Job):
    """Several trainings of encoders; made with `of`.

    Attributes:
        children: the `label` for people and the `spec` of each training.
    """

    kind = "sweep"
    continue_on_crash = True
    continue_on_failure = True

    children: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, workspace: Workspace, base: TrainSpec, children: Children) -> Self:
        """Several trainings as one job.

        Args:
            workspace: where the encoders are registered.
            base: what the children share; each gets a folder of its own under `out`.
            children: label and changes of each; changes may be empty.
        """
        if not children:
            raise UserError(
                "A sweep needs at least one training.",
                "Vary a field over its values.",
                code="too-few",
            )
        specs = [
            (label, TrainSpec.from_dict({**base.to_dict(), **changes}))
            for label, changes in children
        ]
        if not base.out:
            together = hashlib.blake2b("".join(s.hash for _, s in specs).encode(), digest_size=4)
            home = encoder_home(workspace, base, f"sweep-{together.hexdigest()}")
            base = replace(base, out=str(home))
        digits = len(str(len(specs)))
        made = []
        for number, (label, spec) in enumerate(specs, 1):
            out = f"{base.out}/{number:0{digits}}-{slug(label)}"
            spec = TrainJob.of(workspace, replace(spec, out=out)).spec
            made.append({"label": label, "spec": spec.to_dict()})
        return cls(tuple(made))

    @property
    def title(self) -> str:
        """`3 × unsup from minilm on sentences.txt`."""
        return f"{len(self.children)} × {TrainJob(self.child(0)).title}"

    def part(self, position: int) -> TrainJob | None:
        """The training of a child."""
        if not 0 <= position < len(self.children):
            return None
        return TrainJob(self.child(position))

    def resources(self, catalog: Catalog) -> Resources:
        """Those of all children, but for the output of each."""
        of = [TrainJob(self.child(at)).resources(catalog) for at in range(len(self.children))]
        encoders, data, files = (
            list(dict.fromkeys(chain.from_iterable(names)))
            for names in zip(*((one.encoders, one.data, one.files) for one in of), strict=True)
        )
        return Resources(encoders, data, files)

    def child(self, position: int) -> TrainSpec:
        """The spec of the child at a position."""
        return TrainSpec.from_dict(self.children[position]["spec"])

    def units(self) -> list[str]:
        """The children in order, by their labels."""
        return [child["label"] for child in self.children]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Event]:
        """Train one child; none is begun once the sweep is asked to stop.

        Raises:
            LeftOut: the sweep was asked to stop.
        """
        if last_event(workspace, reporter, Finished) is None and reporter.asked(STOP):
            raise LeftOut(LEFT_OUT, "Retry the run to train it as well.", code="stale")
        return TrainJob(self.child(position)).work(workspace, position, reporter)

    def event_result(self, kind: str, data: Mapping[str, Any]) -> Event | None:
        """The event of a child."""
        return TrainJob(self.child(0)).event_result(kind, data)

    def ending(self, store: Store, run_id: str) -> str:
        """The best child by dev score, and how many failed or were left out."""
        states = store.runs.units(run_id)
        scored = scores(store, run_id, len(self.children))
        sentences = []
        first = self.best(scored)
        if first is not None:
            sentences.append(
                f"Best of {sum(score is not None for score in scored)}: "
                f"{self.children[first]['label']}, {scored[first]:.2f} on "
                f"{self.children[first]['spec']['dev']} dev."
            )
        left_out = sum(unit["state"] == "left out" for unit in states)
        failed = sum(unit["state"] == "failed" for unit in states)
        sentences += [f"{failed} failed."] if failed else []
        sentences += [f"{left_out} left out."] if left_out else []
        return " ".join(sentences)

    def best(self, scored: Sequence[float | None]) -> int | None:
        """The position of the best child; None without scores, or if the dev sets differ."""
        if len({child["spec"]["dev"] for child in self.children}) > 1:
            return None
        return sweeps.best(scored)


def scores(store: Store, run_id: str, children: int) -> list[float | None]:
    """The dev score of the kept weights of each child; None for a child without one."""
    ends = [store.events.last(run_id, Finished.kind, position) for position in range(children)]
    return [None if over is None else over["best_score"] for over in ends]
