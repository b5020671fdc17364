"""Named, frozen protocols: all settings that affect a score."""

from engine.protocols.package import is_package
from engine.protocols.protocol import Protocol
from engine.protocols.registry import (
    MOST_SEEDS,
    OF_TASKS,
    PROTOCOLS,
    check_seed,
    get,
    in_order,
)  # fmt: skip

__all__ = [
    "MOST_SEEDS", "OF_TASKS", "PROTOCOLS", "Protocol", "check_seed", "get", "in_order",
    "is_package",
]  # fmt: skip
