"""How encoders use their space: their geometry on a data set, and their cosines of graded pairs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Nothing, Problem, Table, Text
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.geometry import service
from theodolite.app.pages.geometry.sections import (
    COLUMNS,
    Distribution,
    alignment,
    cosines,
    hubs,
    of_geometry,
    read,
    space,
    spectrum,
    thresholds,
)
from theodolite.app.pages.geometry.service import Geometry, GeometryJob
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.workspace import Workspace
from theodolite.engine import tasks
from theodolite.engine.encoders import parse
from theodolite.engine.errors import UserError

DECIMALS = {
    **dict.fromkeys(("alignment", "uniformity", "IsoScore", "mean cosine"), 3),
    **{"effective rank": 1, "hub skew": 2, "never a neighbour": 4},
}
RULES = {"over": "above 4 (as the paper says)", "from": "4 and above"}


@dataclass(frozen=True)
class EncodersSpec(Spec):
    """Of several encoders."""

    encoders: Annotated[
        Sequence[str],
        Field("Encoders", "Spec strings.", names="encoder", key="encoder", argument=True),
    ] = ()

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
class Measured(Answer):
    """What is known of encoders on some data, and of which of them nothing is known.

    Attributes:
        data: a data set, or a task.
        absent: encoders that are not measured.
        failures: why others cannot be, or cannot be read.
    """

    data: str
    absent: Sequence[str]
    failures: Sequence[Problem]

    @property
    def lack(self) -> str:
        """The button that has encoders measured; empty for none."""
        number = formats.plural(len(self.absent), "encoder")
        return f"Measure {number} on {self.data}" if self.absent else ""

    def gaps(self) -> list[Block]:
        """Why some encoders are missing, and what to do if none is known."""
        blocks: list[Block] = [*self.failures]
        if self.absent and (self.rows() or self.failures):
            blocks.append(Text("", f"Not measured on {self.data} yet: {', '.join(self.absent)}."))
        elif self.absent:
            hint = "Press the button above. It takes seconds to minutes, in the background."
            blocks.append(Nothing(f"None of them has been measured on {self.data}", hint))
        return blocks


@dataclass(frozen=True, eq=False, repr=False)
class GeometryAnswer(Measured):
    """The geometry of each encoder's space.

    Attributes:
        spec: what was asked.
        measured: one for each encoder that is measured.
        everyone: the numbers of these and of all other encoders measured on the data.
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
    in_terminal: ClassVar = (
        "encoder",
        "n_data",
        "n_over",
        "alignment_over",
        "uniformity",
        "effective_rank",
        "isoscore",
        "mean_cosine",
        "hub_skew",
    )

    spec: GeometrySpec
    measured: Sequence[Geometry]
    everyone: Mapping[str, Mapping[str, Any]]

    def rows(self) -> list[dict[str, Any]]:
        """All numbers, one row per encoder."""
        return [{name: one.info.get(name) for name in self.columns} for one in self.measured]

    def blocks(self) -> list[Block]:
        """A section for each side of a space."""
        if not self.measured:
            return self.gaps()
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
        graded = [of_geometry(one, self.data) for one in self.measured]
        return [
            *self.gaps(),
            *alignment(self.everyone, rule, self.data),
            Table("geometry", list(columns.values()), rows, decimals=DECIMALS),
            *spectrum(self.measured),
            *hubs([one for one in self.measured if len(one.occurrence)]),
            *cosines([one for one in graded if one], self.data),
            *thresholds(self.measured, self.spec.cut, self.spec.label),
        ]


def answer(workspace: Workspace, spec: GeometrySpec, do: Do) -> Iterator[GeometryAnswer]:
    """Look up what is measured; the rest is measured here if small and encoded, else by `do`."""
    first, shipped = service.USUAL
    data = spec.data or (first if first in workspace.catalog.names() else shipped)
    measured: dict[str, Geometry | None] = {}
    failures = dict[str, Problem]()  # by what it says: of the data it is said once
    for name in spec.encoders:
        try:
            canonical = str(parse(name))
            measured[canonical] = service.quick(workspace, canonical, data, spec.split)
        except UserError as error:  # one encoder that fails does not stop the others
            failures[str(error)] = Problem(error)
    absent = [name for name, one in measured.items() if one is None]
    if absent and do(GeometryJob(tuple(absent), data, spec.split)):
        measured |= {name: service.measure(workspace, name, data, spec.split) for name in absent}
        absent = []
    there = [one for one in measured.values() if one]
    everyone = service.everyone(workspace, data, spec.split) if there else {}
    everyone |= {one.encoder: one.info for one in there}
    yield GeometryAnswer(data, absent, [*failures.values()], spec, there, everyone)


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
class Distributions(Measured):
    """The distributions of the cosines.

    Attributes:
        known: encoder -> its distribution.
    """

    columns: ClassVar[Mapping[str, Any]] = COLUMNS
    decimals: ClassVar[int] = 3

    known: Mapping[str, Distribution]

    def rows(self) -> list[dict[str, Any]]:
        """A row per encoder."""
        return [one.row for one in self.known.values()]

    def blocks(self) -> list[Block]:
        """The densities, and alignment against uniformity where the task defines them."""
        points = {row["encoder"]: (row["alignment"], row["uniformity"]) for row in self.rows()}
        points = {name: both for name, both in points.items() if None not in both}
        return [
            *self.gaps(),
            *cosines([*self.known.values()], self.data),
            *space(points, "pairs graded above 4", "all sentences", self.data),
        ]


def distributions(workspace: Workspace, spec: DistributionsSpec, do: Do) -> Iterator[Distributions]:
    """Read the results on the task; encoders without one are evaluated by `do`."""
    task = spec.task or first_task(workspace, pair_tasks(workspace))
    known, failures = read(workspace, spec.encoders, task)
    absent = [name for name in spec.encoders if name not in known]
    if absent and do(EvaluateJob.of(workspace, absent, [task])):
        known, failures = read(workspace, spec.encoders, task)
        absent = [name for name in spec.encoders if name not in known]
    yield Distributions(task, absent, failures, known)


def pair_tasks(workspace: Workspace) -> list[str]:
    """Tasks on scored pairs: those with available data, then others with results."""
    here = [task.name for task in tasks.available(workspace.catalog) if task.type == "sts"]
    rows = workspace.store.results.table()
    evaluated = {row["task"] for row in rows if row["metric"] == "spearman"}
    return [*here, *sorted(evaluated - set(here))]


def first_task(workspace: Workspace, tasks: Sequence[str]) -> str:
    """The default task: STS-B if an encoder was evaluated on it, else StarterSTS."""
    if not tasks:
        raise UserError(
            "No scored pairs are available.", "Add some on the page Data.", code="missing"
        )
    if "STSBenchmark" in tasks and workspace.store.results.table(tasks=["STSBenchmark"]):
        return "STSBenchmark"
    return "StarterSTS" if "StarterSTS" in tasks else tasks[0]


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
