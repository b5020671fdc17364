"""Training data in lines and tables: what becomes an example, what is left out and told."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.engine.training.example_files import opened, written
from theodolite.engine.datasets import row_file
from theodolite.engine.datasets.dialect import Dialect
from theodolite.engine.errors import UserError
from theodolite.engine.training.examples import open_examples

# --- one sentence a line ----------------------------------------------------------------------


def test_each_line_of_a_text_file_is_an_example(tmp_path):
    """Each line of a text file is an example."""
    examples = opened(written(tmp_path, "a.txt", "One.\n  Two. \nDrei Übel.\n"))
    assert list(examples) == [("One.",), ("Two.",), ("Drei Übel.",)]
    assert (len(examples), examples.columns, examples.notes) == (3, ("sentence",), ())


def test_examples_are_found_by_number_in_any_order(tmp_path):
    """Examples are found by number in any order."""
    sentences = [f"Sentence number {i}." for i in range(500)]
    examples = opened(written(tmp_path, "a.txt", "\n".join(sentences)))
    order = np.random.default_rng(0).permutation(500)
    assert [examples[i] for i in order] == [(sentences[i],) for i in order]


def test_a_number_outside_is_no_example(tmp_path):
    """A number outside is no example."""
    examples = opened(written(tmp_path, "a.txt", "One.\nTwo.\n"))
    for position in (2, -1):
        with pytest.raises(IndexError):
            examples[position]


def test_empty_lines_are_left_out_and_counted(tmp_path):
    """Empty lines are left out and counted."""
    examples = opened(written(tmp_path, "a.txt", "One.\n\n \t \u3000\nTwo.\n\n"))
    assert list(examples) == [("One.",), ("Two.",)]
    assert examples.notes == ("3 empty lines were left out.",)


def test_a_mark_of_utf8_windows_lines_and_packing_make_no_difference(tmp_path):
    """A mark of utf8 windows lines and packing make no difference."""
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
    """Another sentence or another order gives another hash."""
    texts = ("One.\nTwo.\n", "One.\nTwo!\n", "Two.\nOne.\n", "One.Two.\nThree.\n")
    files = [written(tmp_path, f"{i}.txt", text) for i, text in enumerate(texts)]
    assert len({opened(path).hash for path in files}) == len(texts)


def test_a_packed_file_is_unpacked_once_into_the_working_folder(tmp_path):
    """A packed file is unpacked once into the working folder."""
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


def test_a_limit_keeps_the_first(tmp_path):
    """A limit keeps the first."""
    path = written(tmp_path, "a.txt", "One.\n\nTwo.\nThree.\nFour.\n")
    assert list(opened(path, limit=3)) == [("One.",), ("Two.",), ("Three.",)]


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
    """A sentence comes with the one that follows in its document."""
    examples = opened(written(tmp_path, "a.txt", _STORY), "next-sentence")
    assert list(examples) == [("A1", "A2"), ("A2", "A3"), ("C1", "C2")]
    assert examples.columns == ("sentence", "next_1")
    assert examples.notes == ("3 documents, told apart by empty lines.",)


def test_up_to_three_follow(tmp_path):
    """Up to three follow."""
    path = written(tmp_path, "a.txt", "A1\nA2\nA3\nA4\nA5\n\nC1\nC2\n")
    examples = opened(path, "next-sentence", next_sentences=3)
    assert list(examples) == [
        ("A1", "A2", "A3", "A4"),
        ("A2", "A3", "A4", "A5"),
        ("A3", "A4", "A5"),
        ("A4", "A5"),
        ("C1", "C2"),
    ]
    assert "one document" in opened(written(tmp_path, "b.txt", "1\n2\n3"), "next-sentence").notes[0]


def test_where_documents_end_is_part_of_the_hash(tmp_path):
    """Where documents end is part of the hash."""
    one = opened(written(tmp_path, "a.txt", "1\n2\n3\n4\n"), "next-sentence")
    two = opened(written(tmp_path, "b.txt", "1\n2\n\n3\n4\n"), "next-sentence")
    assert one.hash != two.hash


def test_next_sentences_need_running_text(tmp_path, catalog):
    """Next sentences need running text."""
    table = written(tmp_path, "a.csv", "sent0,sent1\na,b\nc,d\n")
    for name in (str(table), "starter"):
        with pytest.raises(UserError, match="running text"):
            open_examples(name, "next-sentence", catalog, folder=tmp_path)


# --- tables -----------------------------------------------------------------------------------

_TRIPLETS = (
    'sent0,sent1,hard_neg\n"A man, old.",Someone.,No one.\n"Two\nlines.","""Yes"", he said.",No.\n'
)
_READ = [("A man, old.", "Someone.", "No one."), ("Two\nlines.", '"Yes", he said.', "No.")]


