"""The list of trainings as HTML, with what can be done about each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components.actions import button
from theodolite.app.pages.jobs import views as jobs
from theodolite.app.pages.trainings.answer import setting
from theodolite.app.web import address, parts, progress
from theodolite.app.web.figures import style
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.events import against_base
from theodolite.engine.training.fields import written
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.pages.trainings.service import TrainingRun
    from theodolite.app.workspace import Workspace

ENDINGS = {
    "stopped": "stopped, best weights kept",
    "patience": "stopped early: the dev score no longer improved",
    "diverged": "the loss was NaN or infinity, best weights kept",
}
_ASIDE = ("objective", "base", "encoder", "train", "dev", "dev_every", "device")
"""Settings that the title includes, or that depend on the machine."""


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
        run, mine = workspace.store.runs.get(run_id), list(group)
        if mine[0].position is None:
            items.append(_item(workspace, run, mine[0], chosen))
        else:
            items.append(_sweep(workspace, run, mine, chosen, opened == run_id))
    return jobs.listing(items, "Trainings, newest first", "t-training")


def shipped(row: TrainingRun) -> str:
    """The list before the first training: a note that the curves are of a shipped example."""
    settings = escape(f"{row.label}: {summary(row, {})}.")
    return (
        '<div class="t-notice"><p><strong>Nothing was trained here yet.</strong> '
        f"The curves are those of a real training that ships as an example.</p><p>{settings}</p>"
        "</div>"
    )


def _item(
    workspace: Workspace, run: Mapping[str, Any], row: TrainingRun, chosen: Sequence[str]
) -> str:
    """A run of one training."""
    settings, links, verbs = unusual(row), _links(row), jobs.buttons(workspace, run)
    below = f'<p class="t-small">{escape(settings)}</p>' if settings else ""
    below += f'<p class="t-opens">{links}</p>' if links else ""
    if row.state not in LIVE and not workspace.read_only:
        to = address.link("train-decoder" if row.is_decoder else "train", **settings_of(row))
        about = escape(f"Train again with the settings of {row.label}")
        verbs += (
            f'<a class="t-button t-small-button" href="{escape(to)}" aria-label="{about}">'
            "Train again</a>"
        )
    name, opened = _toggle(row, chosen), row.key in chosen
    return jobs.item(run, name, facts(row, run), verbs, below=below, opened=opened)


def _sweep(
    workspace: Workspace,
    run: Mapping[str, Any],
    rows: Sequence[TrainingRun],
    chosen: Sequence[str],
    opened: bool,
) -> str:
    """A sweep, with a table of its trainings if it is opened."""
    about = "close" if opened else "show its trainings and their outcome"
    title = button(run["title"], "sweep", run["id"], kind="link", about=f"{run['title']}: {about}")
    inside = f'<div class="t-children">{_children(rows, chosen)}</div>' if opened else ""
    verbs = jobs.buttons(workspace, run)
    return jobs.item(run, title, jobs.about(run), verbs, inside=inside, opened=opened)


def _children(rows: Sequence[TrainingRun], chosen: Sequence[str]) -> str:
    best = max((row.score for row in rows if row.score is not None), default=None)
    body = []
    for row in rows:
        score = formats.score(row.score)
        error = ""
        if row.error:
            error = f'<br><small class="t-run-error">{escape(row.error)}</small>'
        body.append(
            (
                _toggle(row, chosen) + error,
                parts.tag("stopping", "live")
                if row.stopping
                else parts.tag(row.state, progress.KINDS[row.state]),
                f"<strong>{score}</strong>" if row.score in (best,) and row.score else score,
                formats.count(row.best_step),
                _links(row),
            )
        )
    heads = ("Run", "State", "Best dev score", "At step", "Open")
    table = parts.table(heads, body, "Runs of the sweep", (2, 3))
    columns = ["run", "label", "state", "score", "best_step", "encoder", "error"]
    data = [[row.key, *(getattr(row, name) for name in columns[1:])] for row in rows]
    save = parts.csv_button("Runs as CSV", f"sweep-{rows[0].run}.csv", [columns, *data])
    return f'{table}<p class="t-small">{save}</p>'


def _toggle(row: TrainingRun, chosen: Sequence[str]) -> str:
    """The name as a button that shows or hides its curves, with its line as in the charts."""
    shown = row.key in chosen
    about = f"{row.label}, {row.state}: {'hide' if shown else 'show'} its curves"
    name = button(row.label, "toggle", row.key, about=about, kind="link")
    if not shown:
        return name
    look = style(chosen.index(row.key))
    dash = {"solid": "", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}[look["dash"]]
    return (
        '<svg class="t-key" width="26" height="8" aria-hidden="true"><path d="M0 4h26" '
        f'stroke="{look["color"]}" stroke-width="3" stroke-dasharray="{dash}"/></svg>{name}'
    )


def _links(row: TrainingRun) -> str:
    """Links to the pages that use the trained model; empty before it is finished."""
    if not row.encoder or row.why is None:
        return ""
    pages: dict[str, Any] = dict.fromkeys(("evaluate", "compare", "map"), row.encoder)
    if row.is_decoder:
        pages = dict.fromkeys(("decode", "interpolate", "diagnose"), row.encoder)
    elif not (base := str(row.settings.get("base", ""))).startswith("new:"):
        pages["compare"] = [base, row.encoder]
    return " ".join(
        f'<a href="{escape(address.link(page, encoder=encoder))}" '
        f'aria-label="{escape(f"{page.capitalize()}: {row.label}")}">{page.capitalize()}</a>'
        for page, encoder in pages.items()
    )


def settings_of(row: TrainingRun) -> dict[str, Any]:
    """Query of the form's address with a run's settings."""
    usual = _defaults(row)
    given: dict[str, Any] = {
        name: value if isinstance(value, list) else written(value)
        for name, value in row.settings.items()
        if name == "dev" or usual.get(name, ()) != value
    }
    return {"preset": "own", **given}


def summary(row: TrainingRun, run: Mapping[str, Any]) -> str:
    """Its unusual settings and its progress. Plain text."""
    return "; ".join(filter(None, [unusual(row), facts(row, run)]))


def facts(row: TrainingRun, run: Mapping[str, Any]) -> str:
    """One line: progress, best score or loss, how it ended. Plain text."""
    if row.state == "queued":
        return "waiting for its turn"
    lines = []
    if row.step is not None:
        of = f" of {formats.count(row.steps)}" if row.steps and row.state in LIVE else ""
        lines.append(f"{formats.count(row.step)}{of} updates")
    elif row.state == "running":
        lines.append(run["message"] or "starting")
    if row.state == "running" and run["eta_seconds"] is not None:
        lines.append(formats.time_left(run["eta_seconds"]))
    elif row.seconds is not None:
        lines.append(formats.duration(row.seconds))
    if row.score is not None:
        where = f" at step {formats.count(row.best_step)}" if row.best_step is not None else ""
        lines.append(f"best dev score {formats.score(row.score)}{where}")
        lines += filter(None, [against_base(row.score, row.base_score)])
    if row.loss is not None:
        lines.append(f"loss {row.loss:.3f} on held-out sentences")
    if row.why in ENDINGS:
        lines.append(ENDINGS[row.why])
    return ", ".join(lines) or "nothing was trained"


def unusual(row: TrainingRun) -> str:
    """The settings that differ from the defaults, in one line. Plain text."""
    usual = _defaults(row)
    return ", ".join(
        f"{name.replace('_', ' ')} {setting(value)}"
        for name, value in row.settings.items()
        if name in usual and name not in _ASIDE and value != usual[name]
    )


def _defaults(row: TrainingRun) -> dict[str, Any]:
    spec: Any = DecoderSpec if row.is_decoder else TrainSpec
    return {one.name: one.default for one in fields(spec)}
