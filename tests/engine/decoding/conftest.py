"""What most tests of decoding begin with."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.decode import Decoder, open_decoder
from engine.decoding.spec import DecoderSpec
from engine.encoders import load
from engine.encoders.base import Encoder
from tests.fakes import decoder_training


@pytest.fixture(scope="module")
def decoder(decoder_folder: Path) -> Decoder:
    """It knows sixty sentences by heart."""
    return open_decoder(decoder_folder)


@pytest.fixture(scope="module")
def encoder() -> Encoder:
    """Whose vectors it reads."""
    return load("random:64")


@pytest.fixture
def spec(tmp_path: Path) -> DecoderSpec:
    """Of a training of three seconds."""
    return decoder_training.small(tmp_path)
