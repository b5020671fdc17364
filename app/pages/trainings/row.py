"""One training in a list: its name, its line in charts, its state, where it can be opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from app import formats
from app.components.actions import button
from app.web import address, parts, progress
from app.web.figures import style
from store.runs import LIVE

if TYPE_CHECKING:
    from app.pages.trainings.service import TrainingRun


def toggle(row: TrainingRun, chosen: Sequence[str]) -> str:
    """The name of a run: press it to draw its curves, or not any more."""
    shown = row.key in chosen
    about = f"{row.label}, {row.state}: {'hide' if shown else 'show'} its curves"
    name = button(row.label, "toggle", row.key, about=about, kind="link")
    return f"{key(chosen.index(row.key))}{name}" if shown else name


def key(place: int) -> str:
    """The line that stands for a run in the charts."""
    look = style(place)
    dash = {"solid": "", "dash": "7 4", "dot": "2 3", "dashdot": "7 3 2 3"}[look["dash"]]
    return (
        '<svg class="t-key" width="26" height="8" aria-hidden="true"><path d="M0 4h26" '
        f'stroke="{look["color"]}" stroke-width="3" stroke-dasharray="{dash}"/></svg>'
    )


def opens(row: TrainingRun) -> str:
    """Links to the pages that show an encoder."""
    if not row.encoder:
        return ""
    base = str(row.settings.get("base", ""))
    both = [row.encoder] if base.startswith("new:") else [row.encoder, base]
    links = (
        ("Evaluate", address.link("evaluate", encoder=row.encoder)),
        ("Compare", address.link("compare", encoder=both)),
        ("Map", address.link("map", encoder=row.encoder)),
    )
    return " ".join(
        f'<a href="{escape(to)}" aria-label="{escape(f"{name}: {row.label}")}">{name}</a>'
        for name, to in links
    )


def tag(row: TrainingRun) -> str:
    """Its state."""
    if row.stopping:
        return parts.tag("stopping", "live")
    return parts.tag(row.state, progress.KINDS[row.state])


def so_far(row: TrainingRun, run: Mapping[str, Any], otherwise: str = "") -> list[str]:
    """Its updates, and the time left or taken. Plain text.

    Args:
        row: of the training.
        run: its row in the store.
        otherwise: what to say of one at work without updates so far.
    """
    said = []
    if row.step is not None:
        of = f" of {formats.count(row.steps)}" if row.steps and row.state in LIVE else ""
        said.append(f"{formats.count(row.step)}{of} updates")
    elif otherwise and row.state == "running":
        said.append(otherwise)
    if row.state == "running" and run["eta_seconds"] is not None:
        said.append(formats.time_left(run["eta_seconds"]))
    elif row.seconds is not None:
        said.append(formats.duration(row.seconds))
    return said
