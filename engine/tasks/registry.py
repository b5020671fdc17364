"""The tasks by name, each one measurement on one data set.

Any data set can be measured. Most are a task of their own name (`upload:reviews`): scored or
labelled pairs, queries with documents, parallel sentences, rated summaries. Labelled sentences are
several, by an ending: `upload:reviews/classify`, `/search`, `/few-shot`, `/cluster` and, in their
own train, dev and test splits, `/probe`.
Knows no encoder; how a task is scored is said in the modules beside this one.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from engine import protocols
from engine.datasets.info import ENDINGS
from engine.errors import UserError
from engine.mteb import suites, theirs
from engine.mteb.theirs import PREFIX
from engine.protocols import Protocol
from engine.tasks import (
    bitext,
    captions,
    classification,
    clustering,
    few_shot,
    mteb_own,
    mteb_sts,
    pair_classification,
    probing,
    relatedness,
    reranking,
    retrieval,
    search,
    similarity,
    sts,
    summarization,
    transfer,
)
from engine.tasks.task import Task, TaskType

if TYPE_CHECKING:
    from engine.datasets import Catalog
    from engine.datasets.types import DatasetInfo, Kind

_MODULES = (
    *(sts, similarity, mteb_sts, relatedness, classification, search, transfer, captions, probing),
    *(few_shot, clustering, pair_classification, retrieval, reranking, bitext, summarization),
    mteb_own,
)
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

MTEB_HERE = "mteb-here"
"""A suite as well: all of the data folder that MTEB's types measure, other than scored pairs."""

_OF_KIND: dict[Kind, Callable[[str], Task]] = {
    "pairs": sts.of_data,
    "labelled-pairs": pair_classification.of_data,
    "retrieval": retrieval.of_data,
    "parallel": bitext.of_data,
    "summaries": summarization.of_data,
}
"""What is one task of the data set's own name."""

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
    # What mteb's code does under its own name is done alike under mteb-v2.
    under = "mteb-v2" if protocols.is_package(protocol.name) else protocol.name
    own = [kind for kind in found if under in kind.protocols]
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
    if name.startswith(PREFIX):
        return mteb_own.of_name(name)
    of_labels = _of_labels(name)
    if of_labels and _is_dataset(of_labels.dataset, "labels", catalog):
        return of_labels
    own = _of_own_name(name, catalog)
    if own:
        return own
    raise _unknown(name, catalog)


def _of_own_name(name: str, catalog: Catalog | None) -> Task | None:
    """The one task on a data set; one that is yet to be looked up is taken for scored pairs."""
    if catalog is not None:
        for info in catalog.list():
            if info.name == name:
                return _of_info(info)
    return sts.of_data(name) if _is_dataset(name, "pairs", catalog) else None


def _of_info(info: DatasetInfo) -> Task | None:
    if info.type == "Reranking":
        return reranking.of_data(info.name)
    make = _OF_KIND.get(info.kind) if info.kind else None
    return make(info.name) if make else None


def _of_labels(name: str) -> Task | None:
    """Read a task on labelled sentences off its ending; None where there is none."""
    dataset, _, ending = name.rpartition("/")
    if not dataset:
        return None
    match ending:
        case "classify":
            description = (
                f"Tell the labels of {dataset} apart, in its own splits or else in five folds."
            )
            return classification.of_data(name, dataset, description, "starter-2")
        case "search":
            return search.of_data(
                name, dataset, f"Find sentences of {dataset} with the same label."
            )
        case "few-shot":
            return few_shot.of_data(name, dataset)
        case "cluster":
            return clustering.of_data(name, dataset)
        case "probe":
            return probing.of_data(name, dataset, f"Labels of {dataset}, in its own splits.")
    return None


def available(catalog: Catalog) -> list[Task]:
    """List the tasks whose data sets are at hand: built-in first, then those of other data.

    Labelled sets of a data folder are offered as what they were made for, as MTEB measures it. What
    else can be named (`banking77/classify`) is not: a starter score would be confused with it.
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
    if name.startswith(PREFIX):
        return mteb_own.of_name(name)
    return _of_labels(name) or sts.of_data(name)


def defaults(name: str) -> tuple[str, ...]:
    """Which protocol may be the task's own, by its name alone: the likeliest first.

    A task of its data set's name is of any type as long as nobody looks at the data.
    """
    task = TASKS.get(name) or _of_labels(name)
    return (task.protocol,) if task else ("simcse-2021", "mteb-v2")


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
    # Suites of MTEB's have a comma in their names: MTEB(eng, v2).
    pieces = re.split(r",(?![^(]*\))", names) if isinstance(names, str) else names
    wanted: list[str] = []
    for name in (piece.strip() for piece in pieces):
        if name in SUITES:
            wanted += [task for task in SUITES[name] if task in here] or SUITES[name]
        elif name == MTEB_HERE:
            wanted += _mteb_here(catalog)
        elif name in measured:
            wanted.append(name)
        elif suites.is_suite(name):
            wanted += suites.tasks_of(name)
        elif name.startswith(PREFIX):
            wanted.append(theirs.named(theirs.make(name)))
        elif name:
            wanted.append(get(name, catalog).name)
    if not wanted:
        known = ", ".join((*SUITES, MTEB_HERE))
        raise UserError("No task given.", f"Name tasks or a suite: {known}.")
    return list(dict.fromkeys(wanted))


def _by_default(task: Task, protocol: str | None) -> bool:
    if protocol is None:
        return task.name in (*STARTER, *SEVEN)
    return task.type_under(protocols.get(protocol).types) is not None


def _mteb_here(catalog: Catalog) -> list[str]:
    own = ("upload:", "hub:")
    found = [
        task.name
        for task in available(catalog)
        if task.protocol == "mteb-v2" and not task.dataset.startswith(own)
    ]
    if not found:
        raise UserError(
            "No data here is measured by MTEB's types of task.",
            "Name a data folder (THEODOLITE_DATA) that has a folder `mteb`.",
        )
    return found


def _tasks_of(info: DatasetInfo) -> list[Task]:
    own = _of_info(info)
    if own:
        return [own]
    if info.task is not None and info.task.endswith("/probe"):
        return [probing.of_data(info.task, info.name, info.description)]
    if info.kind != "labels":
        return []
    if info.origin in ("upload", "hub"):
        endings: Sequence[str] = ENDINGS
    else:
        made_for = {"Classification": ("few-shot",), "Clustering": ("cluster",)}
        endings = made_for.get(info.type or "", ())
    return [named(f"{info.name}/{ending}") for ending in endings]


def _is_dataset(name: str, kind: Kind, catalog: Catalog | None) -> bool:
    """Whether the name can hold such data; uploads and the hub are looked up when loaded."""
    if catalog is not None:
        kinds = {info.name: info.kind for info in catalog.list()}
        if name in kinds:
            return kinds[name] == kind
    return name.startswith(("upload:", "hub:"))


def _unknown(name: str, catalog: Catalog | None) -> UserError:
    known = [*TASKS, *SUITES, MTEB_HERE]
    if catalog is not None:
        known = list(dict.fromkeys(known + [task.name for task in available(catalog)]))
        if _is_dataset(name, "labels", catalog):
            return UserError(
                f"{name!r} holds labelled sentences and can be measured in several ways.",
                f"Name {name}/classify, {name}/probe (in its own train, dev and test splits, as "
                f"SentEval probes), {name}/few-shot, {name}/cluster or {name}/search.",
            )
    folded = {task.casefold(): task for task in known}
    close = [folded[c] for c in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Known are {', '.join(known[:12])}."
    return UserError(f"There is no task named {name!r}.", hint)
