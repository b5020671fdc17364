"""`theodolite runs`: trainings and diagnoses, their curves and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer

from theodolite.app.jobs.kinds import spec_of
from theodolite.app.pages.trainings import service
from theodolite.app.terminal import JsonOption, emit, emit_json, line, say, verb
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

COLUMNS = (
    "key",
    "kind",
    "state",
    "label",
    "step",
    "steps",
    "score",
    "loss",
    "seconds",
    "out",
    "error",
)
DIAGNOSIS = "diagnose"
MAX_RUNS = 200
"""Most runs listed of each kind."""


@verb
def runs(
    workspace: Workspace,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]…", help="Trainings to compare: keys from the list."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the trainings of encoders and decoders, and diagnoses; of those named, the curves.

    theodolite runs

    theodolite runs 36e4305ecb44 8fd1c09a77e2:0

    theodolite runs 36e4305ecb44 --json > curves.jsonl

    A key is a run, or a run and the number of a training of its sweep. With --json the list has
    all settings, and a run that is named gives one object an eval and one a report. The score is an
    encoder's on its dev set, the loss a decoder's on held-out sentences.
    """
    rows = _listed(workspace)
    if not keys:
        emit(rows, COLUMNS, as_json)
        return
    known = {row["key"]: row for row in rows}
    chosen = [_trained(known, key) for key in dict.fromkeys(keys)]
    curves = [service.curves(workspace, row["key"]) for row in chosen]
    if as_json:
        for row, course in zip(chosen, curves, strict=True):
            for kind, events in course.kinds().items():
                for event in events:
                    emit_json({"run": row["key"], "kind": kind, **event})
        return
    _compare(chosen)
    for row, course in zip(chosen, curves, strict=True):
        what, field = ("loss", "loss") if _decodes(row) else ("dev score", "score")
        text = ", ".join(f"{one['step']:,}: {one[field]:.2f}" for one in course.evals)
        line(f"{row['label']}, {what} by update: {text or 'none yet'}")


def _decodes(row: Mapping[str, Any]) -> bool:
    return row["kind"] in service.DECODERS


def _compare(chosen: Sequence[Mapping[str, Any]]) -> None:
    """Print trainings side by side, with the settings in which they differ at full precision."""
    differing = service.differences([row["settings"] for row in chosen])
    rows = []
    for place, row in enumerate(chosen):
        values = {name: given[place] for name, given in differing.items()}
        exact = {n: str(v) if isinstance(v, float) else v for n, v in values.items()}
        rows.append({"run": row["key"], **row, **exact})
    results = ("score", "loss") if any(map(_decodes, chosen)) else ("score",)
    emit(rows, ("run", "label", *differing, *results), False)
    if len(chosen) > 1 and not differing:
        say("Their settings are identical.")


def _listed(workspace: Workspace) -> list[dict[str, Any]]:
    """Every row with the same fields, None where its kind has none; the newest first."""
    workspace.store.terminals.end_forsaken()
    rows = [vars(row) for row in service.table(workspace, MAX_RUNS)]
    none = dict.fromkeys(field.name for field in fields(service.TrainingRun))
    for run in workspace.store.runs.list(limit=MAX_RUNS, kinds=[DIAGNOSIS]):
        spec = spec_of(run)
        took = run["finished"] - run["started"] if run["finished"] and run["started"] else None
        own: dict[str, Any] = {
            "key": run["id"],
            "run": run["id"],
            "label": run["title"],
            "stopping": False,
            "encoder": spec["encoder"],
            "settings": {name: spec[name] for name in spec if name not in service.ASIDE},
            "seconds": took,
        }
        same = ("kind", "title", "state", "error", "hint", "created")
        rows.append(none | own | {name: run[name] for name in same})  # type: ignore[literal-required]
    return sorted(rows, key=lambda row: row["created"], reverse=True)


def _trained(known: Mapping[str, dict[str, Any]], key: str) -> dict[str, Any]:
    """The row of a training."""
    if key not in known:
        raise UserError(
            f"There is no training run {key!r}.", "`theodolite runs` lists them.", code="unknown"
        )
    if known[key]["kind"] == DIAGNOSIS:
        raise UserError(
            f"Run {key!r} is a diagnosis, which has no curves.",
            "The page Diagnose has its figures.",
            code="wrong-kind",
        )
    return known[key]
