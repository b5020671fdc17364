"""The job *train*: one encoder, from its spec to the list of encoders."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from app.jobs.job import Job, Spec, Upgrades
from engine.training import Event, Finished, Started, Stepped, TrainSpec
from engine.training.spec import VERSION, of_today
from store.run_rows import STOP

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace


@dataclass(frozen=True)
class TrainJob(Job):
    """A training.

    Attributes:
        spec: what to train; with whole paths, and a folder to go to.
    """

    kind = "train"
    version = VERSION
    upgrades: ClassVar[Upgrades] = {1: of_today}

    spec: TrainSpec

    @property
    def title(self) -> str:
        """`unsup from minilm on sentences.txt`."""
        spec = self.spec
        return f"{spec.objective} from {last_part(spec.base)} on {last_part(spec.train)}"

    def to_spec(self) -> dict[str, Any]:
        """As the trained encoder's folder has it."""
        return self.spec.to_dict()

    @classmethod
    def from_spec(cls, spec: Spec) -> TrainJob:
        """The training in the spec of a run."""
        return cls(TrainSpec.from_dict(spec))

    def units(self) -> list[str]:
        """One unit: what would be lost of it is in its checkpoint."""
        return [self.title]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Event]:
        """Train to the end; what was begun before goes on from its checkpoint."""
        return events(workspace, self.spec, reporter)


def events(workspace: Workspace, spec: TrainSpec, reporter: Reporter) -> Iterator[Event]:
    """Train, and have the store know what happens while it does; yields what `train` yields.

    A unit that was over when its process was killed is not trained again.

    Raises:
        UserError: what was asked cannot be trained.
    """
    from engine.train import train

    past = workspace.store.events
    over = past.last(reporter.run, Finished.kind, reporter.position)
    if over is not None:
        workspace.show_encoder(over["encoder"])
        return
    before = past.last(reporter.run, Started.kind, reporter.position)
    score, kept = "", 0
    for event in train(spec, workspace.catalog, stop=lambda: reporter.asked(STOP)):
        data = event.to_dict()
        reporter.event(data.pop("kind"), data)
        if isinstance(event, Started) and event.step:
            further = before is None or event.step > before["step"]
            reporter.resumed(event.step, event.steps, further=further)
            kept = event.step
        elif isinstance(event, Stepped):
            reporter(event.step, event.steps, f"update {event.step:,} of {event.steps:,}{score}")
            kept = saved(spec.out, kept, reporter)
        elif event.kind == "looked" and data["best"]:
            score = f", best dev score {data['score']:.2f}"
        elif isinstance(event, Finished):
            workspace.show_encoder(event.encoder)
        yield event


def saved(out: str, kept: int, reporter: Reporter) -> int:
    """The update of the newest checkpoint; where it is newer than `kept`, the training got on."""
    newest = newest_checkpoint([out]) or 0
    if newest > kept:
        reporter.got_on()
    return max(newest, kept)


def newest_checkpoint(outs: Iterable[str]) -> int | None:
    """The update of the checkpoint of the training that was at work; None while there is none.

    Args:
        outs: the folders that trainings are to become.
    """
    found = [path for out in outs for path in Path(f"{out}.training").glob("step-*[0-9]")]
    return max((int(path.name.removeprefix("step-")) for path in found), default=None)


def last_part(name: str) -> str:
    """The name of a file or folder, without where it lies."""
    return name.rstrip("/\\").replace("\\", "/").rsplit("/", 1)[-1]
