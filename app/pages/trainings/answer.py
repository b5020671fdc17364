"""Trainings over each other: charts by step, samples, and where their settings differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Fold, Samples, Table, Text
from theodolite.app.components.chart import drawing, plain
from theodolite.app.pages.trainings import service
from theodolite.app.pages.trainings.ablations import comparison
from theodolite.app.pages.trainings.service import Course, Curves, TrainingRun
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.web.figures import Figure, Trace, axis, draw, scatter, style

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

MAX_POINTS = 1000
"""Points of a curve; a longer one is averaged over neighbouring points."""
SMALL, TALL = 260, 380
_LABEL = 34


@dataclass(frozen=True)
class TrainingsSpec(Spec):
    """Report trainings with their curves, several over each other."""

    keys: Annotated[Sequence[str], Field("Run", "Key of `theodolite runs`.", key="run")]


@dataclass(frozen=True, eq=False, repr=False)
class Trainings(Answer):
    """Trainings with their curves."""

    columns: ClassVar[Mapping[str, Any]] = {
        "training": str,
        "run": str,
        "kind": str,
        "step": int,
        "score": float | None,
        "alignment": float | None,
        "uniformity": float | None,
        "best": bool | None,
        "loss": float | None,
        "learning_rate": float | None,
        "grad_norm": float | None,
        "sentences_per_second": float | None,
        "seconds": float | None,
        "gpu_bytes": int | None,
        "message": str | None,
    }

    courses: Sequence[Course]

    def rows(self) -> list[dict[str, Any]]:
        """A row for each event: an evaluation, a report of some steps, or a note."""
        names = called([row for row, _ in self.courses])
        return [
            {"training": name, "run": row.key, "kind": kind, **event}
            for name, (row, curves) in zip(names, self.courses, strict=True)
            for kind, events in curves.kinds().items()
            for event in events
        ]

    def blocks(self) -> list[Block]:
        """The comparison with the paper, charts, samples, notes, and settings."""
        rows = [row for row, _ in self.courses]
        names = called(rows)
        notes = [
            (name, note["step"], note["message"])
            for name, (_, curves) in zip(names, self.courses, strict=True)
            for note in curves.notes
        ]
        samples = [
            Samples(
                f"Samples of {name}",
                "Held-out sentences, and what it makes of them after "
                f"{formats.count(curves.evals[-1]['step'])} updates.",
                curves.evals[-1]["samples"],
            )
            for name, (row, curves) in zip(names, self.courses, strict=True)
            if row.is_decoder and curves.evals
        ]
        tables = [Table("notes", ("training", "step", "note"), notes)] if notes else []
        kept = [row.best_step if (row.score, row.loss) != (None, None) else None for row in rows]
        curves = [curves for _, curves in self.courses]
        every = list(zip(names, kept, curves, strict=True))
        return [*comparison(rows), *charts(every), *samples, *tables, *_settings(rows, names)]


def answer(workspace: Workspace, spec: TrainingsSpec, do: Do) -> Iterator[Trainings]:
    """Yield the trainings; nothing has to be computed."""
    yield Trainings(service.chosen(workspace, spec.keys))


TRAINING = Question("training", TrainingsSpec, answer, Trainings, ("training 36e4305ecb44",))


def called(rows: Sequence[TrainingRun]) -> list[str]:
    """Labels of runs; shared labels get the settings that tell the runs apart."""
    labels = [row.label for row in rows]
    names = []
    for place, row in enumerate(rows):
        alike = [other.settings for other in rows if other.label == row.label]
        words = [
            f", {field.replace('_', ' ')} {setting(row.settings.get(field))}"
            for field in service.differences(alike)
        ]
        number = labels[: place + 1].count(row.label)
        unlike = "" if words or len(alike) == 1 else f" ({number})"
        names.append(f"{row.label}{''.join(words[:3])}{unlike}")
    return names


def setting(value: Any) -> str:
    """A setting as people write it. Plain text."""
    if value is None:
        return formats.MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    return formats.brief(value) if isinstance(value, float) else str(value)


def _settings(rows: Sequence[TrainingRun], names: Sequence[str]) -> list[Block]:
    """The settings in which the trainings differ; all of one by itself."""
    if len(rows) == 1:
        cells = [(name.replace("_", " "), setting(v)) for name, v in rows[0].settings.items()]
        return [Fold("All settings", [Table("settings", ("setting", "value"), cells)])]
    differ = service.differences([row.settings for row in rows])
    same = "" if differ or not rows else "Their settings are identical."
    lines = [(name.replace("_", " "), *map(setting, values)) for name, values in differ.items()]
    for what, field in (("best dev score", "score"), ("loss on held-out sentences", "loss")):
        values = [getattr(row, field) for row in rows]
        if any(value is not None for value in values):
            lines.append((what, *(formats.score(value) for value in values)))
    return [Text("Where they differ", same), Table("settings", ("setting", *names), lines)]


# Charts -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Line:
    """One training in a chart: a curve by step, or a path of alignment and uniformity.

    Attributes:
        name: of the training.
        place: among those shown; sets colour and dash, the same in all charts.
        steps: updates made, rising.
        values: one per step.
        kept: the step whose weights were kept, marked; None for no mark.
        across: of a path, its other values.
    """

    name: str
    place: int
    steps: Sequence[int]
    values: Sequence[float]
    kept: int | None = None
    across: Sequence[float] = ()

    @property
    def course(self) -> str:
        """`0.93 to 0.31 at step 500`, or `Alignment 1.43 to 0.31, uniformity −1.2 to −2.4`."""
        if self.across:
            return f"Alignment {_change(self.values)}, uniformity {_change(self.across)}"
        return f"{_change(self.values)} at step {formats.count(self.steps[-1])}"


@dataclass(frozen=True)
class Quantity:
    """What a chart shows.

    Attributes:
        name: of its file.
        title: of the chart.
        about: a sentence below that.
        kind, field: of events.
        axis: the quantity with its unit.
        best: picks the best of several values; None where none is.
        scale: of the values.
        across: the other field, of a path.
    """

    name: str
    title: str
    about: str
    kind: str
    field: str
    axis: str
    best: Callable[..., Any] | None = None
    scale: float = 1.0
    across: str = ""

    def heading(self, lines: Sequence[Line]) -> str:
        """A summary of the lines."""
        if self.name == "rate":
            return f"{self.title}: at most {_number(max(max(one.values) for one in lines))}"
        if len(lines) == 1:
            return lines[0].course if self.across else f"{self.title}: {lines[0].course}"
        if self.best is None:
            return self.title
        best = self.best
        line = best(lines, key=lambda line: best(line.values))
        word = "highest" if best is max else "lowest"
        return f"{self.title}: {word} with {line.name}, {_number(best(line.values))}"


QUANTITIES = (
    Quantity(
        "score",
        "Dev score",
        "Spearman × 100 of the dev part; the star is what was kept.",
        "looked",
        "score",
        "dev score",
        max,
    ),
    Quantity(
        "trajectory",
        "Alignment and uniformity",
        "Starts at the hollow mark; lower left is better.",
        "looked",
        "alignment",
        "alignment (lower: paraphrases closer)",
        across="uniformity",
    ),
    Quantity(
        "held-out",
        "Loss on held-out sentences",
        "Nats per token; the star is what was kept.",
        "looked",
        "loss",
        "loss on held-out sentences",
        min,
    ),
    Quantity("loss", "Loss", "", "stepped", "loss", "loss", min),
    Quantity("rate", "Learning rate", "", "stepped", "learning_rate", "learning rate"),
    Quantity(
        "speed",
        "Speed",
        "Sentences processed per second.",
        "stepped",
        "sentences_per_second",
        "sentences per second",
    ),
    Quantity(
        "memory",
        "GPU memory",
        "Peak so far.",
        "stepped",
        "gpu_bytes",
        "GPU memory, GB",
        scale=1e-9,
    ),
)


def charts(courses: Sequence[tuple[str, int | None, Curves]]) -> list[Block]:
    """A chart for each quantity that has values.

    Args:
        courses: name of each training, the step that was kept, and its curves.
    """
    blocks: list[Block] = []
    for quantity in QUANTITIES:
        lines = []
        for place, (name, kept, curves) in enumerate(courses):
            events = [
                event
                for event in curves.kinds()[quantity.kind]
                if (value := event.get(quantity.field)) is not None and value == value
            ]
            if events:
                lines.append(
                    Line(
                        name,
                        place,
                        [event["step"] for event in events],
                        [event[quantity.field] * quantity.scale for event in events],
                        kept if quantity.kind == "looked" else None,
                        [event[quantity.across] for event in events] if quantity.across else (),
                    )
                )
        if lines:
            heading = Text(quantity.heading(lines), quantity.about)
            blocks += [heading, Chart(_drawing(quantity, lines))]
    return blocks


def _drawing(quantity: Quantity, lines: Sequence[Line]) -> dict[str, Any]:
    """The value of a chart, with its numbers."""
    columns = ["run", "step", quantity.field, *filter(None, [quantity.across])]
    rows = []
    for line in lines:
        columns_of = [line.steps, line.values, line.across] if line.across else thinned(line)
        rows += [[line.name, *cells] for cells in zip(*columns_of, strict=True)]
    label = "; ".join(f"{line.name}: {line.course}" for line in lines)
    return drawing(
        _figure(quantity, lines),
        f"{quantity.title} by step. {label}",
        name=quantity.name,
        columns=columns,
        rows=rows,
    )


def thinned(line: Line, most: int = MAX_POINTS) -> tuple[list[int], list[float]]:
    """Steps and values of at most `most` points: means of 2, 4, 8, … at their last step.

    With powers of two, a growing curve keeps its points until the next doubling.
    """
    steps, values, size = line.steps, line.values, 1
    while -(-len(steps) // size) > most:
        size *= 2
    groups = [range(i, min(i + size, len(steps))) for i in range(0, len(steps), size)]
    return (
        [steps[group[-1]] for group in groups],
        [sum(values[i] for i in group) / len(group) for group in groups],
    )


def _figure(quantity: Quantity, lines: Sequence[Line]) -> Figure:
    """Lines by step; paths as in figure 2 of SimCSE, from the hollow mark to the large one.

    A star marks the weights that were kept. The zoom and the hidden lines survive the next value.
    """
    traces = [trace for line in lines for trace in _traces(line)]
    x = axis("step", rangemode="tozero")
    if quantity.across:
        x = axis("uniformity (lower: spread more evenly)")
    zero = "tozero" if quantity.name in ("speed", "memory") else "normal"
    y = axis(quantity.axis, exponentformat="power", rangemode=zero)
    height = TALL if quantity.name in ("score", "trajectory") else SMALL
    margin = {"l": 64, "r": 16, "t": 12, "b": 44}
    return draw(traces, x, y, height=height, left=64, uirevision=quantity.name, margin=margin)


def _traces(line: Line) -> list[Trace]:
    look, shared = style(line.place), {"legendgroup": str(line.place)}
    extra = f"<extra>{plain(line.name)}</extra>"
    if line.across:
        n = len(line.steps)
        x, y = line.across, line.values
        words = "uniformity %{x:.3f}, alignment %{y:.3f}"
        shown = {
            "customdata": list(line.steps),
            "mode": "lines+markers",
            "marker": {
                "size": [10 if i in (0, n - 1) else 6 for i in range(n)],
                "symbol": ["circle-open" if i == 0 and n > 1 else "circle" for i in range(n)],
                "color": look["color"],
            },
            "hovertemplate": f"step %{{customdata:,}}: {words}{extra}",
        }
    else:
        x, y = thinned(line)
        words = "%{y:.4g}"
        shown = {
            "mode": "lines" if len(x) > 40 else "lines+markers",
            "marker": {"size": 5},
            "hovertemplate": f"step %{{x:,}}: {words}{extra}",
        }
    name = plain(formats.shorten(line.name, _LABEL))
    traces = [scatter(x=list(x), y=list(y), name=name, line=look | {"width": 2}, **shown, **shared)]
    if line.kept is not None and line.kept in line.steps:
        at = list(line.steps).index(line.kept)
        star = {"symbol": "star", "size": 13, "color": look["color"]}
        traces.append(
            scatter(
                x=[line.across[at] if line.across else line.kept],
                y=[line.values[at]],
                mode="markers",
                marker=star,
                showlegend=False,
                name=f"{name}, kept",
                cliponaxis=False,
                hovertemplate=f"kept: {words}{extra}",
                **shared,
            )
        )
    return traces


def _change(values: Sequence[float]) -> str:
    """`1.43 to 0.31`: from the first to the last."""
    return f"{_number(values[0])} to {_number(values[-1])}"


def _number(value: float) -> str:
    """A number to four significant digits."""
    return f"{value:.4g}".replace("-", "−")
