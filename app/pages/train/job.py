"""The jobs *train*, *train-decoder* and *sweep*: from a spec to a registered model."""

import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, ClassVar, Generic, Self, TypeVar

from theodolite.app import decoders, formats
from theodolite.app.fleet.files import is_address
from theodolite.app.fleet.needs import Resources
from theodolite.app.jobs.job import Job, LeftOut
from theodolite.app.jobs.processes import under_torchrun
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.names import labelled
from theodolite.app.pages.encoders.service import refresh
from theodolite.app.spec import Field, Spec
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.conversion import ARROW, is_saved
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.encoders.spec import parse, transformer_of
from theodolite.engine.errors import UserError
from theodolite.engine.paths import expand
from theodolite.engine.training import (
    Evaluated,
    Event,
    Finished,
    Noted,
    Started,
    Stepped,
    TrainSpec,
    ablations,
    sweeps,
)
from theodolite.engine.training.base_spec import BaseSpec
from theodolite.engine.training.dev import data_set_of
from theodolite.engine.training.events import EVENTS, Encoded
from theodolite.engine.training.examples import absolute, is_file, names_of, open_examples
from theodolite.engine.training.losses import LOSSES
from theodolite.engine.training.presets import STARTER
from theodolite.engine.training.record import RECORD, encoder_of
from theodolite.store import Store
from theodolite.store.run_rows import STOP

TOPICS = "starter-topics"
WHOLE = 1_000_000
"""Total of a unit's progress, of which the work before the updates has its share."""
CHECKED, SHOWN = 1000, 3
"""Examples read before a training is queued or begun, and those of them that are shown."""
READING = ("objective", "hard_negatives", "next_sentences", "loss", "limit")
"""Fields of a TrainSpec that determine how its data are read."""
AGAIN = "It starts again from the beginning: no checkpoint was kept."
LEFT_OUT = "Left out: the sweep was asked to stop before."
Children = Sequence[tuple[str, Mapping[str, Any]]]
"""Children of a sweep: a label for people, and the fields that differ from its base."""
S = TypeVar("S", bound=BaseSpec)


@dataclass(frozen=True)
class Pace:
    """How fast the newest training of the same cost went here.

    Attributes:
        run: its id.
        seconds_per_step: of one of its updates, evaluations included.
        steps: updates that the training asked about makes; None where its data is other data.
    """

    run: str
    seconds_per_step: float
    steps: int | None

    @property
    def seconds(self) -> float | None:
        """Of all updates."""
        return None if self.steps is None else self.steps * self.seconds_per_step

    def __str__(self) -> str:
        each = f"{formats.duration(self.seconds_per_step)} an update"
        whole = f"{formats.duration(self.seconds)}, " if self.steps else ""
        return f"about {whole}{each}, as training {self.run} did"


