"""MTEB's suites: what of their data is here, how large the rest is, and its download."""

import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from theodolite.app import formats
from theodolite.app.blocks import (
    Action,
    Actions,
    Block,
    Card,
    Cell,
    Facts,
    Link,
    Links,
    Table,
    Text,
)
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.data.sets import open_button
from theodolite.app.suites import Suites, size_of, text_size
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import suites
from theodolite.engine.mteb.package import INSTALL
from theodolite.engine.mteb.suites import SuiteInfo, SuiteTask
from theodolite.engine.protocols.package import version

MAX_LANGUAGES = 3
READING = (
    "Sizes are those of the scored text according to MTEB; downloads may be compressed or contain "
    "more. Data come from the Hugging Face hub at the revision that MTEB names, and are kept in "
    "its cache. If a data set needs a login, accept its terms there, then run: hf auth login."
)


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
    def missing(self) -> list[SuiteTask]:
        """Readable tasks whose data are not downloaded."""
        return [task for task in self.tasks if not task.here and not task.problem]

    @property
    def here(self) -> list[str]:
        """Names of the tasks whose data are downloaded and readable."""
        return [task.task for task in self.tasks if task.here and not task.problem]

    @property
    def state(self) -> str:
        """How many tasks have their data, and the size of the rest."""
        n, missing, here = len(self.tasks), self.missing, self.here
        text = f"{len(here)} of {formats.plural(n, 'task')} are here"
        if missing:
            text += f"; {len(missing)} to fetch, about {text_size(missing)}"
        unreadable = n - len(missing) - len(here)
        return text + (f"; {unreadable} not readable here" if unreadable else "")

    def block(self, visitor: bool) -> Card:
        """The state of its data and a table of its tasks; visitors fetch none."""
        name, missing, here = self.about.name, self.missing, self.here
        kinds = Counter(task.type for task in self.tasks).most_common()
        facts = {
            "data": self.state,
            "types": ", ".join(f"{kind} {n}" for kind, n in kinds),
            "languages": _languages(self.about.languages),
            "what it is": self.about.description,
            "room": "" if visitor else f"{formats.size(self.free)} are free below {self.folder}",
        }
        rows = [
            (
                task.task.removeprefix("mteb:"),
                task.type,
                _languages(task.languages),
                task.examples,
                Cell(task.bytes, formats.size(task.bytes)),
                task.licence or None,
                _data(task, name, visitor),
            )
            for task in self.tasks
        ]
        heads = ("Task", "Type", "Languages", "Examples", "Text", "Licence", "Data")
        label = f"Fetch {formats.plural(len(missing), 'task')}, about {text_size(missing)}"
        fetch = Action(label, "fetch", "", f"Fetch the data of {name} that are not here")
        link = Link("Evaluate on those here", "evaluate", {"task": here, "protocol": ""})
        close = Action("Close", "open", "", "Close the suite", opens="set")
        blocks: list[Block] = [
            Facts([pair for pair in facts.items() if pair[1]]),
            Table(f"Tasks of {name}", heads, rows, note=READING),
            Links([link] if here and not visitor else []),
            Actions([fetch, close] if missing and not visitor else [close]),
        ]
        return Card(name, blocks, tag=formats.plural(len(rows), "task"))


def _data(task: SuiteTask, suite: str, visitor: bool) -> str | Action | Cell:
    if task.problem:
        return task.problem
    if task.here or visitor:
        text = "here" if task.here else "not here"
        return Cell(text, tag=text, kind="good" if task.here else "")
    label = "Fetch, with a login" if task.access == "login" else "Fetch"
    return Action(label, "fetch", task.task, f"Fetch the data of {task.task} of {suite}")


def _languages(codes: Sequence[str]) -> str:
    few = len(codes) <= MAX_LANGUAGES
    return ", ".join(codes) if few else formats.plural(len(codes), "language")


def list_suites(known: Suites | None) -> Card:
    """All suites, or a button that lists them if they are not loaded."""
    here = version()
    blocks: list[Block] = []
    if here is None:
        lead = f"Tasks and data of the package mteb, which is not installed. {INSTALL}"
    else:
        lead = f"Scored by the code of mteb {here}. Nothing is downloaded unless you ask for it."
        blocks = [Actions([Action("List them", "list", "", "List MTEB's suites")])]
    if known is not None:
        rows = [
            (
                open_button(one.name),
                f"{one.description.partition('. ')[0].rstrip('.')}.",
                one.tasks,
                _languages(one.languages),
            )
            for one in known.listed
        ]
        heads = ("Suite", "About", "Tasks", "Languages")
        blocks = [Table("theodolite-suites", heads, rows)]
    return Card("MTEB's suites", [Text("", lead), *blocks])


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


def fetch_job(name: str, tasks: Sequence[str] = ()) -> FetchJob:
    """Create the job that fetches the missing data of some or all tasks of a suite."""
    every = suite(name)
    if unknown := sorted(set(tasks) - {one.task for one in every.tasks}):
        raise UserError(
            f"{name} has no {', '.join(unknown)}.",
            "`theodolite data suite` lists it.",
            code="unknown",
        )
    missing = [one for one in every.missing if not tasks or one.task in tasks]
    if not missing:
        raise UserError(
            f"The data of {', '.join(tasks) or name} are here.",
            "You can evaluate on them.",
            code="conflict",
        )
    size = size_of(missing)
    if size > every.free:
        raise UserError(
            f"These data hold {formats.size(size)} of text, and {formats.size(every.free)} are "
            f"free below {every.folder}.",
            "Download single tasks, or set HF_HOME to a folder on a larger disk.",
            code="too-large",
        )
    return FetchJob(tuple(one.task for one in missing), every.about.name)
