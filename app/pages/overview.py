"""The page *Overview*."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import parts

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Overview"
PATH = ""


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE)
