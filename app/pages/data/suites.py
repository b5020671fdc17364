"""The data of MTEB's suites: what is available, how large the rest is, and its download."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from theodolite.app import formats
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import queue
from theodolite.app.suites import size_of, text_size
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import suites
from theodolite.engine.mteb.suites import SuiteInfo, SuiteTask


@dataclass(frozen=True)
class Suite:
    """A suite and the state of its data.

    Attributes:
        about: its name and description.
        tasks: its tasks.
        folder: the folder for downloads.
        free: free bytes on its disk.
    """

    about: SuiteInfo
    tasks: tuple[SuiteTask, ...]
    folder: Path
    free: int

    @property
    def lacking(self) -> list[SuiteTask]:
        """Readable tasks whose data are not downloaded."""
        return [task for task in self.tasks if not task.here and not task.problem]


@dataclass(frozen=True)
class FetchJob(Job):
    """A download of the data of MTEB's tasks.

    Attributes:
        tasks: names of the tasks.
        suite: the suite they belong to; may be empty.
    """

    kind = "fetch"
    continue_on_failure = True

    tasks: tuple[str, ...]
    suite: str = ""

    @property
    def title(self) -> str:
        """`Fetch 12 tasks of MTEB(eng, v2)`."""
        some = formats.plural(len(self.tasks), "task")
        return f"Fetch {some} of {self.suite}" if self.suite else f"Fetch {', '.join(self.tasks)}"

    def validate(self, workspace: Workspace) -> None:
        """Raise for a task that MTEB does not have, or no task."""
        if not self.tasks:
            raise UserError("No task given.", "Name one, or a suite.", code="missing")
        self.is_stored(workspace)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether all of the data are downloaded."""
        return all(suites.is_here(task) for task in self.tasks)

    def units(self) -> list[str]:
        """One unit per task: downloaded data are not fetched again."""
        return list(self.tasks)

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Fetch the data of one task."""
        suites.fetch(self.tasks[position])


def suite(name: str) -> Suite:
    """Describe a suite, with the state and size of each task's data."""
    from huggingface_hub import constants

    tasks = tuple(suites.suite(name))
    folder = Path(constants.HF_HUB_CACHE)
    there = next(place for place in (folder, *folder.parents) if place.exists())
    return Suite(suites.info(name), tasks, folder, shutil.disk_usage(there).free)


def in_words(found: Suite) -> str:
    """Number of tasks with data, and size of the rest, in words."""
    lacking, out = found.lacking, sum(bool(task.problem) for task in found.tasks)
    here = len(found.tasks) - len(lacking) - out
    text = f"{here} of {formats.plural(len(found.tasks), 'task')} are here"
    if lacking:
        text += f"; {len(lacking)} to fetch, about {text_size(lacking)}"
    return text + (f"; {out} not readable here" if out else "")


def fetching(name: str, tasks: Sequence[str] = ()) -> FetchJob:
    """Create the job that fetches the missing data of some or all tasks of a suite."""
    found = suite(name)
    if unknown := sorted(set(tasks) - {one.task for one in found.tasks}):
        raise UserError(
            f"{name} has no {', '.join(unknown)}.",
            "`theodolite data suite` lists it.",
            code="unknown",
        )
    wanted = [one for one in found.lacking if not tasks or one.task in tasks]
    if not wanted:
        raise UserError(
            f"The data of {', '.join(tasks) or name} are here.",
            "You can evaluate on them.",
            code="conflict",
        )
    size = size_of(wanted)
    if size > found.free:
        raise UserError(
            f"These data hold {formats.size(size)} of text, and {formats.size(found.free)} are "
            f"free below {found.folder}.",
            "Download single tasks, or set HF_HOME to a folder on a larger disk.",
            code="too-large",
        )
    return FetchJob(tuple(one.task for one in wanted), found.about.name)


def run_fetch(workspace: Workspace, name: str, tasks: Sequence[str] = ()) -> str:
    """Queue the download, and return the run's id."""
    workspace.refuse_visitors()
    return queue(workspace, fetching(name, tasks))
