"""The worker's side of its child process: starting it, sending units, ending it."""

import contextlib
import json
import queue
import subprocess
import threading
from collections.abc import Callable
from typing import Any

from theodolite.app.jobs import processes
from theodolite.engine.errors import UserError
from theodolite.store import Store
from theodolite.store.run_rows import RunRow

CRASHES_ALLOWED = 3


class ChildCrashed(Exception):
    """The child ended before it answered; the message says how, in words."""


class Stopped(Exception):
    """The work is no longer wanted."""


class GivenUp(UserError):
    """A unit keeps crashing its process."""


class Child:
    """The process that executes units; started on demand, and again after it ended."""

    def __init__(self, arguments: list[str]) -> None:
        self._arguments = arguments
        self._process: subprocess.Popen[bytes] | None = None
        self._answers: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._starting = threading.Lock()

    def ask(self, question: dict[str, Any], is_wanted: Callable[[], bool]) -> dict[str, Any]:
        """Send one unit and wait for the answer; one caller at a time.

        Raises:
            ChildCrashed: the child ended without an answer.
            Stopped: `wanted()` became false; the child and all it started are gone.
        """
        self.start()
        process = self._process
        if process is None or process.stdin is None:
            raise ChildCrashed("could not be started")
        with contextlib.suppress(OSError):  # it has just ended: the answer below says so
            process.stdin.write(json.dumps(question).encode() + b"\n")
            process.stdin.flush()
        while True:
            try:
                line = self._answers.get(timeout=0.2)
            except queue.Empty:
                if not is_wanted():
                    self.kill()
                    raise Stopped from None
                continue
            if not line:
                self.kill()
                raise ChildCrashed(processes.death(process.returncode))
            return dict(json.loads(line))

    def execute(
        self,
        store: Store,
        run: RunRow,
        position: int,
        label: str,
        is_wanted: Callable[[], bool],
        **more: Any,
    ) -> dict[str, Any]:
        """Execute a unit of a run; a child that crashes is restarted.

        Returns:
            Arguments of `Runs.end_unit`, and the ids of results as `made`.

        Raises:
            Stopped: `wanted()` became false.
            GivenUp: it crashed `CRASHES_ALLOWED` times in a row.
        """
        question = {
            **{name: run[name] for name in ("kind", "spec", "attempt")},
            **{"run": run["id"], "position": position, "label": label},
            "log": str(store.logs.path(run["id"])),
            **more,
        }
        while True:
            try:
                return self.ask(question, is_wanted)
            except ChildCrashed as crash:
                store.logs.note(run["id"], f"The process {crash}.")
                if store.runs.lost_unit(run["id"], position) >= CRASHES_ALLOWED:
                    raise GivenUp(
                        f"The process for {label} {crash}, {CRASHES_ALLOWED} times in a row.",
                        "Close other programs or choose a smaller model, then try again; finished "
                        "parts are kept.",
                        code="failed",
                    ) from crash

    def start(self) -> None:
        """Start the child before its first unit, so that it can import slow modules meanwhile."""
        with self._starting:
            if self._process is None or self._process.poll() is not None:
                self._start()

    def kill(self) -> None:
        """Kill the child with everything it started."""
        if self._process is not None and self._process.returncode is None:
            processes.kill_tree(self._process)

    def _start(self) -> None:
        self.kill()
        process = self._process = processes.start(
            "theodolite.app.jobs.child", self._arguments, stdout=subprocess.PIPE, stderr=None
        )
        answers = self._answers = queue.SimpleQueue()

        def drain() -> None:
            for line in process.stdout or ():
                answers.put(line)
            # The child has ended, perhaps long before its next unit: leave no zombie, nor what it
            # started. Later its PID may be that of another process.
            processes.kill_tree(process)
            answers.put(b"")

        threading.Thread(target=drain, name="child", daemon=True).start()
