"""`python -m theodolite.app.jobs.child`: executes units of runs, one at a time, for its worker.

It reads one JSON object per line and answers each with one. It stays alive between units, so that
torch and the models are loaded once, and exits when it was idle for a while, to free the memory.
When it crashes, the worker survives.
"""

import argparse
import contextlib
import importlib
import json
import logging
import os
import queue
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from theodolite.app.jobs import processes
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.kinds import job_of, kind_of
from theodolite.app.jobs.reporter import PausingReporter, Reporter
from theodolite.app.jobs.unit import Outcome, do
from theodolite.app.workspace import Workspace

IDLE_SECONDS = 600.0
WARM_AFTER_SECONDS = 0.5
WARM = (
    "theodolite.engine.space.projection",
    "theodolite.engine.space.topics",
    "theodolite.engine.space.umap",
    "faiss",
    "scipy.optimize",
    "sklearn.cluster",
    "sklearn.feature_extraction.text",
)
"""Modules that a map imports: two seconds that the first map need not wait for."""

log = logging.getLogger("theodolite.jobs")


def main() -> None:
    """Execute units until the parent exits or none has come for `IDLE_SECONDS`."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--kinds", default="theodolite.app.jobs.kinds")
    parser.add_argument("--nice", type=int, default=0, help="how far it steps back for others")
    parser.add_argument("--warm", action="store_true", help="import what a map takes meanwhile")
    arguments = parser.parse_args()
    lines = processes.follow_parent()
    # Nothing else may print to the worker's pipe: from here on 1 and 2 are the run's log.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.basicConfig()
    if hasattr(os, "nice"):
        os.nice(arguments.nice)  # pages stay quick while the cores are busy
    kinds = importlib.import_module(arguments.kinds).KINDS
    workspace: Workspace | None = None
    pause = WARM_AFTER_SECONDS
    while True:
        try:
            unit = json.loads(lines.get(timeout=pause))
        except queue.Empty:
            if pause == IDLE_SECONDS:
                return
            for module in WARM if arguments.warm else ():
                with contextlib.suppress(ImportError):  # reported by the unit that needs it
                    importlib.import_module(module)
            continue
        finally:
            pause = IDLE_SECONDS
        _write_to(Path(unit["log"]))
        try:
            workspace = workspace or Workspace(arguments.store, arguments.data)
            job = job_of(unit, kinds)
            outcome = do(workspace, job, unit["position"], _reporter(workspace, unit, job, kinds))
        except Exception as error:  # the store or the job cannot be opened
            log.exception("The unit cannot be begun")
            outcome = Outcome(0.0, error)
        answers.write(json.dumps({**outcome.to_dict(), "made": outcome.made}) + "\n")
        answers.flush()


def _reporter(
    workspace: Workspace, unit: Mapping[str, Any], job: Job, kinds: Mapping[str, str]
) -> Reporter:
    """How a unit reports, and whether it pauses for others."""
    of = workspace.store, unit["run"], unit["attempt"], unit["position"], unit["label"]
    if not job.pauses or "worker" not in unit:  # in a fleet, nobody waits at the worker's machine
        return Reporter(*of)
    interactive = [name for name in kinds if kind_of(name, kinds).interactive]
    return PausingReporter(*of, worker=unit["worker"], kinds=interactive)


def _write_to(log: Path) -> None:
    """Append what this process prints, native code included, to a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.suppress(OSError), log.open("ab") as file:  # a full disk costs the log only
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


if __name__ == "__main__":
    main()
