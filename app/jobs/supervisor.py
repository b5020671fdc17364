"""Keep one local worker running for the app; of several apps on one store, one does so."""

from __future__ import annotations

import contextlib
import logging
import subprocess
import threading
import time
from pathlib import Path

from filelock import FileLock, Timeout

from theodolite.app.jobs import processes

SLOT = "local-0"

_POLL_EVERY = 0.5
_WELL_AFTER = 60.0  # a worker that lived so long is restarted at once
_MAX_PAUSE = 30.0
_LOG_LIMIT = 1 << 20

log = logging.getLogger("theodolite.supervisor")


class Supervisor:
    """Starts a worker, restarts it when it ends, and ends it with the app.

    Args:
        store_folder: of the store; a lock in it decides which app keeps the worker. The others
            show its work, and take over when that app exits.
        data_root: folder with evaluation data, if any.
        kinds: the module whose KINDS lists the kinds of jobs.
        fleet: whether the worker sends what it can to the fleet of THEODOLITE_FLEET.
    """

    def __init__(
        self,
        store_folder: Path,
        data_root: Path | None = None,
        kinds: str = "theodolite.app.jobs.kinds",
        *,
        fleet: bool = False,
    ) -> None:
        self._folder = store_folder
        data = [] if data_root is None else ["--data", str(data_root)]
        self._arguments = [
            *("--store", str(store_folder), *data),
            *("--slot", SLOT, "--kinds", kinds, "--supervised"),
            *(["--fleet"] if fleet else []),
        ]
        self._lock = FileLock(store_folder / "supervisor.lock", timeout=0)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._supervise, name="supervisor", daemon=True)
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def keeps_worker(self) -> bool:
        """Whether the worker is ours; false in an app that only reads."""
        return self._process is not None

    def start(self) -> None:
        """Begin to supervise; returns at once."""
        self._thread.start()

    def stop(self) -> None:
        """End the worker; its work resumes when one is started again."""
        self._ending.set()
        self._thread.join()

    def __enter__(self) -> Supervisor:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _supervise(self) -> None:
        while not self._lock.is_locked:
            try:
                self._lock.acquire()
            except Timeout:
                if self._ending.wait(_POLL_EVERY):
                    return
        pause = _POLL_EVERY
        try:
            while not self._ending.is_set():
                if not self._folder.is_dir():  # a worker would create an empty one in its place
                    self._ending.wait(_POLL_EVERY)
                    continue
                started = time.monotonic()
                self._run_worker()
                pause = _POLL_EVERY if time.monotonic() - started > _WELL_AFTER else pause * 2
                self._ending.wait(min(pause, _MAX_PAUSE))
        finally:
            self._process = None
            self._lock.release()

    def _run_worker(self) -> None:
        """Run a worker until it ends, or until `stop`."""
        path = self._folder / f"worker-{SLOT}.log"
        if path.exists() and path.stat().st_size > _LOG_LIMIT:
            path.unlink()
        with path.open("ab") as output:
            process = processes.start(
                "theodolite.app.jobs.worker", self._arguments, stdout=output, stderr=output
            )
        self._process = process
        while process.poll() is None and not self._ending.wait(0.1):
            pass
        if process.poll() is None:
            process.terminate()
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(timeout=2.0)
        else:
            log.error("The worker %s; see %s.", processes.death(process.returncode), path)
        processes.kill_tree(process)
