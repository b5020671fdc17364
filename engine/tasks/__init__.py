"""The tasks, each one measurement on one data set."""

from theodolite.engine.tasks.registry import (
    MTEB_HERE,
    PROBING,
    SENTEVAL,
    SEVEN,
    STARTER,
    SUITES,
    TASKS,
    TRANSFER,
    available,
    defaults,
    expand,
    get,
    in_order,
    named,
    seeds_of,
    type_of,
)
from theodolite.engine.tasks.task import Measurement, Task, TaskType, prompt_task

__all__ = [
    "MTEB_HERE",
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
    "defaults",
    "expand",
    "get",
    "in_order",
    "named",
    "prompt_task",
    "seeds_of",
    "type_of",
]
