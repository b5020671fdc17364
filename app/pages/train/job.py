"""The jobs *train* and *train-decoder*: from a spec to a registered model."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from theodolite.app.fleet.files import is_address
from theodolite.app.fleet.needs import Resources
from theodolite.app.formats import last_part
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.job import Spec as JobSpec
from theodolite.app.jobs.processes import under_torchrun
from theodolite.app.pages.encoders.service import refresh
from theodolite.app.pages.train.report import TrainingReport, last_event
from theodolite.engine.datasets import Catalog
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError
from theodolite.engine.paths import named
from theodolite.engine.training import Event, Finished, TrainSpec
from theodolite.engine.training.base_spec import BaseSpec
from theodolite.engine.training.dev import data_set_of
from theodolite.engine.training.events import EVENTS
from theodolite.engine.training.examples import is_file
from theodolite.engine.training.presets import STARTER
from theodolite.engine.training.record import RECORD
from theodolite.store.run_rows import STOP

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace
    from theodolite.store import Store

TOPICS = "starter-topics"
Spec = TypeVar("Spec", bound=BaseSpec)


@dataclass(frozen=True)
class TrainingJob(Job, Generic[Spec]):
    """A training of one model; made with `of`.

    Attributes:
        spec: what to train, with absolute paths and an output folder or address.
        spec_type: class of the spec.
        record: name of the file in its folder that records how it was trained.
    """

    spec: Spec
    spec_type: ClassVar[type[BaseSpec]]
    record: ClassVar[str]

    @classmethod
    def of(cls, workspace: Workspace, spec: Spec) -> Self:
        """The job of a spec, resolved so that it means the same in another process.

        Args:
            workspace: where the trained model is registered.
            spec: what to train; with an empty `out`, into a folder of the store.
        """
        spec = cls.resolve(workspace, spec)
        out = whole_path(spec.out) if spec.out else str(cls.home(workspace, spec))
        return cls(replace(spec, out=out))

    @staticmethod
    def resolve(workspace: Workspace, spec: Spec) -> Spec:
        """The spec with absolute paths."""
        raise NotImplementedError

    @staticmethod
    def home(workspace: Workspace, spec: Spec) -> Path:
        """The folder of the store for a spec; equal specs share it."""
        raise NotImplementedError

    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """Train to the end, resuming from a checkpoint if there is one."""
        raise NotImplementedError

    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Register the trained model, given its last event."""
        raise NotImplementedError

    def preparation(self, workspace: Workspace) -> float:
        """Approximate share of the time spent before the first update."""
        return 0.0

    def evaluation_note(self, evaluated: Mapping[str, Any]) -> str:
        """Text on an evaluation for the progress line; empty to keep the previous text."""
        raise NotImplementedError

    def part(self, position: int) -> Self | None:
        """The job itself: it has one unit."""
        return self if position == 0 else None

    @property
    def _is_left(self) -> bool:
        return is_address(self.spec.out)

    def record_of(self, **more: Any) -> tuple[str, dict[str, Any]]:
        """The name of the model's record, and its entries that depend on this machine."""
        shared = self.spec.relative_paths().to_dict()
        return self.record, {"hash": self.spec.hash, "spec": shared, **more}

    def receive(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Register the model, unless it stays at an address."""
        if not self._is_left:
            self.register(workspace, finished)

    def ending(self, store: Store, run_id: str) -> str:
        """The address of the model, if it has one."""
        return f"It is at {self.spec.out}." if self._is_left else ""

    def to_spec(self) -> dict[str, Any]:
        """The training's spec, as its record has it."""
        return self.spec.to_dict()

    @classmethod
    def from_spec(cls, spec: JobSpec) -> Self:
        """The job of a run's spec."""
        return cls(cls.spec_type.from_dict(spec))  # type: ignore[arg-type]

    def event_result(self, kind: str, data: Mapping[str, Any]) -> Event | None:
        """The event as its class."""
        return EVENTS[kind](**data)

    def units(self) -> list[str]:
        """One unit: its checkpoint and the cached vectors hold its progress."""
        return [self.title]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Event]:
        """Train, recording events in the store and yielding them.

        A unit that had finished when its process was killed is not trained again.
        """
        over = last_event(workspace, reporter, Finished)
        if over is not None and not under_torchrun():  # other ranks wait for this one
            self.register(workspace, over)
            return
        if self._is_left:
            raise UserError(
                f"Only a worker of a fleet leaves what it trains at {self.spec.out}.",
                "Start the app with --fleet and a --files address above it, or give a folder.",
                code="unsupported",
            )
        report = TrainingReport(self, workspace, reporter)
        for event in self.train(workspace, lambda: reporter.asked(STOP)):
            report(event)
            if isinstance(event, Finished):
                over = event.to_dict()
                self.register(workspace, over)
            yield event
        if over is None:
            raise UserError(
                "Stopped before the first update: there are no weights to keep yet.",
                "If retried, it resumes from there; the vectors are kept.",
                code="no-result",
            )


