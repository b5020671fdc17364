"""Curation: questions checked, answers kept, tables told."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.app.pages.curate import page as curation_page
from theodolite.app.pages.curate import service as curations
from theodolite.app.pages.curate import tables as curation_tables
from theodolite.app.pages.data import service as uploads
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError

TEXT = "A cat.\na cat\nA dog.\nA dog.\n=1+1\nA boat at sea.\n<b>A bird</b>\n"


@pytest.fixture(scope="module")
def workspace(starter: Workspace, tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """With one small collection of lines."""
    file = tmp_path_factory.mktemp("lines") / "lines.txt"
    file.write_text(TEXT, encoding="utf-8")
    uploads.keep(starter, file, file.name, "lines", uploads.mapping_of(file, None, None))
    return starter


def ask(workspace: Workspace, job: str, **how: object) -> curations.Answer:
    """Answer a question on the small collection."""
    dataset = str(how.pop("dataset", "upload:lines"))
    return curations.answer(workspace, curations.spec(job, dataset, **how))


def test_exact_duplicates_count_every_occurrence(workspace: Workspace) -> None:
    """A dog twice word for word is one row that occurs twice; the cats differ in case and mark."""
    found = ask(workspace, "exact")
    table = curation_tables.frame(found)
    rows = set(zip(table["sentence"], table["occurs"], strict=True))
    assert rows == {("A cat.", 1), ("a cat", 1), ("A dog.", 2)}
    assert (found.info["groups"], found.info["spare"], found.info["n"]) == (2, 2, 7)
    assert "2 groups" in curation_tables.sentence(found)


def test_an_answer_is_kept_and_found_by_its_key(workspace: Workspace) -> None:
    """Equal questions are equal, whatever does not matter to them."""
    first = curations.spec("near", "upload:lines", encoder="random:32", threshold=0.99, many=5)
    second = curations.spec("near", "upload:lines", encoder=" random:32 ", threshold=0.99)
    assert first == second
    answer = curations.answer(workspace, first)
    kept = curations.stored(workspace, answer.key)
    assert kept is not None
    assert kept.ids.tolist() == answer.ids.tolist()
    assert curations.stored(workspace, "0" * 32) is None


def test_leaks_between_two_collections(workspace: Workspace) -> None:
    """A collection against itself is refused; against another, twins are named."""
    with refused("conflict"):
        curations.spec("leaks", "upload:lines", encoder="random:8")
    found = ask(workspace, "leaks", encoder="random:32", threshold=1.0, against="starter-pairs")
    assert found.info["exact"] == 0
    other = ask(
        workspace,
        "leaks",
        dataset="starter-topics",
        encoder="random:32",
        threshold=0.95,
        against="starter-pairs",
    )
    twins = curation_tables.frame(other)["twin"].tolist()
    assert set(twins) <= set(workspace.catalog.sentences("starter-pairs")[0])


def test_outliers_and_typical_have_the_length_asked_for(workspace: Workspace) -> None:
    """Three outliers; two at either end, the ends told apart."""
    assert len(ask(workspace, "outliers", encoder="random:32", many=3).ids) == 3
    found = ask(workspace, "typical", encoder="random:32", many=2)
    assert curation_tables.frame(found)["most"].tolist() == ["most", "most", "least", "least"]


@pytest.mark.parametrize(
    ("job", "how"),
    [
        ("sort", {}),
        ("near", {}),
        ("near", {"encoder": "random:8", "threshold": 2}),
        ("outliers", {"encoder": "random:8", "neighbours": 0}),
        ("near", {"encoder": "no such"}),
    ],
)
def test_bad_questions_are_refused(job: str, how: dict[str, object]) -> None:
    """With what can be asked."""
    with pytest.raises(UserError):
        curations.spec(job, "upload:lines", **how)


def test_the_csv_has_every_row_and_the_text_as_it_is(workspace: Workspace) -> None:
    """What is encoded again must not differ; for a spreadsheet a formula has an apostrophe."""
    found = ask(workspace, "typical", encoder="random:32", many=3)
    for spreadsheet, sentence in ((False, "=1+1"), (True, "'=1+1")):
        text = curation_tables.csv(found, spreadsheet=spreadsheet).decode()
        rows = list(csv.DictReader(io.StringIO(text)))
        assert len(rows) == 6
        assert sentence in {row["sentence"] for row in rows}
    assert f"{found.key}.csv?spreadsheet=1" in curation_page.results_html(found, "random:32")


def test_markup_in_a_sentence_stays_text(workspace: Workspace) -> None:
    """In the table of the page, and in its links."""
    html = curation_page.results_html(
        ask(workspace, "typical", encoder="random:32", many=3), "random:32"
    )
    assert "&lt;b&gt;A bird" in html
    assert "<b>A bird" not in html


def test_nobody_is_left_with_a_table_of_other_sentences(
    workspace: Workspace, tmp_path: Path
) -> None:
    """When the upload under a name is another one, the old answer is not shown for it."""
    wanted = curations.spec("exact", "upload:again")
    for text, groups in (("a\na\nb\n", 1), ("a\nb\nc\n", 0)):
        file = tmp_path / "again.txt"
        file.write_text(text, encoding="utf-8")
        uploads.keep(workspace, file, file.name, "again", uploads.mapping_of(file, None, None))
        assert curations.answer(workspace, wanted).info["groups"] == groups
        workspace.store.uploads.remove("again")
