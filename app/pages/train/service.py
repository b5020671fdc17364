"""Presets, checks, estimates and starts of trainings, for pages and commands."""

from __future__ import annotations

import functools
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from theodolite.app import formats
from theodolite.app.jobs import submit
from theodolite.app.pages.train import settings
from theodolite.app.pages.train.choices import default_dev
from theodolite.app.pages.train.job import TrainDecoderJob, TrainingJob, TrainJob, slug
from theodolite.app.pages.train.settings import NONE, FormSettings, Values
from theodolite.app.pages.train.sweep_job import SweepJob
from theodolite.engine.errors import UserError
from theodolite.engine.training.base_spec import BaseSpec
from theodolite.engine.training.presets import STARTER

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.decoding.estimate import DecoderEstimate
    from theodolite.engine.decoding.spec import DecoderSpec
    from theodolite.engine.training.estimate import TrainEstimate
    from theodolite.engine.training.presets import Machine
    from theodolite.engine.training.spec import TrainSpec

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
Spec = TypeVar("Spec", bound=BaseSpec)
Cost = TypeVar("Cost")


class Training(ABC, Generic[Spec, Cost]):
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
    def spec(self, values: Values) -> Spec:
        """The spec that a form describes; settings that do not apply keep their default.

        Args:
            values: of the settings and of `named`, as typed.
        """

    @abstractmethod
    def name(self, spec: Spec) -> str:
        """A name for its folder if none is given."""

    @abstractmethod
    def check(self, spec: Spec) -> None:
        """Check the model and the first examples before a run is queued."""

    @abstractmethod
    def probe(self, spec: Spec) -> Cost:
        """Measure the cost in some seconds of training, which are discarded."""

    @abstractmethod
    def facts(self, cost: Cost) -> dict[str, str]:
        """The cost in words."""

    def notes(self, cost: Cost) -> Sequence[str]:
        """Caveats of an estimated cost."""
        return getattr(cost, "notes", ())

    @abstractmethod
    def plan(self, spec: Spec) -> dict[str, str]:
        """The plan in words; no data is read."""

    def guess(self, spec: Spec) -> str:
        """A rough estimate of the time, at once; empty for none."""
        return ""

    def command(self, spec: Spec) -> list[str]:
        """Arguments of the equivalent command."""
        return replace(spec, out=spec.out or self.name(spec)).command()

    def job(self, spec: Spec) -> TrainingJob[Spec]:
        """The job of a spec."""
        return self.job_type.of(self.workspace, spec)

    def queue(self, spec: Spec, *, title: str | None = None) -> str:
        """Queue a run, and return its id.

        Args:
            spec: what to train; with an empty `out`, into a folder of the store.
            title: for people; None for one made of the spec.
        """
        self.workspace.refuse_visitors()
        return submit.queue(self.workspace, self.job(spec), title=title)

    def start(self, spec: Spec) -> str:
        """Check a spec, queue its run, and return the run's id."""
        self.workspace.refuse_visitors()
        self.check(spec)
        return self.queue(spec)

    def defaults(self) -> dict[str, Any]:
        """The default of every setting, as the form shows it."""
        return self.settings.defaults()

    def preset(self, name: str) -> dict[str, Any]:
        """Every setting and field of `named` under a preset, as the form shows them."""
        changes: Mapping[str, Any] = next(
            (preset.changes for preset in self.presets() if preset.name == name), {}
        )
        return self.defaults() | self._shown(changes)

    def preset_of(self, values: Values) -> Any | None:
        """The preset that equals a form's values in every field that applies; None for none."""
        usual = self.defaults()
        applicable = [name for name, setting in self.settings.items() if setting.applies(values)]
        for preset in self.presets():
            merged = usual | self._shown(preset.changes)
            names = [*applicable, *(name for name in self.named if name in merged)]
            if all(values[name] == merged[name] for name in names):
                return preset
        return None

    def _shown(self, changes: Mapping[str, Any]) -> dict[str, Any]:
        return {
            name: self.settings.shown(name, value) if name in self.settings else value
            for name, value in changes.items()
            if name in (*self.settings, *self.named)
        }


