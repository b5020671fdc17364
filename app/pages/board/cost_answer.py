"""What encoders cost on this machine, against their quality; and the quality of smaller vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Finding, Grid, GridCell, GridHead, Text
from theodolite.app.components.chart import drawing, plain
from theodolite.app.pages.board import cost, service
from theodolite.app.pages.board.cost import AXES, CostJob, Row
from theodolite.app.pages.board.spec import BoardSpec
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.suites import ALL
from theodolite.app.vectors import sources, uncached
from theodolite.app.web.figures import Figure, axis, draw, log_axis, scatter, style
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.encoders import parse
from theodolite.engine.encoders.steps import Compressed, smaller
from theodolite.engine.encoders.variants import ladder
from theodolite.engine.errors import UserError
from theodolite.engine.evaluate import bind, needed, vectors_for
from theodolite.engine.progress import nobody
from theodolite.engine.tasks import Measurement, available, clusters, get, type_of

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace


CURVES_LEAD = (
    "A task scored again on vectors with fewer dimensions or fewer bits: the first "
    "dimensions (what Matryoshka training is for), principal components fitted on the task's "
    "sentences, and the first dimensions in 8 bits or by their signs alone. Nothing is "
    "encoded again."
)
GREY = "#8b9096"
"""Colour of error bars, visible on light and dark."""
METHODS = {"first": "first dimensions", "pca": "PCA", "int8": "int8", "binary": "binary"}
HEADS = {
    "per_second_16": ("16 tokens", "sentences/s"),
    "per_second_64": ("64 tokens", "sentences/s"),
    "per_second_256": ("256 tokens", "sentences/s"),
    "latency_p50": ("Latency p50", "ms per sentence"),
    "latency_p95": ("Latency p95", "ms per sentence"),
    "load_seconds": ("Loading", "ms"),
    "memory": ("Memory", "MiB"),
    "disk": ("Disk", "MiB"),
    "vector_bytes": ("Vector", "bytes"),
    "embedding_parameters": ("Embedding", "million parameters"),
    "other_parameters": ("Other", "million parameters"),
}
IN_CELLS = {"load_seconds": 1000}
"""Factors which convert a value to the unit below its head."""
ON_THE_BOARD = ("per_second_64", "latency_p50", "memory")
READING = (
    "Each encoder is measured in a separate process, on sentences that are not cached. "
    "Figures are medians; point at a cell for the lowest and highest of the repeats. "
    "Embedding parameters are looked up, the others take part in matrix products."
)


@dataclass(frozen=True)
class CostSpec(Spec):
    """Measure what encoders cost on this machine: speed, latency, loading, memory, disk.

    Each is measured in a process of its own, on sentences that no cache has: sentences a second of
    16, 64 and 256 tokens (5 repeats each), single sentences, and three loads of which the first
    reads the libraries too. With --json: the lowest and the highest of the repeats.

    If other programs used the processor meanwhile, or repeats differ by half, it is measured up to
    three times and the least disturbed is kept, with its load and date.
    """

    encoders: Annotated[
        Sequence[str], Field("Encoder", "Spec string of an encoder.", names="encoder")
    ]
    suite: Annotated[str, Field("Suite", "Of the scores beside the costs in a report.")] = ALL
    axis: Annotated[
        str,
        Field(
            "Cost",
            "Which cost a report draws.",
            choices={key: what for key, (what, _, _) in AXES.items()},
        ),
    ] = "per_second_64"
    again: Annotated[bool, Field("Again", "Measure again even if measured before.")] = False

    def check(self) -> None:
        """Write the encoders in their canonical form."""
        names = tuple(dict.fromkeys(str(parse(encoder)) for encoder in self.encoders))
        object.__setattr__(self, "encoders", names)


@dataclass(frozen=True, eq=False, repr=False)
class CostAnswer(Answer):
    """Measurements of encoders, and their mean scores.

    Attributes:
        spec: what was asked.
        measurements: encoder -> its row; of the example that ships if nothing was measured here.
        quality: mean score of each ranked encoder.
        tasks: number of tasks of the means.
        shipped: whether it is the example.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "encoder": str,
        **dict.fromkeys(AXES, float | None),
        "machine": str,
        "load": float | None,
        "measured": float | None,
        "disturbed": bool,
    }

    spec: CostSpec
    measurements: Mapping[str, Row]
    quality: Mapping[str, float]
    tasks: int
    shipped: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """A row per encoder that was measured here."""
        return [] if self.shipped else [dict(row) for row in self.measurements.values()]

    def table_rows(self) -> list[dict[str, Any]]:
        """Medians with units, and the lowest and the highest of the repeats."""
        return [cost.in_words(row) for row in self.rows()]

    def table_columns(self) -> list[str]:
        """Every cost, and under what load it was measured."""
        return ["encoder", *AXES, "other_load", "measured"]

    def notes(self) -> list[str]:
        """Measurements that were disturbed."""
        return [text for text in [cost.disturbance(self.measurements.values())] if text]

    def blocks(self) -> list[Block]:
        """Quality against cost, and the table."""
        rows = self.measurements
        notes = self.notes()
        if self.shipped:
            machine = next((row["machine"] for row in rows.values()), "no machine")
            notes = [
                f"An example, measured on {machine} under other load; quality on the starter set. "
                "Nothing has been measured on this machine yet."
            ]
        return [*self._pareto(), *(Text("", text) for text in notes), table(rows)]

    def _pareto(self) -> list[Block]:
        """The finding and the chart, or only the former if no quality is known."""
        key, rows, quality = self.spec.axis, self.measurements, self.quality
        what, _, more = AXES[key]
        known = {n: (row[key], quality[n]) for n, row in rows.items() if row[key] and n in quality}
        if not known:
            text = "None of these encoders is ranked on the suite"
            return [Finding(text, "Their costs are in the table.")]
        best = cost.front(known, more)
        detail = f"{what}, on {next(iter(rows.values()))['machine']}."
        if len(rows) == 1:
            text = f"Only the cost of {best[0]} has been measured"
        elif len(known) == 1:
            text = f"Only {best[0]} is ranked on the suite"
            detail += " The table has the costs of all."
        else:
            number = f"{len(best)} of {len(known)} encoders"
            verb = "is" if len(best) == 1 else "are"
            text = f"{formats.listed(best, 3)} {verb} on the Pareto front, {number}"
        mean = f"mean over {formats.plural(self.tasks, 'task')}"
        picture = drawing(
            _pareto(known, rows, best, key, mean),
            f"{mean.capitalize()} against {what.lower()}. {text}.",
            name="theodolite-cost",
            columns=["encoder", what, "lowest", "highest", mean, "on the front"],
            rows=[
                [n, at, rows[n].get(f"{key}_low"), rows[n].get(f"{key}_high"), score, n in best]
                for n, (at, score) in known.items()
            ],
        )
        return [Finding(text, detail, self.shipped), Chart(picture)]


