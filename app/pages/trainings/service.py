"""Trainings of encoders and decoders: their list, their curves, and where they differ."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from theodolite.app.examples import shipped
from theodolite.app.jobs.kinds import spec_of
from theodolite.app.recent import Recent
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import at_work, is_stopping

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.store import Store
    from theodolite.store.run_rows import RunRow, UnitRow

ENCODERS, DECODERS = ("train", "sweep"), ("train-decoder",)
"""Kinds of runs, by what they train."""
ASIDE = ("version", "out")
"""Fields that may differ between runs without affecting the weights."""
MAX_CURVES = 24
"""Trainings that are overlaid at most: more would not have distinct colours and dashes."""
Event = dict[str, Any]
_PAGE = 5000


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

    @property
    def is_decoder(self) -> bool:
        """Whether it trains a decoder."""
        return self.kind in DECODERS


@dataclass
class Curves:
    """The events of one training, as in `engine.training.events`.

    Attributes:
        started: the newest `started`, or None before it.
        steps: the events `stepped`, in the order of their steps.
        evals: the events `looked`, likewise.
        notes: the events `noted`.
        finished: the event `finished`, or None.
        cursor: id of the last event included; an unchanged cursor means no new event.
    """

    started: Event | None = None
    steps: list[Event] = field(default_factory=list)
    evals: list[Event] = field(default_factory=list)
    notes: list[Event] = field(default_factory=list)
    finished: Event | None = None
    cursor: int = 0

    def kinds(self) -> dict[str, list[Event]]:
        """The lists by the kind of their events."""
        return {"stepped": self.steps, "looked": self.evals, "noted": self.notes}

    def add(self, kind: str, data: Event) -> None:
        """Add the next event.

        A training that resumes from a checkpoint repeats some steps; their earlier events are
        dropped.
        """
        if kind == "started":
            self.started, self.finished = data, None
            for events in self.kinds().values():
                events[:] = [event for event in events if event.get("step", 0) <= data["step"]]
        elif kind == "finished":
            self.finished = data
        elif kind in self.kinds() and not (kind == "noted" and data in self.notes):
            self.kinds()[kind].append(data)


Course = tuple[TrainingRun, Curves]
_known: Recent[tuple[str, str], Curves] = Recent(256)
_lock = threading.Lock()


def curves(workspace: Workspace, key: str) -> Curves:
    """A copy of the curves of a training so far.

    Args:
        workspace: where the training runs.
        key: as `table` gives it: `RUN` or `RUN:POSITION`.
    """
    with _lock:
        found = _current(workspace.store, key)
        return replace(found, steps=[*found.steps], evals=[*found.evals], notes=[*found.notes])


def cursor(workspace: Workspace, key: str) -> int:
    """The `cursor` of a training's curves, without copying them: cheap enough to poll."""
    with _lock:
        return _current(workspace.store, key).cursor


def _current(store: Store, key: str) -> Curves:
    """The curves, with the events since they were last asked for."""
    known = _known.get((str(store.folder), key), Curves)
    run, _, position = key.partition(":")
    while True:
        events = store.events.of(run, int(position or 0), known.cursor, _PAGE)
        for event in events:
            known.add(event["kind"], event["data"])
            known.cursor = event["id"]
        if len(events) < _PAGE:
            return known


def table(
    workspace: Workspace, limit: int = 200, kinds: Sequence[str] = (*ENCODERS, *DECODERS)
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


def chosen(workspace: Workspace, keys: Sequence[str]) -> list[Course]:
    """Trainings by their keys, or the runs of their sweeps, with their curves; in their order."""
    rows = table(workspace)
    known = {row.key for row in rows} | {row.run for row in rows}
    for key in keys:
        if key not in known:
            raise UserError(
                f"There is no training {key!r}.", "`theodolite runs` lists them.", code="unknown"
            )
    found = [row for row in rows if row.key in keys or row.run in keys]
    if len(found) > MAX_CURVES:
        raise UserError(
            f"{len(found)} trainings are too many to distinguish.",
            f"Choose at most {MAX_CURVES}.",
            code="too-large",
        )
    return [(row, curves(workspace, row.key)) for row in found]


def example() -> Course | None:
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
    over = last(run["id"], "finished", at)
    begun = last(run["id"], "started", at) or {}
    latest = over or last(run["id"], "stepped", at) or begun
    if over is not None:
        best, best_step, base = over["best_score"], over["best_step"], over.get("base_score")
        loss = over.get("best_loss")
    else:
        eval_ = last(run["id"], "looked", at, having="best") or {}
        best, loss, best_step = (eval_.get(name) for name in ("score", "loss", "step"))
        first = next(iter(curves(workspace, key).evals), {"step": None})
        base = first.get("score") if first["step"] == 0 else None
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
        score=best,
        base_score=base,
        loss=loss,
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