@dataclass(frozen=True)
class TrainJob(TrainingJob[TrainSpec]):
    """The training of an encoder."""

    kind = "train"
    version = TrainSpec.version
    spec_type = TrainSpec
    record = RECORD

    @property
    def title(self) -> str:
        """`unsup from minilm on sentences.txt`."""
        spec = self.spec
        return f"{spec.objective} from {last_part(spec.base)} on {last_part(spec.train)}"

    @staticmethod
    def resolve(workspace: Workspace, spec: TrainSpec) -> TrainSpec:
        """Absolute paths of the text, and of a base in a folder."""
        if spec.base.startswith("dir:"):
            spec = replace(spec, base="dir:" + str(named(spec.base[4:]).absolute()))
        return replace(spec, train=_absolute(spec.train))

    def resources(self, catalog: Catalog) -> Resources:
        """Base, data and dev set; a base with random weights is no encoder, a folder a file."""
        spec = self.spec
        encoders, files = _base(spec.base)
        dev = [data_set_of(spec.dev, catalog)] if spec.dev else []
        return Resources(
            encoders,
            [
                *_data_sets([spec.train], "starter-pairs" if spec.objective == "sup" else TOPICS),
                *dev,
            ],
            [*files, *filter(is_file, [spec.train])],
            spec.out,
            self.record_of(),
        )

    @staticmethod
    def home(workspace: Workspace, spec: TrainSpec) -> Path:
        """A folder among the store's encoders."""
        return encoder_home(workspace, spec, spec.hash)

    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """Train by `engine.train`, in several processes if the spec says so."""
        from theodolite.app.pages.train import launch
        from theodolite.engine.train import train

        if self.spec.processes > 1 and not under_torchrun():
            return launch.train(workspace, self.spec, stop)
        return train(self.spec, workspace.catalog, stop=stop)

    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Add the model to the encoders."""
        refresh(workspace, finished["encoder"])

    def evaluation_note(self, evaluated: Mapping[str, Any]) -> str:
        """The dev score, if it is the best so far."""
        return f", best dev score {evaluated['score']:.2f}" if evaluated["best"] else ""


@dataclass(frozen=True)
class TrainDecoderJob(TrainingJob[DecoderSpec]):
    """The training of a decoder."""

    kind = "train-decoder"
    version = DecoderSpec.version
    spec_type = DecoderSpec
    record = "decoder.json"

    @property
    def title(self) -> str:
        """`decoder of minilm on sentences.txt`."""
        texts = ", ".join(last_part(name) for name in self.spec.train)
        return f"decoder of {self.spec.encoder} on {texts}"

    @staticmethod
    def resolve(workspace: Workspace, spec: DecoderSpec) -> DecoderSpec:
        """Absolute paths, the canonical encoder spec, and the folder of a decoder to start from."""
        from theodolite.app import decoders
        from theodolite.engine import encoders

        encoder, train = str(encoders.parse(spec.encoder)), map(_absolute, spec.train)
        start = spec.start and str(decoders.folder_of(workspace, spec.start))
        return replace(spec, encoder=encoder, train=tuple(train), start=start)

    def resources(self, catalog: Catalog) -> Resources:
        """The encoder whose vectors are decoded, base, texts, and a decoder to start from."""
        spec = self.spec
        encoders, files = _base(spec.base)
        return Resources(
            [spec.encoder, *encoders],
            _data_sets(spec.train, TOPICS),
            [*files, *filter(None, [spec.start]), *filter(is_file, spec.train)],
            spec.out,
            self.record_of(encoder=spec.encoder),
        )

    @staticmethod
    def home(workspace: Workspace, spec: DecoderSpec) -> Path:
        """A folder among the store's decoders."""
        name = slug(spec.encoder.rsplit("/", 1)[-1], "decoder")
        return workspace.store.decoders.folder / f"{name}-{spec.hash[:10]}"

    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """Train by `engine.decoding.train`, with vectors from the store."""
        from theodolite.engine.decoding.train import train_decoder

        encoder = workspace.load(self.spec.encoder)
        return train_decoder(self.spec, workspace.catalog, encoder=encoder, stop=stop)

    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Add the model to the decoders."""
        from theodolite.app import decoders

        decoders.register(workspace, Path(finished["out"]))

    def preparation(self, workspace: Workspace) -> float:
        """The share of encoding the sentences."""
        from theodolite.app.pages.train.decoder_estimates import guess

        found = guess(workspace, self.spec)
        return found.encoding / found.seconds if found.seconds else 0.0

    def evaluation_note(self, evaluated: Mapping[str, Any]) -> str:
        """The loss on held-out sentences."""
        return f", loss {evaluated['loss']:.3f} on held-out sentences"


def slug(text: str, otherwise: str = "child") -> str:
    """A text as a folder name; `otherwise` if no character of it is usable."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:40] or otherwise


def encoder_home(workspace: Workspace, spec: TrainSpec, mark: str) -> Path:
    """A folder of the store, among the encoders."""
    base = slug(spec.base.rsplit("/", 1)[-1])
    return workspace.store.folder / "encoders" / f"{spec.objective}-{base}-{mark[:14]}"


def whole_path(out: str) -> str:
    """The absolute path of a folder; an address unchanged."""
    return out if is_address(out) else str(named(out).absolute())


def _absolute(train: str) -> str:
    """The absolute path of a file; the name of a data set unchanged."""
    path = named(train)
    return str(path.absolute()) if path.is_file() else train


def _base(base: str | None) -> tuple[list[str], list[str]]:
    """The encoder, or the folder, that is a base."""
    if not base or base.startswith("new:"):
        return [], []
    return ([], [base[4:]]) if base.startswith("dir:") else ([base], [])


def _data_sets(names: Sequence[str], shipped: str) -> list[str]:
    """The data sets among names of training data; the starter set under its own name."""
    return [shipped if name == STARTER else name for name in names if not is_file(name)]
