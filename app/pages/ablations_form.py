"""The part of the page *Runs* that queues the rows of a table of the paper as one sweep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.workspace import Workspace


def build(workspace: Workspace) -> Any:
    """Lay out the form; returns a hidden box with the sweep that was queued last, or None."""
    return None
