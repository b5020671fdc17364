"""Which tasks a file of vectors suffices for."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from theodolite.app.cli import app
from theodolite.app.pages.encoders.service import coverage
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders.vectors import save
from theodolite.engine.errors import UserError


@pytest.fixture
def spec(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Vectors of the starter pairs but for two sentences."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    sentences = list(dict.fromkeys(Catalog().load("starter-pairs").sentences))[2:]
    save(tmp_path / "x.parquet", sentences, np.ones((len(sentences), 3)))
    return f"vectors:{tmp_path / 'x.parquet'}"


def test_every_task_says_how_many_sentences_are_lacking(spec: str, tmp_path: Path) -> None:
    """Of the distinct sentences, with the first of those that are not there."""
    workspace = Workspace(tmp_path / "store")
    rows = {row["task"]: row for row in coverage(workspace, spec)}
    assert list(rows) == ["StarterSTS", "StarterTopics", "StarterSearch"]
    sentences = list(dict.fromkeys(workspace.catalog.load("starter-pairs").sentences))
    expected = {"sentences": len(sentences), "lacking": 2, "first": sentences[0], "error": None}
    assert rows["StarterSTS"] == {"task": "StarterSTS", **expected}
    assert rows["StarterTopics"]["lacking"] <= rows["StarterTopics"]["sentences"]
    with pytest.raises(UserError, match="does not read vectors from a file"):
        list(coverage(workspace, "random:8"))
    workspace.close()


def test_data_that_cannot_be_read_spoil_one_row(spec: str, tmp_path: Path) -> None:
    """The others are counted."""
    (tmp_path / "data" / "probing").mkdir(parents=True)
    (tmp_path / "data" / "probing" / "past_present.txt").write_text("xx\ta\tb\n")
    workspace = Workspace(tmp_path / "store", Catalog(tmp_path / "data").root)
    rows = {row["task"]: row for row in coverage(workspace, spec, "Tense,StarterSTS")}
    assert "past_present.txt, line 1" in rows["Tense"]["error"]
    assert rows["StarterSTS"]["lacking"] == 2
    workspace.close()


def test_the_command(spec: str, tmp_path: Path) -> None:
    """One row a task."""
    arguments = ["encoders", "coverage", spec, "--tasks", "StarterSTS", "--json"]
    done = CliRunner().invoke(app, [*arguments, "--store", str(tmp_path / "store")])
    assert done.exit_code == 0, done.output
    (row,) = [json.loads(line) for line in done.stdout.splitlines()]
    assert (row["task"], row["lacking"]) == ("StarterSTS", 2)
