"""What a server does to keep its memory flat."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
