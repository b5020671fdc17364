"""Costs of encoders on this machine, measured once by a job, against their quality."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np

from theodolite.app import endpoints, formats
from theodolite.app.blocks import Block, Chart, Finding, Grid, GridCell, GridHead, Text
from theodolite.app.examples import shipped
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.board import standings
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.suites import ALL
from theodolite.app.web.figures import Figure, axis, draw, log_axis, names_beside, plain, scatter
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine import cost as footprint
from theodolite.engine.cost import is_disturbed, spread
from theodolite.engine.encoders import describe
from theodolite.engine.errors import UserError
from theodolite.engine.rankers import canonical
from theodolite.store.hashing import hash_of

KIND, FORMAT = "cost", "1"
ATTEMPTS = 3
"""Most measurements of an encoder at a time, if each is disturbed."""
_FACTS = ("bytes", "parameters", "embedding_parameters")
GREY = "#8b9096"
"""Colour of error bars, visible on light and dark."""
READING = (
    "Each encoder is measured in a separate process, on sentences that are not cached. "
    "Figures are medians; point at a cell for the lowest and highest of the repeats. "
    "Embedding parameters are looked up, the others take part in matrix products."
)
OTHERS = "of other programs meanwhile"
Row = Mapping[str, Any]


class Cost(NamedTuple):
    """One kind of cost.

    Attributes:
        title: what it is.
        unit: of its value.
        more: whether higher is better.
        head, note: of its column.
        factor: converts a value to the unit in the note.
    """

    title: str
    unit: str
    more: bool
    head: str
    note: str
    factor: float = 1


COSTS = {
    **{
        f"per_second_{n}": Cost(
            f"Sentences per second, {n} tokens", "/s", True, f"{n} tokens", "sentences per second"
        )
        for n in (16, 64, 256)
    },
    **{
        f"latency_{p}": Cost(
            f"Latency per sentence, {p}", "ms", False, f"Latency {p}", "ms per sentence"
        )
        for p in ("p50", "p95")
    },
    "load_seconds": Cost("Time to load", "s", False, "Loading", "ms", 1000),
    "memory": Cost("Memory", "MiB", False, "Memory", "MiB"),
    "disk": Cost("Size on disk", "MiB", False, "Disk", "MiB"),
    "vector_bytes": Cost("Bytes per vector", "B", False, "Vector", "bytes"),
    "embedding_parameters": Cost(
        "Embedding parameters", "M", False, "Embedding", "million parameters"
    ),
    "other_parameters": Cost("Other parameters", "M", False, "Other", "million parameters"),
}


@dataclass(frozen=True)
class CostJob(Job):
    """A measurement of encoders, each in a process of its own.

    Attributes:
        encoders: in their canonical form.
        again: whether those that were measured before are measured too.
    """

    kind = KIND

    encoders: tuple[str, ...]
    again: bool = False

    @property
    def title(self) -> str:
        """`Cost of minilm`."""
        return f"Cost of {formats.listed(self.encoders, 1)}"

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether every encoder was measured on this machine, undisturbed."""
        return not (self.again or unmeasured(workspace, self.encoders))

    def units(self) -> list[str]:
        """One unit per encoder."""
        return [f"Measuring {name}" for name in self.encoders]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Measure one encoder."""
        measure(workspace, self.encoders[position])


def measure(workspace: Workspace, encoder: str, attempts: int = ATTEMPTS) -> None:
    """Measure an encoder, and store the least disturbed measurement.

    A disturbed one is repeated, but not while other programs are still busy: it would be no better.
    """
    about, root = describe(encoder), workspace.catalog.root
    environment = os.environ | ({} if root is None else {"THEODOLITE_DATA": str(root)})
    fixed = {key: about.get(key) for key in _FACTS}
    identity = {"encoder": encoder, "machine": machine()}
    stored = workspace.store.derived.get(_key(encoder))
    known: list[dict[str, Any]] = [stored["info"]] if stored else []
    measurements: list[dict[str, Any]] = []
    allowed = endpoints.allowed_urls(workspace.store)
    while len(measurements) < attempts and all(map(is_disturbed, measurements)):
        if measurements and footprint.is_busy():
            break
        measurements.append(
            fixed | footprint.in_own_process(encoder, environment, allowed) | identity
        )
    best = measurements[-1]
    if is_disturbed(best):  # other programs only make single sentences slower
        middle = len(best["latency_ms"]) // 2
        best = min(
            [*measurements, *known], key=lambda one: (is_disturbed(one), one["latency_ms"][middle])
        )
    if best not in known:
        workspace.store.derived.put(_key(encoder), KIND, best)


def ensure(workspace: Workspace, encoder: str) -> None:
    """Measure an encoder unless it was; one that was disturbed once more, if it is quiet now."""
    known = rows_by_encoder(workspace).get(encoder)
    if known is None:
        measure(workspace, encoder)
    elif known["disturbed"] and not footprint.is_busy():
        measure(workspace, encoder, 1)


def unmeasured(workspace: Workspace, encoders: Sequence[str]) -> list[str]:
    """The encoders that were not measured on this machine, or only disturbed."""
    known = rows_by_encoder(workspace)
    return [name for name in encoders if name not in known or known[name]["disturbed"]]


def rows_by_encoder(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Encoder -> `row` of its measurement on this machine."""
    return {
        one["info"]["encoder"]: row(one["info"] | {"measured": one["created"]})
        for one in reversed(workspace.store.derived.list(KIND))  # the newest last
        if one["info"]["machine"] == machine()
    }