def answer(workspace: Workspace, spec: CostSpec, do: Do) -> Iterator[CostAnswer]:
    """Yield what was measured, once the rest is if that may be done."""
    job = CostJob(tuple(spec.encoders), again=spec.again)
    if not job.is_stored(workspace):
        do(job)
    measured = cost.measured(workspace)
    rows = {name: measured[name] for name in spec.encoders if name in measured}
    if not rows:
        yield CostAnswer(spec, *cost.example(), shipped=True)
        return
    quality: Mapping[str, float] = {}
    tasks = 0
    with suppress(UserError):  # nobody was evaluated
        standings = service.board(workspace, BoardSpec(spec.suite))
        quality, tasks = standings.quality, len(standings.shared)
    yield CostAnswer(spec, rows, quality, tasks)


COST = Question(
    "cost",
    CostSpec,
    answer,
    CostAnswer,
    ("encoders cost minilm wordllama", "encoders cost minilm --again --json"),
    group="encoders",
    queues=True,
)


def _pareto(
    known: Mapping[str, tuple[float, float]],
    rows: Mapping[str, Row],
    best: Sequence[str],
    key: str,
    quality: str,
) -> Figure:
    what, unit, _ = AXES[key]
    names = list(known)
    low, high = (
        [rows[n].get(f"{key}_{end}", known[n][0]) for n in names] for end in ("low", "high")
    )
    x = [known[n][0] for n in names]
    line = scatter(
        x=[known[n][0] for n in best],
        y=[known[n][1] for n in best],
        mode="lines",
        line={"color": SERIES[1], "width": 2, "dash": "dot"},
        hoverinfo="skip",
        showlegend=False,
    )
    marks = scatter(
        x=x,
        y=[known[n][1] for n in names],
        mode="markers+text" if len(names) <= 24 else "markers",
        text=[plain(formats.shorten(n, 24)) for n in names],
        textposition="top center",
        cliponaxis=False,
        marker={"size": 13, "color": [SERIES[1] if n in best else SERIES[0] for n in names]},
        error_x={
            "type": "data",
            "symmetric": False,
            "thickness": 1.2,
            "color": GREY,
            "array": [h - v for h, v in zip(high, x, strict=True)],
            "arrayminus": [v - lo for lo, v in zip(low, x, strict=True)],
        },
        customdata=[[plain(n), cost.described(rows[n], key)] for n in names],
        showlegend=False,
        hovertemplate="%{customdata[0]}: %{customdata[1]}<br>mean %{y:.2f}<extra></extra>",
    )
    across = log_axis(f"{what} ({unit}, log)", [*low, *high])
    return draw([line, marks], across, axis(quality, zeroline=False), height=420, left=64)


