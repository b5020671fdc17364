"""Limits computations to one thread, where several would spend their time waiting.

With another program on one of the cores, two threads were seen to take ten times as long as one.
The numbers are the same. The context managers also work as decorators, and several threads of the
process may use them at once.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import threadpool_limits

_this_thread = threading.local()
_counting = threading.Lock()
_inside = 0
_usual = 1
_limits: list[threadpool_limits] = []
_limited = 0


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
    from threadpoolctl import threadpool_limits

    global _limited
    with _counting:
        _limits.append(threadpool_limits(1, None if openmp else "blas"))
        _limited += 1
    try:
        yield
    finally:
        with _counting:
            _limited -= 1
            while _limits and not _limited:  # the last first: it recorded the 1 of the others
                _limits.pop().restore_original_limits()
