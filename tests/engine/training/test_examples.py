"""Training data in lines and tables: what becomes an example, what is left out and told."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.errors import refused
from theodolite.engine.datasets import row_file
from theodolite.engine.datasets.catalog import Catalog, Upload
from theodolite.engine.datasets.dialect import Dialect
from theodolite.engine.errors import UserError
from theodolite.engine.training.examples import Examples, open_examples

# --- one sentence a line ----------------------------------------------------------------------


def test_each_line_of_a_text_file_is_an_example(tmp_path):
    examples = opened(written(tmp_path, "a.txt", "One.\n  Two. \nDrei Übel.\n"))
    assert list(examples) == [("One.",), ("Two.",), ("Drei Übel.",)]
    assert (len(examples), examples.columns, examples.notes) == (3, ("sentence",), ())
    assert [examples[i][0] for i in (2, 0, 1)] == ["Drei Übel.", "One.", "Two."]
    for position in (3, -1):
        with pytest.raises(IndexError):
            examples[position]


def test_empty_lines_are_left_out_and_counted(tmp_path):
    path = written(tmp_path, "a.txt", "One.\n\n \t \u3000\nTwo.\n\n")
    examples = opened(path)
    assert list(examples) == [("One.",), ("Two.",)]
    path = written(tmp_path, "b.txt", "One.\n\nTwo.\nThree.\nFour.\n")
    assert list(opened(path, limit=3)) == [("One.",), ("Two.",), ("Three.",)]
    assert examples.notes == ("3 empty lines were left out.",)


def test_a_mark_of_utf8_windows_lines_and_packing_make_no_difference(tmp_path):
    plain = opened(written(tmp_path, "a.txt", "One.\nTwo.\n"))
    for name, content in (
        ("b.txt", b"\xef\xbb\xbfOne.\r\nTwo.\r\n"),
        ("c.txt.gz", b"One.\nTwo."),
        ("d.txt", b"\n\nOne.\n\nTwo.\n"),
    ):
        other = opened(written(tmp_path, name, content))
        assert list(other) == list(plain)
        assert other.hash == plain.hash


def test_another_sentence_or_another_order_gives_another_hash(tmp_path):
    texts = ("One.\nTwo.\n", "One.\nTwo!\n", "Two.\nOne.\n", "One.Two.\nThree.\n")
    files = [written(tmp_path, f"{i}.txt", text) for i, text in enumerate(texts)]
    assert len({opened(path).hash for path in files}) == len(texts)


def test_a_packed_file_is_unpacked_once_into_the_working_folder(tmp_path):
    path = written(tmp_path, "a.txt.gz", "One.\nTwo.\n")
    opened(path)
    (unpacked,) = (tmp_path / "working").iterdir()
    before = unpacked.stat().st_mtime_ns
    assert list(opened(path)) == [("One.",), ("Two.",)]
    assert unpacked.stat().st_mtime_ns == before


def test_several_at_once_unpack_a_file_once(tmp_path, monkeypatch):
    """As the processes of one training do: one unpacks, the others wait and read the same."""
    plain = "".join(f"this is the sentence with the number {i}\n" for i in range(200_000))
    packed = tmp_path / "packed.txt.gz"
    packed.write_bytes(gzip.compress(plain.encode(), 1))
    opened, opening = [], gzip.open
    monkeypatch.setattr(gzip, "open", lambda path: opened.append(path) or opening(path))
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(
                lambda _: row_file.unpack(packed, tmp_path / "work", Dialect(".txt")), range(4)
            )
        )
    assert len(set(found)) == len(opened) == 1
    assert found[0].read_text() == plain
    assert not list(tmp_path.rglob("*.part"))


def test_memory_holds_offsets_only(tmp_path):
    """100 MB of text, a kilobyte a line: 100,000 offsets take less than a megabyte."""
    path = tmp_path / "large.txt"
    line = ("word " * 204 + "end.\n").encode()
    with path.open("wb") as file:
        for _ in range(100):
            file.write(line * 1000)
    assert path.stat().st_size > 100 * 10**6
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from theodolite.engine.datasets.catalog import Catalog\n"
        "from theodolite.engine.training.examples import open_examples\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "catalog, path = Catalog(), sys.argv[1]\n"
        "before = peak()\n"
        "examples = open_examples(path, 'unsup', catalog, folder=Path('.'))\n"
        "assert len(examples) == 100_000 and examples[99_999][0].endswith('end.')\n"
        "print(peak() - before)\n"
    )
    unit = 1 if sys.platform == "darwin" else 1024
    result = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) * unit < 20 * 10**6


# --- next-sentence ----------------------------------------------------------------------------

_STORY = "A1\nA2\nA3\n\nB1\n\n\nC1\nC2\n"


def test_a_sentence_comes_with_the_one_that_follows_in_its_document(tmp_path):
    examples = opened(written(tmp_path, "a.txt", _STORY), "next-sentence")
    assert list(examples) == [("A1", "A2"), ("A2", "A3"), ("C1", "C2")]
    assert examples.columns == ("sentence", "next_1")
    assert examples.notes == ("3 documents, told apart by empty lines.",)
    joined = opened(written(tmp_path, "b.txt", "A1\nA2\nA3\nB1\nC1\nC2\n"), "next-sentence")
    assert "one document" in joined.notes[0]
    assert joined.hash != examples.hash  # where documents end is part of it


def test_up_to_three_follow(tmp_path):
    path = written(tmp_path, "a.txt", "A1\nA2\nA3\nA4\nA5\n\nC1\nC2\n")
    examples = opened(path, "next-sentence", next_sentences=3)
    assert list(examples) == [
        ("A1", "A2", "A3", "A4"),
        ("A2", "A3", "A4", "A5"),
        ("A3", "A4", "A5"),
        ("A4", "A5"),
        ("C1", "C2"),
    ]


# --- tables -----------------------------------------------------------------------------------

_TRIPLETS = (
    'sent0,sent1,hard_neg\n"A man, old.",Someone.,No one.\n"Two\nlines.","""Yes"", he said.",No.\n'
)
_READ = [("A man, old.", "Someone.", "No one."), ("Two\nlines.", '"Yes", he said.', "No.")]


