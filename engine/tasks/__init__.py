"""The tasks by name: one measurement on one data set each.

Any data set can be measured. Scored pairs are a task of their own name (`upload:reviews`); labelled
sentences are two, by an ending: `upload:reviews/classify` and `upload:reviews/search`.
Knows neither encoders nor how a task is scored (see the modules beside this one).
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engine.errors import UserError

if TYPE_CHECKING:
    from engine.datasets import Catalog
    from engine.datasets.types import DatasetInfo, Kind

TaskType = Literal["sts", "classification", "search"]


@dataclass(frozen=True)
class Task:
    """One measurement on one data set.

    Attributes:
        name: as in SentEval where it exists there.
        type: how it is scored.
        dataset: the data set's name in the catalog.
        protocol: the default.
        metric: of the main score; higher is better for all of them.
        description: one sentence for people.
    """

    name: str
    type: TaskType
    dataset: str
    protocol: str
    metric: str
    description: str

    @property
    def kind(self) -> Kind:
        """The shape its data set must have."""
        return "pairs" if self.type == "sts" else "labels"


def _sts(name: str, dataset: str, description: str) -> Task:
    return Task(name, "sts", dataset, "simcse-2021", "spearman", description)


def _classification(name: str, dataset: str, description: str) -> Task:
    return Task(name, "classification", dataset, "starter-1", "accuracy", description)


def _search(name: str, dataset: str, description: str) -> Task:
    return Task(name, "search", dataset, "starter-1", "precision_at_10", description)


STARTER = ("StarterSTS", "StarterTopics", "StarterSearch")
SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICKRelatedness")
SUITES: dict[str, tuple[str, ...]] = {"starter": STARTER, "sts": SEVEN}
"""Names that stand for several tasks; `sts` is the seven of SimCSE's tables, in their order."""

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        _sts("StarterSTS", "starter-pairs", "Graded sentence pairs of the starter set."),
        _classification("StarterTopics", "starter-topics", "Tell the starter set's topics apart."),
        _search("StarterSearch", "starter-topics", "Find sentences of the same topic."),
        _sts("STS12", "STS12", "SemEval 2012 similarity, five subsets."),
        _sts("STS13", "STS13", "SemEval 2013 similarity, three subsets (without SMT)."),
        _sts("STS14", "STS14", "SemEval 2014 similarity, six subsets."),
        _sts("STS15", "STS15", "SemEval 2015 similarity, five subsets."),
        _sts("STS16", "STS16", "SemEval 2016 similarity, five subsets."),
        _sts("STSBenchmark", "STSBenchmark", "STS Benchmark, test split."),
        _sts("SICKRelatedness", "SICKRelatedness", "SICK relatedness, test split."),
    )
}


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
    dataset, slash, ending = name.rpartition("/")
    if slash and ending == "classify" and _is_dataset(dataset, "labels", catalog):
        return _classification(name, dataset, f"Tell the labels of {dataset} apart.")
    if slash and ending == "search" and _is_dataset(dataset, "labels", catalog):
        return _search(name, dataset, f"Find sentences of {dataset} with the same label.")
    if _is_dataset(name, "pairs", catalog):
        return _sts(name, name, f"Scored pairs of {name}.")
    raise _unknown(name, catalog)


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


def expand(names: str | Sequence[str] | None, catalog: Catalog) -> list[str]:
    """Write out suites and commas, check every name, drop repeats.

    A suite keeps only tasks whose data is here, unless none is. None means every built-in task
    whose data is here.

    Raises:
        UserError: an unknown name, or no name at all.
    """
    present = {info.name for info in catalog.list()}
    here = [task.name for task in TASKS.values() if task.dataset in present]
    if names is None:
        return here
    pieces = names.split(",") if isinstance(names, str) else names
    wanted: list[str] = []
    for name in (piece.strip() for piece in pieces):
        if name in SUITES:
            wanted += [task for task in SUITES[name] if task in here] or SUITES[name]
        elif name:
            wanted.append(get(name, catalog).name)
    if not wanted:
        raise UserError("No task was named.", f"Name tasks or a suite: {', '.join(SUITES)}.")
    return list(dict.fromkeys(wanted))


def _tasks_of(info: DatasetInfo) -> list[Task]:
    if info.kind == "pairs":
        return [_sts(info.name, info.name, f"Scored pairs of {info.name}.")]
    if info.kind == "labels" and info.origin in ("upload", "hub"):
        return [
            _classification(f"{info.name}/classify", info.name, f"Labels of {info.name}."),
            _search(f"{info.name}/search", info.name, f"Same label in {info.name}."),
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
        if any(task.startswith(f"{name}/") for task in known):
            return UserError(
                f"{name!r} holds labelled sentences and can be measured in two ways.",
                f"Name one of {name}/classify and {name}/search.",
            )
    folded = {task.casefold(): task for task in known}
    close = [folded[c] for c in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Known are {', '.join(known[:12])}."
    return UserError(f"There is no task named {name!r}.", hint)
