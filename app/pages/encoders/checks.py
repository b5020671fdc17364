"""Checks of an encoder: what each of its settings is worth, and what its files of vectors lack."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Cell, Finding, Link, Nothing, Progress, Table, Text
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.datasets.types import Dataset
    from theodolite.engine.encoders.audit import Audit, Audited

ALL_PAIRS = 10**9
"""More pairs than any data set has."""
_EXAMPLES = {"Spearman": ("pair", "pairs"), "nDCG@10": ("query", "queries")}


@dataclass(frozen=True)
class AuditSpec(Spec):
    """Measure in seconds what each setting is worth: prompts, poolings, cuts, precision.

    Every setting is compared with the encoder as given, on the same few pairs or queries. The
    interval is of the paired bootstrap: where it holds 0, the difference may be noise. Choose by
    this, then report on other data.
    """

    encoder: Annotated[
        str, Field("Encoder", "hf:ID or dir:FOLDER, with any options.", names="encoder")
    ]
    examples: Annotated[
        str | None,
        Field(
            "Examples",
            "Scored pairs, or queries with documents and judgements; default: STS-B.",
            names="dataset",
            flags=("--on",),
        ),
    ] = None


@dataclass(frozen=True, eq=False, repr=False)
class Audits(Answer):
    """The effect of every setting of an encoder, against the encoder as given.

    Attributes:
        progress: share done and what is measured next, until there is an audit.
        audit: the audit.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "group": str,
        "setting": str,
        "score": float | None,
        "change": float | None,
        "low": float | None,
        "high": float | None,
        "verdict": str,
        "lost": float | None,
        "lost_low": float | None,
        "lost_high": float | None,
        "by": str,
        "metric": str,
        "n": int,
        "data": str,
        "seconds": float,
        "spec": str,
        "error": str | None,
    }
    partial = True

    progress: tuple[float, str] | None = None
    audit: Audit | None = None

    def rows(self) -> list[dict[str, Any]]:
        """The spec as given first, then group by group.

        `change` and `lost` are points against the first and against the best row, each with its
        95 % interval; `verdict` says whether `change` is more than noise.
        """
        return [_row(self.audit, row) for row in self.audit.rows] if self.audit else []

    def table_columns(self) -> list[str]:
        """Without what is the same for all."""
        names = "group setting score lost change low high verdict error"
        return names.split()

    def notes(self) -> list[str]:
        """What was measured on, the best setting, and what was not tried."""
        if self.audit is None:
            return []
        best = self.audit.best
        better = best.setting and best.change and best.change.verdict == "a"
        return [
            f"{self.audit.metric} on {formats.plural(self.audit.n, 'example')} of "
            f"{self.audit.measured_on}, in points: loss against the best, and change against the "
            "first row, with the 95 % interval of the change.",
            *([f"Best: {best.spec}"] if better else []),
            *self.audit.notes,
            *(f"Warning: {warning}" for warning in self.audit.warnings),
        ]

    def blocks(self) -> list[Block]:
        """What is better than the encoder as given, and all settings."""
        if self.audit is None:
            share, what = self.progress or (None, "the encoder")
            return [Progress(f"Measuring {what} …", done=share)]
        audit, rows = self.audit, self.rows()
        detail = (
            f"Measured on {formats.plural(audit.n, *_EXAMPLES[audit.metric])} of "
            f"{audit.measured_on}. Lost: points against the best. Change: points against the spec "
            "as asked; where its interval holds 0 it may be noise. Choose by this, then report on "
            "other data."
        )
        titles = _titles()
        cells = [
            (
                titles[row["group"]],
                row["setting"]
                if row["group"] in ("asked", "length")
                else Link(row["setting"], "encoders", {"spec": row["spec"]}),
                Cell(row["score"], formats.score(row["score"])),
                Cell(row["lost"], formats.signed(row["lost"]) if row["lost"] else "best"),
                Cell(row["change"], formats.signed(row["change"])),
                row["error"] or f"{formats.signed(row['low'])} to {formats.signed(row['high'])}",
                _verdict(row["verdict"]),
            )
            for row in rows
        ]
        heads = ("Group", "Setting", audit.metric, "Lost", "Change", "95 % interval", "Verdict")
        return [
            Finding(_finding(rows), detail),
            *(Text("", warning) for warning in audit.warnings),
            Table("theodolite-audit", heads, cells, note=" ".join(audit.notes)),
        ]


