"""Training data from elsewhere: inference and graded pairs, data sets, and what is refused."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from tests.engine.training.example_files import opened, written
from theodolite.engine.datasets.catalog import Catalog, Upload
from theodolite.engine.errors import UserError
from theodolite.engine.training.examples import open_examples

# --- inference pairs --------------------------------------------------------------------------

_NLI = [
    ("P", "P follows.", "entailment"),
    ("Q", "Q follows.", "entailment"),
    ("P", "P may be.", "neutral"),
    ("P", "P is not.", "contradiction"),
    ("P", "P follows too.", "entailment"),
    ("R", "R is not.", "contradiction"),
    ("P", "P never is.", "contradiction"),
    ("P", "P follows again.", "entailment"),
    ("Q", "Q, unsure.", "-"),
]


def _nli_jsonl(labels=str) -> str:
    keys = ("premise", "hypothesis", "label")
    return "".join(
        json.dumps(dict(zip(keys, (p, h, labels(y)), strict=True))) + "\n" for p, h, y in _NLI
    )


def _nli_tsv() -> str:
    rows = "".join(f"{i}\t{p}\t{h}\t{y}\n" for i, (p, h, y) in enumerate(_NLI))
    return "id\tsentence1\tsentence2\tgold_label\n" + rows


def test_inference_pairs_become_triplets_of_one_premise(tmp_path):
    """Inference pairs become triplets of one premise."""
    wanted = [
        ("P", "P follows.", "P is not."),
        ("P", "P follows too.", "P never is."),
        ("P", "P follows again.", "P is not."),
    ]
    number = {"entailment": 0, "neutral": 1, "contradiction": 2, "-": -1}
    for name, content in (
        ("a.jsonl", _nli_jsonl()),
        ("b.jsonl", _nli_jsonl(lambda label: label[0])),
        ("c.jsonl", _nli_jsonl(lambda label: number[label])),
        ("d.tsv", _nli_tsv()),
        ("e.jsonl.gz", _nli_jsonl()),
    ):
        examples = opened(written(tmp_path, name, content), "sup")
        assert list(examples) == wanted
        assert examples.notes == ("1 pair without a label was left out.",)


def test_without_hard_negatives_every_entailment_counts(tmp_path):
    """Without hard negatives every entailment counts."""
    examples = opened(written(tmp_path, "a.jsonl", _nli_jsonl()), "sup", hard_negatives=False)
    assert list(examples) == [row[:2] for row in _NLI if row[2] == "entailment"]


def test_inference_pairs_without_a_contradiction_make_no_triplet(tmp_path):
    """Inference pairs without a contradiction make no triplet."""
    path = written(tmp_path, "a.tsv", "premise\thypothesis\tlabel\nP\tF\te\nQ\tG\te\n")
    with pytest.raises(UserError, match="both an entailment and a contradiction"):
        opened(path, "sup")
    assert list(opened(path, "sup", hard_negatives=False)) == [("P", "F"), ("Q", "G")]


def test_another_label_is_refused_with_its_line(tmp_path):
    """Another label is refused with its line."""
    path = written(tmp_path, "a.tsv", "premise\thypothesis\tlabel\nP\tF\te\nQ\tG\tperhaps\n")
    with pytest.raises(UserError, match=r"line 3: the label 'perhaps'"):
        opened(path, "sup")


def test_fields_that_nobody_asked_for_may_hold_anything(tmp_path):
    """Fields that nobody asked for may hold anything."""
    rows = [
        {"annotator_labels": ["x"], "sentence1": p, "sentence2": h, "gold_label": y}
        for p, h, y in _NLI
    ]
    path = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert len(opened(path, "sup")) == 3


# --- graded pairs -----------------------------------------------------------------------------


def test_graded_pairs_count_from_four_fifths_of_the_scale(tmp_path):
    """Graded pairs count from four fifths of the scale."""
    rows = "".join(f"a{i}\tb{i}\t{score}\n" for i, score in enumerate((0, 3.9, 4, 5, 2.5)))
    examples = opened(written(tmp_path, "a.tsv", "sentence1\tsentence2\tscore\n" + rows), "sup")
    assert list(examples) == [("a2", "b2"), ("a3", "b3")]
    assert "2 of 5 pairs" in examples.notes[0]
    assert "4 or more on the scale from 0 to 5" in examples.notes[0]


# --- files that are none ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"", "is empty"),
        ("a.txt", b"\n \n\n", "no example.*3 empty lines"),
        ("a.txt", b"Only one.\n", "one example"),
        ("a.txt", "One.\nDéjà.\n".encode("latin-1"), "line 2, byte 2 .*0xE9.*ISO-8859-1"),
        ("a.txt", "One.\nTwo.\n".encode("utf-16-le"), "NUL byte"),
        ("a.txt", b"word " * 300_000, "longer than a megabyte"),
        ("a.csv", b'sent0,sent1\n"' + b"a,b\n" * 400_000, "longer than a megabyte|broken quote"),
        ("a.txt", gzip.compress(b"One.\nTwo.\n", mtime=0), "first bytes are those of a gzip file"),
        ("a.doc", b"One.\nTwo.\n", "not in a known format"),
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', "line 2 is not JSON"),
        ("a.jsonl", b'{"text": "a"}\n["b"]\n', "line 2 holds a JSON list"),
        ("a.jsonl", b'{"text": "a"}\n{"text": ["b"]}\n', "line 2: 'text' is a JSON list"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\\ud800"}\n', "unpaired surrogate"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, name, content, message):
    """What cannot be read is refused."""
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        opened(path)


def test_a_broken_or_mislabelled_archive_is_refused_and_leaves_nothing(tmp_path):
    """A broken or mislabelled archive is refused and leaves nothing."""
    whole = gzip.compress(b"One.\nTwo.\n" * 1000)
    for content, message in (
        (whole[:-20], "not a complete gzip"),
        (b"One.\n", "should be a gzip"),
    ):
        path = tmp_path / "a.txt.gz"
        path.write_bytes(content)
        with pytest.raises(UserError, match=message):
            opened(path)
    assert list((tmp_path / "working").glob("*")) == []


def test_a_text_file_has_no_pairs(tmp_path):
    """A text file has no pairs."""
    with pytest.raises(UserError, match="needs pairs of sentences"):
        opened(written(tmp_path, "a.txt", "One.\nTwo.\n"), "sup")


def test_a_missing_file_and_an_unknown_name_are_told_apart(tmp_path, catalog):
    """A missing file and an unknown name are told apart."""
    with pytest.raises(UserError, match="There is no file"):
        opened(tmp_path / "missing.txt")
    with pytest.raises(UserError, match="no data set named 'missing'"):
        open_examples("missing", "unsup", catalog, folder=tmp_path)


# --- data sets --------------------------------------------------------------------------------


def test_the_starter_set_works_out_of_the_box(tmp_path, catalog):
    """The starter set works out of the box."""
    for objective in ("unsup", "mlm"):
        examples = open_examples("starter", objective, catalog, folder=tmp_path)
        assert len(examples) == len(catalog.load("starter-topics").sentences)
    pairs = open_examples("starter", "sup", catalog, folder=tmp_path)
    part = catalog.load("starter-pairs").parts["all"]
    assert len(pairs) == int((part.gold >= 4).sum())
    best = int(np.argmax(part.gold))
    assert (part.left[best], part.right[best]) in list(pairs)
    assert "graded 4 or more" in pairs.notes[0]


class _Uploads:
    def __init__(self, **uploads: Upload) -> None:
        self._uploads = uploads

    def names(self):
        return list(self._uploads)

    def get(self, name):
        return self._uploads[name]


def test_an_upload_is_data_like_any_other(tmp_path):
    """An upload is data like any other."""
    path = written(tmp_path, "stored", "question,duplicate,other\na,b,c\nd,,f\ng,h,i\n")
    columns = {"anchor": "question", "positive": "duplicate", "negative": "other"}
    mapping = {"kind": "triplets", "columns": columns, "header": True}
    catalog = Catalog(uploads=_Uploads(mine=Upload(path, "mine.csv", mapping)))
    examples = open_examples("upload:mine", "sup", catalog, folder=tmp_path)
    assert list(examples) == [("a", "b", "c"), ("g", "h", "i")]
    assert examples.notes == ("1 row with an empty sentence was left out.",)
    sentences = open_examples("upload:mine", "unsup", catalog, folder=tmp_path)
    assert {text for (text,) in sentences} == set("abcdfghi")


@pytest.mark.data
def test_sets_of_the_data_folder(data_root, tmp_path):
    """Sets of the data folder."""
    catalog = Catalog(data_root)

    def size(name, objective, **settings):
        return len(open_examples(name, objective, catalog, folder=tmp_path, **settings))

    assert size("nli", "sup") == 5996
    assert size("unlabelled/wiki1m_for_simcse_head", "unsup", limit=5000) == 5000
    train = catalog.load("STSBenchmark").parts["train"]
    assert size("STSBenchmark", "sup") == int((train.gold >= 4).sum())  # no dev, no test pair
    graded = open_examples("STSBenchmark", "unsup", catalog, folder=tmp_path)
    test = catalog.load("STSBenchmark").parts["test"]
    assert not {text for (text,) in graded} & (set(test.left) - set(train.left) - set(train.right))
    assert size("MRPC", "sup") == 2753  # paraphrases of the training part
    with pytest.raises(UserError, match="needs pairs"):
        size("banking77", "sup")


@pytest.mark.data
def test_files_of_the_data_folder(data_root, tmp_path):
    """Files of the data folder."""
    catalog, nli = Catalog(data_root), data_root / "nli"
    mix = open_examples(
        str(data_root / "unlabelled" / "sentences_mix.txt.gz"), "unsup", catalog, folder=tmp_path
    )
    assert len(mix) == 316_033  # as its description says
    file = nli / "triplets" / "nli_triplets_small.csv.gz"
    by_name = open_examples("nli", "sup", catalog, folder=tmp_path)
    by_file = open_examples(str(file), "sup", catalog, folder=tmp_path)
    assert by_file.hash == by_name.hash
    assert list(by_file) == list(by_name)
    for file in (nli / "cad_snli" / "train.tsv", nli / "wiki_nli" / "base_wiki_train.jsonl"):
        triplets = open_examples(str(file), "sup", catalog, folder=tmp_path)
        assert len(triplets) > 500
