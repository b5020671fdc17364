"""The page *Data*."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import parts

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Data"
PATH = "data"


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE)
