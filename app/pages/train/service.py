"""Presets, checks, estimates and starts of trainings, for pages and commands."""

from __future__ import annotations

import functools
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, TypeVar

from theodolite.app import formats
from theodolite.app.jobs import submit
from theodolite.app.pages.train import decoder_estimates, settings
from theodolite.app.pages.train.choices import default_dev
from theodolite.app.pages.train.job import SweepJob, TrainDecoderJob, TrainingJob, TrainJob, slug
from theodolite.app.pages.train.settings import NONE, FormSettings, Values
from theodolite.app.spec import Field, Spec
from theodolite.engine.errors import UserError
from theodolite.engine.training import ablations, sweeps
from theodolite.engine.training.ablations import ABLATIONS, SCALES
from theodolite.engine.training.base_spec import BaseSpec
from theodolite.engine.training.presets import STARTER
from theodolite.engine.training.spec import TrainSpec

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.decoding.estimate import DecoderEstimate
    from theodolite.engine.decoding.spec import DecoderSpec
    from theodolite.engine.training.estimate import TrainEstimate
    from theodolite.engine.training.presets import Machine

OWN = "own"
"""In place of a preset: the user's own settings."""
CHECKED = 1000
"""Examples read before a run is queued."""
_FREE: Mapping[str, Any] = {
    "seed": 0,
    "learning_rate": 1e-5,
    "warmup": 0.0,
    "weight_decay": 0.0,
    "temperature": 1.0,
    "patience": None,
}
"""Fields of an encoder's training that do not affect its cost, set to fixed values."""
S = TypeVar("S", bound=BaseSpec)
Cost = TypeVar("Cost")


class Training(ABC, Generic[S, Cost]):
    """A kind of training, for its form and its command.

    Attributes:
        settings: the fields of the spec on the form.
        named: the other fields, which name the model and the data.
        several: those of `named` that take several values.
        usual: the preset that a form starts with.
        job_type: the class of its jobs.
    """

    settings: ClassVar[FormSettings]
    named: ClassVar[tuple[str, ...]]
    several: ClassVar[tuple[str, ...]] = ()
    usual: ClassVar[str]
    job_type: ClassVar[type[TrainingJob[Any]]]

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @abstractmethod
    def presets(self) -> Sequence[Any]:
        """Settings to start from, each with a name, a label, a description, and the changes."""

    @abstractmethod
    def spec(self, values: Values) -> S:
        """The spec that a form describes; settings that do not apply keep their default.

        Args:
            values: of the settings and of `named`, as typed.
        """

    @abstractmethod
    def check(self, spec: S) -> None:
        """Check the first examples before a run is queued."""

    @abstractmethod
    def probe(self, spec: S) -> Cost:
        """Measure the cost in some seconds of training, which are discarded."""

    @abstractmethod
    def facts(self, cost: Cost) -> dict[str, str]:
        """The cost in words."""

    @abstractmethod
    def plan(self, spec: S) -> dict[str, str]:
        """The plan in words; no data is read."""

    def command(self, spec: S) -> list[str]:
        """Arguments of the equivalent command."""
        return replace(spec, out=spec.out or "decoder").command()

    def job(self, spec: S) -> TrainingJob[S]:
        """The job of a spec."""
        return self.job_type.of(self.workspace, spec)

    def queue(self, spec: S, *, title: str | None = None) -> str:
        """Queue a run, and return its id.

        Args:
            spec: what to train; with an empty `out`, into a folder of the store.
            title: for people; None for one made of the spec.
        """
        return submit.queue(self.workspace, self.job(spec), title=title)

    def start(self, spec: S) -> str:
        """Check a spec, queue its run, and return the run's id."""
        self.workspace.refuse_visitors()
        self.check(spec)
        return self.queue(spec)

    def defaults(self) -> dict[str, Any]:
        """The default of every setting, as the form shows it."""
        return self.settings.defaults()

    def preset(self, name: str) -> dict[str, Any]:
        """Every setting and field of `named` under a preset, as the form shows them."""
        found = next((preset for preset in self.presets() if preset.name == name), None)
        return self.defaults() | {
            field: self.settings.shown(field, value) if field in self.settings else value
            for field, value in (found.changes if found else {}).items()
            if field in (*self.settings, *self.named)
        }

    def preset_of(self, values: Values) -> Any | None:
        """The preset that equals a form's values in every field that applies; None for none."""
        applicable = [name for name, setting in self.settings.items() if setting.applies(values)]
        for preset in self.presets():
            theirs = self.preset(preset.name)
            names = [*applicable, *(name for name in self.named if name in theirs)]
            if all(values[name] == theirs[name] for name in names):
                return preset
        return None


