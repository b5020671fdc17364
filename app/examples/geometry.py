"""The making of the geometries that ship."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app.examples import shipped
from app.pages.geometry import service
from app.workspace import STARTER_ENCODERS

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace

DATA = "starter-pairs"


def make(workspace: Workspace) -> None:
    """Of the encoders that ship, on the graded pairs of the starter set."""
    facts: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for encoder in STARTER_ENCODERS:
        found = service.measure(workspace, encoder, DATA)
        info = found.info
        key = service.key(info["fingerprint"], info["data_hash"], info["split"])
        facts[key] = info
        arrays |= {f"{key}/{name}": getattr(found, name) for name in service.ARRAYS}
    shipped.write("geometry", facts, arrays)