@dataclass(frozen=True)
class TrainingJob(Job, ABC, Generic[S]):
    """A training of one model; made with `of`.

    Attributes:
        spec: what to train, with absolute paths and an output folder or address.
        spec_type: class of the spec.
        record: name of the file in its folder that records how it was trained.
        kinds: of the runs whose trainings are of the same kind.
        costly: fields of the spec that the time of an update depends on.
        preparation: approximate share of the time spent before the first update.
    """

    spec: S
    spec_type: ClassVar[type[BaseSpec]]
    record: ClassVar[str]
    kinds: ClassVar[tuple[str, ...]]
    costly: ClassVar[tuple[str, ...]]
    preparation: ClassVar[float] = 0.0

    @classmethod
    @abstractmethod
    def of(cls, workspace: Workspace, spec: S) -> Self:
        """The job of a spec, resolved so that it means the same in another process.

        Args:
            workspace: where the trained model is registered.
            spec: what to train; with an empty `out`, into a folder of the store that equal specs
                share.
        """

    @abstractmethod
    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """Train to the end, resuming from a checkpoint if there is one."""

    @abstractmethod
    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Register the trained model, given its last event."""

    def makes(self) -> list[str]:
        """The folder of the model."""
        return [self.spec.out]

    def trainings(self) -> list[Self]:
        """Itself alone, where a sweep has several."""
        return [self]

    def pace(self, workspace: Workspace) -> Pace | None:
        """The pace of the newest training here with the same costly settings; None without any."""
        mine, store = self.to_spec(), workspace.store
        for run in store.runs.list(("done", "partly failed"), kinds=self.kinds):
            children = run["spec"].get("children", [{"spec": run["spec"]}])
            for position, child in enumerate(children):
                past = child["spec"]
                same = {name for name in mine if past.get(name) == mine[name]}
                if not same.issuperset(self.costly):
                    continue
                over = store.events.last(run["id"], Finished.kind, position)
                if not (over and over["step"]):
                    continue
                steps = mine.get("steps")
                if same.issuperset(("train", "limit")) and not (steps or past.get("steps")):
                    begun = store.events.last(run["id"], Started.kind, position) or {}
                    steps = round(begun["steps"] * mine["epochs"] / past["epochs"])
                return Pace(run["id"], over["seconds"] / over["step"], steps)
        return None

    def takes(self, workspace: Workspace) -> str:
        """How long it takes, in words that end a sentence."""
        return f"{self.pace(workspace) or 'unknown until the first minute of training'}."

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
        """Register the model that was trained elsewhere, unless it stays at an address."""
        if not self._is_left:
            self.register(workspace, finished)

    def ending(self, store: Store, run_id: str) -> str:
        """The address of the model, if it has one."""
        return f"It is at {self.spec.out}." if self._is_left else ""

    def to_spec(self) -> dict[str, Any]:
        """The training's spec, as its record has it."""
        return self.spec.to_dict()

    @classmethod
    def from_spec(cls, spec: Mapping[str, Any]) -> Self:
        """The job of a run's spec."""
        return cls(cls.spec_type.from_dict(spec))  # type: ignore[arg-type]

    def event_result(self, kind: str, data: Mapping[str, Any]) -> Event | None:
        """The event as its class."""
        return EVENTS[kind](**data)

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
        for event in _record(self, workspace, reporter):
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
    kinds = ("train", "sweep")
    version = TrainSpec.version
    spec_type = TrainSpec
    record = RECORD
    costly = (
        *("objective", "base", "batch_size", "micro_batch", "max_length", "hard_negatives", "dual"),
        *("augmentation", "mlm_weight", "head", "precision", "compile", "gradient_checkpointing"),
        *("device", "processes", "loss", "guide", "matryoshka", "layers"),
    )

    @property
    def title(self) -> str:
        """`unsup from minilm on sentences.txt`."""
        base, train = map(formats.last_part, (labelled(self.spec.base), self.spec.train))
        how = self.spec.loss if self.spec.objective == "st" else self.spec.objective
        return f"{how} from {base} on {train}"

    @classmethod
    def of(cls, workspace: Workspace, spec: TrainSpec) -> Self:
        """Absolute paths of the text, of a base in a folder, and of a folder of its own."""
        if not spec.base.startswith("new:"):
            spec = replace(spec, base=str(transformer_of(spec.base)))
        if spec.guide:
            spec = replace(spec, guide=str(parse(spec.guide)))
        spec = replace(spec, train=absolute(spec.train))
        spec = replace(spec, out=whole_path(spec.out or _home(workspace, spec, spec.hash)))
        others = workspace.store.encoders.labels()
        others.pop(encoder_of(Path(spec.out)), None)
        if spec.name in others.values():
            raise UserError(
                f"There is an encoder named {spec.name!r} already.",
                "Choose another name, or rename that one first.",
                code="conflict",
            )
        return cls(spec)

    def validate(self, workspace: Workspace) -> None:
        """Read the first examples."""
        spec = self.spec
        first_examples(workspace, spec.train, **{name: getattr(spec, name) for name in READING})

    def resources(self, catalog: Catalog) -> Resources:
        """Base, data and dev set; a base with random weights is no encoder, a folder a file."""
        spec = self.spec
        encoders, files = _base(spec.base)
        encoders += [spec.guide] if spec.guide else []
        paired = spec.objective == "sup" or (
            spec.objective == "st" and LOSSES[spec.loss].data not in ("sentences", "labelled")
        )
        starter = "starter-pairs" if paired else TOPICS
        data = _data_sets(names_of(spec.train), starter)
        data += [data_set_of(spec.dev, catalog)] if spec.dev else []
        files += filter(is_file, names_of(spec.train))
        return Resources(encoders, data, files, spec.out, self.record_of(), self.receive)

    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """Train by `engine.train`, in several processes if the spec says so."""
        from theodolite.app.pages.train import launch
        from theodolite.engine.train import train

        if self.spec.processes > 1 and not under_torchrun():
            return launch.train(workspace, self.spec, stop)
        return train(self.spec, workspace.catalog, stop=stop)

    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Add the model to the encoders, under its name."""
        encoder, encoders = finished["encoder"], workspace.store.encoders
        refresh(workspace, encoder)
        if self.spec.name or encoder not in encoders.labels():
            name = self.spec.name or f"{_stem(self.spec)}-{date.today()}"
            encoders.label(encoder, name, numbered=True)


@dataclass(frozen=True)
class TrainDecoderJob(TrainingJob[DecoderSpec]):
    """The training of a decoder."""

    kind = "train-decoder"
    kinds = ("train-decoder",)
    version = DecoderSpec.version
    spec_type = DecoderSpec
    record = "decoder.json"
    costly = (
        *("architecture", "base", "words", "width", "layers", "vocabulary", "batch_tokens"),
        *("precision", "device"),
    )
    preparation = 0.1
    """On a CPU, of five epochs on the vectors of MiniLM."""

    @property
    def title(self) -> str:
        """`decoder of minilm on sentences.txt`."""
        texts = ", ".join(map(formats.last_part, self.spec.train))
        return f"decoder of {self.spec.encoder} on {texts}"

    @classmethod
    def of(cls, workspace: Workspace, spec: DecoderSpec) -> Self:
        """Absolute paths, the canonical encoder spec, and the folder of a decoder to start from."""
        encoder, train = str(parse(spec.encoder)), map(absolute, spec.train)
        start = spec.start and str(decoders.folder_of(workspace, spec.start))
        spec = replace(spec, encoder=encoder, train=tuple(train), start=start)
        stem = slug(formats.last_part(labelled(encoder)), "decoder")
        name = spec.name or f"{stem}-{spec.hash[:10]}"
        return cls(
            replace(spec, out=whole_path(spec.out or str(workspace.store.decoders.folder / name)))
        )

    def validate(self, workspace: Workspace) -> None:
        """Read the first sentences of files."""
        for name in filter(is_file, self.spec.train):
            first_examples(workspace, name, "mlm")

    def resources(self, catalog: Catalog) -> Resources:
        """The encoder whose vectors are decoded, base, texts, and a decoder to start from."""
        spec = self.spec
        encoders, files = _base(spec.base)
        files += [*filter(None, [spec.start]), *filter(is_file, spec.train)]
        data, record = _data_sets(spec.train, TOPICS), self.record_of(encoder=spec.encoder)
        return Resources([spec.encoder, *encoders], data, files, spec.out, record, self.receive)

    def train(self, workspace: Workspace, stop: Callable[[], bool]) -> Iterator[Event]:
        """Train by `engine.decoding.train`, with vectors from the store."""
        from theodolite.engine.decoding.train import train_decoder

        encoder = workspace.load(self.spec.encoder)
        return train_decoder(self.spec, workspace.catalog, encoder=encoder, stop=stop)

    def register(self, workspace: Workspace, finished: Mapping[str, Any]) -> None:
        """Add the model to the decoders."""
        decoders.register(workspace, Path(finished["out"]))


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
        shared = base.to_dict()
        specs = [TrainSpec.from_dict({**shared, **changes}) for _, changes in children]
        together = hashlib.blake2b("".join(spec.hash for spec in specs).encode(), digest_size=4)
        out = base.out or _home(workspace, base, f"sweep-{together.hexdigest()}")
        digits, jobs = len(str(len(specs))), []
        for number, ((label, _), spec) in enumerate(zip(children, specs, strict=True), 1):
            place = f"{number:0{digits}}-{slug(label)}"
            spec = replace(spec, out=f"{out}/{place}", name=base.name and f"{base.name}-{place}")
            jobs.append({"label": label, "spec": TrainJob.of(workspace, spec).to_spec()})
        return cls(tuple(jobs))

    @property
    def title(self) -> str:
        """`3 × unsup from minilm on sentences.txt: seed 1 … seed 3`."""
        labels = dict.fromkeys([self.children[0]["label"], self.children[-1]["label"]])
        return f"{len(self.children)} × {self.trainings()[0].title}: {' … '.join(labels)}"

    def validate(self, workspace: Workspace) -> None:
        """Read the first examples."""
        self.trainings()[0].validate(workspace)

    def part(self, position: int) -> TrainJob | None:
        """The training of a child."""
        inside = 0 <= position < len(self.children)
        return self.trainings()[position] if inside else None

    def resources(self, catalog: Catalog) -> Resources:
        """Those of all children, but for the output of each."""
        of = [training.resources(catalog) for training in self.trainings()]
        encoders, data, files = (
            list(dict.fromkeys(chain.from_iterable(names)))
            for names in zip(*((one.encoders, one.data, one.files) for one in of), strict=True)
        )
        return Resources(encoders, data, files)

    def makes(self) -> list[str]:
        """The folders of the models."""
        return [training.spec.out for training in self.trainings()]

    def trainings(self) -> list[TrainJob]:
        """Those of all children, in order."""
        return [TrainJob.from_spec(child["spec"]) for child in self.children]

    def units(self) -> list[str]:
        """The children in order, by their labels."""
        return [child["label"] for child in self.children]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> Iterator[Event]:
        """Train one child; none is begun once the sweep is asked to stop.

        Raises:
            LeftOut: the sweep was asked to stop.
        """
        if last_event(workspace, reporter, Finished) is None and reporter.is_requested(STOP):
            raise LeftOut(LEFT_OUT, "Retry the run to train it as well.", code="stale")
        return self.trainings()[position].work(workspace, position, reporter)

    def event_result(self, kind: str, data: Mapping[str, Any]) -> Event | None:
        """The event of a child."""
        return EVENTS[kind](**data)

    def ending(self, store: Store, run_id: str) -> str:
        """The best child by dev score, and how many failed or were left out."""
        sentences, scores = [], self.scores(store, run_id)
        if (first := self.best(scores)) is not None:
            child = self.children[first]
            sentences.append(
                f"Best of {len(scores) - scores.count(None)}: {child['label']}, "
                f"{scores[first]:.2f} on {child['spec']['dev']} dev."
            )
        states = [unit["state"] for unit in store.runs.units(run_id)]
        counts = [(states.count(state), state) for state in ("failed", "left out")]
        return " ".join([*sentences, *(f"{count} {state}." for count, state in counts if count)])

    def scores(self, store: Store, run_id: str) -> list[float | None]:
        """The dev score of the kept weights of each child; None for a child without one."""
        every = range(len(self.children))
        ends = [store.events.last(run_id, Finished.kind, position) for position in every]
        return [None if over is None else over["best_score"] for over in ends]

    def best(self, scores: Sequence[float | None]) -> int | None:
        """The position of the best child; None without scores, or if the dev sets differ."""
        dev_sets = {child["spec"]["dev"] for child in self.children}
        return sweeps.best(scores) if len(dev_sets) == 1 else None


@dataclass(frozen=True)
class SweepSpec(Spec):
    """Which trainings a sweep consists of: values of fields, or the rows of a table."""

    vary: Annotated[
        Sequence[str],
        Field(
            "Values of fields",
            "Values of a field, as FIELD=A,B,C; with --draw also LOW..HIGH or LOW..HIGH:log.",
            flags=("--set",),
        ),
    ] = ()
    draw: Annotated[
        int | None,
        Field("Runs to draw", "Number of combinations to draw, instead of all.", ge=1, le=500),
    ] = None
    draw_seed: Annotated[int, Field("Random seed of the draws", ge=0)] = 0
    ablation: Annotated[
        str | None,
        Field(
            "Table of the paper",
            "Use the rows of a table of the SimCSE paper instead.",
            choices={
                name: f"{table.table}: {table.title} ({table.objective}, {len(table.rows)} rows)"
                for name, table in ablations.ABLATIONS.items()
            },
        ),
    ] = None
    scale: Annotated[
        str | None,
        Field(
            "Scale",
            "Number of examples, with ten evaluations.",
            choices={name: scale.label for name, scale in ablations.SCALES.items()},
        ),
    ] = None
    seeds: Annotated[
        int, Field("Seeds", "Number of seeds for each, starting at --seed.", ge=1, le=20)
    ] = 1

    def check(self) -> None:
        """Either fields are varied, or the rows of a table are used."""
        if bool(self.ablation) == bool(self.vary):
            raise UserError(
                "A sweep either varies fields or uses the rows of a table.",
                f"Give --set FIELD=A,B,C or --ablation ({', '.join(ablations.ABLATIONS)}), "
                "not both.",
                code="conflict",
            )

    def job(self, workspace: Workspace, spec: TrainSpec) -> SweepJob:
        """The job that trains `spec` with each of the changes."""
        spec = ablations.at_scale(spec, self.scale) if self.scale else spec
        varied = dict(map(sweeps.parse, self.vary))
        if self.ablation:
            children = ablations.children(self.ablation, spec)
        elif self.draw:
            children = sweeps.search(spec, varied, self.draw, self.draw_seed)
        else:
            children = sweeps.grid(spec, varied)
        seeds = range(spec.seed, spec.seed + self.seeds)
        return SweepJob.of(workspace, spec, sweeps.with_seeds(children, seeds))


def decoder_time(workspace: Workspace, spec: DecoderSpec) -> str:
    """The time that a decoder's training takes, in words; empty if unknown."""
    pace = TrainDecoderJob(spec).pace(workspace)
    return f"about {formats.duration(pace.seconds)}" if pace and pace.steps else ""


