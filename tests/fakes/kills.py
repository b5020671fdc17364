"""A process of its own that is killed while it trains."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any


def killed_at(step: int, program: str, spec: Mapping[str, Any]) -> None:
    """Run a program until it has said that it looked at a step, and end it by SIGKILL.

    Args:
        step: of the event `looked`.
        program: Python that prints an event a line and then waits.
        spec: its one argument, as JSON.
    """
    child = subprocess.Popen(
        [sys.executable, "-c", program, json.dumps(spec)],
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
    )
    for line in child.stdout or ():
        event = json.loads(line)
        if event["kind"] == "looked" and event["step"] == step:
            child.send_signal(signal.SIGKILL)
            break
    assert child.wait(60) == -signal.SIGKILL
    child.stdout.close()
