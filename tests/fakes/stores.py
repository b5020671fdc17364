"""Stores of their own for fixtures that last longer than a test."""

from pathlib import Path

import pytest

from theodolite.app.workspace import Workspace


def starter_store(folder: Path) -> Workspace:
    """A new one with the starter set alone, whatever data this machine has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("THEODOLITE_DATA", raising=False)
        return Workspace(folder / "store")
