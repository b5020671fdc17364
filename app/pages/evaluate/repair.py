"""Results that can be seen but not worked with, queued again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace


@dataclass(frozen=True)
class Repair:
    """What was done about results whose per-example values cannot be read.

    Attributes:
        runs: ids of the runs that measure them again.
        left: sentences on those that nothing could be done about.
    """

    runs: tuple[str, ...]
    left: tuple[str, ...]


def queue(workspace: Workspace) -> Repair:
    """Queue every result again that counts and whose per-example values cannot be read.

    Until it is measured its scores stand; older versions of a result are let be.

    Raises:
        UserError: for visitors.
    """
    workspace.refuse_visitors()
    results = workspace.store.results
    lost: dict[tuple[Any, ...], list[str]] = {}
    for row in results.table():
        if row["error"] is None and not results.is_readable(row):
            asked = (row["encoder"], row["protocol"], row["seed"])
            lost.setdefault(asked, []).append(row["task"])
    runs: list[str] = []
    left: list[str] = []
    for (encoder, protocol, seed), tasks in lost.items():
        try:
            run = workspace.queue_evaluation([encoder], tasks, protocol, seed, listed=False)
        except UserError as error:  # a diagnosis, a data set that is gone
            left.append(f"{encoder} on {', '.join(tasks)} cannot be queued: {error}")
        else:
            runs.append(run)
    return Repair(tuple(runs), tuple(left))