def _record(job: TrainingJob[Any], workspace: Workspace, reporter: Reporter) -> Iterator[Event]:
    """Train, and record each event in the store, and the progress of the unit."""
    from theodolite.engine.training.checkpoint import newest_step  # imports torch

    # Progress of an earlier process.
    encoded = (last_event(workspace, reporter, Encoded) or {"done": 0})["done"]
    earlier = last_event(workspace, reporter, Started)
    begun = earlier["step"] if earlier else 0
    before, checkpoint, best = job.preparation, 0, ""

    def done(event: Started | Stepped) -> int:
        return int(WHOLE * (before + (1 - before) * event.step / max(1, event.steps)))

    events = job.train(workspace, lambda: reporter.is_requested(STOP))
    for event in _note_new_start(events) if earlier else events:
        data = event.to_dict()
        reporter.event(data.pop("kind"), data)
        match event:
            case Encoded():
                text = f"{event.done:,} of {event.sentences:,} sentences encoded"
                reporter(int(WHOLE * before * event.done / event.sentences), WHOLE, text)
                if event.done > encoded:  # these are in the cache
                    reporter.checkpointed()
            case Started():
                checkpoint = event.step
                if event.step or before:  # earlier work ran at another speed
                    reporter.resumed(done(event), WHOLE, further=event.step > begun)
                text = f"update {event.step:,} of {event.steps:,}{_scoring(job.spec, event)}"
                reporter(done(event), WHOLE, text)
            case Stepped():
                text = f"update {event.step:,} of {event.steps:,}, loss {event.loss:.4f}{best}"
                reporter(done(event), WHOLE, text + _scoring(job.spec, event))
                newest = newest_step(job.spec.working_folder) or 0
                if newest > checkpoint:
                    reporter.checkpointed()
                    checkpoint = newest
            case Evaluated(best=True):
                score = f", best dev score {event.score or 0:.2f}"
                loss = f", {event.loss or 0:.3f} on held-out sentences"
                best = loss if event.score is None else score
        yield event


