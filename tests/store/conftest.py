"""A store in an empty folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from theodolite.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    opened = Store.open(tmp_path / "store")
    yield opened
    opened.close()
