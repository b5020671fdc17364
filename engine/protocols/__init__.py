"""Named, frozen protocols: all settings that affect a score."""

from theodolite.engine.protocols.package import is_package
from theodolite.engine.protocols.protocol import Protocol
from theodolite.engine.protocols.registry import (
    MOST_SEEDS,
    OF_TASKS,
    PROTOCOLS,
    check_seed,
    get,
    in_order,
)

__all__ = [
    "MOST_SEEDS",
    "OF_TASKS",
    "PROTOCOLS",
    "Protocol",
    "check_seed",
    "get",
    "in_order",
    "is_package",
]
