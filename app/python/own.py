"""The default workspace."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from theodolite.app.workspace import Workspace, default_data, default_store


def own(workspace: Workspace | None) -> Workspace:
    """The given workspace, or the user's own: THEODOLITE_HOME with THEODOLITE_DATA."""
    return workspace or _opened(default_store(), default_data())


@lru_cache(maxsize=2)
def _opened(store: Path, data: Path | None) -> Workspace:
    """Open a workspace once, so that its encoders stay in memory between calls."""
    return Workspace(store, data)
