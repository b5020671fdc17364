"""The jobs *train*, *train-decoder* and *sweep*: from a spec to a registered model."""

from __future__ import annotations

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from theodolite.app.fleet.files import is_address
from theodolite.app.fleet.needs import Resources
from theodolite.app.formats import last_part
from theodolite.app.jobs.job import Job, LeftOut
from theodolite.app.jobs.job import Spec as JobSpec
from theodolite.app.jobs.processes import under_torchrun
from theodolite.app.pages.encoders.service import refresh
from theodolite.engine.datasets import Catalog
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.errors import UserError
from theodolite.engine.paths import named
from theodolite.engine.training import (
    Evaluated,
    Event,
    Finished,
    Started,
    Stepped,
    TrainSpec,
    sweeps,
)
from theodolite.engine.training.base_spec import BaseSpec
from theodolite.engine.training.dev import data_set_of
from theodolite.engine.training.events import EVENTS, Encoded
from theodolite.engine.training.examples import is_file
from theodolite.engine.training.presets import STARTER
from theodolite.engine.training.record import RECORD
from theodolite.store.run_rows import STOP

if TYPE_CHECKING:
    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace
    from theodolite.store import Store

TOPICS = "starter-topics"
WHOLE = 1_000_000
"""Total of a unit's progress, of which the work before the updates has its share."""
LEFT_OUT = "Left out: the sweep was asked to stop before."
Children = Sequence[tuple[str, Mapping[str, Any]]]
"""Children of a sweep: a label for people, and the fields that differ from its base."""
Spec = TypeVar("Spec", bound=BaseSpec)


@dataclass(frozen=True)
class TrainingJob(Job, ABC, Generic[Spec]):
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
        return cls(cls.resolve(workspace, spec))

    @staticmethod
    @abstractmethod
    def resolve(workspace: Workspace, spec: Spec) -> Spec:
        """The spec with absolute paths; without a folder, that of the store for equal specs."""

    @abstractmethod
    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """Train to the end, resuming from a checkpoint if there is one."""

    @abstractmethod
    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Register the trained model, given its last event."""

    def preparation(self, workspace: Workspace) -> float:
        """Approximate share of the time spent before the first update."""
        return 0.0

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
        report = _Record(self, workspace, reporter)
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
        """Absolute paths of the text, of a base in a folder, and of a folder of its own."""
        if spec.base.startswith("dir:"):
            spec = replace(spec, base="dir:" + str(named(spec.base[4:]).absolute()))
        spec = replace(spec, train=_absolute(spec.train))
        return replace(spec, out=whole_path(spec.out or encoder_home(workspace, spec, spec.hash)))

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
        spec = replace(spec, encoder=encoder, train=tuple(train), start=start)
        name = slug(spec.encoder.rsplit("/", 1)[-1], "decoder")
        home = workspace.store.decoders.folder / f"{name}-{spec.hash[:10]}"
        return replace(spec, out=whole_path(spec.out or str(home)))

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
            base = replace(base, out=home)
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
        inside = 0 <= position < len(self.children)
        return TrainJob(self.child(position)) if inside else None

    def resources(self, catalog: Catalog) -> Resources:
        """Those of all children, but for the output of each."""
        of = [TrainJob(spec).resources(catalog) for spec in self.specs()]
        encoders, data, files = (
            list(dict.fromkeys(chain.from_iterable(names)))
            for names in zip(*((one.encoders, one.data, one.files) for one in of), strict=True)
        )
        return Resources(encoders, data, files)

    def child(self, position: int) -> TrainSpec:
        """The spec of the child at a position."""
        return TrainSpec.from_dict(self.children[position]["spec"])

    def specs(self) -> list[TrainSpec]:
        """The specs of all children, in order."""
        return [self.child(position) for position in range(len(self.children))]

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
        sentences, scored = [], self.scores(store, run_id)
        if (first := self.best(scored)) is not None:
            child = self.children[first]
            sentences.append(
                f"Best of {len(scored) - scored.count(None)}: {child['label']}, "
                f"{scored[first]:.2f} on {child['spec']['dev']} dev."
            )
        states = [unit["state"] for unit in store.runs.units(run_id)]
        for state in ("failed", "left out"):
            if state in states:
                sentences.append(f"{states.count(state)} {state}.")
        return " ".join(sentences)

    def scores(self, store: Store, run_id: str) -> list[float | None]:
        """The dev score of the kept weights of each child; None for a child without one."""
        every = range(len(self.children))
        ends = [store.events.last(run_id, Finished.kind, position) for position in every]
        return [None if over is None else over["best_score"] for over in ends]

    def best(self, scored: Sequence[float | None]) -> int | None:
        """The position of the best child; None without scores, or if the dev sets differ."""
        if len({child["spec"]["dev"] for child in self.children}) > 1:
            return None
        return sweeps.best(scored)


class _Record:
    """Records each event of a training in the store, and its progress."""

    def __init__(self, job: TrainingJob[Any], workspace: Workspace, reporter: Reporter) -> None:
        self._folder, self._reporter = job.spec.working_folder, reporter
        # Progress of an earlier process.
        self._encoded = (last_event(workspace, reporter, Encoded) or {"done": 0})["done"]
        self._begun = (last_event(workspace, reporter, Started) or {"step": 0})["step"]
        self._share = job.preparation(workspace)
        self._checkpoint, self._best = 0, ""

    def __call__(self, event: Event) -> None:
        """Record an event."""
        data, report = event.to_dict(), self._reporter
        report.event(data.pop("kind"), data)
        if isinstance(event, Encoded):
            text = f"{event.done:,} of {event.sentences:,} sentences encoded"
            report(int(WHOLE * self._share * event.done / event.sentences), WHOLE, text)
            if event.done > self._encoded:  # these are in the cache
                report.checkpointed()
        elif isinstance(event, Started):
            self._checkpoint = event.step
            if event.step or self._share:  # earlier work ran at another speed
                report.resumed(self._done(event), WHOLE, further=event.step > self._begun)
        elif isinstance(event, Stepped):
            text = f"update {event.step:,} of {event.steps:,}{self._best}"
            report(self._done(event), WHOLE, text)
            self._notice_checkpoint()
        elif isinstance(event, Evaluated) and event.loss is not None:
            self._best = f", loss {event.loss:.3f} on held-out sentences"
        elif isinstance(event, Evaluated) and event.best:
            self._best = f", best dev score {event.score:.2f}"

    def _notice_checkpoint(self) -> None:
        from theodolite.engine.training.checkpoint import newest_step  # imports torch

        newest = newest_step(self._folder) or 0
        if newest > self._checkpoint:
            self._reporter.checkpointed()
            self._checkpoint = newest

    def _done(self, event: Started | Stepped) -> int:
        """Progress of the unit after the event's updates, out of `WHOLE`."""
        return int(WHOLE * (self._share + (1 - self._share) * event.step / max(1, event.steps)))


def last_event(
    workspace: Workspace, reporter: Reporter, kind: type[Event]
) -> dict[str, Any] | None:
    """The data of the unit's newest event of a kind; None for none."""
    return workspace.store.events.last(reporter.run, kind.kind, reporter.position)


def slug(text: str, otherwise: str = "child") -> str:
    """A text as a folder name; `otherwise` if no character of it is usable."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:40] or otherwise


def encoder_home(workspace: Workspace, spec: TrainSpec, mark: str) -> str:
    """A folder of the store, among the encoders."""
    base = slug(spec.base.rsplit("/", 1)[-1])
    return str(workspace.store.folder / "encoders" / f"{spec.objective}-{base}-{mark[:14]}")


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
