"""The jobs *train* and *train-decoder*: from a spec to what is listed and can be used."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from app.fleet import outs
from app.formats import last_part
from app.jobs.job import Job, Upgrades
from app.jobs.job import Spec as JobSpec
from app.jobs.processes import under_torchrun
from app.pages.encoders.service import refresh
from app.pages.train import travel
from app.pages.train.report import TrainingReport, last_event
from engine.decoding.events import DECODER_EVENTS, DecoderFinished
from engine.decoding.spec import DecoderSpec
from engine.errors import UserError
from engine.paths import named
from engine.training import Event, Finished, TrainSpec
from engine.training.base_spec import BaseSpec
from engine.training.events import EVENTS
from engine.training.record import RECORD, encoder_of
from store.run_rows import STOP

if TYPE_CHECKING:
    from app.fleet.needs import Needs
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace
    from engine.datasets import Catalog
    from store import Store

Spec = TypeVar("Spec", bound=BaseSpec)


@dataclass(frozen=True)
class TrainingJob(Job, Generic[Spec]):
    """A training of one thing; made with `of`.

    Attributes:
        spec: what to train; with whole paths, and a folder to go to.
        spec_type: its class.
        event_types: of what is told while it goes on, by kind.
        record: the file in its folder that says how it came to be.
    """

    spec: Spec
    spec_type: ClassVar[type[BaseSpec]]
    event_types: ClassVar[Mapping[str, type[Event]]]
    record: ClassVar[str]

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
        out = whole_path(spec.out) if spec.out else str(cls.home(workspace, spec))
        return cls(replace(spec, out=out))

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

    def evaluation_note(self, evaluated: Mapping[str, Any]) -> str:
        """What of an evaluation stands beside the progress; empty for what stood there before."""
        raise NotImplementedError

    def reads(self) -> travel.Reads:
        """What it reads, by what can be done about it elsewhere."""
        raise NotImplementedError

    def files(self) -> list[str]:
        """Texts, and models in folders."""
        return self.reads().files

    def part(self, position: int) -> Self | None:
        """All of it."""
        return self if position == 0 else None

    def stays(self, catalog: Catalog) -> str:
        """Because of data or an encoder that only this machine may use."""
        return travel.stays(self.reads())

    def needs(self, catalog: Catalog, position: int) -> Needs:
        """The same data, the packages of its encoders, and leave to write where it is to stay."""
        return travel.needs(self.reads(), catalog, self.spec.out if self._is_left else "")

    def leaves(self) -> str:
        """The folder, or the address."""
        return self.spec.out

    @property
    def _is_left(self) -> bool:
        return outs.is_address(self.spec.out)

    def settle(self, folder: Path) -> None:
        """Its record says the settings, and by which hash they are found again, as asked here."""
        record = folder / self.record
        if not record.is_file():  # it was left at its address already
            return
        found = json.loads(record.read_text("utf-8"))
        found |= {"hash": self.spec.hash, "spec": self.spec.relative_paths().to_dict()}
        text = json.dumps(found | self.own_facts(), indent=1, ensure_ascii=False)
        record.write_text(text, "utf-8")

    def own_facts(self) -> dict[str, Any]:
        """What else its record says of this machine."""
        return {}

    def as_of_home(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """It ends in the folder that was asked for."""
        return {**data, "out": self.spec.out} if kind == Finished.kind else dict(data)

    def arrived(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """It is listed; what stays at an address is not."""
        if not self._is_left:
            self.register(workspace, finished)

    def ending(self, store: Store, run_id: str) -> str:
        """Where it is, if that is no folder of this machine."""
        return f"It is at {self.spec.out}." if self._is_left else ""

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
        if over is not None and not under_torchrun():  # there the others wait to be told
            self.register(workspace, over)
            return
        if self._is_left:
            raise UserError(
                f"Only a worker of a fleet leaves what it trains at {self.spec.out}.",
                "Start one with theodolite worker --fleet URL --out ROOT, or give a folder.",
            )
        report = TrainingReport(self, workspace, reporter)
        for event in self.train(workspace, lambda: reporter.asked(STOP)):
            report(event)
            if isinstance(event, Finished | DecoderFinished):
                over = event.to_dict()
                self.register(workspace, over)
            yield event
        if over is None:
            raise UserError(
                "Stopped before the first update: there are no weights to keep yet.",
                "If retried, it resumes from there; the vectors are kept.",
            )


@dataclass(frozen=True)
class TrainJob(TrainingJob[TrainSpec]):
    """The training of an encoder."""

    kind = "train"
    version = TrainSpec.version
    upgrades: ClassVar[Upgrades] = {1: TrainSpec.of_today}
    spec_type = TrainSpec
    event_types = EVENTS
    record = RECORD

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

    def reads(self) -> travel.Reads:
        """Of a file that it learns from, nothing; a base with random weights is no encoder."""
        return travel.of_encoder(self.spec)

    def moved(self, places: Mapping[str, str]) -> TrainJob:
        """With another base, text and folder."""
        return TrainJob(travel.moved_encoder(self.spec, places))

    def as_of_home(self, kind: str, data: Mapping[str, Any]) -> dict[str, Any]:
        """The encoder is loaded from there as well."""
        event = super().as_of_home(kind, data)
        if kind == Finished.kind:
            event["encoder"] = "" if self._is_left else encoder_of(Path(self.spec.out))
        return event

    @staticmethod
    def home(workspace: Workspace, spec: TrainSpec) -> Path:
        """Among the encoders."""
        return encoder_home(workspace, spec, spec.hash)

    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """As `engine.train` does; in several processes, if they are asked for."""
        from app.pages.train import launch
        from engine.train import train

        if self.spec.processes > 1 and not under_torchrun():
            return launch.train(workspace, self.spec, stop)
        return train(self.spec, workspace.catalog, stop=stop)

    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Among the encoders."""
        refresh(workspace, finished["encoder"])

    def evaluation_note(self, evaluated: Mapping[str, Any]) -> str:
        """The best dev score."""
        return f", best dev score {evaluated['score']:.2f}" if evaluated["best"] else ""