def _scoring(spec: Any, event: Started | Stepped) -> str:
    """What follows the last update, or comes before the first: it may take longer than all."""
    if not event.step:
        dev = getattr(spec, "dev", None)  # a decoder has no base to score
        return f", scoring the base on {dev}" if dev else ""
    if event.step < event.steps:
        return ""
    dev = getattr(spec, "dev", "held-out sentences")
    return f", scoring on {dev}" if dev else ", saving the encoder"


def _note_new_start(events: Iterator[Event]) -> Iterator[Event]:
    """Events of a training that was begun before, with a note if nothing of that is left."""
    for event in events:
        yield event
        if isinstance(event, Started) and event.step == 0:
            yield Noted(0, AGAIN)


def last_event(
    workspace: Workspace, reporter: Reporter, kind: type[Event]
) -> dict[str, Any] | None:
    """The data of the unit's newest event of a kind; None for none."""
    return workspace.store.events.last(reporter.run, kind.kind, reporter.position)


def slug(text: str, otherwise: str = "child") -> str:
    """A text as a folder name; `otherwise` if no character of it is usable."""
    return re.sub(r"[^a-z0-9.]+", "-", text.lower()).strip("-.")[:40] or otherwise


def whole_path(out: str) -> str:
    """The absolute path of a folder; an address unchanged."""
    return out if is_address(out) else str(expand(out).absolute())