class EncoderTraining(Training[TrainSpec, "TrainEstimate"]):
    """Training of an encoder; `theodolite train`."""

    settings = settings.ENCODER
    named = ("objective", "base", "train")
    usual = "here-unsup"
    job_type = TrainJob

    def presets(self) -> Sequence[Any]:
        """Presets for this machine, and the paper's."""
        from theodolite.engine.training.presets import presets

        return presets(self.workspace.catalog, _machine())

    def defaults(self) -> dict[str, Any]:
        """The defaults, with an installed dev set."""
        return super().defaults() | {"dev": default_dev(self.workspace) or NONE}

    def spec(self, values: Values) -> TrainSpec:
        """The spec that the form describes."""
        from theodolite.engine import encoders
        from theodolite.engine.training.from_scratch import shape_of

        given = {name: str(values[name] or "").strip() for name in self.named}
        if not given["base"]:
            raise UserError("No base given.", "Choose a model.", code="missing")
        if not given["train"]:
            raise UserError(
                "No training data given.", "Choose data, or upload a file.", code="missing"
            )
        read_base = shape_of if given["base"].startswith("new:") else encoders.parse
        read_base(given["base"])
        return TrainSpec.from_dict(given | {"out": ""} | self.settings.read(values))

    def command(self, spec: TrainSpec) -> list[str]:
        """Arguments of the equivalent command, into a folder named after objective and base."""
        return replace(spec, out=_named(spec)).command()

    def check(self, spec: TrainSpec) -> None:
        """Check the first examples."""
        check_examples(
            self.workspace,
            spec.train,
            spec.objective,
            hard_negatives=spec.hard_negatives,
            next_sentences=spec.next_sentences,
        )

    def probe(self, spec: TrainSpec) -> TrainEstimate:
        """Estimate by a few updates on real batches."""
        from theodolite.engine.training.estimate import estimate

        self.workspace.refuse_visitors()
        return estimate(spec, self.workspace.catalog)

    def plan(self, spec: TrainSpec) -> dict[str, str]:
        """The data, the duration, the selection of the best weights, and the output."""
        length = formats.plural(spec.steps, "step") if spec.steps else _epochs(spec.epochs)
        keeps = "The last weights."
        if spec.dev:
            keeps = f"The best weights on {spec.dev}, evaluated every {spec.dev_every} steps."
        together = f", in {spec.processes} processes" if spec.processes > 1 else ""
        return {
            "Reads": f"{_text(spec.train)}{_most(spec.limit, 'example')}.",
            "Trains for": f"{length}, {spec.batch_size} examples per batch{together}.",
            "Keeps": keeps,
            "Result": f"{_named(spec)}, among the encoders; its curves are on Trainings.",
        }

    def facts(self, cost: TrainEstimate) -> dict[str, str]:
        """Time, memory, updates and speed."""
        facts = {
            "Time": f"about {formats.duration(cost.seconds)} on {cost.device}",
            "Memory": f"about {formats.size(cost.bytes)}",
            "Updates": f"{formats.count(cost.steps)}, "
            f"{formats.duration(cost.seconds_per_step)} each, "
            f"on {formats.plural(cost.examples, 'example')}",
            "Speed": f"{cost.sentences_per_second:,.0f} sentences a second",
        }
        if cost.evals:
            each = formats.duration(cost.seconds_per_eval)
            facts["Evaluations"] = f"{formats.count(cost.evals)}, {each} each"
        return facts

    def start_sweep(self, spec: TrainSpec, sweep: SweepSpec) -> str:
        """Queue a sweep whose children change fields of `spec`; return the run's id."""
        self.workspace.refuse_visitors()
        job = sweep.job(self.workspace, spec)
        self.check(spec)
        return submit.queue(self.workspace, job, title=sweep.title(spec))

    def probe_sweep(self, job: SweepJob) -> Iterator[tuple[str, TrainEstimate]]:
        """Yield label and cost of each child; children of equal cost share a probe."""
        probed: dict[TrainSpec, TrainEstimate] = {}
        for label, child in zip(job.units(), job.specs(), strict=True):
            alike = replace(child, out="", **_FREE)
            if alike not in probed:
                probed[alike] = self.probe(child)
            yield label, probed[alike]


