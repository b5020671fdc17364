"""Suites of tasks by name; those of MTEB are read from mteb once per version, and stored.

Importing mteb takes seconds; pages that only need names avoid it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

from theodolite.app import formats
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import suites
from theodolite.engine.mteb.suites import SuiteInfo, SuiteTask, is_suite as is_suite
from theodolite.engine.protocols.package import version
from theodolite.engine.tasks import SUITES, expand, in_order
from theodolite.store.hashing import hash_of

KIND, FORMAT = "mteb-suites", "1"
ALL, UPLOADS = "all", "uploads"
"""Suites of every task, and of those on uploads."""
_HELD: dict[str, Suites] = {}
"""Suites already read, by version of mteb."""


@dataclass(frozen=True)
class Suites:
    """Metadata of MTEB's suites.

    Attributes:
        listed: the suites.
        tasks: suite -> its tasks.
        types: MTEB's task, without prefix, subsets and splits -> its type.
    """

    listed: tuple[SuiteInfo, ...]
    tasks: Mapping[str, tuple[str, ...]]
    types: Mapping[str, str]


def known(workspace: Workspace) -> Suites | None:
    """The suites of the installed version, if already read; does not import mteb."""
    key = _key()
    if version() and key not in _HELD and (row := workspace.store.derived.get(key)):
        facts = row["info"]
        infos = (
            SuiteInfo(**one | {"languages": tuple(one["languages"])}) for one in facts["listed"]
        )
        _HELD[key] = Suites(tuple(infos), facts["tasks"], facts["types"])
    return _HELD.get(key)


def look_up(workspace: Workspace) -> Suites:
    """The suites of the installed version, read from mteb if needed, which takes seconds."""
    every = known(workspace)
    if every is None:
        infos = tuple(suites.suites())
        tasks = {info.name: tuple(suites.tasks_of(info.name)) for info in infos}
        every = _HELD[_key()] = Suites(infos, tasks, suites.types())
        if not workspace.demo:
            workspace.store.derived.put(_key(), KIND, asdict(every))
    return every


def members(workspace: Workspace, name: str) -> Sequence[str]:
    """The tasks of a suite, in its order."""
    known_suites = known(workspace)
    if known_suites and name in known_suites.tasks:
        return known_suites.tasks[name]

    return suites.tasks_of(name)


def size_of(tasks: Iterable[SuiteTask]) -> int:
    """Bytes of the texts of tasks, where MTEB's metadata gives them."""
    return sum(task.bytes or 0 for task in tasks)


def text_size(tasks: Sequence[SuiteTask]) -> str:
    """Size of the data of tasks in words, where MTEB's metadata gives it."""
    unknown = sum(task.bytes is None for task in tasks)
    more = f" and {unknown} of unknown size" if unknown else ""
    return f"{formats.size(size_of(tasks))} of text{more}"


def to_fetch(tasks: Sequence[str]) -> str:
    """A sentence on the tasks whose data are fetched from the hub first, with their size."""
    fetch = suites.to_fetch(tasks)
    if not fetch:
        return ""
    who = f"{fetch[0].task} is" if len(fetch) == 1 else f"{len(fetch)} tasks are"
    return f"{who} fetched from the hub first, {text_size(fetch)}."


def _key() -> str:
    return hash_of(KIND, FORMAT, version() or "")


def in_suite(workspace: Workspace, suite: str, tasks: Collection[str]) -> list[str]:
    """Filter tasks by a suite, in the suite's order."""
    if suite == ALL:
        return in_order(sorted(tasks))
    if suite == UPLOADS:
        return sorted(task for task in tasks if task.startswith("upload:"))
    return [task for task in tasks_of(workspace, suite) if task in tasks]


def tasks_of(workspace: Workspace, suite: str) -> Sequence[str]:
    """The tasks of a suite, in its order."""
    if suite in SUITES:
        return SUITES[suite]
    if is_suite(suite):
        return members(workspace, suite)
    known = ", ".join((ALL, *SUITES, UPLOADS))
    raise UserError(
        f"There is no suite {suite!r}.",
        f"Available: {known} and those that `theodolite data suite` lists.",
        code="unknown",
    )


def suite_of(workspace: Workspace, tasks: Sequence[str]) -> str:
    """The first suite that has all of these tasks."""
    return next(
        suite
        for suite in (*SUITES, UPLOADS, ALL)
        if len(in_suite(workspace, suite, tasks)) == len(tasks)
    )


def measured(workspace: Workspace, names: Sequence[str] | None) -> list[str] | None:
    """The tasks of names and suites, those with results even if their data are gone."""
    if not names:
        return None
    tasks = {row["task"] for row in workspace.store.results.table()}
    return expand(names, workspace.catalog, measured=tasks)
