"""The tasks: one measurement on one data set each."""

from engine.tasks.registry import (
    PROBING,
    SENTEVAL,
    SEVEN,
    STARTER,
    SUITES,
    TASKS,
    TRANSFER,
    Task,
    TaskType,
    available,
    expand,
    get,
    in_order,
    named,
    seeds_of,
)

__all__ = [
    "PROBING",
    "SENTEVAL",
    "SEVEN",
    "STARTER",
    "SUITES",
    "TASKS",
    "TRANSFER",
    "Task",
    "TaskType",
    "available",
    "expand",
    "get",
    "in_order",
    "named",
    "seeds_of",
]