def row(info: Mapping[str, Any]) -> dict[str, Any]:
    """A flat dictionary of a measurement, as `theodolite encoders cost --json` prints it.

    Repeated measurements have their lowest and highest values too.
    """
    flat: dict[str, Any] = {"encoder": info["encoder"], "dim": info["dim"]}
    repeated = {f"per_second_{n}": values for n, values in info["per_second"].items()}
    for key, values in (repeated | {"load_seconds": info["load_seconds"]}).items():
        flat[key], flat[f"{key}_low"], flat[f"{key}_high"] = spread(values)
    p50, p95 = np.percentile(info["latency_ms"], [50, 95], method="inverted_cdf").tolist()
    size, table = info["parameters"], info["embedding_parameters"]
    return flat | {
        "latency_p50": p50,
        "latency_p95": p95,
        "memory": info["memory_bytes"] / 2**20,
        "disk": info["bytes"] / 2**20 if info["bytes"] else None,
        "vector_bytes": info["vector_bytes"],
        "embedding_parameters": None if table is None else table / 1e6,
        "other_parameters": None if size is None or table is None else (size - table) / 1e6,
        "machine": info["machine"],
        "device": info["device"],
        "load": info.get("load"),
        "cores": info.get("cores"),
        "measured": info.get("measured"),
        "disturbed": is_disturbed(info),
    }


def front(points: Mapping[str, tuple[float, float]], more_is_better: bool) -> list[str]:
    """The Pareto front of cost and quality, the cheapest encoder first.

    Args:
        points: encoder -> (cost, quality).
        more_is_better: whether a higher cost value is better, as for a speed.
    """
    sign = -1.0 if more_is_better else 1.0
    best: list[str] = []
    for name in sorted(points, key=lambda n: (sign * points[n][0], -points[n][1])):
        if not best or points[name][1] > points[best[-1]][1]:
            best.append(name)
    return best


def load(row: Row) -> str:
    """How much of the machine other programs used: `0.1 of 2 cores`."""
    if row.get("load") is None:
        return formats.MISSING
    return f"{row['load']:.1f} of {formats.plural(row['cores'], 'core')}"


def disturbance(rows: Iterable[Row]) -> str:
    """A sentence on measurements that were disturbed; empty if none was."""
    names = [str(row["encoder"]) for row in rows if row.get("disturbed")]
    return (
        f"Measured while the machine was busy or uneven, so probably faster: "
        f"{formats.listed(names, 3)}. Measure again when it is quiet."
        if names
        else ""
    )


