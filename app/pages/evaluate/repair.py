"""Queue results again whose values can no longer be read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from theodolite.app.pages.evaluate.job import queue_evaluation
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace


@dataclass(frozen=True)
class Repair:
    """The repair of results whose per-example values cannot be read.

    Attributes:
        runs: ids of the runs that compute them again.
        left: sentences on those that cannot be repaired.
    """

    runs: tuple[str, ...]
    left: tuple[str, ...]


def queue(workspace: Workspace) -> Repair:
    """Queue every current result again whose per-example values cannot be read.

    A diagnosis is queued with the settings of its run, or, if the run was removed, by the name of
    its text.

    Its scores are kept until the new result is stored; superseded results are left alone.
    """
    from theodolite.app.pages.diagnose import service as diagnosing
    from theodolite.engine.protocols.vec2sent import VEC2SENT as DIAGNOSIS

    workspace.refuse_visitors()
    results = workspace.store.results
    lost: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in results.table():
        if row["error"] is None and not results.is_readable(row):
            alone = row["task"] if row["protocol"] == DIAGNOSIS.name else None
            key = (row["encoder"], row["protocol"], row["seed"], alone)
            lost.setdefault(key, []).append(row)
    runs: list[str] = []
    left: list[str] = []
    for (encoder, protocol, seed, alone), rows in lost.items():
        tasks = [row["task"] for row in rows]
        try:
            if alone is None:
                run = queue_evaluation(workspace, [encoder], tasks, protocol, seed, listed=False)
            else:
                run = diagnosing.queue_again(workspace, rows[0])
        except UserError as error:  # a decoder or a data set that no longer exists
            left.append(f"{encoder} on {', '.join(tasks)} cannot be queued: {error}")
        else:
            runs.append(run)
    return Repair(tuple(runs), tuple(left))
