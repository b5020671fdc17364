"""The kind of run `train-decoder`: one decoder, from its spec to the list of decoders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.decoding import decoders
from app.training.making import STOP, last_part
from engine.decoding.events import DecoderEvent, Finished, Looked, Started, Stepped
from engine.decoding.spec import DecoderSpec
from engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from app.jobs.reporter import Reporter
    from app.workspace import Workspace
    from engine.encoders.base import Encoder, Progress

KIND = "train-decoder"
WHOLE = 1_000_000
"""Of the progress of a unit: encoding and training share it by how long each may take."""


def units(spec: Any) -> list[str]:
    """One unit: what would be lost of it is in its checkpoint and among the vectors."""
    return [label(DecoderSpec.from_dict(spec))]


def label(spec: DecoderSpec) -> str:
    """`decoder of minilm on sentences.txt`."""
    return f"decoder of {spec.encoder} on {', '.join(last_part(name) for name in spec.train)}"


def work(workspace: Workspace, spec: Any, position: int, reporter: Reporter) -> None:
    """Train to the end; what was begun before goes on from its checkpoint."""
    for _ in events(workspace, DecoderSpec.from_dict(spec), reporter):
        pass


def events(workspace: Workspace, spec: DecoderSpec, reporter: Reporter) -> Iterator[DecoderEvent]:
    """Train, and have the store know what happens while it does; yields what the training yields.

    A unit that was over when its process was killed is not trained again.

    Raises:
        UserError: what was asked cannot be trained, or it was stopped before there was anything.
    """
    from engine.decoding.train import train_decoder

    past = workspace.store.events
    if past.last(reporter.run, Finished.kind, reporter.position) or _is_done(spec):
        yield from _over(workspace, spec, reporter)
        return
    before = past.last(reporter.run, Started.kind, reporter.position)
    encoder = _Followed(workspace.load(spec.encoder), reporter, _encoding_share(workspace, spec))
    loss = ""
    for event in train_decoder(
        spec, workspace.catalog, encoder=encoder, stop=lambda: reporter.asked(STOP)
    ):
        data = event.to_dict()
        reporter.event(data.pop("kind"), data)
        if isinstance(event, Started):
            further = before is None or event.step > before["step"]
            done = encoder.of_all(event.step, event.steps)
            reporter.resumed(done, WHOLE, further=further and event.step > 0)
        elif isinstance(event, Stepped):
            said = f"update {event.step:,} of {event.steps:,}{loss}"
            reporter(encoder.of_all(event.step, event.steps), WHOLE, said)
        elif isinstance(event, Looked):
            loss = f", loss {event.loss:.3f} on sentences kept apart"
        elif isinstance(event, Finished):
            decoders.register(workspace, Path(event.out))
        yield event


def _is_done(spec: DecoderSpec) -> bool:
    """Whether its folder is the decoder that this very spec makes."""
    try:
        return bool(decoders.facts_of(Path(spec.out)).get("spec") == spec.to_dict())
    except UserError:
        return False


def _over(workspace: Workspace, spec: DecoderSpec, reporter: Reporter) -> Iterator[DecoderEvent]:
    """List a decoder that was trained to its end by a process that could not say so."""
    decoders.register(workspace, Path(spec.out))
    if workspace.store.events.last(reporter.run, Finished.kind, reporter.position):
        return
    facts = decoders.facts_of(Path(spec.out))
    step = int(facts.get("step") or 0)
    over = Finished(step, step, float(facts.get("loss") or 0.0),
                    float(facts.get("seconds") or 0.0), spec.out)  # fmt: skip
    data = over.to_dict()
    reporter.event(data.pop("kind"), data)
    yield over


def _encoding_share(workspace: Workspace, spec: DecoderSpec) -> float:
    """About which part of the time goes into encoding."""
    from app.decoding.estimates import guess

    found = guess(workspace, spec)
    return found.encoding / found.seconds if found.seconds else 0.0


class _Followed:
    """An encoder that tells the run how far it is, and heeds what the run is asked meanwhile."""

    def __init__(self, encoder: Encoder, reporter: Reporter, share: float) -> None:
        self._encoder, self._reporter, self._share = encoder, reporter, share

    @property
    def name(self) -> str:
        return self._encoder.name

    @property
    def dim(self) -> int:
        return self._encoder.dim

    @property
    def fingerprint(self) -> str:
        return self._encoder.fingerprint

    @property
    def warnings(self) -> tuple[str, ...]:
        return self._encoder.warnings

    def of_all(self, step: int, steps: int) -> int:
        """How far the unit is after so many updates, of `WHOLE`."""
        return int(WHOLE * (self._share + (1 - self._share) * step / max(1, steps)))

    def encode(self, sentences: Sequence[str], progress: Progress | None = None) -> np.ndarray:
        """As the encoder does.

        Raises:
            UserError: the run is to stop: there is nothing to keep yet.
        """

        def told(done: int, total: int) -> None:
            if self._reporter.asked(STOP) or self._reporter.cancelled():
                raise UserError(
                    "Stopped while the sentences were being encoded.",
                    "There was no decoder to keep yet. Tried again, it goes on from there.",
                )
            at = int(WHOLE * self._share * done / max(1, total))
            self._reporter(at, WHOLE, f"{done:,} of {total:,} sentences encoded")
            if progress is not None:
                progress(done, total)

        return self._encoder.encode(sentences, told)
