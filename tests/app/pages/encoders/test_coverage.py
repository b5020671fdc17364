"""Which tasks a file of vectors suffices for."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.errors import refused
from theodolite.app.pages.encoders.service import coverage
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders.vectors import save


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Vectors of the starter pairs but for two sentences."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    sentences = list(dict.fromkeys(Catalog().load("starter-pairs").sentences))[2:]
    save(tmp_path / "x.parquet", sentences, np.ones((len(sentences), 3)))
    return f"vectors:{tmp_path / 'x.parquet'}"


def test_every_task_says_how_many_sentences_are_lacking(spec: str, tmp_path: Path) -> None:
    """With the first of those; data that cannot be read spoil one row."""
    (tmp_path / "data" / "probing").mkdir(parents=True)
    (tmp_path / "data" / "probing" / "past_present.txt").write_text("xx\ta\tb\n")
    workspace = Workspace(tmp_path / "store", Catalog(tmp_path / "data").root)
    rows = {row["task"]: row for row in coverage(workspace, spec)}
    assert rows.keys() >= {"StarterSTS", "StarterTopics", "StarterSearch"}
    sentences = list(dict.fromkeys(workspace.catalog.load("starter-pairs").sentences))
    expected = {"sentences": len(sentences), "lacking": 2, "first": sentences[0], "error": None}
    assert rows["StarterSTS"] == {"task": "StarterSTS", **expected}
    (tense,) = coverage(workspace, spec, "Tense")
    assert "past_present.txt, line 1" in tense["error"]
    with refused("wrong-kind", "random:8"):
        list(coverage(workspace, "random:8"))
    workspace.close()
