"""The jobs *train*, *train-decoder* and *sweep*: from a spec to what is listed and can be used."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from app.formats import last_part
from app.jobs.job import Job, LeftOut, Upgrades
from app.jobs.job import Spec as JobSpec
from app.pages.encoders.service import refresh
from app.pages.train.report import TrainingReport, last_event
from engine.decoding.events import DECODER_EVENTS, DecoderFinished
from engine.decoding.spec import DecoderSpec
from engine.errors import UserError
from engine.paths import named
from engine.training import Event, Finished, TrainSpec, sweeps
from engine.training.base_spec import BaseSpec
from engine.training.events import EVENTS
from store.run_rows import STOP

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace
    from store import Store

LEFT_OUT = "Left out: the sweep was asked to stop before."
Spec = TypeVar("Spec", bound=BaseSpec)
Children = Sequence[tuple[str, Mapping[str, Any]]]
"""Of a sweep: a label for people, and the fields that are not as in its base."""


@dataclass(frozen=True)
class TrainingJob(Job, Generic[Spec]):
    """A training of one thing; made with `of`.

    Attributes:
        spec: what to train; with whole paths, and a folder to go to.
        spec_type: its class.
        event_types: of what is told while it goes on, by kind.
    """

    spec: Spec
    spec_type: ClassVar[type[BaseSpec]]
    event_types: ClassVar[Mapping[str, type[Event]]]

    @classmethod
    def of(cls, workspace: Workspace, spec: Spec) -> Self:
        """The job that means the same in another process.

        Args:
            workspace: which is to list what is trained.
            spec: what to train; with an empty `out`, into a folder of the store.

        Raises:
            UserError: what it names cannot be read.
        """
        spec = cls.resolve(workspace, spec)
        out = named(spec.out).absolute() if spec.out else cls.home(workspace, spec)
        return cls(replace(spec, out=str(out)))

    @staticmethod
    def resolve(workspace: Workspace, spec: Spec) -> Spec:
        """The spec with whole paths."""
        raise NotImplementedError

    @staticmethod
    def home(workspace: Workspace, spec: Spec) -> Path:
        """A folder of the store; the same question has the same one."""
        raise NotImplementedError

    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """Train to the end; what was begun before goes on from its checkpoint.

        Raises:
            UserError: what was asked cannot be trained.
        """
        raise NotImplementedError

    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """List what was trained, given its last event."""
        raise NotImplementedError

    def preparation(self, workspace: Workspace) -> float:
        """About which share of the time passes before the updates."""
        return 0.0

    def told(self, evaluated: Mapping[str, Any]) -> str:
        """What of an evaluation stands beside the progress; empty for what stood there before."""
        raise NotImplementedError

    def to_spec(self) -> dict[str, Any]:
        """As the folder of what is trained has it."""
        return self.spec.to_dict()

    @classmethod
    def from_spec(cls, spec: JobSpec) -> Self:
        """The training in the spec of a run."""
        return cls(cls.spec_type.from_dict(spec))  # type: ignore[arg-type]

    def happened(self, kind: str, data: Mapping[str, Any]) -> Event | None:
        """The event."""
        return self.event_types[kind](**data)

    def units(self) -> list[str]:
        """One unit: what would be lost of it is in its checkpoint, and among the vectors."""
        return [self.title]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Event]:
        """Train, and have the store know what happens while it does; yields what happens.

        A unit that was over when its process was killed is not trained again.

        Raises:
            UserError: as `train`, or it was stopped before there was anything to keep.
        """
        over = last_event(workspace, reporter, Finished)
        if over is not None:
            self.register(workspace, over)
            return
        report = TrainingReport(self, workspace, reporter)
        for event in self.train(workspace, lambda: reporter.asked(STOP)):
            report(event)
            if isinstance(event, Finished | DecoderFinished):
                over = event.to_dict()
                self.register(workspace, over)
            yield event
        if over is None:
            raise UserError(
                "Stopped before the first update: there is nothing to keep yet.",
                "Tried again, it goes on from there; the vectors are kept.",
            )


@dataclass(frozen=True)
class TrainJob(TrainingJob[TrainSpec]):
    """The training of an encoder."""

    kind = "train"
    version = TrainSpec.version
    upgrades: ClassVar[Upgrades] = {1: TrainSpec.of_today}
    spec_type = TrainSpec
    event_types = EVENTS

    @property
    def title(self) -> str:
        """`unsup from minilm on sentences.txt`."""
        spec = self.spec
        return f"{spec.objective} from {last_part(spec.base)} on {last_part(spec.train)}"

    @staticmethod
    def resolve(workspace: Workspace, spec: TrainSpec) -> TrainSpec:
        """Also of a base in a folder."""
        if spec.base.startswith("dir:"):
            spec = replace(spec, base="dir:" + str(named(spec.base[4:]).absolute()))
        return replace(spec, train=_absolute(spec.train))

    @staticmethod
    def home(workspace: Workspace, spec: TrainSpec) -> Path:
        """Among the encoders."""
        return _encoder_home(workspace, spec, spec.hash)

    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """As `engine.train` does."""
        from engine.train import train

        return train(self.spec, workspace.catalog, stop=stop)

    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Among the encoders."""
        refresh(workspace, finished["encoder"])

    def told(self, evaluated: Mapping[str, Any]) -> str:
        """The best dev score."""
        return f", best dev score {evaluated['score']:.2f}" if evaluated["best"] else ""


