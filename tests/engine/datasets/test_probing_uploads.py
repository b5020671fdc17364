"""A file in SentEval's probing layout that someone gives us is the table that it is."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from theodolite.engine.datasets import Catalog, LabelledSentences
from theodolite.engine.datasets.tables import preview, read
from theodolite.engine.errors import UserError

RAW = b"tr\tNN\tthe dog barks\ntr\tNNS\tdogs bark\nva\tNN\tone cat\nte\tNNS\tcats\n"


@pytest.mark.parametrize("filename", ["x.txt", "x.txt.gz", "x.tsv", "x.tsv.gz"])
def test_the_layout_is_recognised(filename: str, tmp_path: Path) -> None:
    """Split, label and sentence, as the data folder reads the same file."""
    raw = gzip.compress(RAW) if filename.endswith(".gz") else RAW
    look = preview(raw, filename)
    data = read(raw, filename, look.mapping)

    assert (look.kind, look.columns) == ("labels", ("split", "label", "text"))
    assert isinstance(data, LabelledSentences)
    (tmp_path / "probing").mkdir()
    (tmp_path / "probing" / "mine.txt").write_bytes(RAW)
    assert data.hash == Catalog(tmp_path).load("probing/mine").hash


def test_a_line_that_is_not_laid_out_so_is_named() -> None:
    """By its place."""
    look = preview(RAW + b"te\tNN\n", "x.txt")
    assert "line 5 (2)" in look.problems[0]
    with pytest.raises(UserError, match=r"line 5 \(2\)"):
        read(RAW + b"te\tNN\n", "x.txt", look.mapping)


@pytest.mark.parametrize("line", ["tr is a mark\n", "tr\tone tab\n", "train\ta\tb\n"])
def test_other_text_stays_lines(line: str) -> None:
    """Two tabs and a mark of a split are needed."""
    assert preview(line.encode() * 2, "x.txt").columns == ("text",)


def test_sets_that_cannot_be_read_yet_are_told(tmp_path: Path) -> None:
    """Those of the data folder for which there is no reader, by their place in it."""
    for place in (
        "retrieval/npl",
        "classification/banking77",
        "classification/mine",
        "sts/biosses",
    ):
        (tmp_path / "mteb" / place).mkdir(parents=True)
    (tmp_path / "nli" / "wiki_nli").mkdir(parents=True)
    unread = {info.name: info for info in Catalog(tmp_path).unread()}
    assert set(unread) == {"mteb/classification/mine", "mteb/retrieval/npl", "nli/wiki_nli"}
    assert "corpus.jsonl" in (unread["mteb/retrieval/npl"].problem or "")
    assert unread["mteb/classification/mine"].tasks == ()
    assert Catalog().unread() == [] or Catalog().root is not None


def test_a_list_says_how_a_set_is_measured(tmp_path: Path) -> None:
    """The task of a set, or one of them."""
    for file in ("downstream/TREC/train_5500.label", "mteb/classification/banking77/train.csv"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text("x")
    (tmp_path / "mteb/sts/biosses").mkdir(parents=True)
    found = {info.name: info.task for info in Catalog(tmp_path).list()}
    assert found["TREC"] == "TREC"
    assert found["banking77"] == "banking77/classify"
    assert found["biosses"] == "biosses"
