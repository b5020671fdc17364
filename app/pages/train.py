"""The page *Train*."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import parts

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Train"
PATH = "train"


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE)
