"""The size of a frozen workbench, of real sentences."""

from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import pytest

from theodolite.app.jobs.submit import perform
from theodolite.app.pages.data import service as data
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.map.job import MapJob
from theodolite.app.pages.search import service as search
from theodolite.app.publish import choice, site
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import Mapping

SENTENCES = 50_000
MOST = 35_000_000
"""Bytes."""


@pytest.mark.data
@pytest.mark.long
def test_fifty_thousand_sentences_are_small_enough(tmp_path: Path, data_root: Path) -> None:
    """With their map, true neighbours, texts and vectors to search with."""
    text = tmp_path / "mix.txt"
    with gzip.open(data_root / "unlabelled" / "sentences_mix.txt.gz", "rt") as lines:
        distinct = dict.fromkeys(line.strip() for line in lines if line.strip())
    text.write_text("".join(f"{line}\n" for line in islice(distinct, SENTENCES)))
    workspace = Workspace(tmp_path / "store")
    data.keep(workspace, text, text.name, "mix", Mapping("sentences", {"text": "text"}))
    encoders.add(workspace, "wordllama")
    search.nearest(workspace, "wordllama", "upload:mix", ["a first query"], 1)
    for _ in perform(workspace, MapJob.of("wordllama", "upload:mix", method="pca")):
        pass
    chosen = choice.choose(workspace, ["wordllama"], data=["upload:mix"])
    files = site.freeze(workspace, chosen).files
    sizes = {name: len(content) for name, content in files.items()}
    whole = sum(sizes.values())
    assert whole < MOST, sorted(sizes.items(), key=lambda item: -item[1])[:20]
    for part in ("map/index.html", "search/index.html", "/points", "/near-", "vectors/rows-"):
        assert any(part in name for name in sizes), part
