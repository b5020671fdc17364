"""What most tests of the app begin with."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.fakes.openai import FakeOpenAI
from tests.fakes.stores import starter_store
from theodolite.app import decoders
from theodolite.app.workspace import Workspace
from theodolite.engine.endpoints import KEY


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workspace]:
    """An empty store, the starter set."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    made = Workspace(tmp_path / "store")
    yield made
    made.close()


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """The same, for all tests of a module."""
    return starter_store(tmp_path_factory.mktemp("starter"))


@pytest.fixture(scope="module")
def decoding(starter: Workspace, decoder_folder: Path) -> Workspace:
    """A store with one decoder, the starter set; for the tests of a module."""
    decoders.register(starter, decoder_folder)
    return starter


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store, and no data folder."""
    monkeypatch.setenv("THEODOLITE_HOME", str(tmp_path / "store"))
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    return tmp_path


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """An endpoint that is asked again at once when it does not answer."""
    monkeypatch.delenv(KEY, raising=False)
    monkeypatch.setattr("theodolite.engine.endpoints.FIRST_WAIT", 0.0)
    with FakeOpenAI() as fake:
        yield fake
