"""`python -m app.jobs.child`: does units of runs, one at a time, for the worker that started it.

It reads one JSON object a line and answers each with one. It stays between units, so that torch and
the models are loaded once, and ends by itself when nothing was asked for a while, to give the
memory back. When it crashes, the worker lives.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import json
import logging
import os
import queue
import sys
import time
import traceback
from pathlib import Path

from app.jobs import processes
from app.jobs.kinds import Kind, LeftOut, Outcome
from app.jobs.reporter import Reporter
from app.workspace import Workspace
from engine.errors import UserError
from store import StoreError

IDLE_SECONDS = 600.0


def main() -> None:
    """Answer until the parent goes or nothing is asked for long."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--store", type=Path, required=True)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--kinds", default="app.jobs.kinds")
    given = parser.parse_args()
    lines = processes.follow_parent()
    # The pipe to the worker is kept from whatever prints: from here on 1 and 2 are the run's log.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    logging.basicConfig()
    if hasattr(os, "nice"):
        os.nice(5)  # pages stay quick while the cores are busy
    kinds: dict[str, Kind] = importlib.import_module(given.kinds).KINDS
    workspace: Workspace | None = None
    while True:
        try:
            unit = json.loads(lines.get(timeout=IDLE_SECONDS))
        except queue.Empty:
            return
        _write_to(Path(unit["log"]))
        started = time.monotonic()
        try:
            workspace = workspace or Workspace(given.store, given.data)
            position = unit["position"]
            reporter = Reporter(
                workspace.store, unit["run"], unit["attempt"], position, unit["label"]
            )
            outcome = kinds[unit["kind"]].work(workspace, unit["spec"], position, reporter)
        except (UserError, StoreError) as error:
            outcome = Outcome(error.message, error.hint, isinstance(error, LeftOut))
        except Exception as error:  # what a unit does wrong is told, and the next one goes on
            traceback.print_exc()
            outcome = Outcome(f"{type(error).__name__}: {error}", "The log of the run has more.")
        answer = vars(outcome) | {"seconds": time.monotonic() - started}
        answers.write(json.dumps(answer) + "\n")
        answers.flush()


def _write_to(log: Path) -> None:
    """Send what this process prints, native code included, to the end of a file."""
    sys.stdout.flush()
    sys.stderr.flush()
    with contextlib.suppress(OSError), log.open("ab") as file:  # a full disk costs the log only
        os.dup2(file.fileno(), 1)
        os.dup2(file.fileno(), 2)


if __name__ == "__main__":
    main()
