"""Probing files in a data folder or given as a table, and SentEval's labelled pairs."""

import gzip
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine import tasks
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.tables import preview, read

RAW = b"tr\tNN\tthe dog barks\ntr\tNNS\tdogs bark\nva\tNN\tone cat\nte\tNNS\tcats\n"


def test_official_files_come_before_stand_ins(tmp_path: Path) -> None:
    """Both are there under one name; the list says which is read."""
    line = "tr\tNN\tone  two\nva\tNNS\tthree\nte\tNN\tfour\n"
    for file, text, official in (
        ("senteval/probing_derived/subj_number.txt", line, False),
        ("probing/subj_number.txt", line.replace("NNS", "XX"), True),
    ):
        catalog = Catalog(folder.files(tmp_path, {file: text}))
        (info,) = [i for i in catalog.list() if i.name == "SubjNumber"]
        assert ("not the official data" in info.description) != official
    data = catalog.load("SubjNumber")
    assert (data.labels, data.splits) == (["NN", "XX", "NN"], ["train", "dev", "test"])
    assert data.sentences[0] == "one two"


def test_any_file_of_the_format_is_a_task(tmp_path: Path) -> None:
    """Under `probing/` or, by language, under `probing_multilingual/`, packed or not."""
    packed = gzip.compress("tr\t1\tя\nva\t1\t\n".encode())
    files = {"probing/my_probe.txt": "tr\ta\tx\n", "probing_multilingual/ru/voice.txt.gz": packed}
    catalog = Catalog(folder.files(tmp_path, files))
    found = [t.name for t in tasks.available(catalog) if t.type == "probing"]
    assert found == ["probing/my_probe/probe", "probing_multilingual/ru/voice/probe"]
    assert tasks.get(found[1], catalog).dataset == "probing_multilingual/ru/voice"
    data = catalog.load("probing_multilingual/ru/voice")
    assert data.sentences == ["я", ""], "a line without a sentence does not give the label away"


@pytest.mark.parametrize("filename", ["x.txt", "x.txt.gz", "x.tsv", "x.tsv.gz"])
def test_the_layout_is_recognised_in_a_table(filename: str, tmp_path: Path) -> None:
    """Split, label and sentence, as the data folder reads the same file."""
    raw = gzip.compress(RAW) if filename.endswith(".gz") else RAW
    look = preview(raw, filename)
    assert (look.kind, look.columns) == ("labels", ("split", "label", "text"))
    folder.files(tmp_path, {"probing/mine.txt": RAW})
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
    texts = {
        "s1": "A  man.\nA man.\n",
        "s2": "Café {}.\nA man.\n",
        "labels": "neutral\nentailment\n",
    }
    splits = ("train", "dev", "test")
    files = {f"{k}.{split}": text.format(split) for k, text in texts.items() for split in splits}
    folder.files(tmp_path / "downstream" / "SNLI", files)
    data = Catalog(tmp_path).load("SNLI")
    assert data.sentences == ["A man.", "CafÃ© train.", "CafÃ© dev.", "CafÃ© test."]
    assert (data.left.tolist(), data.right.tolist()) == ([0] * 6, [1, 0, 2, 0, 3, 0])
    folder.files(tmp_path, {"downstream/SNLI/labels.dev": "neutral\n"})
    with refused("mismatch", "s1.dev has 2", "labels.dev has 1"):
        Catalog(tmp_path).load("SNLI")


def test_sets_that_cannot_be_read_are_listed_apart_and_the_others_with_their_task(
    tmp_path: Path,
) -> None:
    """Those for which there is no reader by their place in the data folder."""
    empty = ("mteb/retrieval/npl", "mteb/classification/mine", "mteb/sts/biosses", "nli/wiki_nli")
    for place in empty:
        (tmp_path / place).mkdir(parents=True)
    files = ("downstream/TREC/train_5500.label", "mteb/classification/banking77/train.csv")
    catalog = Catalog(folder.files(tmp_path, dict.fromkeys(files, "x")))
    unread = {info.name: info for info in catalog.unread()}
    assert set(unread) == set(empty)
    assert "corpus.jsonl" in (unread["mteb/retrieval/npl"].problem or "")
    assert unread["mteb/classification/mine"].tasks == ()
    with refused("wrong-kind", "mteb/retrieval/npl"):
        catalog.load("mteb/retrieval/npl")
    listed = {info.name: info.task for info in catalog.list()}
    tasks_of = {"TREC": "TREC", "banking77": "banking77/classify"}
    assert listed == listed | tasks_of