def test_a_table_in_the_layout_of_simcse_gives_triplets(tmp_path):
    examples = opened(written(tmp_path, "a.csv", _TRIPLETS), "sup")
    assert list(examples) == _READ
    assert examples.columns == ("sent0", "sent1", "hard_neg")
    assert examples[1] == _READ[1]  # found by its offset, the line end in quotes included
    pairs = opened(written(tmp_path, "a.csv", _TRIPLETS), "sup", hard_negatives=False)
    assert list(pairs) == [row[:2] for row in _READ]


def test_the_format_makes_no_difference(tmp_path):
    rows = [("A man, old.", "Someone.", "No one."), ("x", "y", "z")]
    names = ("sent0", "sent1", "hard_neg")
    csv = 'sent0,sent1,hard_neg\n"A man, old.",Someone.,No one.\nx,y,z\n'
    tsv = "".join("\t".join(row) + "\n" for row in (names, *rows))
    jsonl = "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)
    hashes = set()
    for name, content in (
        ("a.csv", csv),
        ("b.csv.gz", csv),
        ("c.csv", csv.replace("\n", "\r\n")),
        ("d.csv", "\ufeff" + csv),
        ("e.csv", csv.replace(",", ";").replace("man; old", "man, old")),
        ("f.tsv", tsv),
        ("g.jsonl", jsonl),
    ):
        examples = opened(written(tmp_path, name, content), "sup")
        assert list(examples) == rows
        hashes.add(examples.hash)
    columns = {
        name: list(column) for name, column in zip(names, zip(*rows, strict=True), strict=True)
    }
    parquet = tmp_path / "h.parquet"
    pq.write_table(pa.table(columns | {"aside": [[1, 2], []]}), parquet)
    for _ in range(2):  # the second time it is unpacked already
        examples = opened(parquet, "sup")
        assert (examples[1], examples[0]) == (rows[1], rows[0])
        hashes.add(examples.hash)
    assert len(hashes) == 1
    assert len(list((tmp_path / "working").glob("*.jsonl"))) == 1


