"""One training in a list: its name, its line in charts, its state, its link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.components.actions import button
from theodolite.app.pages.jobs import views as jobs
from theodolite.app.web import address, parts, progress
from theodolite.app.web.figures import style
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.events import against_base
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.pages.trainings.service import TrainingRun
    from theodolite.app.workspace import Workspace

DECODER = "train-decoder"
ENDINGS = {
    "stopped": "stopped, best weights kept",
    "patience": "stopped early: the dev score no longer improved",
    "diverged": "the loss was NaN or infinity, best weights kept",
}
SPECS: Mapping[str, Any] = {
    "train": TrainSpec,
    "sweep": TrainSpec,
    DECODER: DecoderSpec,
}
_ASIDE = ("objective", "base", "encoder", "train", "dev", "dev_every", "device")
"""Settings that the title includes, or that depend on the machine."""


def toggle(row: TrainingRun, chosen: Sequence[str]) -> str:
    """The name of a run as a button that shows or hides its curves."""
    shown = row.key in chosen
    about = f"{row.label}, {row.state}: {'hide' if shown else 'show'} its curves"
    name = button(row.label, "toggle", row.key, about=about, kind="link")
    return f"{key(chosen.index(row.key))}{name}" if shown else name


def key(place: int) -> str:
    """A run's line sample, as in the legend of a chart."""
    look = style(place)
    dash = {"solid": "", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}[look["dash"]]
    return (
        '<svg class="t-key" width="26" height="8" aria-hidden="true"><path d="M0 4h26" '
        f'stroke="{look["color"]}" stroke-width="3" stroke-dasharray="{dash}"/></svg>'
    )


def opens(row: TrainingRun) -> str:
    """Links to the pages that use the trained model; empty before it is finished."""
    if not row.encoder or row.why is None:
        return ""
    if row.kind == DECODER:
        links = {
            page.capitalize(): address.link(page, encoder=row.encoder)
            for page in ("decode", "interpolate", "diagnose")
        }
    else:
        base = str(row.settings.get("base", ""))
        both = [row.encoder] if base.startswith("new:") else [base, row.encoder]
        links = {
            "Evaluate": address.link("evaluate", encoder=row.encoder),
            "Compare": address.link("compare", encoder=both),
            "Map": address.link("map", encoder=row.encoder),
        }
    return " ".join(
        f'<a href="{escape(to)}" aria-label="{escape(f"{name}: {row.label}")}">{name}</a>'
        for name, to in links.items()
    )


def tag(row: TrainingRun) -> str:
    """The state of a training as a tag."""
    if row.stopping:
        return parts.tag("stopping", "live")
    return parts.tag(row.state, progress.KINDS[row.state])


def item(
    workspace: Workspace,
    run: Mapping[str, Any],
    row: TrainingRun,
    name: str,
    *,
    opened: bool,
    more: str = "",
) -> str:
    """A run of one training as an item of the list.

    Args:
        workspace: of the run.
        run: its row in the store.
        row: the training.
        name: HTML of its name, a button.
        opened: whether its curves are shown.
        more: HTML of further buttons.
    """
    settings, links = unusual(row), opens(row)
    below = f'<p class="t-small">{escape(settings)}</p>' if settings else ""
    below += f'<p class="t-opens">{links}</p>' if links else ""
    verbs = jobs.buttons(workspace, run) + more
    return jobs.item(run, name, facts(row, run), verbs, below=below, opened=opened)


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
        if base := against_base(row.score, row.base_score):
            lines.append(base)
    if row.loss is not None:
        lines.append(f"loss {row.loss:.3f} on held-out sentences")
    if row.why in ENDINGS:
        lines.append(ENDINGS[row.why])
    return ", ".join(lines) or "nothing was trained"


def unusual(row: TrainingRun) -> str:
    """The settings that differ from the defaults, in one line. Plain text."""
    known = {one.name: one.default for one in fields(SPECS[row.kind])}
    return ", ".join(
        f"{setting_name(name)} {setting_value(value)}"
        for name, value in row.settings.items()
        if name in known and name not in _ASIDE and value != known[name]
    )


def setting_name(field: str) -> str:
    """A field of a spec as people write it."""
    return field.replace("_", " ")


def setting_value(value: Any) -> str:
    """A setting as people write it. Plain text."""
    if value is None:
        return formats.MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    return formats.brief(value) if isinstance(value, float) else str(value)