@dataclass(frozen=True)
class TrainDecoderJob(TrainingJob[DecoderSpec]):
    """The training of a decoder."""

    kind = "train-decoder"
    version = DecoderSpec.version
    spec_type = DecoderSpec
    event_types = DECODER_EVENTS

    @property
    def title(self) -> str:
        """`decoder of minilm on sentences.txt`."""
        texts = ", ".join(last_part(name) for name in self.spec.train)
        return f"decoder of {self.spec.encoder} on {texts}"

    @staticmethod
    def resolve(workspace: Workspace, spec: DecoderSpec) -> DecoderSpec:
        """And the encoder in its canonical form; the decoder to start from may be a listed one."""
        from app import decoders
        from engine import encoders

        encoder, train = str(encoders.parse(spec.encoder)), map(_absolute, spec.train)
        start = spec.start and str(decoders.folder_of(workspace, spec.start))
        return replace(spec, encoder=encoder, train=tuple(train), start=start)

    @staticmethod
    def home(workspace: Workspace, spec: DecoderSpec) -> Path:
        """Among the decoders."""
        name = slug(spec.encoder.rsplit("/", 1)[-1], "decoder")
        return workspace.store.decoders.folder / f"{name}-{spec.hash[:10]}"

    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """As `engine.decoding.train` does, with the vectors that the store has."""
        from engine.decoding.train import train_decoder

        encoder = workspace.load(self.spec.encoder)
        return train_decoder(self.spec, workspace.catalog, encoder=encoder, stop=stop)

    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Among the decoders."""
        from app import decoders

        decoders.register(workspace, Path(finished["out"]))

    def preparation(self, workspace: Workspace) -> float:
        """Encoding the sentences."""
        from app.pages.train.decoder_estimates import guess

        found = guess(workspace, self.spec)
        return found.encoding / found.seconds if found.seconds else 0.0

    def told(self, evaluated: Mapping[str, Any]) -> str:
        """The loss."""
        return f", loss {evaluated['loss']:.3f} on held-out sentences"


@dataclass(frozen=True)
class SweepJob(Job):
    """Several trainings of encoders; made with `of`.

    Attributes:
        children: of each a `label` for people, and the `spec` of a training.
    """

    kind = "sweep"
    continue_on_crash = True
    continue_on_failure = True

    children: tuple[Mapping[str, Any], ...]

    @classmethod
    def of(cls, workspace: Workspace, base: TrainSpec, children: Children) -> Self:
        """Several trainings as one job.

        Args:
            workspace: which is to list the encoders.
            base: what the children share; each gets a folder of its own under `out`.
            children: each at least a label.

        Raises:
            UserError: no child, an unknown field, or a value that cannot be.
        """
        if not children:
            raise UserError("A sweep needs at least one child.", "Vary a field over its values.")
        asked = [
            (label, TrainSpec.from_dict({**base.to_dict(), **changes}))
            for label, changes in children
        ]
        if not base.out:
            together = hashlib.blake2b("".join(s.hash for _, s in asked).encode(), digest_size=4)
            home = _encoder_home(workspace, base, f"sweep-{together.hexdigest()}")
            base = replace(base, out=str(home))
        digits = len(str(len(asked)))
        made = []
        for number, (label, spec) in enumerate(asked, 1):
            out = f"{base.out}/{number:0{digits}}-{slug(label)}"
            spec = TrainJob.of(workspace, replace(spec, out=out)).spec
            made.append({"label": label, "spec": spec.to_dict()})
        return cls(tuple(made))

    @property
    def title(self) -> str:
        """`3 × unsup from minilm on sentences.txt`."""
        return f"{len(self.children)} × {TrainJob(self.child(0)).title}"

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
        if last_event(workspace, reporter, Finished) is None and reporter.asked(STOP):
            raise LeftOut(LEFT_OUT, "Try the run again to train it as well.")
        return TrainJob(self.child(position)).work(workspace, position, reporter)

    def happened(self, kind: str, data: Mapping[str, Any]) -> Event | None:
        """As of a child."""
        return TrainJob(self.child(0)).happened(kind, data)

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


def slug(text: str, otherwise: str = "child") -> str:
    """A text as the name of a folder; `otherwise` where nothing of it can stand in one."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:40] or otherwise


def _encoder_home(workspace: Workspace, spec: TrainSpec, mark: str) -> Path:
    base = slug(spec.base.rsplit("/", 1)[-1])
    return workspace.store.folder / "encoders" / f"{spec.objective}-{base}-{mark[:14]}"


def _absolute(train: str) -> str:
    """A file by its whole path; the name of a data set as it is."""
    path = named(train)
    return str(path.absolute()) if path.is_file() else train
