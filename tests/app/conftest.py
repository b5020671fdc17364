"""What most tests of the app begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An empty store, the starter set."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    return Workspace(tmp_path / "store")
