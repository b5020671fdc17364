"""Start, watch and end processes, so that none outlives the process it works for.

A process learns that its parent is gone from the end of its standard input: the system closes the
pipe however the parent ended, kill -9 included, on every platform.
"""

import contextlib
import ctypes
import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import psutil

import theodolite

ROOT = Path(theodolite.__file__).parents[1]
"""The folder that holds our package: `site-packages`, or the checkout."""

_PR_SET_PDEATHSIG = 1


def start(
    module: str,
    arguments: Sequence[str],
    *,
    stdout: int | IO[bytes],
    stderr: int | IO[bytes] | None,
) -> subprocess.Popen[bytes]:
    """Start one of our modules as the leader of its own process group, with a pipe to it."""
    # -P and PYTHONPATH: the module is ours even if the present folder has its own `theodolite`.
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return subprocess.Popen(  # noqa: S603
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.PIPE,
        stdout=stdout,
        stderr=stderr,
        process_group=0,  # of our session: Linux weighs `nice` within a session only
        env={**os.environ, "PYTHONPATH": os.pathsep.join(paths)},
    )


def output(
    module: str, arguments: Sequence[str], seconds: float | None = None
) -> tuple[int, bytes, bytes]:
    """Run one of our modules to its end; return (exit code, stdout, stderr).

    Raises:
        subprocess.TimeoutExpired: it took longer than `seconds`, and was killed.
    """
    process = start(module, arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        printed, complained = process.communicate(timeout=seconds)
    finally:
        kill_tree(process)
    return process.returncode, printed, complained


def under_torchrun() -> bool:
    """Whether this process is one of several that a launcher started to train together."""
    return int(os.environ.get("WORLD_SIZE", "1")) > 1


def kill_tree(process: subprocess.Popen[bytes]) -> None:
    """Kill a process made by `start` with everything it started, and wait for it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        for descendant in psutil.Process(process.pid).children(recursive=True):
            with contextlib.suppress(psutil.NoSuchProcess):
                descendant.kill()
    _kill_group(process.pid)  # also those whose own parent is gone already
    with contextlib.suppress(OSError):
        process.kill()
    process.wait()


def follow_parent() -> queue.SimpleQueue[bytes]:
    """End this process, its group with it, when its parent goes; return the lines it sends."""
    if sys.platform == "linux":
        # For when another thread that holds the GIL keeps the one below from noticing. Linux counts
        # the thread that started us as the parent: it has to stay.
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    lines: queue.SimpleQueue[bytes] = queue.SimpleQueue()
    pipe = os.fdopen(os.dup(0), "rb")  # sys.stdin itself must not be in use when Python ends

    def listen() -> None:
        for line in pipe:
            lines.put(line)
        leave()

    threading.Thread(target=listen, name="parent", daemon=True).start()
    return lines


def leave() -> None:
    """End this process at once, without cleanup, and its group when it leads one."""
    if hasattr(os, "getpgrp") and os.getpgrp() == os.getpid():
        _kill_group(os.getpid())
    os._exit(1)


def death(returncode: int) -> str:
    """How a process ended, in words that follow its name."""
    if returncode == -signal.SIGTERM:
        return "was told to end"
    if returncode < 0:
        name = signal.Signals(-returncode).name
        if name == "SIGKILL":
            return "was killed, most often because memory ran out"
        return f"crashed ({name})"
    return f"ended with code {returncode}"


def _kill_group(pid: int) -> None:
    if hasattr(os, "killpg"):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)
