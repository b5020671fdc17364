"""The page *Distributions*."""

from __future__ import annotations

from typing import TYPE_CHECKING

from app import parts

if TYPE_CHECKING:
    from app.workspace import Workspace

TITLE = "Distributions"
PATH = "distributions"


def build(workspace: Workspace) -> None:
    """Lay out the page."""
    parts.header(TITLE)
