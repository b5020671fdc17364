"""The page *Runs*."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import parts

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Runs"
PATH = "runs"


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE)
