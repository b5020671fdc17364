"""Costs of encoders on this machine, measured once by a job, and the Pareto front."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from theodolite.app import endpoints, formats
from theodolite.app.examples import shipped
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import queue
from theodolite.app.workspace import Workspace
from theodolite.engine.cost import footprint
from theodolite.engine.cost.footprint import disturbed, spread
from theodolite.engine.encoders import describe
from theodolite.store.hashing import hash_of

KIND, FORMAT = "cost", "1"
ATTEMPTS = 3
"""Measurements of an encoder at a time, if each is disturbed by other programs."""
_FACTS = ("bytes", "parameters", "embedding_parameters")
Row = Mapping[str, Any]
AXES: dict[str, tuple[str, str, bool]] = {
    "per_second_16": ("Sentences per second, 16 tokens", "/s", True),
    "per_second_64": ("Sentences per second, 64 tokens", "/s", True),
    "per_second_256": ("Sentences per second, 256 tokens", "/s", True),
    "latency_p50": ("Latency per sentence, p50", "ms", False),
    "latency_p95": ("Latency per sentence, p95", "ms", False),
    "load_seconds": ("Time to load", "s", False),
    "memory": ("Memory", "MiB", False),
    "disk": ("Size on disk", "MiB", False),
    "vector_bytes": ("Bytes per vector", "B", False),
    "embedding_parameters": ("Embedding parameters", "M", False),
    "other_parameters": ("Other parameters", "M", False),
}
"""Key -> title, unit, whether higher is better."""
TIMED = ("per_second_16", "per_second_64", "per_second_256", "latency_p50", "latency_p95")
"""Keys of what other programs disturb."""


@dataclass(frozen=True)
class CostJob(Job):
    """A measurement of encoders, each in a process of its own.

    Attributes:
        encoders: in their canonical form.
        again: whether those that were measured before are measured too.
    """

    kind = KIND

    encoders: tuple[str, ...]
    again: bool = False

    @property
    def title(self) -> str:
        """`Cost of minilm`."""
        more = f" and {len(self.encoders) - 1} more" if len(self.encoders) > 1 else ""
        return f"Cost of {self.encoders[0]}{more}"

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether every encoder was measured on this machine, undisturbed."""
        return not (self.again or _left(workspace, self.encoders))

    def units(self) -> list[str]:
        """One unit per encoder."""
        return [f"Measuring {name}" for name in self.encoders]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Measure one encoder."""
        measure(workspace, self.encoders[position])


def measure(workspace: Workspace, encoder: str, attempts: int = ATTEMPTS) -> None:
    """Measure an encoder, again if that was disturbed, and store the least disturbed."""
    facts = {key: describe(encoder).get(key) for key in _FACTS}
    root = workspace.catalog.root
    place = {} if root is None else {"THEODOLITE_DATA": str(root)}
    allowed = endpoints.allowed(workspace.store)
    found: list[dict[str, Any]] = []
    while len(found) < attempts:
        made = footprint.in_own_process(encoder, os.environ | place, allowed)
        found.append({**facts, **made, "encoder": encoder, "machine": machine()})
        if not footprint.disturbed(found[-1]):
            break
    kept = workspace.store.derived.get(_key(encoder))
    if footprint.disturbed(found[-1]) and kept is not None:
        found.append(kept["info"])
    best = min(found, key=lambda one: (footprint.disturbed(one), _latency(one)))
    if kept is None or best is not kept["info"]:
        workspace.store.derived.put(_key(encoder), KIND, best)


def ensure(workspace: Workspace, encoder: str) -> None:
    """Measure an encoder unless it was; one that was disturbed is measured once more."""
    if _left(workspace, [encoder]):
        measure(workspace, encoder, 1 if encoder in measured(workspace) else ATTEMPTS)


def _latency(found: Mapping[str, Any]) -> float:
    """Median of single sentences, which other programs only make longer."""
    return float(found["latency_ms"][len(found["latency_ms"]) // 2])


def _left(workspace: Workspace, encoders: Sequence[str]) -> list[str]:
    known = measured(workspace)
    return [name for name in encoders if name not in known or known[name]["disturbed"]]


def queue_measurement(workspace: Workspace, encoders: Sequence[str]) -> str:
    """Queue encoders not measured yet and disturbed ones, else all again; return the run's id."""
    workspace.refuse_visitors()
    return queue(workspace, CostJob(tuple(_left(workspace, encoders) or encoders)))