def test_a_table_in_the_layout_of_simcse_gives_triplets(tmp_path):
    """A table in the layout of simcse gives triplets."""
    examples = opened(written(tmp_path, "a.csv", _TRIPLETS), "sup")
    assert list(examples) == _READ
    assert examples.columns == ("sent0", "sent1", "hard_neg")
    assert examples[1] == _READ[1]  # found by its offset, the line end in quotes included


def test_hard_negatives_can_be_left_aside(tmp_path):
    """Hard negatives can be left aside."""
    examples = opened(written(tmp_path, "a.csv", _TRIPLETS), "sup", hard_negatives=False)
    assert list(examples) == [row[:2] for row in _READ]


def test_the_format_makes_no_difference(tmp_path):
    """The format makes no difference."""
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
    """Columns have other names too."""
    for name, content in (
        ("a.csv", "anchor;positive;negative\na;b;c\nd;e;f\n"),
        ("b.jsonl", '{"query": "a", "pos": "b", "neg": "c"}\n{"query":"d","pos":"e","neg":"f"}\n'),
        ("c.csv", "x,y,z\na,b,c\nd,e,f\n"),
    ):
        examples = opened(written(tmp_path, name, content), "sup")
        assert list(examples) == [("a", "b", "c"), ("d", "e", "f")]
    assert "by their places" in examples.notes[0]


def test_rows_with_too_little_are_left_out_and_told(tmp_path):
    """Rows with too little are left out and told."""
    path = written(tmp_path, "a.csv", "sent0,sent1,hard_neg\na,b,c\n\nd,e\nf,,g\nh,i,j\n,,\n")
    examples = opened(path, "sup")
    assert list(examples) == [("a", "b", "c"), ("h", "i", "j")]
    assert examples.notes == (
        "2 empty lines were left out.",
        "1 row with an empty sentence was left out.",
        "1 row with too few cells was left out (the first on line 4).",
    )


def test_a_row_with_too_many_cells_is_refused_with_its_line(tmp_path):
    """A row with too many cells is refused with its line."""
    path = written(tmp_path, "a.csv", 'sent0,sent1\n"a\nb",c\nd,e,f\n')
    with pytest.raises(UserError, match=r"a\.csv, line 4 has 3 cells.*2 columns \(sent0, sent1\)"):
        opened(path, "sup")


def test_unsupervised_training_takes_each_sentence_of_a_table_once(tmp_path):
    """Unsupervised training takes each sentence of a table once."""
    path = written(tmp_path, "a.csv", "sent0,sent1,hard_neg\na,b,c\na,d,b\n")
    examples = opened(path)
    assert list(examples) == [("a",), ("b",), ("c",), ("d",)]
    assert examples.notes == ("2 sentences that came before were left out.",)
    assert list(opened(path, "mlm", limit=3)) == [("a",), ("b",), ("c",)]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("A sentence.,Another one.\nc,d\n", "holds sentences, not the names"),
        ("id,kind,left part,right part\n1,2,c,d\n", "none tells what it is"),
        ('sent0,sent1\na,b\n"c,d\n', "broken quote|too few|line 3"),
        ("text\na\nb\n", "needs pairs"),
        ("sent0,sent1\n", "no example"),
        ("sent0,sent1\na,b\n", "one example"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(tmp_path, content, message):
    """A table that does not fit is refused."""
    with pytest.raises(UserError, match=message):
        opened(written(tmp_path, "a.csv", content), "sup")


def test_single_sentences_in_a_column_will_do_without_pairs(tmp_path):
    """Single sentences in a column will do without pairs."""
    for name, content in (
        ("a.csv", "text,label\na,1\nb,2\n"),
        ("b.tsv", "id\tsentence\n1\ta\n2\tb\n"),
    ):
        assert list(opened(written(tmp_path, name, content))) == [("a",), ("b",)]
