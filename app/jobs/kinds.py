"""The kinds of background work: which units a run has, and how one unit is done.

The worker asks for the units, its child does them. A unit is what may be lost and done again: it
must leave the same in the store however often it is begun.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from importlib import import_module
from statistics import median
from typing import TYPE_CHECKING, Any

from engine.decoding import spec as decoding
from engine.errors import UserError
from engine.training import spec as training

if TYPE_CHECKING:
    from app.jobs.reporter import Reporter
    from app.workspace import Workspace
    from store import Store

_READ_SECONDS = 0.05
"""For a result that is there already."""

Spec = Mapping[str, Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Outcome:
    """How a unit ended: well when `error` is None, not begun as asked when it was `left_out`."""

    error: str | None = None
    hint: str = ""
    left_out: bool = False


class LeftOut(UserError):
    """A unit is not begun, because its run was asked to stop before: that is no failure."""


@dataclass(frozen=True)
class Kind:
    """One kind of run.

    Attributes:
        units: from a spec, a label for people for each unit, in the order they are done.
        weights: from the store and a spec, how long each unit will take beside the others; None
            for all alike.
        work: does the unit at a position; called as (workspace, spec, position, reporter).
        version: of the specs that are asked now. Raise it with every change of their fields, and
            add to `upgrades` what makes one of this version of one of the last.
        upgrades: a version -> what makes a spec of the next version of one of this.
        ending: from the store and a run's id, what to say at the end; None for how many failed.
        continue_on_crash: a unit over which one process after the other crashes fails alone, and
            the rest is done.
    """

    units: Callable[[Spec], list[str]]
    work: Callable[[Workspace, Spec, int, Reporter], Outcome]
    version: int = 1
    upgrades: Mapping[int, Callable[[Spec], Spec]] = field(default_factory=dict)
    weights: Callable[[Store, Spec], list[float]] | None = None
    ending: Callable[[Store, str], str] | None = None
    continue_on_crash: bool = False


def versioned(kind: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """What a run of a kind is asked, as `spec_of` will read it."""
    return {**fields, "version": KINDS[kind].version}


def spec_of(run: Mapping[str, Any], kinds: Mapping[str, Kind] | None = None) -> Spec:
    """What a run is asked, whichever version of Theodolite wrote it.

    Args:
        run: its row in the store.
        kinds: what can be done, by name.

    Raises:
        UserError: a newer version wrote it, or there is no such kind of work.
    """
    kind = (KINDS if kinds is None else kinds).get(run["kind"])
    if kind is None:
        raise UserError(f"No work is called {run['kind']!r}.", "A newer Theodolite may know it.")
    spec: Spec = run["spec"]
    version = spec.get("version", 1)
    if version > kind.version:
        raise UserError(
            f"This was asked in version {version} of its kind; up to {kind.version} can be read.",
            "Update Theodolite, or ask for it again.",
        )
    for number in range(version, kind.version):
        spec = {**kind.upgrades[number](spec), "version": number + 1}
    return spec


def questions(spec: Spec) -> list[tuple[str, str, int | None]]:
    """(encoder, task, seed) of each unit."""
    from engine.tasks import seeds_of

    return [
        (encoder, task, seed)
        for encoder in spec["encoders"]
        for task in spec["tasks"]
        for seed in seeds_of(task, spec["protocol"], spec["seed"], spec["seeds"])
    ]


def _evaluate_units(spec: Spec) -> list[str]:
    several = spec["seeds"] > 1
    return [
        f"{task} · {encoder}" + (f" · seed {seed}" if several and seed is not None else "")
        for encoder, task, seed in questions(spec)
    ]


def _evaluate_weights(store: Store, spec: Spec) -> list[float]:
    """Seconds that each unit will take, as far as others like it took some before.

    The same encoder counts first, then any other on the same task under the same protocol. What is
    measured already takes next to nothing; what was never measured is taken for average.
    """
    from engine import protocols
    from engine.tasks import named

    there: set[tuple[str, str, str, int]] = set()
    took: dict[tuple[str, ...], list[float]] = {}
    for row in store.results.table(tasks=spec["tasks"]):
        if row["error"] is None:
            there.add((row["encoder"], row["task"], row["protocol"], row["seed"]))
            for key in ((row["task"], row["protocol"]),
                        (row["encoder"], row["task"], row["protocol"])):  # fmt: skip
                took.setdefault(key, []).append(row["seconds"])
    weights: list[float | None] = []
    for encoder, task, seed in questions(spec):
        protocol = protocols.get(spec["protocol"] or named(task).protocol)
        past = took.get((encoder, task, protocol.name)) or took.get((task, protocol.name))
        known = (encoder, task, protocol.name, protocol.seed if seed is None else seed) in there
        weights.append(_READ_SECONDS if known else max(median(past), 0.1) if past else None)
    measured = [w for w in weights if w is not None and w != _READ_SECONDS]
    usual = sum(measured) / len(measured) if measured else 1.0
    return [usual if weight is None else weight for weight in weights]


def _evaluate(workspace: Workspace, spec: Spec, position: int, progress: Progress) -> Outcome:
    """Measure one encoder on one task; a result that is there already is not measured again."""
    encoder, task, seed = questions(spec)[position]
    row = workspace.evaluate_one(encoder, task, spec["protocol"], seed, progress)
    return Outcome(row["error"], row["hint"] or "")


def _one_seed(spec: Spec) -> Spec:
    return {**spec, "seeds": 1}


def _encode_units(spec: Spec) -> list[str]:
    return [f"{spec['dataset']} · {spec['encoder']}"]


def _encode(workspace: Workspace, spec: Spec, position: int, progress: Progress) -> Outcome:
    """Bring the vectors of a whole collection into the cache, for search to find them there."""
    sentences, _ = workspace.catalog.sentences(spec["dataset"])
    workspace.bound(spec["encoder"], spec["dataset"]).encode(sentences, progress)
    return Outcome()


def _of(module: str) -> Kind:
    """A kind whose `units` and `work` stand in a module of their own, imported when needed."""

    def units(spec: Spec) -> list[str]:
        return import_module(module).units(spec)

    def work(workspace: Workspace, spec: Spec, position: int, reporter: Reporter) -> Outcome:
        import_module(module).work(workspace, spec, position, reporter)
        return Outcome()

    return Kind(units, work)


def _drawn_by_umap(spec: Spec) -> Spec:
    """A comparison of two spaces from before their maps could be chosen, or from soon after."""
    return {"method": "umap", **spec}


def _sweep_ending(store: Store, run_id: str) -> str:
    return import_module("app.pages.train.sweeping").ending(store, run_id)


def _sweep() -> Kind:
    return replace(_of("app.pages.train.sweeping"), ending=_sweep_ending, continue_on_crash=True)


def conclude(store: Store, run_id: str, attempt: int, kind: Kind) -> None:
    """End a run whose units are all over: failed when nothing succeeded, else as far as it did."""
    units = store.runs.units(run_id)
    failed = [unit for unit in units if unit["state"] == "failed"]
    if not failed:
        message = kind.ending(store, run_id) if kind.ending else ""
        store.runs.finish(run_id, attempt, "done", message)
        return
    why = (failed[0]["error"], failed[0]["hint"])
    if len(failed) == len(units):
        store.runs.finish(run_id, attempt, "failed", "Nothing succeeded.", *why)
        return
    message = f"{len(failed)} of {len(units)} failed."
    if kind.ending:
        message = kind.ending(store, run_id)
    store.runs.finish(run_id, attempt, "done", message, *why)


KINDS: dict[str, Kind] = {
    "evaluate": Kind(
        _evaluate_units, _evaluate, version=2, upgrades={1: _one_seed}, weights=_evaluate_weights
    ),
    "encode": Kind(_encode_units, _encode),
    "project": _of("app.pages.map.making"),
    "spaces": replace(_of("app.pages.spaces.making"), version=2, upgrades={1: _drawn_by_umap}),
    "geometry": _of("app.pages.geometry.service"),
    "index": _of("app.pages.search.indexes"),
    "curate": _of("app.pages.curate.service"),
    "train": replace(
        _of("app.pages.train.making"), version=training.VERSION, upgrades={1: training.of_today}
    ),
    "sweep": _sweep(),
    "train-decoder": replace(_of("app.pages.train.decoder_making"), version=decoding.VERSION),
    "diagnose": _of("app.pages.diagnose.service"),
}