@dataclass(frozen=True)
class TrainDecoderJob(TrainingJob[DecoderSpec]):
    """The training of a decoder."""

    kind = "train-decoder"
    version = DecoderSpec.version
    spec_type = DecoderSpec
    event_types = DECODER_EVENTS
    record = "decoder.json"

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

    def reads(self) -> travel.Reads:
        """And the encoder whose vectors it decodes."""
        return travel.of_decoder(self.spec)

    def moved(self, places: Mapping[str, str]) -> TrainDecoderJob:
        """With all of them elsewhere."""
        return TrainDecoderJob(travel.moved_decoder(self.spec, places))

    def own_facts(self) -> dict[str, Any]:
        """By which name its encoder is known here."""
        return {"encoder": self.spec.encoder}

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

    def evaluation_note(self, evaluated: Mapping[str, Any]) -> str:
        """The loss."""
        return f", loss {evaluated['loss']:.3f} on held-out sentences"


def slug(text: str, otherwise: str = "child") -> str:
    """A text as the name of a folder; `otherwise` where nothing of it can stand in one."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:40] or otherwise


def encoder_home(workspace: Workspace, spec: TrainSpec, mark: str) -> Path:
    """A folder of the store, among the encoders."""
    base = slug(spec.base.rsplit("/", 1)[-1])
    return workspace.store.folder / "encoders" / f"{spec.objective}-{base}-{mark[:14]}"


def whole_path(out: str) -> str:
    """A folder by its whole path; an address as it is."""
    return out if outs.is_address(out) else str(named(out).absolute())


def _absolute(train: str) -> str:
    """A file by its whole path; the name of a data set as it is."""
    path = named(train)
    return str(path.absolute()) if path.is_file() else train
