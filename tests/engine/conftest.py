"""What several folders of the engine's tests share."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.openai import FakeOpenAI
from theodolite.engine import load
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.endpoints import KEY


@pytest.fixture(scope="session")
def reference(golden: Path) -> dict[str, Any]:
    """What SimCSE's fork of SentEval, and the original, give for the encoder `wordllama`."""
    return json.loads((golden / "senteval_wordllama256.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """The encoder the golden file was made with."""
    return load("wordllama")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """A server that speaks OpenAI's API, and no key."""
    monkeypatch.delenv(KEY, raising=False)
    with FakeOpenAI() as fake:
        yield fake
