"""Trainings over each other: charts by step, samples, and where their settings differ."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Chart, Finding, Fold, Link, Samples, Table, Text
from theodolite.app.pages.trainings import service
from theodolite.app.pages.trainings.ablations import comparison
from theodolite.app.pages.trainings.service import Course, Curves, TrainingRun
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.web.figures import Trace, axis, clear_colour, draw, plain, scatter, style
from theodolite.app.web.theme import SERIES
from theodolite.app.workspace import Workspace
from theodolite.engine.training.events import against_base, headline, is_improved

MAX_POINTS = 1000
"""Points of a curve; a longer one is averaged over neighbouring points."""
MAX_CURVES = 24
"""Trainings that are overlaid at most: more would not have distinct colours and dashes."""
SMALL, TALL = 260, 380
_LABEL = 34


@dataclass(frozen=True)
class TrainingsSpec(Spec):
    """Report trainings with their curves, several over each other."""

    keys: Annotated[Sequence[str], Field("Run", "Key of `theodolite runs`.", key="run")]


@dataclass(frozen=True, eq=False, repr=False)
class Trainings(Answer):
    """Trainings with their curves."""

    columns: ClassVar = {
        "training": str,
        "run": str,
        "kind": str,
        "step": int,
        "score": float | None,
        "alignment": float | None,
        "uniformity": float | None,
        "low": float | None,
        "high": float | None,
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
        names = labels_of([row for row, _ in self.courses])
        return [
            {"training": name, "run": row.key, "kind": kind, **event}
            for name, (row, curves) in zip(names, self.courses, strict=True)
            for kind, events in curves.kinds().items()
            for event in events
        ]

    def blocks(self) -> list[Block]:
        """The outcome, the comparison with the paper, charts, samples, notes, and settings."""
        rows = [row for row, _ in self.courses]
        names = labels_of(rows)
        notes, samples, courses = [], [], []
        verdict = headline(rows[0].score, rows[0].base_score) if len(rows) == 1 else ""
        outcome = [Finding(verdict, _trust(rows[0], self.courses[0][1]))] if verdict else []
        for name, (row, curves) in zip(names, self.courses, strict=True):
            notes += [(name, note["step"], note["message"]) for note in curves.notes]
            courses.append((name, None if row.score is row.loss else row.best_step, curves))
            if row.is_decoder and curves.evals:
                last = curves.evals[-1]
                about = "Held-out sentences, and what it makes of them after "
                about += f"{formats.count(last['step'])} updates."
                samples.append(Samples(f"Samples of {name}", about, last["samples"]))
        table = Table("notes", ("training", "step", "note"), notes)
        every = [*outcome, *comparison(rows), *charts(courses[:MAX_CURVES]), *samples]
        if len(rows) > MAX_CURVES:
            every.append(Text("", f"The first {MAX_CURVES} of {len(rows)} trainings are drawn."))
        return [*every, table, *_settings(rows, names)]


def answer(workspace: Workspace, spec: TrainingsSpec, do: Do) -> Iterator[Trainings]:
    """Yield the trainings; nothing has to be computed."""
    yield Trainings(service.courses_of(workspace, spec.keys))


TRAINING = Question("training", TrainingsSpec, answer, Trainings, ("training 36e4305ecb44",))


def _trust(row: TrainingRun, curves: Curves) -> str:
    """What the difference to the base rests on. Plain text."""
    base = next((look for look in curves.evals if look["step"] == 0), {})
    chose = "On the dev set, which chose the weights"
    if not base.get("low") or not base["low"] <= (row.score or 0) <= base["high"]:
        return f"{chose}."
    low, high = (formats.score(base[end]) for end in ("low", "high"))
    return (
        f"{chose}, and within the base's own 95 % interval there, {low} to {high}. Use Compare to "
        "test on other data whether they differ."
    )


def labels_of(rows: Sequence[TrainingRun]) -> list[str]:
    """Labels of runs; shared labels get the settings that tell the runs apart."""
    names: list[str] = []
    for row in rows:
        alike = [other.settings for other in rows if other.label == row.label]
        words = [
            f", {field.replace('_', ' ')} {setting_text(row.settings.get(field))}"
            for field in service.differences(alike)
        ]
        name = f"{row.label}{''.join(words[:3])}"
        names.append(f"{name} ({names.count(name) + 1})" if name in names else name)
    return names


def setting_text(value: Any) -> str:
    """A setting as people write it. Plain text."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(value)
    return formats.brief(value) if isinstance(value, float) else str(value or formats.MISSING)


