"""Quick kinds of work for the tests of jobs; a child is given this module with --kinds."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from app.jobs.kinds import KINDS as REAL
from app.jobs.kinds import Kind, Outcome, Progress, Spec
from app.jobs.reporter import Reporter
from app.workspace import Workspace
from engine.errors import UserError


def _units(spec: Spec) -> list[str]:
    return [f"unit {n}" for n in range(spec["units"])]


def _measure(workspace: Workspace, spec: Spec, position: int, progress: Progress) -> Outcome:
    """Take some time over it, note that it was begun and put a result into the store."""
    with Path(spec["notes"]).open("a") as file:
        file.write(f"{spec['name']} {position} {os.getpid()}\n")
    for step in range(10):
        time.sleep(spec["seconds"] / 10)
        progress(step + 1, 10)
    score = {"split": "test", "aggregation": None, "metric": "accuracy", "n": 10, "main": True}
    workspace.store.results.put(
        {
            **{"encoder": spec["name"], "fingerprint": "f", "dim": 1, "task": f"t{position}"},
            **{"protocol": "p", "seed": 0, "data_hash": "d", "scores": [score | {"score": 50.0}]},
        }
    )
    return Outcome()


def _stubborn(workspace: Workspace, spec: Spec, position: int, progress: Progress) -> Outcome:
    """Ignore requests to end, start a process that does so too, and tell the ids of both."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    other = subprocess.Popen([sys.executable, "-c", code])
    Path(spec["notes"]).write_text(f"{os.getpid()} {other.pid}\n")
    time.sleep(60)
    return Outcome()


def _dying(workspace: Workspace, spec: Spec, position: int, progress: Progress) -> Outcome:
    """Kill this process the first so many times; only over the first unit."""
    if position > 0:
        return Outcome()
    with Path(spec["notes"]).open("a") as file:
        file.write("begun\n")
    if len(Path(spec["notes"]).read_text().splitlines()) <= spec["deaths"]:
        os.kill(os.getpid(), spec["signal"])
        time.sleep(5)
    return Outcome()


def _failing(workspace: Workspace, spec: Spec, position: int, progress: Progress) -> Outcome:
    """Go wrong in the ways a unit can."""
    print(f"unit {position} prints")  # noqa: T201 - it belongs in the log
    if spec["wrong"][position] == "told":
        raise UserError("The model gives NaN.", "Try float32.")
    if spec["wrong"][position] == "bug":
        raise ZeroDivisionError("by zero")
    return Outcome()


def _decoder(workspace: Workspace, spec: Spec, position: int, reporter: Reporter) -> Outcome:
    """Train a decoder with a checkpoint after every few updates."""
    from engine.decoding import run

    run.SAVE_SECONDS = 0.2
    return REAL["train-decoder"].work(workspace, spec, position, reporter)


KINDS = {
    "measure": Kind(_units, _measure),
    "stubborn": Kind(_units, _stubborn),
    "dying": Kind(_units, _dying),
    "continuing": Kind(_units, _dying, ending=lambda store, run: "Told.", continue_on_crash=True),
    "train": REAL["train"],
    "train-decoder": Kind(REAL["train-decoder"].units, _decoder),
    "failing": Kind(lambda spec: list(spec["wrong"]), _failing),
}
