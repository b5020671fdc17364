"""What the tests of training share."""

import pytest

from theodolite.engine.datasets.catalog import Catalog


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """Only what is shipped."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    return Catalog()