def audit(workspace: Workspace, spec: AuditSpec, do: Do) -> Iterator[Audits]:
    """Yield what is measured next, and finally the audit of a few examples."""
    from theodolite.engine.encoders.audit import audit as measure
    from theodolite.engine.encoders.audit import some_of

    workspace.refuse_visitors()
    for step in measure(source_of(spec.encoder), some_of(_examples(workspace, spec.examples))):
        yield Audits(progress=step) if isinstance(step, tuple) else Audits(audit=step)


AUDIT = Question(
    "audit",
    AuditSpec,
    audit,
    Audits,
    (
        'encoders audit "hf:intfloat/e5-small-v2?prompt=query:%20"',
        "encoders audit dir:my-model?pooling=avg --on cranfield --json",
    ),
    group="encoders",
)


def check_poolings(workspace: Workspace, spec: str) -> tuple[str, list[dict[str, Any]]]:
    """Measure each pooling on all of STS-B dev, or on the starter pairs if STS-B is missing.

    Returns:
        (the data it was measured on, rows of pooling, spearman in points, seconds), best first.
    """
    from theodolite.engine.encoders.audit import Audit, some_of
    from theodolite.engine.encoders.audit import audit as measure

    workspace.refuse_visitors()
    examples = some_of(_examples(workspace), ALL_PAIRS)
    *_, made = measure(source_of(spec), examples, ("pooling",))
    assert isinstance(made, Audit)  # noqa: S101 - for the type checker
    seconds = sum(row.seconds for row in made.rows[1:])
    rows = [
        {"pooling": row.setting.label, "spearman": row.score, "seconds": seconds}
        for row in made.rows
        if row.setting and row.score is not None
    ]
    return made.measured_on, sorted(rows, key=lambda row: -row["spearman"])


def source_of(spec: str) -> str:
    """A spec without the steps after its source."""
    return spec.split("|")[0].strip()


def _row(audit: Audit, row: Audited) -> dict[str, Any]:
    change, lost, setting = row.change, row.lost, row.setting
    words = {"a": "better", "b": "worse", "tie": "no real difference"}
    return {
        "group": setting.group if setting else "asked",
        "setting": setting.label if setting else "as asked",
        "score": row.score,
        "change": change and change.delta,
        "low": change and change.low,
        "high": change and change.high,
        "verdict": words[change.verdict] if setting and change else "",
        "lost": lost and lost.delta,
        "lost_low": lost and lost.low,
        "lost_high": lost and lost.high,
        "by": setting.by if setting else "cosine",
        "metric": audit.metric,
        "n": audit.n,
        "data": audit.measured_on,
        "seconds": row.seconds,
        "spec": row.spec,
        "error": row.error,
    }


def _examples(workspace: Workspace, data: str | None = None) -> Dataset:
    if data is not None:
        return workspace.catalog.load(data)
    try:
        return workspace.catalog.load("STSBenchmark")
    except UserError:
        return workspace.catalog.load("starter-pairs")


def _verdict(text: str) -> Cell:
    kinds = {"better": "good", "worse": "bad"}
    return Cell(text, tag=text, kind=kinds[text]) if text in kinds else Cell(text, text)


def _titles() -> dict[str, str]:
    """Group -> title of the setting."""
    from theodolite.engine.encoders.audit import GROUPS

    return {"asked": "", **{str(name): title for name, title in GROUPS.items()}}


def _finding(rows: Sequence[dict[str, Any]]) -> str:
    """The result of an audit in a sentence."""
    better = [row for row in rows if row["verdict"] == "better"]
    worse = sum(row["verdict"] == "worse" for row in rows)
    others = f" {formats.plural(worse, 'setting is', 'settings are')} worse." if worse else ""
    if not better:
        return f"No setting is significantly better than yours.{others}"
    best = max(better, key=lambda row: row["score"])
    change, low, high = (formats.signed(best[name]) for name in ("change", "low", "high"))
    return (
        f"{_titles()[best['group']]} “{best['setting']}” is better than yours: {change} points, "
        f"with an interval from {low} to {high}.{others}"
    )


