"""Trainings of encoders and decoders: their list, their curves, and where they differ."""

import threading
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from theodolite.app.examples import shipped
from theodolite.app.jobs.kinds import spec_of
from theodolite.app.recent import Recent
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.run_rows import RunRow, at_work, is_stopping

KIND = "training"
"""Of an answer that is published or ships."""
ENCODERS, DECODERS = ("train", "sweep"), ("train-decoder",)
"""Kinds of runs, by what they train."""
Event = dict[str, Any]
_PAGE = 5000


@dataclass(frozen=True)
class TrainingRun:
    """One training of an encoder or of a decoder: a run, or a child of a sweep.

    Attributes:
        key: `RUN`, or `RUN:POSITION` of a child; what `curves` takes.
        run: id of the run, which can be stopped, cancelled and retried.
        kind: of the run: `train`, `sweep` or `train-decoder`.
        label: of the child; of a run by itself its title.
        state: queued, running, done, failed or cancelled.
        stopping: whether it was asked to stop and keep the best weights, and still runs.
        settings: every field of its spec that determines the weights.
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
        steps: the events `stepped`, in the order of their steps.
        evals: the events `looked`, likewise.
        notes: the events `noted`.
        cursor: id of the last event included; an unchanged cursor means no new event.
    """

    steps: list[Event] = field(default_factory=list)
    evals: list[Event] = field(default_factory=list)
    notes: list[Event] = field(default_factory=list)
    cursor: int = 0

    def kinds(self) -> dict[str, list[Event]]:
        """The lists by the kind of their events."""
        return {"stepped": self.steps, "looked": self.evals, "noted": self.notes}

    def add(self, kind: str, data: Event) -> None:
        """Add the next event.

        A training that resumes from a checkpoint repeats some steps; their earlier events are
        dropped.
        """
        kinds = self.kinds()
        for events in kinds.values() if kind == "started" else ():
            events[:] = [event for event in events if event["step"] <= data["step"]]
        if kind in kinds and not (kind == "noted" and data in self.notes):
            kinds[kind].append(data)


Course = tuple[TrainingRun, Curves]
_known: Recent[tuple[str, str], Curves] = Recent(256)
_lock = threading.Lock()


def curves(workspace: Workspace, key: str) -> Curves:
    """A copy of the curves of a training so far; only events that are new are read.

    Args:
        workspace: where the training runs.
        key: as `table` gives it: `RUN` or `RUN:POSITION`.
    """
    run, _, position = key.partition(":")
    events: Sequence[Any] = range(_PAGE)
    with _lock:
        known = _known.get((str(workspace.store.folder), key), Curves)
        while len(events) == _PAGE:
            events = workspace.store.events.of(run, int(position or 0), known.cursor, _PAGE)
            for event in events:
                known.add(event["kind"], event["data"])
                known.cursor = event["id"]
        steps, evals, notes = (list(events) for events in known.kinds().values())
    return Curves(steps, evals, notes, known.cursor)


def table(
    workspace: Workspace, limit: int = 200, kinds: Sequence[str] = (*ENCODERS, *DECODERS)
) -> list[TrainingRun]:
    """All trainings, the newest run first; the children of a sweep in their order."""
    runs = workspace.store.runs.list(limit=limit, kinds=kinds)
    return [row for run in runs for row in rows_of(workspace, run)]


def rows_of(workspace: Workspace, run: RunRow) -> list[TrainingRun]:
    """A run by itself, or the children of a sweep in their order."""
    spec = spec_of(run)
    if run["kind"] != "sweep":
        return [_row(workspace, run, run["id"], spec, run["title"], run["state"], run)]
    units = {unit["position"]: unit for unit in workspace.store.runs.units(run["id"])}
    running = at_work(list(units.values()))
    rows = []
    for position, child in enumerate(spec["children"]):
        unit: Mapping[str, Any] = units.get(position) or {"state": "waiting", "error": None}
        state = unit["state"]
        if state == "waiting":
            waiting = run["state"] == "running" and position not in running
            state = "queued" if waiting else run["state"]
        key = f"{run['id']}:{position}"
        rows.append(_row(workspace, run, key, child["spec"], child["label"], state, unit))
    return rows


def _row(
    workspace: Workspace,
    run: RunRow,
    key: str,
    spec: Mapping[str, Any],
    label: str,
    state: str,
    failure: Mapping[str, Any],
) -> TrainingRun:
    last, at = workspace.store.events.last, int(key.partition(":")[2] or 0)
    over, started = last(run["id"], "finished", at), last(run["id"], "started", at) or {}
    best = over
    if best is None:
        look = last(run["id"], "looked", at, having="best") or {}
        first = next(iter(curves(workspace, key).evals), {"step": None})
        best = {
            "best_score": look.get("score"),
            "best_loss": look.get("loss"),
            "best_step": look.get("step"),
            "base_score": first.get("score") if first["step"] == 0 else None,
        }
    latest = over or last(run["id"], "stepped", at) or started
    trained = spec if run["kind"] not in ENCODERS else over or {}
    return TrainingRun(
        key=key,
        run=run["id"],
        kind=run["kind"],
        label=label,
        state=state,
        stopping=state == "running" and is_stopping(run),
        settings={k: value for k, value in spec.items() if k not in ("version", "out", "name")},
        out=spec.get("out", ""),
        encoder=trained.get("encoder"),
        score=best["best_score"],
        base_score=best.get("base_score"),
        loss=best.get("best_loss"),
        best_step=best["best_step"],
        step=latest.get("step"),
        steps=started.get("steps"),
        seconds=latest.get("seconds"),
        why=(over or {}).get("why"),
        error=failure["error"],
        hint=failure.get("hint", ""),
        created=run["created"],
    )


def courses_of(workspace: Workspace, keys: Sequence[str]) -> list[Course]:
    """Trainings by their keys, or the runs of their sweeps, with their curves; in their order."""
    rows = table(workspace)
    if unknown := set(keys) - {name for row in rows for name in (row.key, row.run)}:
        raise UserError(
            f"There is no training {min(unknown)!r}.",
            "`theodolite runs` lists them.",
            code="unknown",
        )
    mine = [row for row in rows if row.key in keys or row.run in keys]
    return [(row, curves(workspace, row.key)) for row in mine]


def freeze(course: Course) -> dict[str, Any]:
    """A training as JSON, without the folders of this machine."""
    row, lines = course
    run = asdict(replace(row, out="", error=None, hint=""))
    return {"run": run, "steps": lines.steps, "evals": lines.evals, "notes": lines.notes}


def thaw(facts: Mapping[str, Any]) -> Course:
    """The training that `freeze` wrote."""
    return TrainingRun(**facts["run"]), Curves(facts["steps"], facts["evals"], facts["notes"])


def example(workspace: Workspace) -> Course | None:
    """A small real training that ships, shown until another has run; None where none ships."""
    facts = shipped.read(workspace, KIND)
    return None if facts is None else thaw(facts)


def differences(settings: Sequence[Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Where the settings of runs differ: field -> the value of each run, in their order."""
    names = dict.fromkeys(name for own in settings for name in own)
    columns = {name: [own.get(name) for own in settings] for name in names}
    return {n: values for n, values in columns.items() if any(v != values[0] for v in values)}
