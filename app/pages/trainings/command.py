"""`theodolite runs`: trainings and diagnoses, their curves and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Annotated, Any

import typer

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
DECODER, DIAGNOSIS = "train-decoder", "diagnose"
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
    from theodolite.app.pages.trainings import service as training

    rows = _listed(workspace)
    if not keys:
        emit(rows, COLUMNS, as_json)
        return
    known = {row["key"]: row for row in rows}
    chosen = [_trained(known, key) for key in dict.fromkeys(keys)]
    if as_json:
        for row in chosen:
            _print_curves(workspace, row)
        return
    differing = list(training.differences([row["settings"] for row in chosen]))
    results = ("score", "loss") if any(row["kind"] == DECODER for row in chosen) else ("score",)
    columns = ("run", "label", *differing, *results)
    emit([_side(row, differing) for row in chosen], columns, False)
    if len(chosen) > 1 and not differing:
        say("Their settings are identical.")
    for row in chosen:
        what, evals = _evals(workspace, row)
        text = ", ".join(f"{step:,}: {value:.2f}" for step, value in evals)
        line(f"{row['label']}, {what} by update: {text or 'none yet'}")


def _listed(workspace: Workspace) -> list[dict[str, Any]]:
    """Every row with the same fields, None where its kind has none; the newest first."""
    from theodolite.app.jobs.kinds import spec_of
    from theodolite.app.pages.trainings import service as trainings

    workspace.store.terminals.end_forsaken()
    rows = [vars(row) for row in trainings.table(workspace, MAX_RUNS)]
    none = dict.fromkeys(field.name for field in fields(trainings.TrainingRun))
    for run in workspace.store.runs.list(limit=MAX_RUNS, kinds=[DIAGNOSIS]):
        own = {name: run[name] for name in ("title", "state", "error", "hint", "created")}
        over, spec = run["finished"] if run["started"] else None, spec_of(run)
        rows.append(
            none
            | own
            | {
                "key": run["id"],
                "run": run["id"],
                "kind": run["kind"],
                "label": run["title"],
                "stopping": False,
                "encoder": spec["encoder"],
                "settings": {name: spec[name] for name in spec if name not in trainings.ASIDE},
                "seconds": over and over - (run["started"] or over),
            }
        )
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


def _evals(workspace: Workspace, row: Mapping[str, Any]) -> tuple[str, list[tuple[int, float]]]:
    """The name of the metric, and its value by update."""
    from theodolite.app.pages.trainings import service as trainings

    what, name = ("loss", "loss") if row["kind"] == DECODER else ("dev score", "score")
    evals = trainings.curves(workspace, row["key"]).evals
    return what, [(event["step"], event[name]) for event in evals]


def _side(row: Mapping[str, Any], differing: Sequence[str]) -> dict[str, Any]:
    settings = {name: _exactly(row["settings"].get(name)) for name in differing}
    own = {"run": row["key"], "label": row["label"], "score": row["score"], "loss": row["loss"]}
    return own | settings


def _exactly(value: Any) -> Any:
    """A setting at full precision: two that differ must not look alike."""
    return str(value) if isinstance(value, float) else value


def _print_curves(workspace: Workspace, row: Mapping[str, Any]) -> None:
    from theodolite.app.pages.trainings import service as trainings

    for kind, events in trainings.curves(workspace, row["key"]).kinds().items():
        for event in events:
            emit_json({"run": row["key"], "kind": kind, **event})
