"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_root() -> Path:
    """The data folder that THEODOLITE_DATA names. Skips without one, but never in CI."""
    named = os.environ.get("THEODOLITE_DATA")
    if not named:
        message = "THEODOLITE_DATA is not set"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{message}: CI must run the tests on real data")
        pytest.skip(message)
    return Path(named)


@pytest.fixture(scope="session")
def golden(data_root: Path) -> Path:
    """The folder of reference scores beside the data folder; missing is treated like the data."""
    folder = data_root.resolve().parent / "golden"
    if not folder.is_dir():
        message = f"there is no folder {folder}"
        if os.environ.get("CI") == "true":
            pytest.fail(f"{message}: CI must run the parity tests")
        pytest.skip(message)
    return folder


@pytest.fixture(scope="session")
def decoder_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A decoder for `random:64` that knows `tests.fakes.decoders.known_sentences` by heart."""
    from tests.fakes.decoders import tiny_decoder

    return tiny_decoder(tmp_path_factory.mktemp("decoders") / "tiny")
