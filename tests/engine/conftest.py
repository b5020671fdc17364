"""What several folders of the engine's tests share."""

import json
from pathlib import Path
from typing import Any

import pytest

from theodolite.engine import load
from theodolite.engine.encoders.base import Encoder


@pytest.fixture(scope="session")
def reference(golden: Path) -> dict[str, Any]:
    """What SimCSE's fork of SentEval, and the original, give for the encoder `wordllama`."""
    return json.loads((golden / "senteval_wordllama256.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """The encoder the golden file was made with."""
    return load("wordllama")
