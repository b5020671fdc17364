"""Stored results: filters, removal, their intervals, and those that are still computed."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import Any

from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.stats.bootstrap import main_sample, resample_all
from theodolite.store import StoreError
from theodolite.store.run_rows import LIVE

RESAMPLES = 500


def stored(
    workspace: Workspace,
    encoders: Sequence[str] | None = None,
    tasks: Sequence[str] | None = None,
    protocols: Sequence[str] | None = None,
    ids: Collection[int] | None = None,
) -> list[dict[str, Any]]:
    """All results that match the filters, older versions included."""
    from theodolite.engine.encoders import parse

    names = [str(parse(spec)) for spec in encoders] if encoders else None
    rows = workspace.store.results.table(
        encoders=names, tasks=tasks or None, protocols=protocols or None, all_versions=True
    )
    if not ids:
        return rows
    if unknown := sorted(set(ids) - {row["id"] for row in rows}):
        raise UserError(
            f"There is no such result: {unknown[0]}.", "`results list` shows all.", code="unknown"
        )
    return [row for row in rows if row["id"] in ids]


def remove(workspace: Workspace, rows: Sequence[dict[str, Any]]) -> int:
    """Remove results permanently; return the bytes of their values per example."""
    workspace.refuse_visitors()
    size = sum(workspace.store.results.sizes(rows).values())
    workspace.store.results.remove([row["id"] for row in rows])
    return size


def live(workspace: Workspace) -> list[Any]:
    """Queued and running runs."""
    return list(workspace.store.runs.list(LIVE))


@lru_cache(maxsize=4096)
def _interval(workspace: Workspace, result_id: int) -> tuple[float, float] | None:
    from theodolite.engine.stats.intervals import interval

    details = workspace.store.results.by_id(result_id)["details"]
    examples = workspace.store.results.examples(result_id)
    try:
        sample = main_sample(examples, details)
    except (ValueError, LookupError):
        return None
    (drawn,) = resample_all([sample], RESAMPLES)
    low, high = interval(drawn.draws[None], [drawn.units])
    return float(low[0]), float(high[0])


def interval(workspace: Workspace, result_id: int) -> list[float] | None:
    """95 % bootstrap interval of a main score, in points; cached, since results never change.

    None if there is none, or its values cannot be read; the latter is not cached, as they may be
    restored.
    """
    try:
        found = _interval(workspace, int(result_id))
    except StoreError:
        return None
    return None if found is None else list(found)
