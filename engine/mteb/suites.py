"""MTEB's suites, such as `MTEB(eng, v2)`: their tasks, and which of their data are available.

Only `fetch` downloads. Sizes come from MTEB's own descriptive statistics.
"""

import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from theodolite.engine.errors import UserError, did_you_mean
from theodolite.engine.mteb.own_tasks import PREFIX, count_examples, make, name_of, read
from theodolite.engine.mteb.package import lazy_import, package

_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
"""A Markdown link: descriptions are Markdown."""


@dataclass(frozen=True)
class SuiteInfo:
    """A suite.

    Attributes:
        name: MTEB's name.
        tasks: number of tasks.
        languages: the tasks' languages, ISO 639-3.
        description: MTEB's description.
    """

    name: str
    tasks: int
    languages: tuple[str, ...]
    description: str


@dataclass(frozen=True)
class SuiteTask:
    """A task of a suite, before its data are loaded.

    Attributes:
        task: its name here, with prefix.
        type: MTEB's task type.
        languages, splits: those that the suite uses.
        examples: number of texts or pairs by MTEB's statistics; None if unknown.
        bytes: approximate size of the text; a download may be compressed, or larger than what is
            scored.
        licence: the data's licence; empty if unknown.
        here: whether the data are on this machine.
        access: `open`, or `login` where the hub requires one.
        problem: why the task cannot be run here, or None.
    """

    task: str
    type: str
    languages: tuple[str, ...]
    splits: tuple[str, ...]
    examples: int | None
    bytes: int | None
    licence: str
    here: bool
    access: str
    problem: str | None


def suites() -> list[SuiteInfo]:
    """List MTEB's suites of text tasks, those named `MTEB(…)` first."""
    infos = [
        _about(one)
        for one in lazy_import("get_benchmarks")()
        if all(list(task.metadata.modalities) == ["text"] for task in one.tasks)
    ]
    return sorted(infos, key=lambda one: not one.name.startswith("MTEB("))


def info(name: str) -> SuiteInfo:
    """Describe a suite."""
    return _about(_suite(name))


def _about(one: Any) -> SuiteInfo:
    spoken = tuple(sorted({code for task in one.tasks for code in task.languages}))
    about = _LINK.sub(r"\1", " ".join((one.description or "").split()))
    return SuiteInfo(one.name, len(one.tasks), spoken, about)


def is_suite(name: str) -> bool:
    """Whether a name looks like one of MTEB's suites: `MTEB(eng, v2)` or `mteb:BEIR`.

    Only the second form is looked up, which imports mteb.
    """
    if not name.startswith(PREFIX):
        return name.endswith(")") and "(" in name
    return "/" not in name and name.removeprefix(PREFIX) in _benchmarks()


def tasks_of(name: str) -> list[str]:
    """Return the names of a suite's tasks, in its order."""
    return [name_of(task) for task in _suite(name).tasks]


def suite(name: str) -> list[SuiteTask]:
    """Describe every task of a suite, with the size of its data and whether they are here."""
    return [_describe(task) for task in _suite(name).tasks]


def types() -> dict[str, str]:
    """Map each MTEB task, by its name without subsets and splits, to its type."""
    package()
    every = lazy_import("get_tasks._TASKS_REGISTRY")
    return {name: str(task.metadata.type) for name, task in every.items()}


def is_here(task: str) -> bool:
    """Whether the data of a task are on this machine, at MTEB's pinned revision."""
    return _is_here(make(task))


def to_fetch(tasks: Iterable[str]) -> list[SuiteTask]:
    """Return those of some tasks that are MTEB's own and whose data are not here.

    mteb is imported only if one is MTEB's own; tasks that cannot be made are left out, and fail
    with the reason when they are run.
    """
    missing = []
    for name in tasks:
        if name.startswith(PREFIX):
            with suppress(UserError):
                missing.append(_describe(make(name)))
    return [one for one in missing if not one.here]


def fetch(task: str) -> None:
    """Load the data of a task by MTEB's code, downloading what is not here."""
    made = make(task)
    for one in made.metadata.tasks if made.is_aggregate else [made]:
        read(one)


def _suite(name: str) -> Any:
    known = _benchmarks()
    suite = known.get(name.removeprefix(PREFIX).strip())
    if suite is None:
        lists = "`theodolite data suite` lists them."
        hint = did_you_mean(name.removeprefix(PREFIX), known, lists)
        raise UserError(f"MTEB has no suite named {name!r}.", hint, code="unknown")
    return suite


@cache
def _benchmarks() -> dict[str, Any]:
    every = lazy_import("get_benchmarks")()
    aliases = {alias: one for one in every for alias in one.aliases or ()}
    return aliases | {one.name: one for one in every}


def _describe(task: Any) -> SuiteTask:
    about = task.metadata
    examples, size = count_examples(task)
    kinds = list(about.modalities)
    return SuiteTask(
        task=name_of(task),
        type=about.type,
        languages=tuple(task.languages),
        splits=tuple(task.eval_splits),
        examples=examples,
        bytes=size,
        licence="" if about.license in (None, "not specified") else str(about.license),
        here=_is_here(task),
        access="open" if about.is_public else "login",
        problem=None if kinds == ["text"] else f"It is a task on {' and '.join(kinds)}.",
    )


def _is_here(task: Any) -> bool:
    """Whether the data are in the cache of `datasets` or of the hub, at MTEB's revision."""
    if task.is_aggregate:
        return all(_is_here(one) for one in task.metadata.tasks)
    source = task.metadata.dataset
    path, revision = str(source["path"]), str(source["revision"])
    if Path(path).is_dir():
        return True
    import datasets
    from huggingface_hub import constants

    hub = Path(constants.HF_HUB_CACHE) / f"datasets--{path.replace('/', '--')}" / "snapshots"
    if (hub / revision).is_dir():
        return True
    prepared = Path(datasets.config.HF_DATASETS_CACHE) / path.replace("/", "___")
    return any(prepared.glob(f"*/*/{revision}/*.arrow"))
