"""Threads of numerical libraries: how many there are, and one where several would only wait.

With another program on one of the cores, two threads were seen to take ten times as long as one.
The numbers are the same. The context managers also work as decorators, and several threads of the
process may use them at once.
"""

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

from threadpoolctl import ThreadpoolController

_this_thread = threading.local()
_counting = threading.Lock()
_inside = 0
_usual = 1
_limits: list[Any] = []
_limited = 0


def libraries() -> ThreadpoolController:
    """The numerical libraries loaded so far: BLAS and OpenMP.

    Finding them takes 2 to 70 ms, and is repeated only after further modules were imported.
    """
    return _controller(len(sys.modules))


@lru_cache(maxsize=1)
def _controller(_modules: int) -> ThreadpoolController:
    return ThreadpoolController()


def usable_threads() -> int:
    """Return the number of threads that numerical libraries may use now."""
    return max((library["num_threads"] for library in libraries().info()), default=1)


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Train on one core: the batches of classifiers are small."""
    if getattr(_this_thread, "alone", False):
        yield
        return
    import torch

    global _inside, _usual
    with _counting:
        if not _inside:  # while another thread is inside, the number read may be its 1
            _usual = torch.get_num_threads()
        _inside += 1
        torch.set_num_threads(1)
    _this_thread.alone = True
    try:
        yield
    finally:
        _this_thread.alone = False
        with _counting:
            _inside -= 1
            torch.set_num_threads(_usual)


@contextmanager
def one_blas_thread(*, openmp: bool = True) -> Iterator[None]:
    """Limit NumPy and SciPy to one thread; only libraries already loaded can be limited.

    Args:
        openmp: also limit OpenMP, which scikit-learn's own loops use, and torch in other threads.
    """
    global _limited
    with _counting:
        _limits.append(libraries().limit(limits=1, user_api=None if openmp else "blas"))
        _limited += 1
    try:
        yield
    finally:
        with _counting:
            _limited -= 1
            while _limits and not _limited:  # the last first: it recorded the 1 of the others
                _limits.pop().restore_original_limits()
