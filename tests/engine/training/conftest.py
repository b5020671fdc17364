"""What the tests of training share."""

from pathlib import Path

import pytest

from tests.engine.encoders.models import save
from theodolite.engine.datasets.catalog import Catalog


@pytest.fixture
def catalog(monkeypatch: pytest.MonkeyPatch) -> Catalog:
    """Only what is shipped."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    return Catalog()


@pytest.fixture(scope="package")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A tiny base of each family, and a BERT with its MLM head."""
    root = tmp_path_factory.mktemp("bases")
    heads = {"bert": "Model", "roberta": "Model", "gpt2": "Model", "mlm": "ForMaskedLM"}
    return {
        name: save(root / name, "bert" if name == "mlm" else name, head)
        for name, head in heads.items()
    }
