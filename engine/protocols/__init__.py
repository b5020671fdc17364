"""Named, frozen protocols: all settings that affect a score."""

from theodolite.engine.protocols.package import is_package
from theodolite.engine.protocols.protocol import Protocol
from theodolite.engine.protocols.registry import (
    MAX_SEEDS,
    OF_TASKS,
    PROTOCOLS,
    check_seed,
    get,
    in_order,
)

__all__ = [
    "MAX_SEEDS",
    "OF_TASKS",
    "PROTOCOLS",
    "Protocol",
    "check_seed",
    "get",
    "in_order",
    "is_package",
]
