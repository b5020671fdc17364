"""How encoders use their space: their geometry on a data set, and their cosines of graded pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Nothing, Problem, Table, Text
from theodolite.app.pages.geometry import densities, sections, service
from theodolite.app.pages.geometry.densities import Distribution
from theodolite.app.pages.geometry.job import GeometryJob
from theodolite.app.pages.geometry.service import Geometry
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.web.parts import next_step
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

RULES = {"over": "above 4 (as the paper says)", "from": "4 and above"}
Several = Annotated[
    Sequence[str],
    Field("Encoders", "Spec strings.", names="encoder", key="encoder"),
]


@dataclass(frozen=True)
class EncodersSpec(Spec):
    """Of several encoders."""

    encoders: Several

    def check(self) -> None:
        """There is at least one encoder."""
        if not self.encoders:
            raise UserError(
                "Choose at least one encoder.", "Name one, as in minilm.", code="too-few"
            )


@dataclass(frozen=True)
class GeometrySpec(EncodersSpec):
    """Measure how encoders fill their space, over all pairs of a data set.

    Alignment is given over pairs graded above four fifths of the scale (`over`, the paper's) and
    from there on (`from`), each with its number of pairs.
    """

    data: Annotated[
        str | None,
        Field("Data", "Default: STSBenchmark, else starter-pairs.", "dataset", flags=("--on",)),
    ] = None
    split: Annotated[str, Field("Split", "A split, or all of them.")] = service.ALL
    rule: Annotated[
        str,
        Field("Alignment: positive pairs graded", "Which alignment is drawn.", choices=RULES),
    ] = "over"
    cut: Annotated[
        float | None,
        Field("Positive pairs: graded from", "For the threshold; default: four fifths."),
    ] = None
    label: Annotated[
        str | None, Field("Positive pairs: labelled", "For the threshold of labelled pairs.")
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class GeometryAnswer(Answer):
    """The geometry of each encoder's space.

    Attributes:
        spec: what was asked, with its data set.
        measured: one for each encoder that is measured.
        everyone: the numbers of these and of all other encoders measured on the data.
        absent: encoders that are not measured yet.
        failures: why others cannot be.
        visitor: whether whoever reads it cannot have them measured.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "encoder": str,
        "dataset": str,
        "split": str,
        "dim": int,
        "n_data": int,
        "n_distinct": int,
        "n_over": int | None,
        "alignment_over": float | None,
        "n_from": int | None,
        "alignment_from": float | None,
        "cut": float | None,
        "uniformity": float,
        "effective_rank": float,
        "isoscore": float | None,
        "mean_cosine": float,
        "std_cosine": float,
        "hub_skew": float | None,
        "hub_never": float | None,
        "hub_most": int | None,
        "n_zero": int,
        "drawn": bool,
    }

    spec: GeometrySpec
    measured: Sequence[Geometry]
    everyone: Mapping[str, Mapping[str, Any]]
    absent: Sequence[str] = ()
    failures: Sequence[Problem] = ()
    visitor: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """All numbers, one row per encoder."""
        return [{name: one.info.get(name) for name in self.columns} for one in self.measured]

    def table_columns(self) -> list[str]:
        """The numbers that are compared."""
        left_out = ("dataset", "split", "dim", "n_distinct", "n_from", "alignment_from", "cut")
        last = list(self.columns).index("hub_never")
        return [name for name in list(self.columns)[:last] if name not in (*left_out, "std_cosine")]

    @property
    def lack(self) -> str:
        """The button for the encoders that are not measured yet."""
        return lacking(self.absent, str(self.spec.data))

    def blocks(self) -> list[Block]:
        """A section for each side of a space."""
        data = str(self.spec.data)
        blocks: list[Block] = [*self.failures]
        blocks += missing(self.absent, data, some=bool(self.measured), visitor=self.visitor)
        if not self.measured:
            return blocks
        known = [one for one in map(densities.of_geometry, self.measured) if one]
        return [
            *blocks,
            *sections.alignment(self.everyone, self.spec.rule, data),
            self._numbers(),
            *sections.spectrum(self.measured),
            *sections.hubs(self.measured),
            *sections.cosines(known, data),
            *sections.thresholds(self.measured, self.spec.cut, self.spec.label),
        ]

    def _numbers(self) -> Table:
        rule = self.spec.rule
        columns = {
            "encoder": "encoder",
            "n_data": "sentences",
            f"alignment_{rule}": "alignment",
            f"n_{rule}": "paraphrase pairs",
            "uniformity": "uniformity",
            "effective_rank": "effective rank",
            "dim": "dimensions",
            "isoscore": "IsoScore",
            "mean_cosine": "mean cosine",
            "hub_skew": "hub skew",
            "hub_never": "never a neighbour",
        }
        rows = [[one.info.get(name) for name in columns] for one in self.measured]
        return Table("geometry", list(columns.values()), rows)


