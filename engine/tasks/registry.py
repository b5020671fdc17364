"""The tasks by name: one measurement on one data set each.

Any data set can be measured. Scored pairs are a task of their own name (`upload:reviews`); labelled
sentences are three, by an ending: `upload:reviews/classify`, `upload:reviews/search` and, in their
own train, dev and test splits, `upload:reviews/probe`.
Knows no encoder; how a task is scored is said in the modules beside this one.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from engine import protocols
from engine.errors import UserError
from engine.protocols import Protocol
from engine.tasks import (
    captions,
    classification,
    probing,
    relatedness,
    search,
    similarity,
    sts,
    transfer,
)
from engine.tasks.task import Task, TaskType

if TYPE_CHECKING:
    from engine.datasets import Catalog
    from engine.datasets.types import DatasetInfo, Kind

_MODULES = (sts, similarity, relatedness, classification, search, transfer, captions, probing)
_TYPES = tuple(module.TYPE for module in _MODULES)
STARTER = ("StarterSTS", "StarterTopics", "StarterSearch")
SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICKRelatedness")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")
SENTEVAL = (
    *(*TRANSFER[:5], "SST5", *TRANSFER[5:], "SICKEntailment", "SNLI", *SEVEN[5:]),
    "ImageCaptionRetrieval",
)
PROBING = (
    *("Length", "WordContent", "Depth", "TopConstituents", "BigramShift", "Tense"),
    *("SubjNumber", "ObjNumber", "OddManOut", "CoordinationInversion"),
)
SUITES: dict[str, tuple[str, ...]] = {
    "starter": STARTER,
    "sts": SEVEN,
    "transfer": TRANSFER,
    "senteval": SENTEVAL,
    "probing": PROBING,
}
"""Names that stand for several tasks. `sts` and `transfer` are the sevens of SimCSE's tables, in
their order; `senteval` is every downstream task of SentEval that trains something under its
protocols."""

_BUILT_IN = {task.name: task for kind in _TYPES for task in kind.tasks}
TASKS: dict[str, Task] = {name: _BUILT_IN[name] for name in (*STARTER, *_BUILT_IN)}


def type_of(task: Task, protocol: Protocol) -> TaskType:
    """Return how the protocol scores the task.

    Raises:
        UserError: it does not.
    """
    name = task.type_under(protocol.types)
    if name is None:
        fitting = [p.name for p in protocols.PROTOCOLS.values() if task.type_under(p.types)]
        raise UserError(
            f"Protocol {protocol.name} does not say how to score {task.name}, "
            f"a task of type {task.type}.",
            f"Leave the protocol out or take {' or '.join(fitting)}.",
        )
    found = [kind for kind in _TYPES if kind.name == name]
    own = [kind for kind in found if protocol.name in kind.protocols]
    return own[0] if own else next(kind for kind in found if not kind.protocols)


def get(name: str, catalog: Catalog | None = None) -> Task:
    """Return the task of that name.

    Args:
        name: of a built-in task, or a data set's name with an ending as said above.
        catalog: where to look for data sets other than `upload:` and `hub:`.

    Raises:
        UserError: an unknown name; the hint has the closest ones.
    """
    if name in TASKS:
        return TASKS[name]
    of_labels = _of_labels(name)
    if of_labels and _is_dataset(of_labels.dataset, "labels", catalog):
        return of_labels
    if _is_dataset(name, "pairs", catalog):
        return sts.of_data(name)
    raise _unknown(name, catalog)


def _of_labels(name: str) -> Task | None:
    """Read a task on labelled sentences off its ending; None where there is none."""
    dataset, _, ending = name.rpartition("/")
    if not dataset:
        return None
    match ending:
        case "classify":
            said = f"Tell the labels of {dataset} apart, in its own splits or else in five folds."
            return classification.of_data(name, dataset, said, "starter-2")
        case "search":
            return search.of_data(
                name, dataset, f"Find sentences of {dataset} with the same label."
            )
        case "probe":
            return probing.of_data(name, dataset, f"Labels of {dataset}, in its own splits.")
    return None


def available(catalog: Catalog) -> list[Task]:
    """List the tasks whose data sets are at hand: built-in first, then other scored pairs, uploads.

    Labelled sets of a data folder can be named (`banking77/classify`) but are not offered: most
    have a protocol of their own elsewhere, with which a starter score would be confused.
    """
    infos = catalog.list()
    present = {info.name for info in infos}
    tasks = [task for task in TASKS.values() if task.dataset in present]
    measured = {task.dataset for task in tasks}
    for info in infos:
        if info.name not in measured:
            tasks += _tasks_of(info)
    return tasks


def in_order(tasks: Iterable[str]) -> list[str]:
    """Built-in tasks in the registry's order, SentEval's list first; then the others as given."""
    rank = {name: i for i, name in enumerate(TASKS)}
    return sorted(tasks, key=lambda name: rank.get(name, len(rank)))


def named(name: str) -> Task:
    """Read a task off its name alone: no data set is looked for, so that none need be there."""
    if name in TASKS:
        return TASKS[name]
    return _of_labels(name) or sts.of_data(name)


def seeds_of(name: str, protocol: str | None, seed: int | None, seeds: int = 1) -> list[int | None]:
    """Seeds to measure a task with: consecutive ones, or one where nothing is drawn.

    Similarity by cosine and search draw nothing, whatever the seed.

    Args:
        name: of the task.
        protocol: for all tasks; None is the task's default.
        seed: the first; None is the protocol's own, and stays None when there is only one.
        seeds: how many.
    """
    task = named(name)
    chosen = protocols.get(protocol or task.protocol)
    if seeds == 1 or not task.type_under(chosen.types) or not type_of(task, chosen).draws:
        return [seed]
    first = chosen.seed if seed is None else seed
    return [first + i for i in range(seeds)]


def expand(
    names: str | Sequence[str] | None,
    catalog: Catalog,
    protocol: str | None = None,
    measured: Collection[str] = (),
) -> list[str]:
    """Write out suites and commas, check every name, drop repeats.

    A suite keeps only tasks whose data is here, unless none is.

    Args:
        names: tasks and suites. None is every built-in task whose data is here and that the
            protocol covers; without a protocol, those that train nothing large: the suites
            `starter` and `sts`.
        catalog: where data is looked for.
        protocol: for all tasks.
        measured: names that stand for themselves: a diagnosis has no data that could be looked for,
            and other data may be gone since.

    Raises:
        UserError: an unknown name, or no name at all.
    """
    present = {info.name for info in catalog.list()}
    here = [task.name for task in TASKS.values() if task.dataset in present]
    if names is None:
        return [name for name in here if _by_default(TASKS[name], protocol)]
    pieces = names.split(",") if isinstance(names, str) else names
    wanted: list[str] = []
    for name in (piece.strip() for piece in pieces):
        if name in SUITES:
            wanted += [task for task in SUITES[name] if task in here] or SUITES[name]
        elif name in measured:
            wanted.append(name)
        elif name:
            wanted.append(get(name, catalog).name)
    if not wanted:
        raise UserError("No task was named.", f"Name tasks or a suite: {', '.join(SUITES)}.")
    return list(dict.fromkeys(wanted))


def _by_default(task: Task, protocol: str | None) -> bool:
    if protocol is None:
        return task.name in (*STARTER, *SEVEN)
    return task.type_under(protocols.get(protocol).types) is not None


def _tasks_of(info: DatasetInfo) -> list[Task]:
    if info.kind == "pairs":
        return [sts.of_data(info.name)]
    if info.task is not None and info.task.endswith("/probe"):
        return [probing.of_data(info.task, info.name, info.description)]
    if info.kind == "labels" and info.origin in ("upload", "hub"):
        return [
            named(f"{info.name}/classify"),
            search.of_data(f"{info.name}/search", info.name, f"Same label in {info.name}."),
        ]
    return []


def _is_dataset(name: str, kind: Kind, catalog: Catalog | None) -> bool:
    """Whether the name can hold such data; uploads and the hub are looked up when loaded."""
    if catalog is not None:
        kinds = {info.name: info.kind for info in catalog.list()}
        if name in kinds:
            return kinds[name] == kind
    return name.startswith(("upload:", "hub:"))


def _unknown(name: str, catalog: Catalog | None) -> UserError:
    known = [*TASKS, *SUITES]
    if catalog is not None:
        known = list(dict.fromkeys(known + [task.name for task in available(catalog)]))
        if _is_dataset(name, "labels", catalog):
            return UserError(
                f"{name!r} holds labelled sentences and can be measured in several ways.",
                f"Name {name}/classify, {name}/probe (in its own train, dev and test splits, as "
                f"SentEval probes) or {name}/search.",
            )
    folded = {task.casefold(): task for task in known}
    close = [folded[c] for c in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Known are {', '.join(known[:12])}."
    return UserError(f"There is no task named {name!r}.", hint)
