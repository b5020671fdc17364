"""Checks of an encoder: what each of its settings is worth, and what its files of vectors lack."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Caveat, Caveats, Cell, Finding, Link, Nothing, Table
from theodolite.app.question import Answer, Do, Question, Working
from theodolite.app.spec import Field, Spec
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import Dataset
from theodolite.engine.encoders.audit import GROUPS, Audit, audit as measure, some_of
from theodolite.engine.errors import UserError

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
    """The effect of every setting of an encoder, against the encoder as given."""

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
    in_terminal: ClassVar = (
        "group",
        "setting",
        "score",
        "lost",
        "change",
        "low",
        "high",
        "verdict",
        "error",
    )
    partial = True

    audit: Audit

    def rows(self) -> list[dict[str, Any]]:
        """The spec as given first, then group by group.

        `change` and `lost` are points against the first and against the best row, each with its
        95 % interval; `verdict` says whether `change` is more than noise.
        """
        words = {"a": "better", "b": "worse", "tie": "no real difference"}
        return [
            {
                "group": row.setting.group if row.setting else "asked",
                "setting": row.setting.label if row.setting else "as asked",
                "score": row.score,
                "change": row.change and row.change.delta,
                "low": row.change and row.change.low,
                "high": row.change and row.change.high,
                "verdict": words[row.change.verdict] if row.setting and row.change else "",
                "lost": row.lost and row.lost.delta,
                "lost_low": row.lost and row.lost.low,
                "lost_high": row.lost and row.lost.high,
                "by": row.setting.by if row.setting else "cosine",
                "metric": self.audit.metric,
                "n": self.audit.n,
                "data": self.audit.measured_on,
                "seconds": row.seconds,
                "spec": row.spec,
                "error": row.error,
            }
            for row in self.audit.rows
        ]

    def notes(self) -> list[str]:
        """What was measured on, the best setting, and what was not tried."""
        audit = self.audit
        best = audit.best
        better = best.setting and best.change and best.change.verdict == "a"
        return [
            f"{audit.metric} on {formats.plural(audit.n, 'example')} of {audit.measured_on}, in "
            "points: loss against the best, and change against the first row, with the 95 % "
            "interval of the change.",
            *([f"Best: {best.spec}"] if better else []),
            *audit.notes,
            *(f"Warning: {warning}" for warning in audit.warnings),
        ]

    def blocks(self) -> list[Block]:
        """What is better than the encoder as given, and all settings."""
        audit, rows = self.audit, self.rows()
        titles: dict[str, str] = {"asked": ""} | {
            str(name): title for name, title in GROUPS.items()
        }
        detail = (
            f"Measured on {formats.plural(audit.n, *_EXAMPLES[audit.metric])} of "
            f"{audit.measured_on}. Lost: points below the best. Change: points gained on the spec "
            "as given; if its interval contains 0, it may be noise. Choose by these figures, but "
            "report scores on other data."
        )
        kinds = {"better": "good", "worse": "bad"}
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
                Cell(row["verdict"], tag=row["verdict"], kind=kinds.get(row["verdict"], "")),
            )
            for row in rows
        ]
        better = [row for row in rows if row["verdict"] == "better"]
        finding = "No setting is significantly better than yours."
        if better:
            best = max(better, key=lambda row: row["score"])
            change, low, high = (formats.signed(best[name]) for name in ("change", "low", "high"))
            finding = (
                f"{titles[best['group']]} “{best['setting']}” is better than yours: {change} "
                f"points, with an interval from {low} to {high}."
            )
        if worse := sum(row["verdict"] == "worse" for row in rows):
            finding += f" {formats.plural(worse, 'setting is', 'settings are')} worse."
        heads = ("Group", "Setting", audit.metric, "Lost", "Change", "95 % interval", "Verdict")
        return [
            Finding(finding, detail),
            Caveats([Caveat(warning) for warning in audit.warnings]),
            Table("theodolite-audit", heads, cells, note=" ".join(audit.notes)),
        ]


def audit(workspace: Workspace, spec: AuditSpec, do: Do) -> Iterator[Audits | Working]:
    """Yield what is measured next, and finally the audit of a few examples."""
    workspace.refuse_visitors()
    for step in measure(_source(spec.encoder), some_of(_examples(workspace, spec.examples))):
        if isinstance(step, tuple):
            yield Working(f"Measuring {step[1]} …", step[0])
        else:
            yield Audits(step)


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
    workspace.refuse_visitors()
    examples = some_of(_examples(workspace), ALL_PAIRS)
    *_, audit = measure(_source(spec), examples, ("pooling",))
    assert isinstance(audit, Audit)  # noqa: S101 - for the type checker
    seconds = sum(row.seconds for row in audit.rows[1:])
    rows = [
        {"pooling": row.setting.label, "spearman": row.score, "seconds": seconds}
        for row in audit.rows
        if row.setting and row.score is not None
    ]
    return audit.measured_on, sorted(rows, key=lambda row: -row["spearman"])


def _source(spec: str) -> str:
    """A spec without the steps after its source."""
    return spec.split("|")[0].strip()


def _examples(workspace: Workspace, data: str | None = None) -> Dataset:
    try:
        return workspace.catalog.load(data or "STSBenchmark")
    except UserError:
        if data:
            raise
        return workspace.catalog.load("starter-pairs")


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
        lacks: a row per task.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "task": str,
        "sentences": int,
        "lacking": int,
        "first": str,
        "error": str | None,
    }
    in_terminal: ClassVar = ("task", "sentences", "lacking", "first")

    encoder: str
    lacks: Sequence[Mapping[str, Any]]

    def rows(self) -> list[dict[str, Any]]:
        """`lacking` counts distinct sentences, and `first` is the first of them."""
        return [dict(row) for row in self.lacks]

    def notes(self) -> list[str]:
        """Why data could not be read."""
        return [f"{row['task']}: {row['error']}" for row in self.lacks if row["error"]]

    def blocks(self) -> list[Block]:
        """For how many tasks it has everything, and what the others lack."""
        if not self.lacks:
            return [Nothing("There is no task", "Bring data on the page Data.")]
        whole = sum(not row["lacking"] and not row["error"] for row in self.lacks)
        rows = [
            (row["task"], None, None, row["error"])
            if row["error"]
            else (row["task"], row["sentences"], row["lacking"], row["first"])
            for row in sorted(self.lacks, key=lambda row: (bool(row["error"]), row["lacking"]))
        ]
        tasks = formats.plural(len(self.lacks), "task")
        finding = f"{self.encoder} has every sentence of {whole or 'none'} of {tasks}"
        heads = ("Task", "Sentences", "Lacking", "The first of them")
        return [
            Finding(finding, "Where it lacks some, it cannot be evaluated."),
            Table("theodolite-coverage", heads, rows),
        ]


def coverage(workspace: Workspace, spec: CoverageSpec, do: Do) -> Iterator[Coverage | Working]:
    """Yield how many tasks were examined, and finally what each lacks."""
    from theodolite.engine import tasks as registry
    from theodolite.engine.encoders.vectors import files_of, missing

    workspace.refuse_visitors()
    files, catalog = files_of(spec.encoder), workspace.catalog
    if not files:
        raise UserError(
            f"{spec.encoder} does not read vectors from a file.",
            "It can encode every sentence; nothing is missing.",
            code="wrong-kind",
        )
    if spec.tasks is None:
        names = [task.name for task in registry.available(catalog)]
    else:
        names = list(registry.expand(spec.tasks, catalog))
    rows: list[dict[str, Any]] = []
    for name in names:
        yield Working(f"{len(rows)} of {len(names)} tasks", len(rows) / len(names))
        row = {"task": name, "sentences": 0, "lacking": 0, "first": "", "error": None}
        try:
            dataset = catalog.load(registry.get(name, catalog).dataset)
            sentences = list(dict.fromkeys(dataset.sentences))
            left_out = missing(files, sentences)
            row |= {"sentences": len(sentences), "lacking": len(left_out)}
            row["first"] = left_out[0][:80] if left_out else ""
        except UserError as error:
            row["error"] = str(error)
        rows.append(row)
    yield Coverage(spec.encoder, rows)


COVERAGE = Question(
    "coverage",
    CoverageSpec,
    coverage,
    Coverage,
    ("encoders coverage vectors:mine.parquet --tasks sts",),
    group="encoders",
)
