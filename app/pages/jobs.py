"""The page *Jobs*."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import parts

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Jobs"
PATH = "jobs"


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE)
