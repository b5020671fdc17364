"""What several folders of the engine's tests share."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from huggingface_hub import constants

from tests.fakes.hub import FakeHub
from tests.fakes.openai import FakeOpenAI
from theodolite.engine import hub, load
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.endpoints import KEY


@pytest.fixture(scope="session")
def reference(golden: Path) -> dict:
    """What SimCSE's fork of SentEval, and the original, give for the encoder `wordllama`."""
    return json.loads((golden / "senteval_wordllama256.json").read_text("utf-8"))


@pytest.fixture(scope="session")
def encoder() -> Encoder:
    """The encoder the golden file was made with."""
    return load("wordllama")


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny model of each family."""
    from tests.engine.encoders.models import save

    root = tmp_path_factory.mktemp("bases")
    return {name: save(root / name, name) for name in ("bert", "roberta", "gpt2")}


@pytest.fixture
def rng() -> np.random.Generator:
    """Random numbers, the same ones for every test."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def real(data_root: Path) -> Catalog:
    """The data sets of the data folder."""
    return Catalog(data_root)


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """No data folder in the environment."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)


@pytest.fixture
def catalog(no_folder: None) -> Catalog:
    """Only what is shipped."""
    return Catalog()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeOpenAI]:
    """A server that speaks OpenAI's API, and no key."""
    monkeypatch.delenv(KEY, raising=False)
    with FakeOpenAI() as fake:
        yield fake


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    """The hub that this process finds, of the files below `hub`; its cache is empty."""
    with FakeHub(tmp_path / "hub") as fake:
        url = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, fake.url)
        for name, value in {
            "HUGGINGFACE_CO_URL_TEMPLATE": url,
            "ENDPOINT": fake.url,
            "HF_HUB_CACHE": str(tmp_path / "cache"),
            "HF_HUB_OFFLINE": False,
            "HF_HUB_DISABLE_XET": True,
        }.items():
            monkeypatch.setattr(constants, name, value)
        monkeypatch.setattr(hub, "_silent", -hub.REMEMBERED)
        yield fake