def answer(workspace: Workspace, spec: GeometrySpec, do: Do) -> Iterator[GeometryAnswer]:
    """Look up what is measured; the rest is measured here if small and encoded, else by `do`."""
    from dataclasses import replace

    from theodolite.engine.encoders import parse

    known = set(workspace.catalog.names())
    data = spec.data or next(name for name in service.USUAL if name in known)
    spec, place = replace(spec, data=data), (data, spec.split)
    measured: dict[str, Geometry | None] = {}
    failures = []
    for name in spec.encoders:
        try:
            canonical = str(parse(name))
            measured[canonical] = service.quick(workspace, canonical, *place)
        except UserError as error:  # one encoder that fails does not stop the others
            failures.append(Problem(error))
    absent = [name for name, one in measured.items() if one is None]
    if absent and do(GeometryJob(tuple(absent), *place)):
        measured |= {name: service.measure(workspace, name, *place) for name in absent}
    there = [one for one in measured.values() if one]
    everyone = service.everyone(workspace, *place) if there else {}
    everyone |= {one.encoder: one.info for one in there}
    absent = [name for name, one in measured.items() if one is None]
    yield GeometryAnswer(spec, there, everyone, absent, failures, workspace.read_only)


@dataclass(frozen=True)
class DistributionsSpec(EncodersSpec):
    """Say how encoders distribute their cosines over sentence pairs that were graded.

    A good encoder gives low grades low cosines and high grades high ones, and does not squeeze all
    sentences together. The cosines are those of the evaluation on the task.
    """

    task: Annotated[
        str | None,
        Field("Scored pairs, all splits", "A task on pairs; default: STSBenchmark.", names="task"),
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class Distributions(Answer):
    """The distributions of the cosines.

    Attributes:
        task: on whose pairs.
        known: encoder -> its distribution.
        absent: encoders without a result on the task.
        lost: encoders with one whose values per example cannot be read.
        visitor: whether whoever reads it cannot have them evaluated.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "encoder": str,
        "task": str,
        "pairs": int,
        "mean_lowest": float | None,
        "mean_highest": float | None,
        "overlap": float | None,
        "random_cosine": float | None,
        "alignment": float | None,
        "uniformity": float | None,
        "score": float | None,
    }
    decimals: ClassVar[int] = 3

    task: str
    known: Mapping[str, Distribution]
    absent: Sequence[str] = ()
    lost: Sequence[str] = ()
    visitor: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """A row per encoder."""
        return [
            {
                "encoder": name,
                "task": self.task,
                "pairs": one.n,
                "mean_lowest": one.means[0],
                "mean_highest": one.means[-1],
                "overlap": one.overlap,
                "random_cosine": one.panel.random,
                "alignment": one.alignment,
                "uniformity": one.uniformity,
                "score": one.score,
            }
            for name, one in self.known.items()
        ]

    @property
    def lack(self) -> str:
        """The button for the encoders without a result."""
        return lacking(self.absent, self.task)

    def blocks(self) -> list[Block]:
        """The densities, and alignment against uniformity where the task defines them."""
        blocks: list[Block] = [
            Problem(
                UserError(
                    f"The values per example of {name} on {self.task} cannot be read.",
                    "Evaluate it again to restore them.",
                    code="damaged",
                )
            )
            for name in self.lost
        ]
        left = [name for name in self.absent if name not in self.lost]
        some = bool(self.known or self.lost)
        blocks += missing(left, self.task, some=some, visitor=self.visitor)
        blocks += sections.cosines([*self.known.values()], self.task)
        points = {
            name: (one.alignment, one.uniformity)
            for name, one in self.known.items()
            if one.alignment is not None and one.uniformity is not None
        }
        if points:
            blocks += sections.space(points, "pairs graded above 4", "all sentences", self.task)
        return blocks


def distributions(workspace: Workspace, spec: DistributionsSpec, do: Do) -> Iterator[Distributions]:
    """Read the results on the task; encoders without one are evaluated by `do`."""
    from theodolite.app.pages.evaluate.job import EvaluateJob

    task = spec.task or densities.opening(workspace, densities.pair_tasks(workspace))
    known = densities.distributions(workspace, spec.encoders, task)
    absent = [name for name in spec.encoders if name not in known]
    if absent and do(EvaluateJob.of(workspace, absent, [task])):
        known = densities.distributions(workspace, spec.encoders, task)
        absent = [name for name in spec.encoders if name not in known]
    lost = densities.unreadable(workspace, spec.encoders, task, known)
    yield Distributions(task, known, absent, lost, workspace.read_only)


def lacking(absent: Sequence[str], data: str) -> str:
    """The button that has encoders measured; empty for none."""
    return f"Measure {formats.plural(len(absent), 'encoder')} on {data}" if absent else ""


def missing(absent: Sequence[str], data: str, *, some: bool, visitor: bool) -> list[Block]:
    """Name the encoders that were not measured, and what to do if none was."""
    if not absent:
        return []
    if some:
        return [Text("", f"Not measured on {data} yet: {', '.join(absent)}.")]
    press = "Press the button above. It takes seconds to minutes, in the background."
    hint = next_step(visitor, "choose other data", press)
    return [Nothing(f"None of them has been measured on {data}", hint)]


GEOMETRY = Question(
    "geometry",
    GeometrySpec,
    answer,
    GeometryAnswer,
    (
        "geometry minilm wordllama random:256",
        "geometry minilm --on STSBenchmark --split test --data senteval --json",
    ),
    queues=True,
)
DISTRIBUTIONS = Question(
    "distributions",
    DistributionsSpec,
    distributions,
    Distributions,
    ("distributions minilm wordllama --task StarterSTS",),
    queues=True,
)
