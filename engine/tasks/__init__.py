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
    by_name,
    defaults,
    expand,
    get,
    in_order,
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
    "by_name",
    "defaults",
    "expand",
    "get",
    "in_order",
    "prompt_task",
    "seeds_of",
    "type_of",
]
