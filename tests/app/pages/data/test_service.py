"""What `data add` makes of a file when not every column is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.app.pages.data.service import hub_name, mapping_of, together

LABELLED = {"text": "text", "label": "label"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "x.csv"


def test_a_kind_alone_that_cannot_be_filled_names_the_columns(file: Path) -> None:
    """Which role has no column, which columns there are, and how to say it."""
    file.write_text("comment,first,second\nA whole sentence of words,a,b\nAnother one here,c,d\n")
    columns = "comment, first, second"
    with refused("unknown", "label of labels", columns, "text=comment,label=COLUMN"):
        mapping_of(file, "labels", None)
    with refused("invalid", "first"):
        mapping_of(file, "labels", "text=comment,first")


def test_a_kind_alone_keeps_the_splits(tmp_path: Path) -> None:
    """Of a file in SentEval's probing layout, which needs no kind."""
    file = tmp_path / "x.txt"
    file.write_text("tr\tNN\tthe dog barks\nva\tNNS\tdogs bark\n")
    for kind in ("labels", None):
        assert mapping_of(file, kind, None).columns == LABELLED | {"split": "split"}


def test_the_files_of_one_set_are_taken_together(tmp_path: Path) -> None:
    """Several files or a folder are an archive for a while; its kind is told by their names."""
    (tmp_path / "set").mkdir()
    for language, text in (("de", "eins"), ("en", "one")):
        (tmp_path / "set" / f"val.{language}").write_text(f"{text}\n")
    files = sorted((tmp_path / "set").iterdir())
    for given, name in (([tmp_path / "set"], "set.zip"), (files, "val.zip")):
        with together(given) as file:
            assert (mapping_of(file, None, None).kind, file.name) == ("parallel", name)
        assert not file.exists()
    for given, named in (([tmp_path / "none"], "none"), ([], "")):
        with refused("no-file", named), together(given):
            pass


def test_a_type_of_task_says_the_kind(file: Path) -> None:
    """As MTEB spells it."""
    file.write_text("query,document,grade\nTea?,Brew it.,1\nTea?,Grind it.,0\n")
    mapping = mapping_of(file, None, None, "Reranking")
    assert (mapping.kind, mapping.type) == ("retrieval", "Reranking")
    assert set(mapping.columns) == {"query", "document", "grade"}
    with refused("unknown", "'Ranking'"):
        mapping_of(file, None, None, "Ranking")


def test_a_folder_of_splits_is_mapped_as_a_table(tmp_path: Path) -> None:
    """By guesses, or by the columns and the kind that are named."""
    for split in ("train", "test"):
        (tmp_path / f"{split}.csv").write_text("text,label\na b,x\nc d,y\ne f,x\n")
    with together([tmp_path]) as file:
        assert mapping_of(file, None, None).columns == LABELLED
        assert mapping_of(file, "sentences", None).kind == "sentences"
        named = mapping_of(file, "labels", "text=label,label=text")
    assert named.columns == {"text": "label", "label": "text"}


def test_a_file_of_the_hub_has_a_name() -> None:
    assert hub_name(" a/b ", "", " x y.csv", "text=t") == "hub:a/b@main/x%20y.csv?text=t"
    with refused("missing"):
        hub_name(" ", "main", "", "")
