"""Search in published pages: what is written of a data set and its encoders."""

from __future__ import annotations

import json

import numpy as np
import pytest

from theodolite.app.pages.search import freezing
from theodolite.app.web.frozen import Published, View
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

COLLECTION = "starter-topics"


def published(workspace: Workspace, *data: str) -> Published:
    """All of a workspace."""
    return Published({}, data={name: name for name in data}, source=workspace, workspace=workspace)


def test_every_data_set_that_can_be_searched_is_a_view(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither one whose texts stay at home nor one that is too large."""
    sizes = {
        name: len(workspace.catalog.sentences(name)[0]) for name in (COLLECTION, "starter-pairs")
    }
    views = freezing.views(published(workspace, *sizes))
    assert views == [View(name, (("in", name),)) for name in sizes]
    monkeypatch.setattr(freezing, "MAX_SENTENCES", min(sizes.values()))
    assert len(freezing.views(published(workspace, *sizes))) == 1

    def kept(name: str) -> None:
        raise UserError(f"The texts of {name} are not published.")

    monkeypatch.setattr(workspace.catalog, "sentences", kept)
    assert freezing.views(published(workspace, *sizes)) == []


def test_texts_and_first_hits_come_with_the_page(workspace: Workspace) -> None:
    """Texts in the parts that the map of the same data reads; the first sentence finds itself."""
    value, folders = freezing.files(
        workspace, {"collection": COLLECTION, "encoders": ["random:16"]}
    )
    sentences, data_hash = workspace.catalog.sentences(COLLECTION)
    texts = folders[f"theodolite/texts/{data_hash[:16]}"]()
    parts = value["texts"]["parts"]
    assert parts["at"].rpartition("/")[0] in folders
    every = [json.loads(texts[f"texts-{number}"]) for number in range(parts["many"])]
    assert [text for part in every for text in part] == sentences
    (column,) = value["columns"]
    index, text, cosine = column["first"][0]
    assert (index, text) == (0, sentences[0])
    assert cosine == pytest.approx(1)
    assert len(column["first"]) == freezing.K
    assert "in your browser" in value["about"]


def test_what_needs_python_has_neighbours_if_its_vectors_are_there(workspace: Workspace) -> None:
    """A projection of word vectors is quick; a transformer of 2,040 sentences is not begun."""
    fields = {"collection": COLLECTION, "encoders": ["random:16 | dims:4,random,0", "minilm"]}
    value, folders = freezing.files(workspace, fields)
    projected, minilm = value["columns"]
    assert "runs" not in projected
    files = folders[projected["neighbours"]["parts"]["at"].rpartition("/")[0]]()
    many = len(workspace.catalog.sentences(COLLECTION)[0])
    rows = sum(map(len, files.values())) // (8 * (freezing.K - 1))
    assert rows == many
    first = np.frombuffer(files["part-0"], "<u4")[: freezing.K - 1]
    assert first.tolist() == [index for index, _, _ in projected["first"][1:]]
    assert minilm == {"encoder": "minilm", "first": []}
    assert "use Python" in value["about"]


def test_too_many_vectors_are_brought_to_fewer_dimensions(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the page says so."""
    monkeypatch.setattr(freezing, "MAX_BYTES", 1000)
    monkeypatch.setattr(freezing, "MAX_DIMENSIONS", 8)
    value, folders = freezing.files(
        workspace, {"collection": COLLECTION, "encoders": ["random:16"]}
    )
    (column,) = value["columns"]
    assert column["dim"] == 8
    assert column["note"] == "Compared in 8 of 16 dimensions."
    assert column["axes"].rpartition("/")[0] in folders


def test_a_data_set_of_ten_or_fewer_sentences_is_left_out(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is nothing to search."""
    sentences = workspace.catalog.sentences(COLLECTION)[0][: freezing.K]
    monkeypatch.setattr(workspace.catalog, "sentences", lambda name: (sentences, "hash"))
    assert freezing.views(published(workspace, COLLECTION)) == []