def test_columns_have_other_names_too(tmp_path):
    for name, content in (
        ("a.csv", "anchor;positive;negative\na;b;c\nd;e;f\n"),
        ("b.jsonl", '{"query": "a", "pos": "b", "neg": "c"}\n{"query":"d","pos":"e","neg":"f"}\n'),
        ("c.csv", "x,y,z\na,b,c\nd,e,f\n"),
    ):
        examples = opened(written(tmp_path, name, content), "sup")
        assert list(examples) == [("a", "b", "c"), ("d", "e", "f")]
    assert "by their places" in examples.notes[0]


def test_rows_with_too_little_are_left_out_and_told(tmp_path):
    path = written(tmp_path, "a.csv", "sent0,sent1,hard_neg\na,b,c\n\nd,e\nf,,g\nh,i,j\n,,\n")
    examples = opened(path, "sup")
    assert list(examples) == [("a", "b", "c"), ("h", "i", "j")]
    assert examples.notes == (
        "2 empty lines were left out.",
        "1 row with an empty sentence was left out.",
        "1 row with too few cells was left out (the first on line 4).",
    )


def test_unsupervised_training_takes_each_sentence_of_a_table_once(tmp_path):
    path = written(tmp_path, "a.csv", "sent0,sent1,hard_neg\na,b,c\na,d,b\n")
    examples = opened(path)
    assert list(examples) == [("a",), ("b",), ("c",), ("d",)]
    assert examples.notes == ("2 sentences that came before were left out.",)
    assert list(opened(path, "mlm", limit=3)) == [("a",), ("b",), ("c",)]


@pytest.mark.parametrize(
    ("name", "objective", "content", "code", "named"),
    [
        ("a.csv", "sup", "A sentence.,Another one.\nc,d\n", "ambiguous", "first line"),
        ("a.csv", "sup", "id,kind,left part,right part\n1,2,c,d\n", "ambiguous", "right part"),
        ("a.csv", "sup", "text\na\nb\n", "wrong-kind", "hard_neg"),
        ("a.csv", "sup", "sent0,sent1\n", "too-few", "no example"),
        ("a.csv", "sup", "sent0,sent1\na,b\n", "too-few", "one example"),
        ("a.csv", "sup", 'sent0,sent1\n"a\nb",c\nd,e,f\n', "damaged", "line 4 has 3 cells"),
        ("a.txt", "sup", "One.\nTwo.\n", "wrong-kind", "hard_neg"),
        ("a.txt", "unsup", "\n \n\n", "too-few", "3 empty lines"),
        ("a.txt", "unsup", "Only one.\n", "too-few", "one example"),
        ("a.csv", "next-sentence", "sent0,sent1\na,b\nc,d\n", "wrong-kind", "running text"),
    ],
)
def test_data_that_do_not_fit_the_objective_are_refused(
    tmp_path, name, objective, content, code, named
):
    with refused(code, name, named):
        opened(written(tmp_path, name, content), objective)


def test_single_sentences_in_a_column_will_do_without_pairs(tmp_path):
    for name, content in (
        ("a.csv", "text,label\na,1\nb,2\n"),
        ("b.tsv", "id\tsentence\n1\ta\n2\tb\n"),
    ):
        assert list(opened(written(tmp_path, name, content))) == [("a",), ("b",)]


