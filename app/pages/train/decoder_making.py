"""The job *train-decoder*: one decoder, from its spec to the list of decoders."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.jobs.job import Job, Spec
from app.pages.train import decoders
from app.pages.train.making import last_part, saved
from engine.decoding.events import (
    DecoderEvaluated,
    DecoderFinished,
    DecoderStarted,
    DecoderStepped,
    Encoded,
)
from engine.decoding.spec import VERSION, DecoderSpec
from engine.errors import UserError
from engine.training.events import Event
from store.run_rows import STOP

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace

WHOLE = 1_000_000
"""Of the progress of a unit: encoding and training share it by how long each may take."""


@dataclass(frozen=True)
class TrainDecoderJob(Job):
    """The training of a decoder.

    Attributes:
        spec: what to train; with whole paths, and a folder to go to.
    """

    kind = "train-decoder"
    version = VERSION

    spec: DecoderSpec

    @property
    def title(self) -> str:
        """`decoder of minilm on sentences.txt`."""
        texts = ", ".join(last_part(name) for name in self.spec.train)
        return f"decoder of {self.spec.encoder} on {texts}"

    def to_spec(self) -> dict[str, Any]:
        """As the decoder's folder has it."""
        return self.spec.to_dict()

    @classmethod
    def from_spec(cls, spec: Spec) -> TrainDecoderJob:
        """The training in the spec of a run."""
        return cls(DecoderSpec.from_dict(spec))

    def units(self) -> list[str]:
        """One unit: what would be lost of it is in its checkpoint and among the vectors."""
        return [self.title]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Event]:
        """Train to the end; what was begun before goes on from its checkpoint."""
        return events(workspace, self.spec, reporter)


def events(workspace: Workspace, spec: DecoderSpec, reporter: Reporter) -> Iterator[Event]:
    """Train, and have the store know what happens while it does; yields what the training yields.

    A unit that was over when its process was killed is not trained again.

    Raises:
        UserError: what was asked cannot be trained, or it was stopped before there was anything.
    """
    from engine.decoding.train import train_decoder

    past = workspace.store.events
    over = past.last(reporter.run, DecoderFinished.kind, reporter.position)
    if over is not None:
        decoders.register(workspace, Path(over["out"]))
        return
    before = past.last(reporter.run, DecoderStarted.kind, reporter.position)
    encoded = (past.last(reporter.run, Encoded.kind, reporter.position) or {"done": 0})["done"]
    share, loss, finished, kept = _encoding_share(workspace, spec), "", False, 0
    training = train_decoder(
        spec, workspace.catalog, encoder=workspace.load(spec.encoder),
        stop=lambda: reporter.asked(STOP),
    )  # fmt: skip
    for event in training:
        data = event.to_dict()
        reporter.event(data.pop("kind"), data)
        if isinstance(event, Encoded):
            said = f"{event.done:,} of {event.sentences:,} sentences encoded"
            reporter(int(WHOLE * share * event.done / event.sentences), WHOLE, said)
            if event.done > encoded:  # the cache has these
                reporter.got_on()
        elif isinstance(event, DecoderStarted):
            further = event.step > 0 and (before is None or event.step > before["step"])
            # Encoding went at another speed: the time left is measured from here.
            reporter.resumed(_of_all(event, share), WHOLE, further=further)
            kept = event.step
        elif isinstance(event, DecoderStepped):
            said = f"update {event.step:,} of {event.steps:,}{loss}"
            reporter(_of_all(event, share), WHOLE, said)
            kept = saved(spec.out, kept, reporter)
        elif isinstance(event, DecoderEvaluated):
            loss = f", loss {event.loss:.3f} on held-out sentences"
        elif isinstance(event, DecoderFinished):
            finished = True
            decoders.register(workspace, Path(event.out))
        yield event
    if not finished:
        raise UserError(
            "Stopped before the first update: there is no decoder to keep yet.",
            "Tried again, it goes on from there; the vectors are kept.",
        )


def _of_all(event: DecoderStarted | DecoderStepped, share: float) -> int:
    """How far the unit is after so many updates, of `WHOLE`."""
    return int(WHOLE * (share + (1 - share) * event.step / max(1, event.steps)))


def _encoding_share(workspace: Workspace, spec: DecoderSpec) -> float:
    """About which part of the time goes into encoding."""
    from app.pages.train.decoder_estimates import guess

    found = guess(workspace, spec)
    return found.encoding / found.seconds if found.seconds else 0.0
