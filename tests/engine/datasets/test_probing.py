"""Probing files of the official format, and labelled pairs."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from theodolite.engine import tasks
from theodolite.engine.datasets import Catalog, LabelledPairs, LabelledSentences
from theodolite.engine.errors import UserError


def probing(folder: Path, file: str, text: str) -> None:
    """Write one probing file."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / file).write_text(text)


def test_official_files_come_before_stand_ins(tmp_path: Path) -> None:
    """Both are there under one name; the list says which is read."""
    line = "tr\tNN\tone  two\nva\tNNS\tthree\nte\tNN\tfour\n"
    derived = tmp_path / "senteval" / "probing_derived"
    probing(derived, "subj_number.txt", line)
    (info,) = [i for i in Catalog(tmp_path).list() if i.name == "SubjNumber"]
    assert "stand-in" in info.description
    probing(tmp_path / "probing", "subj_number.txt", line.replace("NNS", "XX"))
    catalog = Catalog(tmp_path)
    (info,) = [i for i in catalog.list() if i.name == "SubjNumber"]
    assert "stand-in" not in info.description
    data = catalog.load("SubjNumber")
    assert isinstance(data, LabelledSentences)
    assert data.labels == ["NN", "XX", "NN"]
    assert data.splits == ["train", "dev", "test"]
    assert data.sentences[0] == "one two"


def test_any_file_of_the_format_is_a_task(tmp_path: Path) -> None:
    """Under `probing/` or, by language, under `probing_multilingual/`, packed or not."""
    probing(tmp_path / "probing", "my_probe.txt", "tr\ta\tx\n")
    place = tmp_path / "probing_multilingual" / "ru"
    place.mkdir(parents=True)
    (place / "voice.txt.gz").write_bytes(gzip.compress("tr\t1\tя\nva\t1\t\n".encode()))
    catalog = Catalog(tmp_path)
    found = [t.name for t in tasks.available(catalog) if t.type == "probing"]
    assert found == ["probing/my_probe/probe", "probing_multilingual/ru/voice/probe"]
    assert tasks.get(found[1], catalog).dataset == "probing_multilingual/ru/voice"
    data = catalog.load("probing_multilingual/ru/voice")
    assert data.sentences == ["я", ""], "a line without a sentence does not give the label away"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("tr\ta\tx\ntest\ta\ty\n", "probing/tree_depth.txt, line 2 begins with 'test'"),
        ("tr\ta\tx\n\n", "line 2 begins with ''"),
        ("tr\ta x\n", "line 1 is not laid out"),
        ("", "no labelled sentence"),
    ],
)
def test_bad_probing_files(tmp_path: Path, text: str, says: str) -> None:
    """Named with their line."""
    probing(tmp_path / "probing", "tree_depth.txt", text)
    with pytest.raises(UserError) as caught:
        Catalog(tmp_path).load("Depth")
    assert says in caught.value.message or "Depth" in caught.value.message
    assert caught.value.hint


def test_pairs_point_at_distinct_sentences(tmp_path: Path) -> None:
    """A premise that comes back is one sentence; latin-1 as in the reference."""
    folder = tmp_path / "downstream" / "SNLI"
    folder.mkdir(parents=True)
    for split in ("train", "dev", "test"):
        (folder / f"s1.{split}").write_text("A  man.\nA man.\n", "utf-8")
        (folder / f"s2.{split}").write_text(f"Café {split}.\nA man.\n", "utf-8")
        (folder / f"labels.{split}").write_text("neutral\nentailment\n")
    data = Catalog(tmp_path).load("SNLI")
    assert isinstance(data, LabelledPairs)
    assert data.sentences == ["A man.", "CafÃ© train.", "CafÃ© dev.", "CafÃ© test."]
    assert data.left.tolist() == [0] * 6
    assert data.right.tolist() == [1, 0, 2, 0, 3, 0]
    (folder / "labels.dev").write_text("neutral\n")
    with pytest.raises(UserError, match=r"s1.dev has 2.*labels.dev has 1"):
        Catalog(tmp_path).load("SNLI")


def test_short_rows_of_mrpc(tmp_path: Path) -> None:
    """Named with their line; the header is no pair."""
    folder = tmp_path / "downstream" / "MRPC"
    folder.mkdir(parents=True)
    header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
    for split in ("train", "test"):
        (folder / f"msr_paraphrase_{split}.txt").write_text(header + "1\t2\t3\ta b\tc\n0\t4\t5\n")
    with pytest.raises(UserError, match=r"MRPC/msr_paraphrase_train.txt, line 3"):
        Catalog(tmp_path).load("MRPC")


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "splits"),
    [
        ("MRPC", {"train": 4076, "test": 1725}),
        ("SICKEntailment", {"train": 4500, "dev": 500, "test": 4927}),
        ("SNLI", {"train": 1666, "dev": 9842, "test": 9824}),
    ],
)
def test_labelled_pairs_have_their_counts(
    data_root: Path, name: str, splits: dict[str, int]
) -> None:
    """No line is lost or split."""
    data = Catalog(data_root).load(name)
    assert isinstance(data, LabelledPairs)
    assert Counter(data.splits) == splits
    assert len(set(data.sentences)) == len(data.sentences)
