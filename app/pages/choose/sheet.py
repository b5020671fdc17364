"""The decision sheet: the best encoder on your own data, ties, costs and warnings.

Reads the measurements that the units of the job stored; JSON-able, so that it is stored and shipped
unchanged. What it says is in `answer.py`, its warnings are in `cautions.py`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Any

from theodolite.app.pages.board import cost
from theodolite.app.pages.board import examples as apart
from theodolite.app.pages.choose import candidates, cautions, data
from theodolite.app.pages.choose.candidates import Candidate
from theodolite.app.pages.choose.cheapest import cheapest
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback, nobody
from theodolite.engine.space.compare import change
from theodolite.engine.stats.choice import REFIT, behind, choose
from theodolite.engine.stats.power import to_tell_apart
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    from theodolite.app.pages.choose.spec import ChooseSpec
    from theodolite.app.workspace import Workspace
    from theodolite.engine.stats.choice import Choice

Sheet = Mapping[str, Any]
"""A decision sheet as `make` returns it."""
KIND, FORMAT = "choose", 3
SHOWN = 5
"""Most examples on which the finalists differ, in favour of each."""
LIMITS = ("max_ms", "max_bytes", "licences", "margin")
OPEN: dict[str, Any] = {
    "task": None,
    "metric": None,
    "protocol": None,
    "n": 0,
    "intervals": {},
    "optimism": None,
    "best": None,
    "ties": [],
    "cheapest": None,
    "nothing_cheaper": None,
    "more_examples": [],
    "against_baseline": None,
    "front": [],
    "differ": None,
}
"""The fields of an undecided sheet."""


def key(workspace: Workspace, spec: ChooseSpec) -> str:
    """The key of a stored sheet: a hash of what was asked, the data and this machine."""
    hashed = workspace.catalog.load(spec.data).hash
    return hash_of(KIND, str(FORMAT), to_json(asdict(spec)), hashed, cost.machine())


def stored(workspace: Workspace, spec: ChooseSpec) -> Sheet | None:
    """The stored sheet; None without one."""
    found = workspace.store.derived.get(key(workspace, spec))
    return None if found is None else found["info"]


def is_current(workspace: Workspace, found: Sheet) -> bool:
    """Whether no encoder of a sheet failed, and all fingerprints match."""
    try:
        return all(
            workspace.load(name).fingerprint == mark for name, mark in found["fingerprints"].items()
        ) and not any(row["error"] for row in found["encoders"])
    except UserError:
        return False


def make(workspace: Workspace, spec: ChooseSpec, tick: ProgressCallback = nobody) -> Sheet:
    """Make the sheet from the measurements, and store it; `tick` gets the share done, may raise."""
    dataset = workspace.catalog.load(spec.data)
    task = data.task_of(workspace, spec.data)
    every = [candidates.stored(workspace, spec, task, name) for name in spec.measured]
    tick(0.2)
    inside = [one for one in every if one.encoder in spec.encoders and not one.outside]
    scored = {one.encoder: one for one in inside if one.sample is not None}
    found = OPEN | (_decided(workspace, spec, task, every, scored, tick) if task and scored else {})
    agreement = [] if task else _agreement(workspace, spec)
    columns, unlabelled = data.brought(workspace, spec.data)
    tick(0.9)
    made = {
        "data": spec.data,
        "asked": spec.encoders,
        "kind": dataset.kind,
        "sentences": len(dataset.sentences),
        "examples": data.examples(dataset) or 0,
        "unlabelled": unlabelled,
        "columns": columns,
        "limits": {name: getattr(spec, name) for name in LIMITS},
        "machine": cost.machine(),
        "baseline": spec.baseline,
        **found,
        "highest": data.highest(dataset, found["metric"]),
        "encoders": [_row(one, found["intervals"]) for one in every],
        "agreement": agreement,
        "fingerprints": _fingerprints(workspace, every),
    }
    warnings = cautions.found(workspace, spec, dataset, every, made)
    made = {**made, "warnings": [{"code": code, "message": text} for code, text in warnings]}
    workspace.store.derived.put(key(workspace, spec), KIND, made)
    tick(1.0)
    return made


def _decided(
    workspace: Workspace,
    spec: ChooseSpec,
    task: str,
    every: Sequence[Candidate],
    scored: Mapping[str, Candidate],
    tick: ProgressCallback,
) -> dict[str, Any]:
    samples = {name: one.sample for name, one in scored.items() if one.sample is not None}
    row = next(one.row for one in scored.values() if one.row)
    refit = REFIT if "repeats" in row["details"] else 0.0
    chosen = choose(samples, refit)
    tick(0.3)
    best = scored[chosen.names[0]]
    further = {name: to_tell_apart(chosen.behind[name]) for name in chosen.ties}
    cheap, nothing_cheaper = cheapest(
        best,
        scored,
        spec.margin,
        refit,
        partial(candidates.in_int8, workspace, spec, task),
        partial(candidates.shrunk, workspace, spec, task),
    )
    tick(0.8)
    points = {n: (one.ms, chosen.intervals[n][0]) for n, one in scored.items() if one.ms}
    return {
        "task": task,
        "metric": row["metric"],
        "protocol": row["protocol"],
        "n": len(samples[best.encoder].values),
        "intervals": chosen.intervals,
        "optimism": chosen.optimism if len(scored) > 1 else 0.0,
        "best": _placed(chosen, best),
        "ties": [_placed(chosen, scored[name]) for name in chosen.ties],
        "cheapest": cheap,
        "nothing_cheaper": nothing_cheaper,
        "more_examples": [
            {"a": best.encoder, "b": name, "n": more.n, "power": more.power}
            for name, more in further.items()
        ],
        "against_baseline": _against(
            best, next(e for e in every if e.encoder == spec.baseline), refit
        ),
        "front": cost.front(points, more_is_better=False),
        "differ": _differ(workspace, task, best, _finalist(chosen, scored, cheap)),
    }


def _placed(chosen: Choice, one: Candidate) -> dict[str, Any]:
    score, low, high = chosen.intervals[one.encoder]
    return {"encoder": one.encoder, "score": score, "low": low, "high": high}


def _against(best: Candidate, baseline: Candidate, refit: float) -> dict[str, Any] | None:
    """Difference of the best to the random baseline; None if that was not measured."""
    if best.sample is None or baseline.sample is None:
        return None
    less = behind(best.sample, {baseline.encoder: baseline.sample}, refit)[baseline.encoder]
    return {
        "score": baseline.sample.statistic,
        "delta": -less.delta,
        "low": -less.high,
        "high": -less.low,
        "beaten": less.high < 0,
    }


def _finalist(
    chosen: Choice, scored: Mapping[str, Candidate], cheapest: Mapping[str, Any]
) -> Candidate | None:
    """The encoder to compare with the best: the cheapest, else the second best."""
    others = [
        name
        for name in (cheapest["encoder"], *chosen.names[1:])
        if name in scored and name != chosen.names[0]
    ]
    return scored[others[0]] if others else None


def _differ(
    workspace: Workspace, task: str, best: Candidate, other: Candidate | None
) -> dict[str, Any] | None:
    """Examples on which the finalists differ most, in favour of each."""
    if other is None or best.row is None or other.row is None:
        return None
    pair, ids = (best.encoder, other.encoder), (best.row["id"], other.row["id"])
    sides = [
        apart.between(workspace, task, *pair, *ids),
        apart.between(workspace, task, *pair[::-1], *ids[::-1]),
    ]
    return {
        "a": pair[0],
        "b": pair[1],
        "ahead": sides[0].ahead,
        "behind": sides[0].behind,
        "of": sides[0].of,
        "graded": sides[0].graded,
        "examples": [
            {
                "texts": list(one.texts),
                "label": one.label,
                "better": found.better,
                pair[0]: one.right if found is sides[0] else one.wrong,
                pair[1]: one.wrong if found is sides[0] else one.right,
            }
            for found in sides
            for one in found.examples[:SHOWN]
        ],
    }


def _row(one: Candidate, intervals: Mapping[str, tuple[float, float, float]]) -> dict[str, Any]:
    """The row of an encoder in the table."""
    own = one.sample.statistic if one.sample else None
    score, low, high = intervals.get(one.encoder, (own, None, None))
    costs = one.costs or {}
    return {
        "encoder": one.encoder,
        "score": score,
        "low": low,
        "high": high,
        "error": one.error,
        "outside": one.outside,
        "licence": one.licence,
        **one.form(),
        **{name: costs.get(name) for name in ("per_second_16", "per_second_64", "memory", "disk")},
        "timed_disturbed": costs.get("disturbed", False),
    }


def _agreement(workspace: Workspace, spec: ChooseSpec) -> list[dict[str, Any]]:
    """The share of nearest neighbours in common, for each pair of encoders."""
    found = {}
    for name in spec.measured:
        with contextlib.suppress(UserError):
            if not data.lacking(workspace, name, spec.data):
                found[name] = data.vectors(workspace, name, spec.data)
    names = list(found)
    rows = []
    for i, a in enumerate(names):
        for b in names[i + 1 :]:
            if len(found[a]) > 2:
                made = change(found[a], found[b], min(10, len(found[a]) - 1))
                shared = 2 * made.jaccard / (1 + made.jaccard)
                rows.append({"a": a, "b": b, "k": made.k, "shared": float(shared.mean())})
    return rows


def _fingerprints(workspace: Workspace, every: Sequence[Candidate]) -> dict[str, str]:
    found = {}
    for one in every:
        try:
            found[one.encoder] = workspace.load(one.encoder).fingerprint
        except UserError:
            found[one.encoder] = ""
    return found
