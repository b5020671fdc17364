"""What a published app does before its first visitor comes."""

from __future__ import annotations

from pathlib import Path

from engine.errors import UserError


def read_models(store: Path) -> None:
    """Load the encoders of a store, as far as they are here: where a GPU is lent, they stay.

    Raises:
        StoreError: when the store cannot be opened.
    """
    from app.workspace import Workspace

    workspace = Workspace(store, demo=True)
    for row in workspace.store.encoders.list():
        try:
            workspace.load(row["name"])
        except UserError:  # its results were published, its weights were not
            continue
    workspace.close()
