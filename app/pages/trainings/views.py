"""Views of the page *Trainings*: the list, the outcome of a sweep, curves, differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components import word_diff
from theodolite.app.components.actions import button
from theodolite.app.pages.jobs import views as jobs
from theodolite.app.pages.trainings import figures
from theodolite.app.pages.trainings.ablations_views import outcome
from theodolite.app.pages.trainings.row import (
    DECODER,
    SPECS,
    facts,
    item,
    key,
    setting_name,
    setting_value,
    toggle,
    unusual,
)
from theodolite.app.web import address, parts
from theodolite.engine.decoding.differing import differing
from theodolite.engine.training.fields import defaults, written
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.pages.trainings.service import Curves, TrainingRun
    from theodolite.app.workspace import Workspace

CHARTS = {
    "score": ("Dev score", "Spearman × 100 of the dev part; the star is what was kept."),
    "trajectory": ("Alignment and uniformity", "Starts at the hollow mark; lower left is better."),
    "held-out": ("Loss on held-out sentences", "Nats per token; the star is what was kept."),
    "loss": ("Loss", ""),
    "rate": ("Learning rate", ""),
    "speed": ("Speed", "Sentences processed per second."),
    "memory": ("GPU memory", "Peak so far."),
}
"""Chart -> title and description, in the order of the page."""
_CURVES = {
    "score": ("looked", "score", "dev score"),
    "held-out": ("looked", "loss", "loss on held-out sentences"),
    "loss": ("stepped", "loss", "loss"),
    "rate": ("stepped", "learning_rate", "learning rate"),
    "speed": ("stepped", "sentences_per_second", "sentences per second"),
    "memory": ("stepped", "gpu_bytes", "GPU memory, GB"),
}
"""Chart -> kind of events, their field, and its name on the axis."""
_BEST: dict[str, tuple[Any, str]] = {
    "score": (max, "highest"),
    "held-out": (min, "lowest"),
    "loss": (min, "lowest"),
}


def listing(
    workspace: Workspace, rows: Sequence[TrainingRun], chosen: Sequence[str], opened: str
) -> str:
    """Every run, the newest first; the opened sweep with its children."""
    if not rows:
        return parts.empty(
            "No trainings yet",
            "Trainings appear here as soon as they are queued, with live curves.",
            None if workspace.read_only else ("Train an encoder", "./train"),
        )
    items = []
    for run_id, group in groupby(rows, key=lambda row: row.run):
        mine = list(group)
        run = workspace.store.runs.get(run_id)
        if mine[0].position is None:
            row, more = mine[0], "" if workspace.read_only else _again(mine[0])
            name, shown = toggle(row, chosen), row.key in chosen
            items.append(item(workspace, run, row, name, opened=shown, more=more))
        else:
            items.append(_sweep(workspace, run, mine, chosen, opened == run_id))
    return jobs.listing(items, "Trainings, newest first", "t-training")


def shipped(run: TrainingRun) -> str:
    """The list before the first training: a note that the curves are of a shipped example."""
    settings = escape(f"{run.label}: {unusual(run)}; {facts(run, {})}.")
    return (
        '<div class="t-notice"><p><strong>Nothing was trained here yet.</strong> '
        f"The curves are those of a real training that ships as an example.</p><p>{settings}</p>"
        "</div>"
    )


def read_only_list(rows: Sequence[TrainingRun]) -> str:
    """The list on a static page, without buttons."""
    about = [f"{'; '.join(filter(None, [unusual(row), facts(row, {})]))}." for row in rows]
    return parts.readings(dict(zip(names(rows), about, strict=True)))


def _sweep(
    workspace: Workspace,
    run: Mapping[str, Any],
    rows: Sequence[TrainingRun],
    chosen: Sequence[str],
    opened: bool,
) -> str:
    title = button(
        run["title"],
        "sweep",
        run["id"],
        kind="link",
        about=f"{run['title']}: {'close' if opened else 'show its trainings and their outcome'}",
    )
    inside = f'<div class="t-children">{outcome(workspace, rows, chosen)}</div>' if opened else ""
    return jobs.item(
        run, title, jobs.about(run), jobs.buttons(workspace, run), inside=inside, opened=opened
    )


def _again(row: TrainingRun) -> str:
    """A link to the form with the settings of a run that has ended."""
    if row.state in LIVE:
        return ""
    page = "train-decoder" if row.kind == DECODER else "train"
    to = address.link(page, **settings_of(row))
    return (
        f'<a class="t-button t-small-button" href="{escape(to)}" '
        f'aria-label="{escape(f"Train again with the settings of {row.label}")}">Train again</a>'
    )


def settings_of(row: TrainingRun) -> dict[str, Any]:
    """Query of the form's address with a run's settings."""
    usual = defaults(SPECS[row.kind])
    given: dict[str, Any] = {
        name: value if isinstance(value, list) else written(value)
        for name, value in row.settings.items()
        if name == "dev" or usual.get(name, ()) != value
    }
    return {"preset": "own", **given}


def charts(found: Sequence[tuple[TrainingRun, Curves]]) -> dict[str, Any]:
    """Chart -> its value, None without numbers; `CHART-title` -> its heading as HTML."""
    drawn: dict[str, Any] = dict.fromkeys(CHARTS)
    called = names([row for row, _ in found])
    for chart, (kind, column, what) in _CURVES.items():
        lines = _lines(found, called, kind, column, 1e-9 if chart == "memory" else 1.0)
        if lines:
            drawn[chart] = figures.curves_drawing(
                lines,
                what,
                chart,
                zero=chart in ("speed", "memory"),
                height=figures.TALL if chart == "score" else figures.SMALL,
            )
        drawn[f"{chart}-title"] = title(chart, lines)
    paths = [
        figures.Path(
            called[place],
            [event["step"] for event in curves.evals],
            [event["alignment"] for event in curves.evals],
            [event["uniformity"] for event in curves.evals],
            place,
            _kept(row),
        )
        for place, (row, curves) in enumerate(found)
        if curves.evals and "alignment" in curves.evals[0]
    ]
    if paths:
        drawn["trajectory"] = figures.trajectory_drawing(paths)
    drawn["trajectory-title"] = _paths_title(paths)
    return drawn


def title(chart: str, lines: Sequence[figures.Curve] = ()) -> str:
    """The heading of a chart: a summary of its curves, or its name alone."""
    name, about = CHARTS[chart]
    if chart == "rate" and lines:
        name += f": at most {figures.number(max(max(line.values) for line in lines))}"
    elif len(lines) == 1:
        name += f": {figures.course(lines[0])}"
    elif lines and chart in _BEST:
        best, word = _BEST[chart]
        line = best(lines, key=lambda line: best(line.values))
        name += f": {word} with {line.name}, {figures.number(best(line.values))}"
    return parts.heading(name, about)


def _paths_title(paths: Sequence[figures.Path]) -> str:
    name, about = CHARTS["trajectory"]
    return parts.heading(figures.way(paths[0]) if len(paths) == 1 else name, about)


def _lines(
    found: Sequence[tuple[TrainingRun, Curves]],
    called: Sequence[str],
    kind: str,
    column: str,
    scale: float,
) -> list[figures.Curve]:
    lines = []
    for place, (row, curves) in enumerate(found):
        known = [
            (event["step"], value * scale)
            for event in curves.kinds()[kind]
            if (value := event.get(column)) is not None and value == value
        ]
        if known:
            steps, values = zip(*known, strict=True)
            kept = _kept(row) if kind == "looked" else None
            lines.append(figures.Curve(called[place], steps, values, place, kept))
    return lines


def names(rows: Sequence[TrainingRun]) -> list[str]:
    """Labels of runs; shared labels get the settings that tell the runs apart."""
    from theodolite.app.pages.trainings.service import differences as differ

    labels = [row.label for row in rows]
    called = []
    for place, (row, label) in enumerate(zip(rows, labels, strict=True)):
        alike = [other.settings for other in rows if other.label == label]
        words = [f"{setting_name(n)} {setting_value(row.settings.get(n))}" for n in differ(alike)]
        number = f" ({labels[: place + 1].count(label)})" if len(alike) > 1 and not words else ""
        called.append(label + "".join(f", {text}" for text in words[:3]) + number)
    return called


def _kept(row: TrainingRun) -> int | None:
    return row.best_step if (row.score, row.loss) != (None, None) else None


def notes(found: Sequence[tuple[TrainingRun, Curves]]) -> str:
    """Notes of the runs: smaller batches, lines left out, an early stop."""
    items = "".join(
        f"<li>{key(place)} <strong>{escape(row.label)}</strong>, step "
        f"{formats.count(note['step'])}: {escape(note['message'])}</li>"
        for place, (row, curves) in enumerate(found)
        for note in curves.notes
    )
    return f'<ul class="t-noted" aria-label="Notes of the trainings">{items}</ul>' if items else ""


def samples(found: Sequence[tuple[TrainingRun, Curves]]) -> str:
    """What decoders make of held-out sentences at their last evaluation, differences marked."""
    return "".join(
        _samples(row, curves.evals[-1])
        for row, curves in found
        if curves.evals and row.kind == DECODER
    )


def _samples(row: TrainingRun, last: Mapping[str, Any]) -> str:
    rows = "".join(
        f'<li><p class="t-given" dir="auto">{escape(given)}</p><p class="t-sentence" dir="auto">'
        f"{word_diff.marked(differing(given, decoded)) or 'nothing'}</p></li>"
        for given, decoded in last["samples"]
    )
    step = formats.count(last["step"])
    lead = f"Held-out sentences, and what it makes of them after {step} updates."
    return (
        f"{parts.heading(f'Samples of {row.label}', lead)}"
        f'<ul class="t-told t-samples" aria-label="Sentences and what came back">{rows}</ul>'
        f"{word_diff.LEGEND}"
    )


def differences(rows: Sequence[TrainingRun]) -> str:
    """The settings in which the chosen runs differ, one column per run; all for a single run."""
    from theodolite.app.pages.trainings.service import differences as differ

    if len(rows) < 2:
        return "".join(map(_settings, rows))
    changed = differ([row.settings for row in rows])
    heads = ["Setting", *names(rows)]
    body = [
        [setting_name(n), *(escape(setting_value(value)) for value in given)]
        for n, given in changed.items()
    ]
    if any(row.score is not None for row in rows):
        body.append(["best dev score", *(formats.score(row.score) for row in rows)])
    if any(row.loss is not None for row in rows):
        body.append(["loss on held-out sentences", *(_loss(row) for row in rows)])
    same = "" if changed else '<p class="t-muted">Their settings are identical.</p>'
    table = parts.table(heads, body, "Settings in which the trainings differ")
    return parts.heading("Where they differ") + same + table


def _settings(row: TrainingRun) -> str:
    facts = "".join(
        f"<dt>{setting_name(name)}</dt><dd>{escape(setting_value(value))}</dd>"
        for name, value in row.settings.items()
    )
    return (
        '<details class="t-twin"><summary>All settings</summary>'
        f'<dl class="t-facts t-settings">{facts}</dl></details>'
    )


def _loss(row: TrainingRun) -> str:
    return formats.MISSING if row.loss is None else f"{row.loss:.3f}"
