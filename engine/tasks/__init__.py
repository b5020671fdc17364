"""The tasks: one measurement on one data set each."""

from engine.tasks.registry import (
    PROBING,
    SENTEVAL,
    SEVEN,
    STARTER,
    SUITES,
    TASKS,
    TRANSFER,
    available,
    expand,
    get,
    in_order,
    named,
    seeds_of,
    type_of,
)
from engine.tasks.task import Measurement, Task, TaskType, prompt_task

__all__ = [
    "PROBING",
    "SENTEVAL",
    "SEVEN",
    "STARTER",
    "SUITES",
    "TASKS",
    "TRANSFER",
    "Measurement",
    "Task",
    "TaskType",
    "available",
    "expand",
    "get",
    "in_order",
    "named",
    "prompt_task",
    "seeds_of",
    "type_of",
]
