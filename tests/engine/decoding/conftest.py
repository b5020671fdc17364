"""What most tests of decoding begin with."""

from pathlib import Path

import pytest

from tests.fakes import decoders
from theodolite.engine.decode import Decoder, open_decoder
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.encoders import Encoder, load


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
    return decoders.random_spec(tmp_path)
