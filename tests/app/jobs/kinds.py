"""Quick kinds of jobs for the tests; a worker and its child are given this module with --kinds."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from theodolite.app.jobs.job import Job
from theodolite.app.jobs.kinds import KINDS as REAL
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.train.job import TrainDecoderJob
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.results import Result, Score


@dataclass(frozen=True)
class Units(Job):
    """So many units that note what they do in a file."""

    number: int
    notes: str

    def units(self) -> list[str]:
        """By number."""
        return [f"unit {n}" for n in range(self.number)]


@dataclass(frozen=True)
class Measure(Units):
    """Take some time over a unit, note that it was begun and put a result into the store."""

    kind = "measure"

    name: str
    seconds: float

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Measure."""
        with Path(self.notes).open("a") as file:
            file.write(f"{self.name} {position} {os.getpid()}\n")
        for step in range(10):
            time.sleep(self.seconds / 10)
            reporter(step + 1, 10)
        scores = (Score("test", None, "accuracy", 50.0, 10, main=True),)
        result = Result(self.name, "f", 1, f"t{position}", "p", 0, "d", scores)
        workspace.store.results.put(asdict(result))


@dataclass(frozen=True)
class Awaited(Measure):
    """The same, for which a person waits."""

    kind = "awaited"
    interactive = True


@dataclass(frozen=True)
class Making(Measure):
    """The same, which is said to make a folder of its name."""

    kind = "making"

    def makes(self) -> list[str]:
        """The folder."""
        return [f"/made/{self.name}"]


@dataclass(frozen=True)
class Patient(Measure):
    """The same, which pauses for what a person waits for."""

    kind = "patient"
    pauses = True


@dataclass(frozen=True)
class Stubborn(Units):
    """Ignore requests to end, start a process that does so too, and tell the ids of both."""

    kind = "stubborn"

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Stay."""
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
        other = subprocess.Popen([sys.executable, "-c", code])
        Path(self.notes).write_text(f"{os.getpid()} {other.pid}\n")
        time.sleep(60)


@dataclass(frozen=True)
class Crashing(Units):
    """Kill this process the first so many times; only over the first unit."""

    kind = "crashing"

    crashes: int
    signal: int

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Crash, or not."""
        if position > 0:
            return
        with Path(self.notes).open("a") as file:
            file.write("begun\n")
        if len(Path(self.notes).read_text().splitlines()) <= self.crashes:
            os.kill(os.getpid(), self.signal)
            time.sleep(5)


@dataclass(frozen=True)
class Continuing(Crashing):
    """The same; the other units are done all the same."""

    kind = "continuing"
    continue_on_crash = True

    def ending(self, store, run_id: str) -> str:
        """A word of its own."""
        return "Told."


@dataclass(frozen=True)
class Failing(Job):
    """Go wrong in the ways a unit can."""

    kind = "failing"

    wrong: tuple[str, ...]

    def units(self) -> list[str]:
        """What goes wrong."""
        return list(self.wrong)

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Fail, or not."""
        print(f"unit {position} prints")  # noqa: T201 - it belongs in the log
        if self.wrong[position] == "told":
            raise UserError("The model gives NaN.", "Try float32.")
        if self.wrong[position] == "bug":
            raise ZeroDivisionError("by zero")


@dataclass(frozen=True)
class OftenSaved(TrainDecoderJob):
    """Train a decoder with a checkpoint after every few updates."""

    def work(self, workspace: Workspace, position: int, reporter: Reporter):
        """Train."""
        from theodolite.engine.training import loop

        loop.CHECKPOINT_SECONDS = 0.2
        return super().work(workspace, position, reporter)


KINDS = {
    "measure": "tests.app.jobs.kinds:Measure",
    "awaited": "tests.app.jobs.kinds:Awaited",
    "making": "tests.app.jobs.kinds:Making",
    "patient": "tests.app.jobs.kinds:Patient",
    "stubborn": "tests.app.jobs.kinds:Stubborn",
    "crashing": "tests.app.jobs.kinds:Crashing",
    "continuing": "tests.app.jobs.kinds:Continuing",
    "train": REAL["train"],
    "train-decoder": "tests.app.jobs.kinds:OftenSaved",
    "failing": "tests.app.jobs.kinds:Failing",
}