def _home(workspace: Workspace, spec: TrainSpec, mark: str) -> str:
    """A folder of the store, among the encoders."""
    return str(workspace.store.folder / "encoders" / f"{_stem(spec)}-{mark[:14]}")


def _stem(spec: TrainSpec) -> str:
    """What it comes from, for names: `minilm-unsup`."""
    kind, _, value = labelled(spec.base).partition(":")
    base = kind if kind == "new" else formats.last_part(value or kind)
    return f"{slug(base)}-{spec.objective}"


def _base(base: str | None) -> tuple[list[str], list[str]]:
    """The encoder, or the folder, that is a base."""
    if not base or base.startswith("new:"):
        return [], []
    return ([], [base[4:]]) if base.startswith("dir:") else ([base], [])


def _data_sets(names: Sequence[str], shipped: str) -> list[str]:
    """The data sets among names of training data; the starter set under its own name."""
    return [shipped if name == STARTER else name for name in names if not is_file(name)]


def first_examples(
    workspace: Workspace,
    train: str,
    objective: Any,
    *,
    loss: str = "",
    limit: int | None = None,
    **options: Any,
) -> dict[str, list[tuple[str, ...]]]:
    """Read training data as a training does, and refuse what it cannot learn from.

    Args:
        workspace: has the data sets.
        train: fields of a TrainSpec, as are the following.
        objective: see there.
        loss: see there.
        limit: see there.
        **options: the others of `READING`.

    Returns:
        Name of a file or data set -> the names of its columns, and the first examples. Files that
        have to be unpacked are left out, and folders.
    """
    # Labels may be sorted, so the first ones do not tell whether there are several.
    has_labels = objective == "st" and LOSSES[loss].has_labels
    most = limit if has_labels else min(limit or CHECKED, CHECKED)
    tables = {}
    for name in names_of(train):
        if name.endswith((".gz", ".parquet", *ARROW)) or is_saved(expand(name)):
            continue
        with TemporaryDirectory(prefix="theodolite-") as folder:
            examples = open_examples(
                name,
                objective,
                workspace.catalog,
                loss=loss,
                limit=most,
                folder=Path(folder),
                **options,
            )
            first = range(min(SHOWN, len(examples)))
            tables[name] = [examples.columns, *(examples[at] for at in first)]
    return tables
