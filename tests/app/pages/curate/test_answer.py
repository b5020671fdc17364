"""Curation: questions checked, answers kept, tables told."""

import csv
import io
from pathlib import Path
from typing import Any

import pytest

from tests.errors import refused
from tests.fakes.uploads import collection
from theodolite.app.pages.curate.answer import Curated, CurateSpec, measure, stored
from theodolite.app.surfaces import document
from theodolite.app.workspace import Workspace

LINES = ["A cat.", "a cat", "A dog.", "A dog.", "=1+1", "A boat at sea.", "<b>A bird</b>"]


@pytest.fixture(scope="module")
def workspace(starter: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """With one small collection of lines."""
    collection(starter, tmp_path_factory.mktemp("lines"), "lines", LINES)
    return starter


def ask(workspace: Workspace, find: str, dataset: str = "upload:lines", **how: Any) -> Curated:
    """Answer a question on the small collection."""
    return measure(workspace, CurateSpec(find, dataset, **how))


def test_an_answer_is_kept_and_found_by_its_key(workspace: Workspace) -> None:
    """Equal questions are equal, whatever does not matter to them."""
    first = CurateSpec("near", "upload:lines", "random:32", threshold=0.99, many=5)
    assert first == CurateSpec("near", "upload:lines", " random:32 ", threshold=0.99)
    assert stored(workspace, first) is None
    answer = measure(workspace, first)
    kept = stored(workspace, first)
    assert kept is not None and kept.rows() == answer.rows()


def test_leaks_between_two_collections(workspace: Workspace) -> None:
    """A collection against itself is refused; against another, twins are named."""
    with refused("conflict"):
        CurateSpec("leaks", "upload:lines", "random:8")
    how = {"encoder": "random:32", "against": "starter-pairs"}
    assert ask(workspace, "leaks", threshold=1.0, **how).info["exact"] == 0
    found = ask(workspace, "leaks", dataset="starter-topics", threshold=0.95, **how)
    assert set(found.to_pandas()["twin"]) <= set(workspace.catalog.sentences("starter-pairs")[0])


def test_outliers_and_typical_have_the_length_asked_for(workspace: Workspace) -> None:
    """Three outliers; two at either end, the ends told apart."""
    assert len(ask(workspace, "outliers", encoder="random:32", many=3).rows()) == 3
    found = ask(workspace, "typical", encoder="random:32", many=2)
    assert found.to_pandas()["most"].tolist() == ["most", "most", "least", "least"]


@pytest.mark.parametrize(
    ("job", "how", "code", "named"),
    [
        ("sort", {}, "unknown", "'sort'"),
        ("near", {"encoder": ""}, "missing", ""),
        ("near", {"encoder": "random:8", "threshold": 2}, "invalid", "2"),
        ("outliers", {"encoder": "random:8", "neighbours": 0}, "invalid", "0"),
        ("near", {"encoder": "no such"}, "unknown", "'no such'"),
    ],
)
def test_bad_questions_are_refused(job: str, how: dict[str, Any], code: Any, named: str) -> None:
    with refused(code, named):
        CurateSpec(job, "upload:lines", **how)


def test_the_csv_has_every_row_and_the_text_as_it_is(workspace: Workspace) -> None:
    """What is encoded again must not differ; for a spreadsheet a formula has an apostrophe."""
    found = ask(workspace, "typical", encoder="random:32", many=3)
    for spreadsheet, sentence in ((False, "=1+1"), (True, "'=1+1")):
        text = found.to_csv(spreadsheet=spreadsheet).decode()
        sentences = [row["sentence"] for row in csv.DictReader(io.StringIO(text))]
        assert len(sentences) == 6 and sentence in sentences
    html = "".join(map(str, document.pieces(found.blocks())))
    assert "&lt;b&gt;A bird" in html and "<b>A bird" not in html and "for spreadsheets" in html


def test_nobody_is_left_with_a_table_of_other_sentences(
    workspace: Workspace, tmp_path: Path
) -> None:
    """When the upload under a name is another one, the old answer is not shown for it."""
    for lines, groups in ((["a", "a", "b"], 1), (["a", "b", "c"], 0)):
        dataset = collection(workspace, tmp_path, "again", lines)
        assert ask(workspace, "exact", dataset).info["groups"] == groups
        workspace.store.uploads.remove("again")