def table(rows: Mapping[str, Row]) -> Grid:
    """Every measurement of every encoder."""
    load, keys = "of other programs meanwhile", tuple(AXES)
    return Grid(
        "What encoders cost",
        "theodolite-costs",
        [
            GridHead("Encoder"),
            *heads(*keys),
            GridHead("Other load", "cores", ascending=True),
            GridHead("Measured", ascending=True),
        ],
        [
            (
                name,
                row["device"],
                [
                    *cells(row, *keys),
                    GridCell(cost.load(row), "bad" if row.get("disturbed") else "", load),
                    GridCell(formats.date(row.get("measured"))),
                ],
            )
            for name, row in rows.items()
        ],
        READING,
    )


def heads(*keys: str) -> list[GridHead]:
    """Heads of cost columns; where lower is better, they sort in ascending order first."""
    return [GridHead(*HEADS[key], ascending=not AXES[key][2]) for key in keys]


def cells(row: Row, *keys: str) -> list[GridCell]:
    """Cells of one encoder: the median; as detail its range, and when and how it was measured."""
    when = f"; measured {formats.date(row.get('measured'))}, other load {cost.load(row)}"
    return [
        GridCell(formats.MISSING, "muted", "not known")
        if row[key] is None
        else GridCell(
            cost.brief(row[key] * IN_CELLS.get(key, 1)),
            "bad" if row.get("disturbed") and key in cost.TIMED else "",
            cost.described(row, key) + when,
        )
        for key in keys
    ]