def _settings(rows: Sequence[TrainingRun], names: Sequence[str]) -> list[Block]:
    """All settings of one training; of several those that differ, with what came of each."""
    if len(rows) == 1:
        cells = [(name.replace("_", " "), setting_text(v)) for name, v in rows[0].settings.items()]
        return [Fold("All settings", [Table("settings", ("setting", "value"), cells)])]
    differ = service.differences([row.settings for row in rows])
    same = "" if differ or not rows else "Their settings are identical."
    lines = []
    for place, (name, row) in enumerate(zip(names, rows, strict=True)):
        own = [setting_text(values[place]) for values in differ.values()]
        base = against_base(row.score, row.base_score) or None
        outcome = [row.state, row.score, base, row.loss, row.best_step, row.error]
        links: Sequence[Link | None] = uses(row) or [None] * 3
        lines.append([name, *own, *outcome, *links])
    held_out = "loss on held-out sentences"
    results = ("state", "best dev score", "against its base", held_out, "at step", "error")
    columns = ("training", *differ, *results, "", "", "")
    filled = [at for at in range(len(columns)) if any(line[at] is not None for line in lines)]
    heads, body = [columns[at] for at in filled], [[line[at] for at in filled] for line in lines]
    table = Table("settings", heads, body, decimals={"best dev score": 2})
    return [Text("Where they differ", same), table]


