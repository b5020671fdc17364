"""Probing files in a data folder or given as a table, and SentEval's labelled pairs."""

from __future__ import annotations

import gzip
from collections import Counter
from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.engine import tasks
from theodolite.engine.datasets import Catalog, LabelledPairs
from theodolite.engine.datasets.tables import preview, read
from theodolite.engine.errors import Code

RAW = b"tr\tNN\tthe dog barks\ntr\tNNS\tdogs bark\nva\tNN\tone cat\nte\tNNS\tcats\n"


def write(path: Path, content: str | bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_official_files_come_before_stand_ins(tmp_path: Path) -> None:
    """Both are there under one name; the list says which is read."""
    line = "tr\tNN\tone  two\nva\tNNS\tthree\nte\tNN\tfour\n"
    write(tmp_path / "senteval" / "probing_derived" / "subj_number.txt", line)
    (info,) = [i for i in Catalog(tmp_path).list() if i.name == "SubjNumber"]
    assert "not the official data" in info.description
    write(tmp_path / "probing" / "subj_number.txt", line.replace("NNS", "XX"))
    catalog = Catalog(tmp_path)
    (info,) = [i for i in catalog.list() if i.name == "SubjNumber"]
    assert "stand-in" not in info.description
    data = catalog.load("SubjNumber")
    assert data.labels == ["NN", "XX", "NN"]
    assert data.splits == ["train", "dev", "test"]
    assert data.sentences[0] == "one two"


def test_any_file_of_the_format_is_a_task(tmp_path: Path) -> None:
    """Under `probing/` or, by language, under `probing_multilingual/`, packed or not."""
    write(tmp_path / "probing" / "my_probe.txt", "tr\ta\tx\n")
    packed = gzip.compress("tr\t1\tя\nva\t1\t\n".encode())
    write(tmp_path / "probing_multilingual" / "ru" / "voice.txt.gz", packed)
    catalog = Catalog(tmp_path)
    found = [t.name for t in tasks.available(catalog) if t.type == "probing"]
    assert found == ["probing/my_probe/probe", "probing_multilingual/ru/voice/probe"]
    assert tasks.get(found[1], catalog).dataset == "probing_multilingual/ru/voice"
    data = catalog.load("probing_multilingual/ru/voice")
    assert data.sentences == ["я", ""], "a line without a sentence does not give the label away"


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("tr\ta\tx\ntest\ta\ty\n", "damaged", "probing/tree_depth.txt, line 2 begins with 'test'"),
        ("tr\ta\tx\n\n", "damaged", "line 2 begins with ''"),
        ("tr\ta x\n", "damaged", "line 1"),
        ("tr\ta\tx\nva\t \ty\n", "missing", "line 2"),
        ("", "missing", "tree_depth.txt"),
    ],
)
def test_bad_probing_files(tmp_path: Path, text: str, code: Code, named: str) -> None:
    write(tmp_path / "probing" / "tree_depth.txt", text)
    with refused(code, named):
        Catalog(tmp_path).load("Depth")


@pytest.mark.parametrize("filename", ["x.txt", "x.txt.gz", "x.tsv", "x.tsv.gz"])
def test_the_layout_is_recognised_in_a_table(filename: str, tmp_path: Path) -> None:
    """Split, label and sentence, as the data folder reads the same file."""
    raw = gzip.compress(RAW) if filename.endswith(".gz") else RAW
    look = preview(raw, filename)
    assert (look.kind, look.columns) == ("labels", ("split", "label", "text"))
    write(tmp_path / "probing" / "mine.txt", RAW)
    assert read(raw, filename, look.mapping).hash == Catalog(tmp_path).load("probing/mine").hash
    if filename == "x.txt":
        longer = RAW + b"te\tNN\n"
        assert "line 5 (2)" in preview(longer, filename).problems[0]
        with refused("damaged", "line 5 (2)"):
            read(longer, filename, look.mapping)


@pytest.mark.parametrize("line", ["tr is a mark\n", "tr\tone tab\n", "train\ta\tb\n"])
def test_other_text_stays_lines(line: str) -> None:
    """Two tabs and a mark of a split are needed."""
    assert preview(line.encode() * 2, "x.txt").columns == ("text",)


def test_pairs_point_at_distinct_sentences(tmp_path: Path) -> None:
    """A premise that comes back is one sentence; latin-1 as in the reference."""
    folder = tmp_path / "downstream" / "SNLI"
    for split in ("train", "dev", "test"):
        write(folder / f"s1.{split}", "A  man.\nA man.\n")
        write(folder / f"s2.{split}", f"Café {split}.\nA man.\n")
        write(folder / f"labels.{split}", "neutral\nentailment\n")
    data = Catalog(tmp_path).load("SNLI")
    assert isinstance(data, LabelledPairs)
    assert data.sentences == ["A man.", "CafÃ© train.", "CafÃ© dev.", "CafÃ© test."]
    assert data.left.tolist() == [0] * 6
    assert data.right.tolist() == [1, 0, 2, 0, 3, 0]
    write(folder / "labels.dev", "neutral\n")
    with refused("mismatch", "s1.dev has 2", "labels.dev has 1"):
        Catalog(tmp_path).load("SNLI")


def test_short_rows_of_mrpc(tmp_path: Path) -> None:
    """Named with their line; the header is no pair."""
    text = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n1\t2\t3\ta b\tc\n0\t4\t5\n"
    for split in ("train", "test"):
        write(tmp_path / "downstream" / "MRPC" / f"msr_paraphrase_{split}.txt", text)
    with refused("damaged", "MRPC/msr_paraphrase_train.txt, line 3"):
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
    assert Counter(data.splits) == splits
    assert len(set(data.sentences)) == len(data.sentences)


def test_sets_that_cannot_be_read_are_listed_apart_and_the_others_with_their_task(
    tmp_path: Path,
) -> None:
    """Those for which there is no reader by their place in the data folder."""
    for place in ("retrieval/npl", "classification/mine", "sts/biosses"):
        (tmp_path / "mteb" / place).mkdir(parents=True)
    (tmp_path / "nli" / "wiki_nli").mkdir(parents=True)
    for file in ("downstream/TREC/train_5500.label", "mteb/classification/banking77/train.csv"):
        write(tmp_path / file, "x")
    unread = {info.name: info for info in Catalog(tmp_path).unread()}
    assert set(unread) == {"mteb/classification/mine", "mteb/retrieval/npl", "nli/wiki_nli"}
    assert "corpus.jsonl" in (unread["mteb/retrieval/npl"].problem or "")
    assert unread["mteb/classification/mine"].tasks == ()
    with refused("wrong-kind", "mteb/retrieval/npl"):
        Catalog(tmp_path).load("mteb/retrieval/npl")
    listed = {info.name: info.task for info in Catalog(tmp_path).list()}
    assert listed["TREC"] == "TREC"
    assert listed["banking77"] == "banking77/classify"
    assert listed["biosses"] == "biosses"