class EncoderTraining(Training["TrainSpec", "TrainEstimate"]):
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
        from theodolite.engine.training.spec import TrainSpec

        if not values["base"]:
            raise UserError("No model given.", "Choose one under Model.", code="missing")
        if not values["train"]:
            raise UserError(
                "No training data given.", "Choose data, or upload a file.", code="missing"
            )
        named = {name: values[name] for name in self.named}
        return TrainSpec.from_dict(named | {"out": ""} | self.settings.read(values))

    def name(self, spec: TrainSpec) -> str:
        """A name made of objective and base."""
        name = slug(spec.base.rsplit("/", 1)[-1].replace(".", "-"))[:24].strip("-")
        return f"{spec.objective}-{name}"

    def check(self, spec: TrainSpec) -> None:
        """Check the base and the first examples."""
        from theodolite.engine import encoders

        if not spec.base.startswith("new:"):
            encoders.parse(spec.base)
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
        """The plan, with the output folder."""
        return _encoder_plan(replace(spec, out=spec.out or self.name(spec)))

    def start_sweep(self, spec: TrainSpec, children: Sequence[tuple[str, dict[str, Any]]]) -> str:
        """Queue a sweep whose children change fields of `spec`; return the run's id."""
        self.workspace.refuse_visitors()
        self.check(spec)
        return submit.queue(self.workspace, SweepJob.of(self.workspace, spec, children))

    def probe_sweep(self, job: SweepJob) -> Iterator[tuple[str, TrainEstimate]]:
        """Yield label and cost of each child; children of equal cost share a probe."""
        probed: dict[TrainSpec, TrainEstimate] = {}
        for position, label in enumerate(job.units()):
            child = job.child(position)
            alike = replace(child, out="", **_FREE)
            if alike not in probed:
                probed[alike] = self.probe(child)
            yield label, probed[alike]

    def facts(self, cost: TrainEstimate) -> dict[str, str]:
        """Time, memory, updates and speed."""
        facts = {
            "Time": f"about {formats.duration(cost.seconds)} on {cost.device}",
            "Memory": f"about {formats.size(cost.bytes)}",
            "Updates": f"{formats.count(cost.steps)} of {formats.duration(cost.seconds_per_step)}, "
            f"on {formats.plural(cost.examples, 'example')}",
            "Speed": f"{cost.sentences_per_second:,.0f} sentences a second",
        }
        if cost.evals:
            each = formats.duration(cost.seconds_per_eval)
            facts["Evaluations"] = f"{formats.count(cost.evals)} of {each}"
        return facts


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

    def name(self, spec: DecoderSpec) -> str:
        """The same name for all decoders."""
        return "decoder"

    def check(self, spec: DecoderSpec) -> None:
        """Check the first sentences of files."""
        from theodolite.engine.training.examples import is_file

        for name in spec.train:
            if is_file(name):
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
        """Estimate by encoding some sentences and making a few updates."""
        from theodolite.app.pages.train.decoder_estimates import probed

        self.workspace.refuse_visitors()
        return probed(self.workspace, self.job(spec).spec)

    def plan(self, spec: DecoderSpec) -> dict[str, str]:
        """The plan, with the resulting decoder."""
        return _decoder_plan(spec)

    def guess(self, spec: DecoderSpec) -> str:
        """The time, estimated from the size of the text."""
        from theodolite.app.pages.train.decoder_estimates import guess

        return formats.time_left(guess(self.workspace, spec).seconds).removesuffix(" left")

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


def varied(
    spec: TrainSpec, lines: Sequence[str], draws: int | None, seed: int = 0
) -> list[tuple[str, dict[str, Any]]]:
    """Label and changes of the runs of a sweep.

    Args:
        spec: the spec that they share.
        lines: `FIELD=A,B,C`, and to draw from also `FIELD=LOW..HIGH` or `FIELD=LOW..HIGH:log`.
        draws: how many combinations to draw; None for all of them.
        seed: random seed of the draws.
    """
    from theodolite.engine.training import sweeps

    found = dict(sweeps.parsed(line) for line in lines if line.strip())
    if draws is None:
        return sweeps.grid(spec, found)
    return sweeps.search(spec, found, draws, seed)


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


def _encoder_plan(spec: TrainSpec) -> dict[str, str]:
    """The data, the duration, the selection of the best weights, and the output."""
    length = formats.plural(spec.steps, "step") if spec.steps else _epochs(spec.epochs)
    keeps = "The last weights."
    if spec.dev:
        keeps = f"The best weights on {spec.dev}, evaluated every {spec.dev_every} steps."
    together = f", in {spec.processes} processes" if spec.processes > 1 else ""
    return {
        "Reads": f"{_text(spec.train)}{_most(spec.limit, 'example')}.",
        "Learns for": f"{length}, {spec.batch_size} examples per batch{together}.",
        "Keeps": keeps,
        "Leaves": f"{spec.out}, among the encoders; its curves are on Trainings.",
    }


def _decoder_plan(spec: DecoderSpec) -> dict[str, str]:
    """The data, the duration, the selection of the best weights, and the output."""
    texts = formats.listed(_text(name) for name in spec.train)
    return {
        "Reads": f"{texts}{_most(spec.limit, 'sentence')}, encoded by {spec.encoder}.",
        "Learns for": f"{_epochs(spec.epochs)}, from sentences of at most {spec.words} words.",
        "Keeps": "The best weights on held-out sentences.",
        "Leaves": f"A decoder for {spec.encoder}, which the Decode pages use immediately.",
    }


def _text(name: str) -> str:
    return "The starter set" if name == STARTER else name


def _most(limit: int | None, what: str) -> str:
    return f", at most {formats.plural(limit, what)}" if limit else ""


def _epochs(number: float) -> str:
    return f"{number:g} {'epoch' if number == 1 else 'epochs'}"
