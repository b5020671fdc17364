"""One training in a list: its name, the line that stands for it in charts, where it is shown."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from app.components.actions import button
from app.web import address
from app.web.figures import style

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
