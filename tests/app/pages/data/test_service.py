"""What `data add` makes of a file when not every column is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from theodolite.app.pages.data.service import mapping_of, together
from theodolite.engine.errors import UserError


def test_a_kind_alone_that_cannot_be_filled_names_the_columns(tmp_path: Path) -> None:
    """Which role has no column, which columns there are, and how to say it."""
    file = tmp_path / "x.csv"
    file.write_text("comment,first,second\nA whole sentence of words,a,b\nAnother one here,c,d\n")
    with pytest.raises(UserError) as caught:
        mapping_of(file, "labels", None)
    assert "the label of labels" in caught.value.message
    assert "comment, first, second" in caught.value.message
    assert caught.value.hint.endswith("(--columns): text=comment,label=COLUMN")


def test_a_kind_alone_keeps_the_splits(tmp_path: Path) -> None:
    """Of a file in SentEval's probing layout, which needs no kind."""
    file = tmp_path / "x.txt"
    file.write_text("tr\tNN\tthe dog barks\nva\tNNS\tdogs bark\n")
    columns = {"text": "text", "label": "label", "split": "split"}
    assert mapping_of(file, "labels", None).columns == columns
    assert mapping_of(file, None, None).columns == columns


def test_the_files_of_one_set_are_taken_together(tmp_path: Path) -> None:
    """Several files or a folder are an archive for a while; its kind is told by their names."""
    (tmp_path / "set").mkdir()
    (tmp_path / "set" / "val.de").write_text("eins\n")
    (tmp_path / "set" / "val.en").write_text("one\n")
    for given in ([tmp_path / "set"], sorted((tmp_path / "set").iterdir())):
        with together(given) as file:
            assert mapping_of(file, None, None).kind == "parallel"
            assert file.name == ("set.zip" if len(given) == 1 else "val.zip")
        assert not file.exists()
    with pytest.raises(UserError, match="There is no file"), together([tmp_path / "none"]):
        pass


def test_a_type_of_task_says_the_kind(tmp_path: Path) -> None:
    """As MTEB spells it."""
    file = tmp_path / "x.csv"
    file.write_text("query,document,grade\nTea?,Brew it.,1\nTea?,Grind it.,0\n")
    mapping = mapping_of(file, None, None, "Reranking")
    assert (mapping.kind, mapping.type) == ("retrieval", "Reranking")
    assert set(mapping.columns) == {"query", "document", "grade"}
    with pytest.raises(UserError, match="no type of task 'Ranking'"):
        mapping_of(file, None, None, "Ranking")


def test_a_folder_of_splits_is_mapped_as_a_table(tmp_path: Path) -> None:
    """By guesses, or by the columns and the kind that are named."""
    for split in ("train", "test"):
        (tmp_path / f"{split}.csv").write_text("text,label\na b,x\nc d,y\ne f,x\n")
    with together([tmp_path]) as file:
        assert mapping_of(file, None, None).columns == {"text": "text", "label": "label"}
        assert mapping_of(file, "sentences", None).kind == "sentences"
        named = mapping_of(file, "labels", "text=label,label=text")
        assert named.columns == {"text": "label", "label": "text"}
