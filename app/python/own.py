"""The default workspace."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from app.workspace import Workspace, default_data, default_store


def own(workspace: Workspace | None) -> Workspace:
    """The workspace given, or the person's own: THEODOLITE_HOME with THEODOLITE_DATA."""
    return workspace or _opened(default_store(), default_data())


@lru_cache(maxsize=2)
def _opened(store: Path, data: Path | None) -> Workspace:
    """Opened once: its encoders stay in memory from one call to the next."""
    return Workspace(store, data)
