"""MTEB's suites by name, with their tasks and types: read from mteb once per version, and stored.

Importing mteb takes seconds; pages that only need names do without.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from app import formats
from engine.mteb.suites import SuiteInfo, SuiteTask, is_suite
from engine.protocols.package import version
from store.hashing import hash_of

if TYPE_CHECKING:
    from app.workspace import Workspace

__all__ = ["Suites", "is_suite", "known", "look_up", "members", "size_of", "text_size",
           "to_fetch"]  # fmt: skip
KIND, FORMAT = "mteb-suites", "1"
_HELD: dict[str, Suites] = {}
"""What was looked up, by version of mteb."""


@dataclass(frozen=True)
class Suites:
    """What is known of suites without their data.

    Attributes:
        listed: each.
        tasks: suite -> its tasks.
        types: task of MTEB's, without prefix, subsets and splits -> its type.
    """

    listed: tuple[SuiteInfo, ...]
    tasks: Mapping[str, tuple[str, ...]]
    types: Mapping[str, str]


def known(workspace: Workspace) -> Suites | None:
    """What the installed version has, if that was looked up before; imports no mteb."""
    key = _key()
    if version() and key not in _HELD and (row := workspace.store.derived.get(key)):
        facts = row["info"]
        listed = (SuiteInfo(**one | {"languages": tuple(one["languages"])})
                  for one in facts["listed"])  # fmt: skip
        _HELD[key] = Suites(tuple(listed), facts["tasks"], facts["types"])
    return _HELD.get(key)


def look_up(workspace: Workspace) -> Suites:
    """The same, asked of mteb where nobody did before: that takes seconds.

    Raises:
        UserError: mteb is not installed.
    """
    found = known(workspace)
    if found is None:
        from engine.mteb import suites

        listed = tuple(suites.suites())
        tasks = {one.name: tuple(suites.tasks_of(one.name)) for one in listed}
        found = _HELD[_key()] = Suites(listed, tasks, suites.types())
        if not workspace.demo:
            workspace.store.derived.put(_key(), KIND, asdict(found))
    return found


def members(workspace: Workspace, name: str) -> Sequence[str]:
    """The tasks of a suite, in its order.

    Raises:
        UserError: mteb is not installed, or it has no such suite.
    """
    held = known(workspace)
    if held and name in held.tasks:
        return held.tasks[name]
    from engine.mteb import suites

    return suites.tasks_of(name)


def size_of(tasks: Iterable[SuiteTask]) -> int:
    """Bytes of the text of some tasks, as far as MTEB counted it."""
    return sum(task.bytes or 0 for task in tasks)


def text_size(tasks: Sequence[SuiteTask]) -> str:
    """How large the data of some tasks are, as far as MTEB counted them."""
    unknown = sum(task.bytes is None for task in tasks)
    more = f" and {unknown} of unknown size" if unknown else ""
    return f"{formats.size(size_of(tasks))} of text{more}"


def to_fetch(tasks: Sequence[str]) -> str:
    """Say of some tasks which data are fetched from the hub first, and how large they are."""
    from engine.mteb import suites

    found = suites.to_fetch(tasks)
    if not found:
        return ""
    who = f"{found[0].task} is" if len(found) == 1 else f"{len(found)} tasks are"
    return f"{who} fetched from the hub first, {text_size(found)}."


def _key() -> str:
    return hash_of(KIND, FORMAT, version() or "")
