"""What a server that runs for weeks does to keep its memory flat; glibc alone, no effect elsewhere.

Every request allocates and frees memory in another thread. What is freed stays with the process,
in pieces between blocks that are still in use, and by default apart for each of up to eight arenas
per core: a server with many threads grows for hours, though nothing in it does.
"""

import ctypes
import sys
import threading
import time

_ARENA_MAX, _ARENAS = -8, 2
"""M_ARENA_MAX of `mallopt`, and its value: with two, threads reuse what others freed."""
RELEASE_SECONDS = 20.0
"""Between two releases. One takes some 30 ms for 500 MiB, in a thread of its own."""


def keep_flat() -> None:
    """Share freed memory among threads from now on, and give it back again and again."""
    if libc := _glibc():
        libc.mallopt(_ARENA_MAX, _ARENAS)
        threading.Thread(target=_release_often, name="release-memory", daemon=True).start()


def release() -> None:
    """Return freed memory to the system, from the middle of the heap as well."""
    if libc := _glibc():
        libc.malloc_trim(0)


def _release_often() -> None:
    while True:
        time.sleep(RELEASE_SECONDS)
        release()


def _glibc() -> ctypes.CDLL | None:
    """The C library of the process, if it is glibc."""
    if sys.platform != "linux":
        return None
    libc = ctypes.CDLL(None)
    return libc if hasattr(libc, "malloc_trim") else None
