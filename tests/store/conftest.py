"""A store in an empty folder."""

import pytest

from theodolite.store import Store


@pytest.fixture
def store(tmp_path):
    """An empty store."""
    opened = Store.open(tmp_path / "store")
    yield opened
    opened.close()
