"""Stores with workers on them that are gone when a test ends."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.waiting import wait_until
from theodolite.app.jobs import processes
from theodolite.store import Store
from theodolite.store.run_rows import RunRow

KINDS = "tests.app.jobs.kinds"


class Bench:
    """A store, its queue and the processes that a test started on it."""

    def __init__(self, folder: Path) -> None:
        self.store = Store.open(folder / "store")
        self.notes = folder / "notes"
        self._log = (folder / "worker.log").open("w+b")
        self._started: list[subprocess.Popen[bytes]] = []

    def start_worker(self, slot: str = "local-0") -> subprocess.Popen[bytes]:
        """Start `python -m theodolite.app.jobs.worker` on the store."""
        given = ["--store", str(self.store.folder), "--slot", slot, "--kinds", KINDS]
        return self.keep(
            processes.start(
                "theodolite.app.jobs.worker",
                [*given, "--supervised"],
                stdout=self._log,
                stderr=self._log,
            )
        )

    def keep(self, process: subprocess.Popen[bytes]) -> subprocess.Popen[bytes]:
        """Have a process killed at the end of the test."""
        self._started.append(process)
        return process

    def measure(
        self, name: str, units: int, seconds: float, priority: int = 0, kind: str = "measure"
    ) -> str:
        """Queue units that each take a while and put one result."""
        spec = {"name": name, "number": units, "seconds": seconds, "notes": str(self.notes)}
        return self.store.runs.create(kind, spec, name, priority)

    def under_way(self, name: str, units: int, seconds: float, kind: str = "measure") -> str:
        """Queue such units and wait until the first is done, or the only one begun."""
        before = len(self.begun())
        run_id = self.measure(name, units, seconds, kind=kind)
        wait_until(lambda: name in [one[0] for one in self.begun()[before:]])
        wait_until(lambda: units == 1 or self.store.runs.get(run_id)["done"] > 0)
        return run_id

    def begun(self) -> list[list[str]]:
        """[name, position, process id] of each unit in the order they were begun."""
        text = self.notes.read_text() if self.notes.exists() else ""
        return [line.split() for line in text.splitlines()]

    def over(self, run_id: str) -> RunRow:
        """Wait for a run to be over; its row."""
        wait_until(lambda: self.store.runs.get(run_id)["state"] not in ("queued", "running"))
        return self.store.runs.get(run_id)

    def close(self) -> str:
        """End everything; what the workers printed."""
        for process in self._started:
            processes.kill_tree(process)
        self.store.close()
        with self._log:
            self._log.seek(0)
            return self._log.read().decode()


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench without a worker."""
    made = Bench(tmp_path)
    yield made
    print(made.close())  # noqa: T201 - shown when a test fails


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    """A bench with a worker, for the tests of a module that leave it as it was."""
    made = Bench(tmp_path_factory.mktemp("shared"))
    made.start_worker()
    yield made
    print(made.close())  # noqa: T201


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL, and wait until it is gone."""
    process.kill()
    process.wait()


def child_of(worker: subprocess.Popen[bytes] | psutil.Process) -> psutil.Process | None:
    """The process under another that does runs nobody waits for, if there is one now."""
    try:
        found = psutil.Process(worker.pid).children()
        return next((one for one in found if "--warm" not in one.cmdline()), None)
    except (psutil.NoSuchProcess, psutil.ZombieProcess):
        return None


def alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet waited for does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