def value_with_unit(row: Row, key: str) -> str:
    """One value with its unit, and its range if the measurement was repeated."""
    if row[key] is None:
        return formats.MISSING
    unit = COSTS[key].unit
    say, behind = (formats.duration, "") if unit == "s" else (brief, f" {unit}")
    low, high = row.get(f"{key}_low"), row.get(f"{key}_high")
    between = "" if low is None or high is None else f" ({say(low)} to {say(high)})"
    return f"{say(row[key])}{behind}{between}"


def brief(value: float) -> str:
    """Format a number with three significant figures."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _key(encoder: str) -> str:
    return hash_of(KIND, FORMAT, encoder, machine())


machine = cache(footprint.machine)


@dataclass(frozen=True)
class CostSpec(Spec):
    """Measure what encoders cost on this machine: speed, latency, loading, memory, disk.

    Each is measured in a process of its own, on sentences that no cache has: sentences a second of
    16, 64 and 256 tokens (5 repeats each), single sentences, and three loads of which the first
    reads the libraries too. With --json: the lowest and the highest of the repeats.

    If other programs used the processor meanwhile, or repeats differ by half, it is measured up to
    three times, though not while they are busy, and the least disturbed is kept, with its load and
    date.
    """

    encoders: Annotated[
        Sequence[str], Field("Encoder", "Spec string of an encoder.", names="encoder")
    ]
    suite: Annotated[
        str,
        Field(
            "Suite",
            "Of the scores beside the costs in a report.",
            offers=standings.suites_here,
        ),
    ] = ALL
    axis: Annotated[
        str,
        Field(
            "Cost",
            "Which cost a report draws.",
            choices={key: one.title for key, one in COSTS.items()},
        ),
    ] = "per_second_64"
    again: Annotated[bool, Field("Again", "Measure again even if measured before.")] = False

    def check(self) -> None:
        """Write the encoders in their canonical form."""
        vars(self).update(encoders=canonical(self.encoders))


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
        **dict.fromkeys(COSTS, float | None),
        "machine": str,
        "load": float | None,
        "measured": float | None,
        "disturbed": bool,
    }
    in_terminal: ClassVar = ("encoder", *COSTS, "other_load", "measured")

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
        return [
            {
                "encoder": row["encoder"],
                **{key: value_with_unit(row, key) for key in COSTS},
                "other_load": load(row),
                "measured": formats.date(row.get("measured")),
            }
            for row in self.rows()
        ]

    def notes(self) -> list[str]:
        """Measurements that were disturbed."""
        text = disturbance(self.measurements.values())
        return [text] if text else []

    def blocks(self) -> list[Block]:
        """Quality against cost, and the table."""
        key, rows, quality = self.spec.axis, self.measurements, self.quality
        on = next((row["machine"] for row in rows.values()), "")
        notes = self.notes()
        if self.shipped:
            notes = [
                f"An example, measured on {on} under other load; quality on the starter set. "
                "Nothing has been measured on this machine yet."
            ]
        end: list[Block] = [*(Text("", text) for text in notes), self._grid()]
        known = {n: (row[key], quality[n]) for n, row in rows.items() if row[key] and n in quality}
        if not known:
            text = "None of these encoders is ranked on the suite"
            return [Finding(text, "Their costs are in the table."), *end]
        title, best = COSTS[key].title, front(known, COSTS[key].more)
        mean = f"mean over {formats.plural(self.tasks, 'task')}"
        text = (
            f"{formats.listed(best, 3)} {'is' if len(best) == 1 else 'are'} on the Pareto front, "
            f"{len(best)} of {formats.plural(len(known), 'encoder')}"
        )
        picture = Chart(
            _pareto(known, rows, best, key, mean),
            f"{mean.capitalize()} against {title.lower()}. {text}.",
            name="theodolite-cost",
            columns=["encoder", title, "lowest", "highest", mean, "on the front"],
            rows=[
                [n, at, rows[n].get(f"{key}_low"), rows[n].get(f"{key}_high"), score, n in best]
                for n, (at, score) in known.items()
            ],
        )
        return [Finding(text, f"{title}, on {on}.", self.shipped), picture, *end]

    def _grid(self) -> Grid:
        """Every measurement of every encoder."""
        return Grid(
            "What encoders cost",
            "theodolite-costs",
            [
                GridHead("Encoder"),
                *map(head, COSTS),
                GridHead("Other load", "cores", ascending=True, unit=True),
                GridHead("Measured", ascending=True),
            ],
            [
                (
                    name,
                    row["device"],
                    [
                        *(cell(row, key) for key in COSTS),
                        GridCell(
                            load(row).partition(" core")[0],  # as the head has it
                            "bad" if row.get("disturbed") else "",
                            OTHERS,
                        ),
                        GridCell(formats.date(row.get("measured"))),
                    ],
                )
                for name, row in self.measurements.items()
            ],
            READING,
        )


def head(key: str) -> GridHead:
    """Head of a cost's column; where lower is better, it sorts in ascending order first."""
    return GridHead(COSTS[key].head, COSTS[key].note, ascending=not COSTS[key].more, unit=True)