def uses(row: TrainingRun) -> list[Link]:
    """Links to the pages that use the trained model; none before it is finished."""
    if not row.encoder or row.why is None:
        return []
    pages: dict[str, Any] = dict.fromkeys(("decode", "interpolate", "diagnose"), row.encoder)
    base = str(row.settings.get("base", ""))
    if not row.is_decoder:
        both = row.encoder if base.startswith("new:") else [base, row.encoder]
        pages = {"evaluate": row.encoder, "compare": both, "map": row.encoder}
    links = [Link(page.capitalize(), page, {"encoder": name}) for page, name in pages.items()]
    rename = Link("Rename", "encoders", {"encoder": row.encoder})
    return links if row.is_decoder else [*links, rename]


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
        low, high: the interval of each value; empty for none.
        base: the dev score of the base; None without one.
        improved: whether the weights that were kept are better than the base.
    """

    name: str
    place: int
    steps: Sequence[int]
    values: Sequence[float]
    kept: int | None = None
    across: Sequence[float] = ()
    low: Sequence[float] = ()
    high: Sequence[float] = ()
    base: float | None = None
    improved: bool = True

    @property
    def course(self) -> str:
        """`0.93 to 0.31 at step 500`, or `1.43 to 0.31, uniformity −1.2 to −2.4 at step 500`."""
        both = [self.values, *([self.across] if self.across else [])]
        ends = [[_number(at) for at in (one[0], one[-1])[: len(one)]] for one in both]
        text = ", uniformity ".join(map(" to ".join, ends))
        return f"{text} at step {formats.count(self.steps[-1])}"


@dataclass(frozen=True)
class Quantity:
    """What a chart shows.

    Attributes:
        title: of the chart.
        about: a sentence below that.
        kind, field: of events.
        best: picks the best of several values; None where none is.
        across: the other field, of a path.
    """

    title: str
    about: str
    kind: str
    field: str
    best: Callable[..., Any] | None = None
    across: str = ""

    def heading(self, lines: Sequence[Line]) -> str:
        """A summary of the lines."""
        best = self.best
        if len(lines) == 1:
            return f"{self.title}: {lines[0].course}"
        if best is None:
            return self.title
        line = best(lines, key=lambda line: best(line.values))
        word = "highest" if best is max else "lowest"
        return f"{self.title}: {word} with {line.name}, {_number(best(line.values))}"


SCORE = (
    "Spearman × 100 of the dev part, within its 95 % interval; the dotted line is the base. "
    "A star marks the weights that were kept, a cross those that are no better than the base."
)
PATH = "Starts at the hollow mark, the base; lower left is better."
HELD_OUT = "Nats per token; the star is what was kept."
QUANTITIES = (
    Quantity("Dev score", SCORE, "looked", "score", max),
    Quantity("Alignment", PATH, "looked", "alignment", across="uniformity"),
    Quantity("Loss on held-out sentences", HELD_OUT, "looked", "loss", min),
    Quantity("Loss", "", "stepped", "loss", min),
    Quantity("Learning rate", "", "stepped", "learning_rate"),
    Quantity("Speed", "Sentences processed per second.", "stepped", "sentences_per_second"),
    Quantity("GPU memory", "Bytes, the peak so far.", "stepped", "gpu_bytes"),
)


def charts(courses: Sequence[tuple[str, int | None, Curves]]) -> list[Block]:
    """A chart for each quantity that has values.

    Args:
        courses: name of each training, the step that was kept, and its curves.
    """
    blocks: list[Block] = []
    for quantity in QUANTITIES:
        lines = []
        for place, (name, best, curves) in enumerate(courses):
            events = [
                event
                for event in curves.kinds()[quantity.kind]
                if (value := event.get(quantity.field)) is not None and value == value
            ]
            if events:
                steps, values = ([e[name] for e in events] for name in ("step", quantity.field))
                across = [event[quantity.across] for event in events] if quantity.across else ()
                star = best if quantity.kind == "looked" else None
                low, high, base, improved = [], [], None, True
                if quantity.kind == "looked":
                    scores = {event["step"]: event.get("score") for event in events}
                    base, improved = scores.get(0), is_improved(scores.get(best), scores.get(0))
                if quantity.field == "score" and all(event.get("low") for event in events):
                    low, high = ([event[name] for event in events] for name in ("low", "high"))
                own = (low, high, base if quantity.field == "score" else None, improved)
                lines.append(Line(name, place, steps, values, star, across, *own))
        if lines:
            heading = Text(quantity.heading(lines), quantity.about)
            blocks += [heading, _chart(quantity, lines)]
    return blocks


def _chart(quantity: Quantity, lines: Sequence[Line]) -> Chart:
    """A chart with its numbers.

    Lines by step; paths as in figure 2 of SimCSE, from the hollow mark to the large one. A star
    marks the weights that were kept. The zoom and the hidden lines survive the next value.
    """
    title, rows = quantity.title, []
    zero = "normal" if quantity.best else "tozero"
    x = axis("step", rangemode="tozero")
    y = axis(title.lower(), exponentformat="power", rangemode=zero)
    if quantity.across:
        x = axis("uniformity (lower: spread more evenly)")
        y = axis("alignment (lower: paraphrases closer)")
    for line in lines:
        cells = [line.steps, line.values, line.across] if line.across else thin(line)
        rows += [[line.name, *numbers] for numbers in zip(*cells, strict=True)]
    name, height = (
        title.lower().replace(" ", "-"),
        TALL if quantity.field in ("score", "alignment") else SMALL,
    )
    margin = {"l": 64, "r": 16, "t": 12, "b": 44}
    traces = [*_bases(lines), *(trace for line in lines for trace in _traces(line))]
    return Chart(
        draw(traces, x, y, height=height, left=64, uirevision=name, margin=margin),
        f"{title} by step. {'; '.join(f'{one.name}: {one.course}' for one in lines)}",
        name=name,
        columns=["run", "step", quantity.field, *filter(None, [quantity.across])],
        rows=rows,
    )


def thin(line: Line, most: int = MAX_POINTS) -> tuple[list[int], list[float]]:
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


def _bases(lines: Sequence[Line]) -> list[Trace]:
    """The scores of the bases, each a dotted line over all steps."""
    end = max(line.steps[-1] for line in lines)
    scores = dict.fromkeys(round(line.base, 2) for line in lines if line.base is not None)
    look = {"color": SERIES[-1], "width": 2, "dash": "dot"}
    return [
        scatter(x=[0, end], y=[score] * 2, mode="lines", line=look, name=f"base, {score:.2f}")
        for score in scores
    ]


def _traces(line: Line) -> list[Trace]:
    """A line within its interval, and the mark of the weights that were kept."""
    look, n, best = style(line.place), len(line.steps), line.kept
    extra = f"<extra>{plain(line.name)}</extra>"
    if line.across:
        xs, ys = line.across, line.values
        words = "uniformity %{x:.3f}, alignment %{y:.3f}"
        options: dict[str, Any] = {
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
        xs, ys = thin(line)
        words = "%{y:.4g}"
        mode = "lines" if len(xs) > 40 else "lines+markers"
        hover = f"step %{{x:,}}: {words}{extra}"
        options = {"mode": mode, "marker": {"size": 5}, "hovertemplate": hover}
        options["cliponaxis"] = len(xs) > 1  # a first value alone lies on the axis
    shared = {"legendgroup": str(line.place), "name": plain(formats.shorten(line.name, _LABEL))}
    traces = [scatter(x=list(xs), y=list(ys), line=look | {"width": 2}, **options, **shared)]
    if line.low:
        band = {"mode": "lines", "line": {"width": 0}, "hoverinfo": "skip", "showlegend": False}
        band |= {"fill": "toself", "fillcolor": clear_colour(look["color"], 0.12)}
        around = [*line.low, *reversed(line.high)]
        traces.insert(
            0, scatter(x=[*line.steps, *reversed(line.steps)], y=around, **band, **shared)
        )
    if best is not None and best in line.steps:
        at = list(line.steps).index(best)
        star = {
            "mode": "markers",
            "marker": {
                "symbol": "star" if line.improved else "x",
                "size": 13 if line.improved else 9,
                "color": look["color"],
            },
            "showlegend": False,
            "cliponaxis": False,
            "hovertemplate": f"kept: {words}{extra}",
        }
        x = line.across[at] if line.across else best
        traces.append(scatter(x=[x], y=[line.values[at]], **shared, **star))
    return traces


def _number(value: float) -> str:
    """A number to four significant digits."""
    return f"{value:.4g}".replace("-", "−")
