"""Trainings: listing and comparing them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from theodolite.app.examples import shipped
from theodolite.app.jobs.kinds import spec_of
from theodolite.app.pages.trainings.curves import Curves, base_score, best_eval, cursor, curves
from theodolite.store.run_rows import at_work, is_stopping

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.store.run_rows import RunRow, UnitRow

__all__ = ["Curves", "TrainingRun", "cursor", "curves", "differences", "rows_of", "table"]

ENCODERS, DECODERS = ("train", "sweep"), ("train-decoder",)
"""Kinds of runs, by what they train."""
KINDS = (*ENCODERS, *DECODERS)
ASIDE = ("version", "out")
"""Fields that may differ between runs without affecting the weights."""


@dataclass(frozen=True)
class TrainingRun:
    """One training of an encoder or of a decoder: a run, or a child of a sweep.

    Attributes:
        key: `RUN`, or `RUN:POSITION` of a child; what `curves` takes.
        run: id of the run, which can be stopped, cancelled and retried.
        kind: of the run: `train`, `sweep` or `train-decoder`.
        position: of the child in its sweep; None for a run by itself.
        title: of the run.
        label: of the child; of a run by itself its title.
        state: queued, running, done, failed or cancelled.
        stopping: whether it was asked to stop and keep the best weights, and still runs.
        settings: every field of its spec but `out`.
        out: its folder.
        encoder: spec string that loads the trained encoder, None until it is finished; of a
            decoder the encoder whose vectors it decodes.
        score: an encoder's best dev score so far; None without one.
        loss: a decoder's lowest on held-out sentences so far, nats per token; None without one.
        best_step: step of the best score or lowest loss.
        step, steps: updates made, and in total; None before it started.
        seconds: of training; None before it started.
        why: how it ended, as in the event `finished`; None before that.
        error, hint: what went wrong, and what to do.
        created: seconds since 1970.
        base_score: the dev score of an encoder's base; None without one.
    """

    key: str
    run: str
    kind: str
    position: int | None
    title: str
    label: str
    state: str
    stopping: bool
    settings: dict[str, Any]
    out: str
    encoder: str | None
    score: float | None
    loss: float | None
    best_step: int | None
    step: int | None
    steps: int | None
    seconds: float | None
    why: str | None
    error: str | None
    hint: str
    created: float
    base_score: float | None = None


def table(
    workspace: Workspace, limit: int = 200, kinds: Sequence[str] = KINDS
) -> list[TrainingRun]:
    """All trainings, the newest run first; the children of a sweep in their order."""
    found = workspace.store.runs.list(limit=limit, kinds=kinds)
    return [row for run in found for row in rows_of(workspace, run)]


def rows_of(workspace: Workspace, run: RunRow) -> list[TrainingRun]:
    """A run by itself, or the children of a sweep in their order."""
    spec = spec_of(run)
    if run["kind"] != "sweep":
        return [_row(workspace, run, None, spec, run["title"], run["state"], run)]
    units = {unit["position"]: unit for unit in workspace.store.runs.units(run["id"])}
    begun = at_work(list(units.values()))
    rows = []
    for position, child in enumerate(spec["children"]):
        unit = units.get(position)
        state = _child_state(run, unit, position in begun)
        failure = unit or {"error": None, "hint": ""}
        rows.append(_row(workspace, run, position, child["spec"], child["label"], state, failure))
    return rows


def example() -> tuple[TrainingRun, Curves] | None:
    """A small real training that ships, shown until another has run; None where none ships."""
    found = shipped.read("trainings")
    if found is None:
        return None
    facts = found.facts
    steps, evals = (_rows(facts[name]) for name in ("steps", "evals"))
    return TrainingRun(**facts["run"]), Curves(steps=steps, evals=evals, notes=facts["notes"])


def _rows(columns: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def differences(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Where the settings of runs differ: field -> the value of each run, in their order."""
    names = dict.fromkeys(name for own in settings for name in own)
    columns = {name: [own.get(name) for own in settings] for name in names}
    return {
        name: values
        for name, values in columns.items()
        if any(value != values[0] for value in values)
    }


def _row(
    workspace: Workspace,
    run: RunRow,
    position: int | None,
    spec: Mapping[str, Any],
    label: str,
    state: str,
    failure: Mapping[str, Any],
) -> TrainingRun:
    key = run["id"] if position is None else f"{run['id']}:{position}"
    decoder, last, at = run["kind"] in DECODERS, workspace.store.events.last, position or 0
    metric = "loss" if decoder else "score"
    over = last(run["id"], "finished", at)
    begun = last(run["id"], "started", at) or {}
    latest = over or last(run["id"], "stepped", at) or begun
    base = None
    if over is not None:
        best_step, best = over["best_step"], over[f"best_{metric}"]
        base = over.get("base_score")
    else:
        found = best_eval(workspace, key) or {}
        best_step, best = found.get("step"), found.get(metric)
        base = None if decoder else base_score(workspace, key)
    return TrainingRun(
        key=key,
        run=run["id"],
        kind=run["kind"],
        position=position,
        title=run["title"],
        label=label,
        state=state,
        stopping=state == "running" and is_stopping(run),
        settings={name: value for name, value in spec.items() if name not in ASIDE},
        out=spec["out"],
        encoder=(spec if decoder else over or {}).get("encoder"),
        score=None if decoder else best,
        base_score=base,
        loss=best if decoder else None,
        best_step=best_step,
        step=latest.get("step"),
        steps=begun.get("steps"),
        seconds=latest.get("seconds"),
        why=(over or {}).get("why"),
        error=failure["error"],
        hint=failure["hint"],
        created=run["created"],
    )


def _child_state(run: RunRow, unit: UnitRow | None, begun: bool) -> str:
    if unit is not None and unit["state"] != "waiting":
        return unit["state"]
    if run["state"] == "running":
        return "running" if begun else "queued"
    return run["state"]
