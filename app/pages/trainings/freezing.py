"""Curves of trainings in published pages."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import gradio as gr

from theodolite.app.pages.trainings import section, service, views
from theodolite.app.pages.trainings.curves import Curves
from theodolite.app.pages.trainings.service import TrainingRun
from theodolite.app.web import address, parts
from theodolite.app.web.controls import Answer, on_load
from theodolite.app.web.frozen import Published, View, kept
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

KIND = "training"
DESCRIPTION = "Finished trainings: their data, their curves, and where they differ."


def carry(published: Published) -> None:
    """Publish the chosen trainings with their curves."""
    for row in _chosen(published):
        curves = service.curves(published.source, row.key)
        plain = replace(row, out="", error=None, hint="")
        answer = {
            "run": asdict(plain),
            "steps": curves.steps,
            "evals": curves.evals,
            "notes": curves.notes,
        }
        published.keep(KIND, row.key, answer)


def _chosen(published: Published) -> list[TrainingRun]:
    rows = {row.key: row for row in service.table(published.source)}
    return [rows[key] for key in published.trainings if key in rows]


def trainings(published: Published) -> list[View]:
    """All chosen trainings overlaid, then each by itself."""
    rows = [_read(published.workspace, key)[0] for key in published.trainings]
    names = views.names(rows)
    alone = [View(name, (("run", row.key),)) for name, row in zip(names, rows, strict=True)]
    if len(rows) < 2:
        return alone
    every = rows[: section.MAX_CURVES]
    return [View(f"All {len(every)}", (("run", ",".join(row.key for row in every)),)), *alone]


def _read(workspace: Workspace, key: str) -> tuple[TrainingRun, Curves]:
    """A training as published."""
    frozen = kept(workspace, KIND, key)
    if frozen is None:
        raise UserError(f"The training {key[:40]!r} is not published.", code="unknown")
    return TrainingRun(**frozen["run"]), Curves(
        steps=frozen["steps"], evals=frozen["evals"], notes=frozen["notes"]
    )


def build(workspace: Workspace) -> None:
    """Lay out the page: overlaid curves, read-only."""
    with parts.bar("Trainings", DESCRIPTION):
        pass
    notice = parts.notice()
    shown = {"listing": parts.static("", elem_id="runs"), **section.charts()}

    def load(request: gr.Request) -> Answer:
        keys = address.first(request, "run").split(",")
        if keys == [""]:
            raise UserError(
                "None of these encoders comes from a finished training.", code="no-result"
            )
        found = [_read(workspace, key) for key in keys]
        parts_shown = section.drawn(found) | {
            "listing": views.read_only_list([row for row, _ in found])
        }
        return {shown[name]: value for name, value in parts_shown.items()}

    on_load(load, [*shown.values()], notice)
