"""What most tests of the app begin with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from app import decoders
from app.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """An empty store, the starter set."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    return Workspace(tmp_path / "store")


@pytest.fixture(scope="module")
def decoding(tmp_path_factory: pytest.TempPathFactory, decoder_folder: Path) -> Iterator[Workspace]:
    """A store with one decoder, the starter set; for the tests of a module."""
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("THEODOLITE_DATA", raising=False)
        made = Workspace(tmp_path_factory.mktemp("decoding") / "store")
    decoders.register(made, decoder_folder)
    yield made
    made.close()