@dataclass(frozen=True)
class CoverageSpec(Spec):
    """Say how many sentences of each task a file of vectors lacks."""

    encoder: Annotated[str, Field("Encoder", "A spec string.", names="encoder")]
    tasks: Annotated[str | None, Field("Tasks", "Tasks or suites, with commas; default: all.")] = (
        None
    )


@dataclass(frozen=True, eq=False, repr=False)
class Coverage(Answer):
    """The sentences that a file of vectors lacks, task by task.

    Attributes:
        encoder: its spec.
        found: a row per task that was looked at.
        total: number of tasks.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "task": str,
        "sentences": int,
        "lacking": int,
        "first": str,
        "error": str | None,
    }

    encoder: str
    found: Sequence[Mapping[str, Any]]
    total: int

    def rows(self) -> list[dict[str, Any]]:
        """`lacking` counts distinct sentences, and `first` is the first of them."""
        return [dict(row) for row in self.found]

    def table_columns(self) -> list[str]:
        """Without the errors, which are notes."""
        return ["task", "sentences", "lacking", "first"]

    def notes(self) -> list[str]:
        """Why data could not be read."""
        return [f"{row['task']}: {row['error']}" for row in self.found if row["error"]]

    def blocks(self) -> list[Block]:
        """For how many tasks it has everything, and what the others lack."""
        if not self.total:
            return [Nothing("There is no task", "Bring data on the page Data.")]
        if len(self.found) < self.total:
            share = len(self.found) / self.total
            return [Progress(f"{len(self.found)} of {self.total} tasks", done=share)]
        whole = sum(not row["lacking"] and not row["error"] for row in self.found)
        rows = [
            (row["task"], None, None, row["error"])
            if row["error"]
            else (row["task"], row["sentences"], row["lacking"], row["first"])
            for row in sorted(self.found, key=lambda row: (bool(row["error"]), row["lacking"]))
        ]
        columns = ("Task", "Sentences", "Lacking", "The first of them")
        tasks = formats.plural(self.total, "task")
        return [
            Finding(
                f"{self.encoder} has every sentence of {whole or 'none'} of {tasks}",
                "Where it lacks some, it cannot be evaluated.",
            ),
            Table("theodolite-coverage", columns, rows),
        ]


def coverage(workspace: Workspace, spec: CoverageSpec, do: Do) -> Iterator[Coverage]:
    """Yield the rows of more and more tasks."""
    from theodolite.engine import tasks as registry
    from theodolite.engine.encoders.vectors import Coverage as Report

    workspace.refuse_visitors()
    report = Report(spec.encoder)
    if not report.files:
        raise UserError(
            f"{spec.encoder} does not read vectors from a file.",
            "It can encode every sentence; nothing is missing.",
            code="wrong-kind",
        )
    catalog = workspace.catalog
    if spec.tasks is None:
        names = [task.name for task in registry.available(catalog)]
    else:
        names = list(registry.expand(spec.tasks, catalog))
    rows: list[dict[str, Any]] = []
    for name in names:
        yield Coverage(spec.encoder, tuple(rows), len(names))
        row = {"task": name, "sentences": 0, "lacking": 0, "first": "", "error": None}
        try:
            dataset = catalog.load(registry.get(name, catalog).dataset)
            sentences = list(dict.fromkeys(dataset.sentences))
            lacking = report.lacking(sentences)
            row |= {"sentences": len(sentences), "lacking": len(lacking)}
            row["first"] = lacking[0][:80] if lacking else ""
        except UserError as error:
            row["error"] = str(error)
        rows.append(row)
    yield Coverage(spec.encoder, rows, len(names))


COVERAGE = Question(
    "coverage",
    CoverageSpec,
    coverage,
    Coverage,
    ("encoders coverage vectors:mine.parquet --tasks sts",),
    group="encoders",
)
