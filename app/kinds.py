"""The kinds of background work: which units a run has, and how one unit is done.

The worker asks for the units, its child does them. A unit is what may be lost and done again: it
must leave the same in the store however often it is begun.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from itertools import product
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.workspace import Workspace

Spec = Mapping[str, Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Outcome:
    """How a unit ended: well when `error` is None."""

    error: str | None = None
    hint: str = ""


@dataclass(frozen=True)
class Kind:
    """One kind of run.

    Attributes:
        units: from a spec, a label for people for each unit, in the order they are done.
        work: does the unit at a position; called as (workspace, spec, position, progress).
    """

    units: Callable[[Spec], list[str]]
    work: Callable[[Workspace, Spec, int, Progress], Outcome]


def _evaluate_units(spec: Spec) -> list[str]:
    return [f"{task} · {encoder}" for encoder, task in product(spec["encoders"], spec["tasks"])]


def _evaluate(workspace: Workspace, spec: Spec, position: int, progress: Progress) -> Outcome:
    """Measure one encoder on one task; a result that is there already is not measured again."""
    encoder, task = list(product(spec["encoders"], spec["tasks"]))[position]
    row = workspace.evaluate_one(encoder, task, spec["protocol"], spec["seed"], progress)
    return Outcome(row["error"], row["hint"] or "")


def _encode_units(spec: Spec) -> list[str]:
    return [f"{spec['dataset']} · {spec['encoder']}"]


def _encode(workspace: Workspace, spec: Spec, position: int, progress: Progress) -> Outcome:
    """Bring the vectors of a whole collection into the cache, for search to find them there."""
    from engine.encoders import bind_task

    sentences, data_hash = workspace.catalog.sentences(spec["dataset"])
    encoder = bind_task(workspace.load(spec["encoder"]), sentences, data_hash)
    encoder.encode(sentences, progress)
    return Outcome()


def _of(module: str) -> Kind:
    """A kind whose `units` and `work` stand in a module of their own, imported when needed."""

    def units(spec: Spec) -> list[str]:
        return import_module(module).units(spec)

    def work(workspace: Workspace, spec: Spec, position: int, progress: Progress) -> Outcome:
        import_module(module).work(workspace, spec, position, progress)
        return Outcome()

    return Kind(units, work)


KINDS: dict[str, Kind] = {
    "evaluate": Kind(_evaluate_units, _evaluate),
    "encode": Kind(_encode_units, _encode),
    "project": _of("app.map_making"),
    "spaces": _of("app.spaces_making"),
    "geometry": _of("app.shapes"),
    "index": _of("app.indexes"),
    "curate": _of("app.curations"),
}