def opened(path: Path, objective="unsup", **settings) -> Examples:
    """Open a file with the shipped catalog."""
    return open_examples(
        str(path), objective, Catalog(), folder=path.parent / "working", **settings
    )


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file, packed if its name says so."""
    path = folder / name
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path


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
    examples = opened(written(tmp_path, "a.jsonl", _nli_jsonl()), "sup", hard_negatives=False)
    assert list(examples) == [row[:2] for row in _NLI if row[2] == "entailment"]


def test_inference_pairs_without_a_contradiction_make_no_triplet(tmp_path):
    path = written(tmp_path, "a.tsv", "premise\thypothesis\tlabel\nP\tF\te\nQ\tG\te\n")
    with refused("too-few", "a.tsv"):
        opened(path, "sup")
    assert list(opened(path, "sup", hard_negatives=False)) == [("P", "F"), ("Q", "G")]


def test_another_label_is_refused_with_its_line(tmp_path):
    path = written(tmp_path, "a.tsv", "premise\thypothesis\tlabel\nP\tF\te\nQ\tG\tperhaps\n")
    with refused("invalid", "line 3", "'perhaps'"):
        opened(path, "sup")


def test_fields_that_nobody_asked_for_may_hold_anything(tmp_path):
    rows = [
        {"annotator_labels": ["x"], "sentence1": p, "sentence2": h, "gold_label": y}
        for p, h, y in _NLI
    ]
    path = written(tmp_path, "a.jsonl", "\n".join(map(json.dumps, rows)))
    assert len(opened(path, "sup")) == 3


# --- graded pairs -----------------------------------------------------------------------------


def test_graded_pairs_count_from_four_fifths_of_the_scale(tmp_path):
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
        ("a.txt", "One.\nDéjà.\n".encode("latin-1"), "line 2, byte 2 .*0xE9.*ISO-8859-1"),
        ("a.txt", "One.\nTwo.\n".encode("utf-16-le"), "NUL byte"),
        ("a.txt", b"word " * 300_000, "megabyte"),
        ("a.csv", b'sent0,sent1\n"' + b"a,b\n" * 400_000, "megabyte|quote"),
        ("a.csv", b'sent0,sent1\na,b\n"c,d\n', "quote|line 3"),
        ("a.txt", gzip.compress(b"One.\nTwo.\n", mtime=0), "gzip"),
        ("a.doc", b"One.\nTwo.\n", "format"),
        ("a.jsonl", b'{"text": "a"}\n{"text": \n', "line 2"),
        ("a.jsonl", b'{"text": "a"}\n["b"]\n', "line 2.*list"),
        ("a.jsonl", b'{"text": "a"}\n{"text": ["b"]}\n', "line 2.*'text'.*list"),
        ("a.jsonl", b'{"text": "a"}\n{"text": "\\ud800"}\n', "surrogate"),
    ],
)
def test_what_cannot_be_read_is_refused(tmp_path, name, content, message):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(UserError, match=message):
        opened(path)


def test_a_broken_or_mislabelled_archive_is_refused_and_leaves_nothing(tmp_path):
    whole = gzip.compress(b"One.\nTwo.\n" * 1000)
    for content, message in (
        (whole[:-20], "complete"),
        (b"One.\n", "should be"),
    ):
        path = tmp_path / "a.txt.gz"
        path.write_bytes(content)
        with pytest.raises(UserError, match=f"{message}.*gzip"):
            opened(path)
    assert list((tmp_path / "working").glob("*")) == []


def test_a_missing_file_and_an_unknown_name_are_told_apart(tmp_path, catalog):
    with pytest.raises(UserError, match=r"no file.*missing\.txt"):
        opened(tmp_path / "missing.txt")
    with pytest.raises(UserError, match=r"data set.*'missing'"):
        open_examples("missing", "unsup", catalog, folder=tmp_path)


# --- data sets --------------------------------------------------------------------------------


def test_the_starter_set_works_out_of_the_box(tmp_path, catalog):
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
    with refused("wrong-kind", "banking77"):
        size("banking77", "sup")


@pytest.mark.data
def test_files_of_the_data_folder(data_root, tmp_path):
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
