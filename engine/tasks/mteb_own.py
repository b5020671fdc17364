"""MTEB's own tasks, `mteb:Banking77Classification`: mteb scores them, see `engine.mteb`.

Only their names are handled here, without mteb, so that results can be listed without it.
"""

from __future__ import annotations

from typing import Any

from theodolite.engine.errors import UserError
from theodolite.engine.protocols import package
from theodolite.engine.tasks.cost import Work
from theodolite.engine.tasks.task import ExampleTexts, Measurement, Task, TaskType


def of_name(name: str) -> Task:
    """Return the task of a name that has the prefix of MTEB's own tasks."""
    description = f"MTEB's {name.partition(':')[2]}, by its own code."
    own = package.installed() or package.SHORT
    return Task(name, package.TASK, name, "mteb", own, "main_score", description)


def _measure(task: Task, *_: object) -> Measurement:
    raise UserError(f"{task.name} is scored by the package mteb alone.", "Take --protocol mteb.")


def _examples(data: Any, protocol: str, seed: int) -> ExampleTexts:
    from theodolite.engine.mteb import texts

    return texts.of_task(data.name, seed)


TYPE = TaskType(
    package.TASK,
    measure=_measure,
    work=lambda data, protocol, seed: Work([]),
    examples=_examples,
)