TABLES = {
    name: f"{table.table}: {table.title} ({table.objective}, {len(table.rows)} rows)"
    for name, table in ABLATIONS.items()
}
LABELS = {name: scale.label for name, scale in SCALES.items()}


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
            choices=TABLES,
        ),
    ] = None
    scale: Annotated[
        str | None,
        Field(
            "Scale",
            "Number of examples, with ten evaluations.",
            choices=LABELS,
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
                f"Give --set FIELD=A,B,C or --ablation ({', '.join(ABLATIONS)}), not both.",
                code="conflict",
            )

    def job(self, workspace: Workspace, spec: TrainSpec) -> SweepJob:
        """The job that trains `spec` with each of the changes."""
        spec = ablations.scaled(spec, self.scale) if self.scale else spec
        if self.ablation:
            children = ablations.children(self.ablation, spec)
        else:
            varied = dict(map(sweeps.parsed, self.vary))
            children = (
                sweeps.search(spec, varied, self.draw, self.draw_seed)
                if self.draw
                else sweeps.grid(spec, varied)
            )
        seeds = range(spec.seed, spec.seed + self.seeds)
        return SweepJob.of(workspace, spec, sweeps.seeded(children, seeds))

    def title(self, spec: TrainSpec) -> str | None:
        """The title of a run with the rows of a table; None for other runs."""
        if not self.ablation:
            return None
        table = ABLATIONS[self.ablation]
        seeds = f", {self.seeds} seeds" if self.seeds > 1 else ""
        title = f"Table {table.table}: {table.title.lower()}, "
        return f"{title}{formats.last_part(spec.base)} on {formats.last_part(spec.train)}{seeds}"


class DecoderTraining(Training["DecoderSpec", "DecoderEstimate"]):
    """Training of a decoder; `theodolite train-decoder`."""

    settings = settings.DECODER
    named = ("encoder", "train")
    several = ("train",)
    usual = "ours"
    job_type = TrainDecoderJob

    def presets(self) -> Sequence[Any]:
        """Ours, and those of Vec2Sent."""
        from theodolite.engine.decoding.presets import PRESETS

        return PRESETS

    def spec(self, values: Values) -> DecoderSpec:
        """The spec that the form describes; its folder is named when it is queued."""
        from theodolite.engine.decoding.spec import DecoderSpec
        from theodolite.engine.encoders import parse

        encoder = str(values["encoder"] or "").strip()
        train = tuple(str(name).strip() for name in values["train"] or () if str(name).strip())
        if not encoder:
            raise UserError("No encoder given.", "Choose one.", code="missing")
        if not train:
            raise UserError(
                "No training text given.", "Choose a text, or give a file's path.", code="missing"
            )
        given = self.settings.read(values)
        return DecoderSpec(encoder=str(parse(encoder)), train=train, out="", **given)

    def check(self, spec: DecoderSpec) -> None:
        """Check the first sentences of files."""
        from theodolite.engine.training.examples import is_file

        for name in filter(is_file, spec.train):
            check_examples(self.workspace, name, "mlm")

    def queue(self, spec: DecoderSpec, *, title: str | None = None) -> str:
        """Queue a run, unless its output exists already."""
        out = Path(self.job(spec).spec.out)
        if out.exists():
            raise UserError(
                f"{out.name} already exists.",
                "To train another, change a setting such as the seed.",
                code="conflict",
            )
        return super().queue(spec, title=title)

    def probe(self, spec: DecoderSpec) -> DecoderEstimate:
        """Estimate by encoding some sentences and making a few updates, whose speeds are stored."""
        from theodolite.engine.decoding.estimate import estimate

        self.workspace.refuse_visitors()
        spec = self.job(spec).spec
        cost = estimate(spec, self.workspace.load(spec.encoder), self.workspace.catalog)
        decoder_estimates.remember(self.workspace, spec, cost)
        return cost

    def plan(self, spec: DecoderSpec) -> dict[str, str]:
        """The data, the duration, the selection of the best weights, and the output."""
        texts = formats.listed(_text(name) for name in spec.train)
        return {
            "Reads": f"{texts}{_most(spec.limit, 'sentence')}, encoded by {spec.encoder}.",
            "Trains for": f"{_epochs(spec.epochs)}, on sentences of at most {spec.words} words.",
            "Takes": f"{decoder_time(self.workspace, spec)}, going by the size of the text and by "
            "earlier trainings here.",
            "Keeps": "The best weights on held-out sentences.",
            "Result": f"A decoder for {spec.encoder}, which the Decode pages use immediately.",
        }

    def facts(self, cost: DecoderEstimate) -> dict[str, str]:
        """Time, encoding time, sizes and speed."""
        return {
            "Time": f"about {formats.duration(cost.seconds)} on {cost.device}",
            "Encoding": f"{formats.duration(cost.encoding)} of it",
            "Sentences": formats.count(cost.sentences),
            "Updates": formats.count(cost.steps),
            "Parameters": formats.compact(cost.parameters),
            "Speed": f"{cost.pieces_per_second:,.0f} tokens a second",
        }


def decoder_time(workspace: Workspace, spec: DecoderSpec) -> str:
    """The time that a decoder's training takes, in words, estimated from the size of its text."""
    seconds = decoder_estimates.guess(workspace, spec).seconds
    return formats.time_left(seconds).removesuffix(" left")


def check_examples(workspace: Workspace, train: str, objective: Any, **options: Any) -> None:
    """Read the first examples of a training."""
    from theodolite.engine.training.examples import open_examples

    if train.endswith((".gz", ".parquet")):
        return  # it would have to be unpacked first
    with TemporaryDirectory(prefix="theodolite-") as folder:
        open_examples(
            train, objective, workspace.catalog, limit=CHECKED, folder=Path(folder), **options
        )


@functools.cache
def _machine() -> Machine:
    """This machine's hardware, cached; torch is imported only where there may be a GPU."""
    import psutil

    from theodolite.engine.training.presets import Machine

    if sys.platform == "darwin" or shutil.which("nvidia-smi") or "torch" in sys.modules:
        return Machine.here()
    return Machine("cpu", psutil.virtual_memory().available)


def _named(spec: TrainSpec) -> str:
    """The output folder, else a name made of objective and base."""
    name = slug(spec.base.rsplit("/", 1)[-1].replace(".", "-"))[:24].strip("-")
    return spec.out or f"{spec.objective}-{name}"


def _text(name: str) -> str:
    return "The starter set" if name == STARTER else name


def _most(limit: int | None, what: str) -> str:
    return f", at most {formats.plural(limit, what)}" if limit else ""


def _epochs(number: float) -> str:
    return f"{number:g} {'epoch' if number == 1 else 'epochs'}"
