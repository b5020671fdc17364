"""What `data add` makes of a file when not every column is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.pages.data.service import mapping_of
from engine.errors import UserError


def test_a_kind_alone_that_cannot_be_filled_names_the_columns(tmp_path: Path) -> None:
    """Which role has no column, which columns there are, and how to say it."""
    file = tmp_path / "x.csv"
    file.write_text("comment,first,second\nA whole sentence of words,a,b\nAnother one here,c,d\n")
    with pytest.raises(UserError) as caught:
        mapping_of(file, "labels", None)
    assert "the label of labels" in caught.value.message
    assert "comment, first, second" in caught.value.message
    assert caught.value.hint.endswith("--columns text=comment,label=COLUMN")


def test_a_kind_alone_keeps_the_splits(tmp_path: Path) -> None:
    """Of a file in SentEval's probing layout, which needs no kind."""
    file = tmp_path / "x.txt"
    file.write_text("tr\tNN\tthe dog barks\nva\tNNS\tdogs bark\n")
    columns = {"text": "text", "label": "label", "split": "split"}
    assert mapping_of(file, "labels", None).columns == columns
    assert mapping_of(file, None, None).columns == columns
