"""The priority of a run in a queue of dbos."""

from __future__ import annotations

_MIDDLE = 1 << 30


def queue_priority(ours: int) -> int:
    """Convert a run's priority, which counts both ways from 0; dbos counts from 1 to 2**31 - 1."""
    return min(max(_MIDDLE + ours, 1), 2 * _MIDDLE - 1)
