"""The command line as a process: interrupts, outputs that end or are full, memory given back."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fakes.command_line import theodolite
from tests.fakes.terminals import heed_interrupts

EARLY = """
import os, signal, sys
from theodolite.app import __main__ as start

class Interrupt:
    def find_spec(self, name, *_):
        if name == "theodolite.app.serve":  # while the command line is being imported
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["theodolite", "data", "list"]
start.main()
"""


def done(*arguments: str, **named: object) -> subprocess.CompletedProcess[str]:
    """A process of Python, with what it printed."""
    named = {"stdout": subprocess.PIPE} | named
    return subprocess.run(
        [sys.executable, *arguments], stderr=subprocess.PIPE, text=True, check=False, **named
    )  # type: ignore[call-overload, no-any-return]


def test_an_interrupt_of_the_imports_is_one_line(home: Path) -> None:
    """With the exit status of Ctrl+C."""
    early = done("-c", EARLY, preexec_fn=heed_interrupts)
    assert (early.returncode, early.stdout, early.stderr) == (130, "", "Stopped.\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("words", [["encode", "random:4", "a", "--json"], ["data", "list"]])
def test_a_full_output_is_one_line(home: Path, words: list[str]) -> None:
    """No traceback, whatever prints; and no success."""
    with Path("/dev/full").open("w") as full:
        failed = done("-m", "theodolite.app", *words, stdout=full)
    assert failed.returncode == 1
    assert failed.stderr == "error: The output cannot be written: No space left on device.\n"


def test_a_closed_output_is_silent(home: Path) -> None:
    """As behind `| head -1`."""
    read, write = os.pipe()
    os.close(read)
    closed = done("-m", "theodolite.app", "encode", "random:4", "a", "--json", stdout=write)
    os.close(write)
    assert (closed.returncode, closed.stderr) == (1, "")


def test_a_terminal_that_lacks_a_character_shows_another(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command goes on under the locale C."""
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    (home / "menu.txt").write_text("crème brûlée\n", "utf-8")
    theodolite("data", "add", str(home / "menu.txt"))
    shown = done("-m", "theodolite.app", "data", "show", "upload:menu")
    assert (shown.returncode, "Traceback" in shown.stderr) == (0, False)
    assert "cr?me br?l?e" in shown.stdout


PINNED = """
import ctypes, psutil
from theodolite.app import memory
libc = ctypes.CDLL(None)
libc.malloc.restype, libc.free.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
def held():
    return psutil.Process().memory_info().rss / 2**20
blocks = [libc.malloc(2**16) for _ in range(3200)]
for block in blocks:
    libc.memset(block, 1, 2**16)
libc.malloc(2**16)  # above all of them, so that glibc alone returns none
full = held()
for block in blocks:
    libc.free(block)
freed = held()
memory.release()
print(full - freed, full - held())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="glibc only")
def test_freed_memory_goes_back_to_the_system():
    """200 MiB below one block in use: kept when they are freed, returned by a release."""
    run = subprocess.run([sys.executable, "-c", PINNED], capture_output=True, text=True, check=True)
    alone, released = map(float, run.stdout.split())
    assert alone < 20
    assert released > 150