def measured(workspace: Workspace) -> dict[str, dict[str, Any]]:
    """Encoder -> `row` of its measurement on this machine."""
    found: dict[str, dict[str, Any]] = {}
    for kept in workspace.store.derived.list(KIND):  # the newest first
        info = kept["info"]
        if info["machine"] == machine() and info["encoder"] not in found:
            found[info["encoder"]] = row(info | {"measured": kept["created"]})
    return found


def example() -> tuple[dict[str, dict[str, Any]], dict[str, float], int]:
    """The shipped example: rows as in `measured`, mean scores, and the number of tasks."""
    found = shipped.read(KIND)
    facts: Mapping[str, Any] = found.facts if found else {"rows": [], "quality": {}, "tasks": 0}
    return {one["encoder"]: one for one in facts["rows"]}, facts["quality"], facts["tasks"]


def row(info: Mapping[str, Any]) -> dict[str, Any]:
    """A flat dictionary of a measurement, as `theodolite encoders cost --json` prints it.

    Repeated measurements have their lowest and highest values too.
    """
    flat: dict[str, Any] = {"encoder": info["encoder"], "dim": info["dim"]}
    repeated = {f"per_second_{n}": values for n, values in info["per_second"].items()}
    for key, values in (repeated | {"load_seconds": info["load_seconds"]}).items():
        flat[key], flat[f"{key}_low"], flat[f"{key}_high"] = spread(values)
    p50, p95 = np.percentile(info["latency_ms"], [50, 95], method="inverted_cdf").tolist()
    size, table = info["parameters"], info["embedding_parameters"]
    return flat | {
        "latency_p50": p50,
        "latency_p95": p95,
        "memory": info["memory_bytes"] / 2**20,
        "disk": info["bytes"] / 2**20 if info["bytes"] else None,
        "vector_bytes": info["vector_bytes"],
        "embedding_parameters": None if table is None else table / 1e6,
        "other_parameters": None if size is None or table is None else (size - table) / 1e6,
        "machine": info["machine"],
        "device": info["device"],
        "load": info.get("load"),
        "cores": info.get("cores"),
        "measured": info.get("measured"),
        "disturbed": disturbed(info),
    }


def front(points: Mapping[str, tuple[float, float]], more_is_better: bool) -> list[str]:
    """The Pareto front of cost and quality, the cheapest encoder first.

    Args:
        points: encoder -> (cost, quality).
        more_is_better: whether a higher cost value is better, as for a speed.
    """
    sign = -1.0 if more_is_better else 1.0
    best: list[str] = []
    for name in sorted(points, key=lambda n: (sign * points[n][0], -points[n][1])):
        if not best or points[name][1] > points[best[-1]][1]:
            best.append(name)
    return best


def in_words(row: Row) -> dict[str, Any]:
    """A measurement for display: medians with their lowest and highest values."""
    return {
        "encoder": row["encoder"],
        **{key: described(row, key) for key in AXES},
        "other_load": load(row),
        "measured": formats.date(row.get("measured")),
    }


def load(row: Row) -> str:
    """How much of the machine other programs used: `0.1 of 2 cores`."""
    if row.get("load") is None:
        return formats.MISSING
    return f"{row['load']:.1f} of {formats.plural(row['cores'], 'core')}"


def disturbance(rows: Iterable[Row]) -> str:
    """A sentence on measurements that were disturbed; empty if none was."""
    names = [str(row["encoder"]) for row in rows if row.get("disturbed")]
    if not names:
        return ""
    was, they = ("was", "it is") if len(names) == 1 else ("were", "they are")
    return (
        f"{formats.listed(names, 3)} {was} measured while the machine was busy or uneven: {they} "
        "probably faster. Measure again when it is quiet."
    )


def described(row: Row, key: str) -> str:
    """One value with its unit, and its range if the measurement was repeated."""
    value = row[key]
    if value is None:
        return formats.MISSING
    low, high = row.get(f"{key}_low"), row.get(f"{key}_high")
    is_time = AXES[key][1] == "s"
    say, unit = (formats.duration, "") if is_time else (brief, f" {AXES[key][1]}")
    between = "" if low is None or high is None else f" ({say(low)} to {say(high)})"
    return f"{say(value)}{unit}{between}"


def brief(value: float) -> str:
    """Format a number with three significant figures."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _key(encoder: str) -> str:
    return hash_of(KIND, FORMAT, encoder, machine())


@cache
def machine() -> str:
    """Description of this machine."""
    from theodolite.engine.cost.footprint import machine

    return machine()