def cell(row: Row, key: str) -> GridCell:
    """The median; as detail its range, and when and how it was measured."""
    if row[key] is None:
        return GridCell(formats.MISSING, "muted", "not known")
    slowed = row.get("disturbed") and key.startswith(("per_second", "latency"))
    detail = (
        f"{value_with_unit(row, key)}; measured {formats.date(row.get('measured'))}, other load "
        f"{load(row)}"
    )
    return GridCell(brief(row[key] * COSTS[key].factor), "bad" if slowed else "", detail)


def _pareto(
    known: Mapping[str, tuple[float, float]],
    rows: Mapping[str, Row],
    best: Sequence[str],
    key: str,
    quality: str,
) -> Figure:
    low, high = (
        [rows[n].get(f"{key}_{end}", at) for n, (at, _) in known.items()] for end in ("low", "high")
    )
    x, y = zip(*known.values(), strict=True)
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
        y=y,
        mode="markers+text",
        **names_beside(
            list(known),
            np.log(x).tolist(),
            y,
            first=[at for at, name in enumerate(known) if name in best],
        ),
        cliponaxis=False,
        marker={"size": 13, "color": [SERIES[n in best] for n in known]},
        error_x={
            "type": "data",
            "symmetric": False,
            "thickness": 1.2,
            "color": GREY,
            "array": np.subtract(high, x).tolist(),
            "arrayminus": np.subtract(x, low).tolist(),
        },
        customdata=[[plain(n), value_with_unit(rows[n], key)] for n in known],
        showlegend=False,
        hovertemplate="%{customdata[0]}: %{customdata[1]}<br>mean %{y:.2f}<extra></extra>",
    )
    across = log_axis(f"{COSTS[key].title} ({COSTS[key].unit}, log)", [*low, *high])
    return draw([line, marks], across, axis(quality, zeroline=False), height=420, left=64)


def answer(workspace: Workspace, spec: CostSpec, do: Do) -> Iterator[CostAnswer]:
    """Yield what was measured, once the rest is if that may be done."""
    job = CostJob(tuple(spec.encoders), again=spec.again)
    if not job.is_stored(workspace):
        do(job)
    known = rows_by_encoder(workspace)
    rows = {name: known[name] for name in spec.encoders if name in known}
    if not rows:
        rows = {one["encoder"]: one for one in shipped.read(workspace, KIND) or ()}
        yield CostAnswer(spec, rows, *_quality(workspace.shipped, "starter"), shipped=True)
        return
    yield CostAnswer(spec, rows, *_quality(workspace, spec.suite))


def _quality(workspace: Workspace, suite: str) -> tuple[Mapping[str, float], int]:
    """Encoder -> mean over the tasks of a suite that all share, and their number."""
    try:
        board = standings.board(workspace, standings.BoardSpec(suite))
    except UserError:  # nobody was evaluated
        return {}, 0
    return board.quality, len(board.shared)


COST = Question(
    "cost",
    CostSpec,
    answer,
    CostAnswer,
    ("encoders cost minilm wordllama", "encoders cost minilm --again --json"),
    group="encoders",
    queues=True,
)