def draw_curves(points: Sequence[Scored], encoder: str, task: str) -> list[Block]:
    """How small vectors can be within a point of the score, and the curves."""
    whole = max((s for s in points if s.how.method == "first"), key=lambda s: s.how.dim)
    near = [s for s in points if s.score >= whole.score - 1.0]
    least = min(near, key=lambda s: (s.how.bytes, -s.score))
    text = (
        f"On {task}, {encoder} stays within a point of its {formats.score(whole.score)} from "
        f"{whole.how.bytes:g} bytes per vector down to {least.how.bytes:g} bytes "
        f"({METHODS[least.how.method]}, {least.how.dim} dimensions)."
    )
    traces = []
    for place, (method, name) in enumerate(METHODS.items()):
        line = sorted((s for s in points if s.how.method == method), key=lambda s: s.how.bytes)
        traces.append(
            scatter(
                x=[s.how.bytes for s in line],
                y=[s.score for s in line],
                mode="lines+markers",
                name=name,
                line=style(place) | {"width": 2.2},
                marker={"size": 8},
                customdata=[[s.how.dim] for s in line],
                hovertemplate=f"{name}, %{{customdata[0]}} dimensions: %{{y:.2f}}<extra></extra>",
            )
        )
    figure = draw(
        traces,
        log_axis("bytes per vector (log)", [s.how.bytes for s in points]),
        axis(f"score on {plain(task)}", zeroline=False),
        height=400,
        left=64,
        legend=True,
    )
    picture = drawing(
        figure,
        f"Score of {encoder} on {task} with smaller vectors. {text}",
        name="theodolite-smaller-vectors",
        columns=["method", "dimensions", "bytes", "score"],
        rows=[[METHODS[s.how.method], s.how.dim, s.how.bytes, s.score] for s in points],
    )
    return [Text("", text), Chart(picture)]


MAX_SENTENCES = 40_000
"""Maximum for a task that is scored while the page waits."""


@dataclass(frozen=True)
class Scored:
    """The main score of a task on compressed vectors."""

    how: Compressed
    score: float


def tasks(workspace: Workspace, encoder: str) -> list[str]:
    """Tasks without long training, those on which the encoder was evaluated first."""
    quick = [
        task.name
        for task in available(workspace.catalog)
        if not type_of(task, protocols.get(task.protocol)).trains
    ]
    rows = workspace.store.results.table(encoders=[encoder]) if encoder else []
    done = {row["task"] for row in rows if row["error"] is None}
    return sorted(quick, key=lambda name: name not in done) if done or not encoder else []


def curves(workspace: Workspace, encoder: str, task: str) -> tuple[Scored, ...]:
    """Score a task on fewer dimensions and fewer bits; nothing is encoded."""
    bound = workspace.bound(encoder, get(task, workspace.catalog).dataset)
    return _curves(workspace, encoder, task, bound.fingerprint)


@lru_cache(maxsize=64)
def _curves(workspace: Workspace, encoder: str, task: str, _fingerprint: str) -> tuple[Scored, ...]:
    found = []
    for how, done in _smaller_scored(workspace, encoder, task):
        found.append(Scored(how, next(score.score for score in done.scores if score.main)))
    return tuple(found)


def _smaller_scored(
    workspace: Workspace, encoder: str, task: str
) -> Iterator[tuple[Compressed, Measurement]]:
    """Score a task on ever smaller vectors; nothing is encoded."""
    task_info = get(task, workspace.catalog)
    protocol = protocols.get(task_info.protocol)
    kind = type_of(task_info, protocol)
    data = workspace.catalog.load(task_info.dataset)
    if kind.trains or len(data.sentences) > MAX_SENTENCES:
        raise UserError(
            f"{task} takes too long to be scored repeatedly.", "Choose another.", code="too-large"
        )
    bound = bind(workspace.load(encoder), task_info, protocol, data)
    texts = needed(kind, data, protocol.name, protocol.seed)
    if any(uncached(source, texts) for source in sources(bound)):
        raise UserError(
            f"{encoder} has not encoded {task} yet, and the curves use stored vectors.",
            f"Evaluate it: `theodolite evaluate '{encoder}' --tasks {task}`.",
            code="no-result",
        )
    vectors = vectors_for(kind, data, bound, texts, lambda *_: None)
    for how, made in smaller(vectors, ladder(vectors.shape[1])):
        try:
            done = kind.measure(task_info, data, made, protocol.name, protocol.seed, nobody)
        except UserError:  # such as all cosines alike
            continue
        yield how, clusters.attach(done, kind, data, protocol.name, protocol.seed)
