"""Training data in lines and tables: what becomes an example, what is left out and told."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import openpyxl
import pyarrow as pa
import pytest
from datasets import Dataset, DatasetDict
from pyarrow import feather

from tests.engine.datasets.test_catalog import Uploads
from tests.errors import refused
from tests.fakes.folder import files as write_files, parquet
from theodolite.engine.datasets.catalog import Catalog, Upload
from theodolite.engine.datasets.conversion import convert
from theodolite.engine.datasets.parquet import ParquetFile
from theodolite.engine.datasets.tables import preview
from theodolite.engine.training.examples import (
    Examples,
    absolute,
    examples_of,
    names_of,
    open_examples,
)
from theodolite.engine.training.spec import TrainSpec


def opened(path: Path, objective="unsup", **settings) -> Examples:
    """Open a file with the shipped catalog."""
    return open_examples(
        str(path), objective, Catalog(), folder=path.parent / "working", **settings
    )


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file, text packed if its name says so."""
    raw = content.encode() if isinstance(content, str) else content
    packed = isinstance(content, str) and name.endswith(".gz")
    return write_files(folder, {name: gzip.compress(raw) if packed else raw}) / name


def jsonl(names, rows) -> str:
    """An object a line."""
    return "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows)


def tsv(*rows) -> str:
    """Cells between tabs."""
    return "".join("\t".join(map(str, row)) + "\n" for row in rows)


def short(value: object) -> str:
    """The name of a case in the names of tests."""
    return value if isinstance(value, str) and len(value) < 25 and "\n" not in value else ""


COLUMNS = {
    "unsup": ("sentence",),
    "mlm": ("sentence",),
    "sup": ("sent0", "sent1", "hard_neg"),
    "next-sentence": ("sentence", "next_1", "next_2", "next_3"),
}
_TRIPLETS = (
    'sent0,sent1,hard_neg\n"A man, old.",Someone.,No one.\n"Two\nlines.","""Yes"", he said.",No.\n'
)
_READ = [("A man, old.", "Someone.", "No one."), ("Two\nlines.", '"Yes", he said.', "No.")]
_GRADED = [("sentence1", "sentence2", "score")] + [
    (f"a{i}", f"b{i}", score) for i, score in enumerate((0, 3.9, 4, 5, 2.5))
]
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
_OF_NLI = [
    ("P", "P follows.", "P is not."),
    ("P", "P follows too.", "P never is."),
    ("P", "P follows again.", "P is not."),
]
_NLI_NAMES = ("sentence1", "sentence2", "gold_label")
_NUMBERS = {"entailment": 0, "neutral": 1, "contradiction": 2, "-": -1}


@pytest.mark.parametrize(
    ("name", "content", "objective", "settings", "rows", "told"),
    [
        (
            "lines.txt",
            "One.\n  Two. \nDrei Übel.\n",
            "unsup",
            {},
            [("One.",), ("Two.",), ("Drei Übel.",)],
            [],
        ),
        (
            "empty.txt",
            "One.\n\n \t \u3000\nTwo.\n\n",
            "unsup",
            {},
            [("One.",), ("Two.",)],
            ["3 empty lines"],
        ),
        (
            "limit.txt",
            "One.\n\nTwo.\nThree.\nFour.\n",
            "unsup",
            {"limit": 3},
            [("One.",), ("Two.",), ("Three.",)],
            ["1 empty line "],
        ),
        (
            "documents.txt",
            "A1\nA2\nA3\n\nB1\n\n\nC1\nC2\n",
            "next-sentence",
            {},
            [("A1", "A2"), ("A2", "A3"), ("C1", "C2")],
            ["3 documents"],
        ),
        (
            "document.txt",
            "A1\nA2\nA3\n",
            "next-sentence",
            {},
            [("A1", "A2"), ("A2", "A3")],
            ["one document"],
        ),
        (
            "three-follow.txt",
            "A1\nA2\nA3\nA4\nA5\n\nC1\nC2\n",
            "next-sentence",
            {"next_sentences": 3},
            [
                ("A1", "A2", "A3", "A4"),
                ("A2", "A3", "A4", "A5"),
                ("A3", "A4", "A5"),
                ("A4", "A5"),
                ("C1", "C2"),
            ],
            ["2 documents"],
        ),
        ("triplets.csv", _TRIPLETS, "sup", {}, _READ, []),
        (
            "pairs.csv",
            _TRIPLETS,
            "sup",
            {"hard_negatives": False},
            [row[:2] for row in _READ],
            [],
        ),
        (
            "other-names.csv",
            "anchor;positive;negative\na;b;c\nd;e;f\n",
            "sup",
            {},
            [("a", "b", "c"), ("d", "e", "f")],
            [],
        ),
        (
            "other-names.jsonl",
            '{"query": "a", "pos": "b", "neg": "c"}\n{"query":"d","pos":"e","neg":"f"}\n',
            "sup",
            {},
            [("a", "b", "c"), ("d", "e", "f")],
            [],
        ),
        (
            "by-place.csv",
            "x,y,z\na,b,c\nd,e,f\n",
            "sup",
            {},
            [("a", "b", "c"), ("d", "e", "f")],
            ["by their places"],
        ),
        (
            "too-little.csv",
            "sent0,sent1,hard_neg\na,b,c\n\nd,e\nf,,g\nh,i,j\n,,\n",
            "sup",
            {},
            [("a", "b", "c"), ("h", "i", "j")],
            ["1 row with an empty sentence", "line 4"],
        ),
        (
            "once.csv",
            "sent0,sent1,hard_neg\na,b,c\na,d,b\n",
            "unsup",
            {},
            [("a",), ("b",), ("c",), ("d",)],
            ["2 sentences that came before"],
        ),
        (
            "first.csv",
            "sent0,sent1,hard_neg\na,b,c\na,d,b\n",
            "mlm",
            {"limit": 3},
            [("a",), ("b",), ("c",)],
            ["2 sentences that came before"],
        ),
        ("column.csv", "text,label\na,1\nb,2\n", "unsup", {}, [("a",), ("b",)], []),
        ("column.tsv", "id\tsentence\n1\ta\n2\tb\n", "unsup", {}, [("a",), ("b",)], []),
        (
            "entailments.jsonl",
            jsonl(_NLI_NAMES, _NLI),
            "sup",
            {"hard_negatives": False},
            [row[:2] for row in _NLI if row[2] == "entailment"],
            ["1 pair without a label"],
        ),
        (
            "letters.jsonl",
            jsonl(_NLI_NAMES, [(p, h, label[0]) for p, h, label in _NLI]),
            "sup",
            {},
            _OF_NLI,
            ["1 pair without a label"],
        ),
        (
            "numbers.jsonl",
            jsonl(_NLI_NAMES, [(p, h, _NUMBERS[label]) for p, h, label in _NLI]),
            "sup",
            {},
            _OF_NLI,
            ["1 pair without a label"],
        ),
        (
            "no-contradiction.tsv",
            "premise\thypothesis\tlabel\nP\tF\te\nQ\tG\te\n",
            "sup",
            {"hard_negatives": False},
            [("P", "F"), ("Q", "G")],
            [],
        ),
        *(  # paraphrases or not: 0 is no entailment
            (
                f"{name}.csv",
                "question1,question2,is_duplicate\na,b,0\nc,d,1\ne,f,0\ng,h,1\n",
                "sup",
                {"hard_negatives": name == "duplicates"},
                [("c", "d"), ("g", "h")],
                ["label 1 count as positives"],
            )
            for name in ("duplicates", "alone")
        ),
        (
            "graded.tsv",
            tsv(*_GRADED),
            "sup",
            {},
            [("a2", "b2"), ("a3", "b3")],
            ["2 of 5 pairs count as positives: graded 4 or more on the scale from 0 to 5"],
        ),
    ],
    ids=short,
)
def test_what_a_file_gives(tmp_path, name, content, objective, settings, rows, told):
    """Examples in their order and each by its number, and notes on what was left out."""
    examples = opened(written(tmp_path, name, content), objective, **settings)
    assert list(examples) == rows
    assert [examples[i] for i in reversed(range(len(examples)))] == rows[::-1]
    assert examples.columns == COLUMNS[objective][: max(map(len, rows))]
    for words, note in zip(told, examples.notes, strict=True):
        assert words in note
    for outside in (len(rows), -1):
        with pytest.raises(IndexError):
            examples[outside]


_ROWS = [("A man, old.", "Someone.", "No one."), ("x", "y", "z")]
_CSV = 'sent0,sent1,hard_neg\n"A man, old.",Someone.,No one.\nx,y,z\n'


@pytest.mark.parametrize(
    ("objective", "rows", "files"),
    [
        (
            "unsup",
            [("One.",), ("Two.",)],
            {
                "a.txt": "One.\nTwo.\n",
                "b.txt": b"\xef\xbb\xbfOne.\r\nTwo.\r\n",
                "c.txt.gz": "One.\nTwo.",
                "d.txt": "\n\nOne.\n\nTwo.\n",
                "e.txt": "One.\nTwo.\n".encode("utf-16-le"),
            },
        ),
        (
            "unsup",
            [("Grüße aus Köln.",), ("Der Hund schläft.",)],
            {
                "a.txt": "Grüße aus Köln.\nDer Hund schläft.\n",
                "b.txt": "Grüße aus Köln.\nDer Hund schläft.\n".encode("latin-1"),
                "c.csv": "text\nGrüße aus Köln.\nDer Hund schläft.\n".encode("utf-16-be"),
                "d.jsonl": jsonl(["text"], [["Grüße aus Köln."], ["Der Hund schläft."]]),
                "e.json": '["Grüße aus Köln.", "Der Hund schläft."]'.encode("cp1252"),
            },
        ),
        (
            "sup",
            _ROWS,
            {
                "a.csv": _CSV,
                "b.csv.gz": _CSV,
                "c.csv": _CSV.replace("\n", "\r\n"),
                "d.csv": "\ufeff" + _CSV,
                "e.csv": _CSV.replace(",", ";").replace("man; old", "man, old"),
                "f.tsv": tsv(COLUMNS["sup"], *_ROWS),
                "g.jsonl": jsonl(COLUMNS["sup"], _ROWS),
                "h.parquet": parquet(
                    pa.table(
                        {name: [row[i] for row in _ROWS] for i, name in enumerate(COLUMNS["sup"])}
                        | {"aside": [[1, 2], []]}
                    )
                ),
            },
        ),
        (
            "sup",
            _OF_NLI,
            {
                "a.jsonl": jsonl(("premise", "hypothesis", "label"), _NLI),
                "b.tsv": tsv(("id", *_NLI_NAMES), *((i, *row) for i, row in enumerate(_NLI))),
                "c.jsonl.gz": jsonl(_NLI_NAMES, _NLI),
                # Fields that nobody asked for may hold anything.
                "d.jsonl": jsonl(("aside", *_NLI_NAMES), [(["x"], *row) for row in _NLI]),
            },
        ),
    ],
    ids=["lines", "encodings", "triplets", "inference"],
)
def test_the_format_makes_no_difference(tmp_path, objective, rows, files):
    paths = [written(tmp_path, name, content) for name, content in files.items()]
    examples = [opened(path, objective) for path in paths]
    assert [list(each) for each in examples] == [rows] * len(paths)
    assert len({each.hash for each in examples}) == 1


@pytest.mark.parametrize(
    ("objective", "texts"),
    [
        ("unsup", ("One.\nTwo.\n", "One.\nTwo!\n", "Two.\nOne.\n", "One.Two.\nThree.\n")),
        ("next-sentence", ("A1\nA2\nA3\n\nC1\nC2\n", "A1\nA2\nA3\nC1\nC2\n")),
    ],
)
def test_another_sentence_or_another_order_gives_another_hash(tmp_path, objective, texts):
    """Of running text where a document ends, too."""
    files = [written(tmp_path, f"{i}.txt", text) for i, text in enumerate(texts)]
    assert len({opened(path, objective).hash for path in files}) == len(texts)


def test_memory_does_not_hold_the_texts(tmp_path):
    """50 MB of text, a kilobyte a line, is written to a file that is read by number."""
    path = written(tmp_path, "large.txt", ("word " * 204 + "end.\n") * 50_000)
    assert path.stat().st_size > 50 * 10**6
    code = (
        "import resource, sys, pyarrow; from pathlib import Path\n"
        "from theodolite.engine.datasets.catalog import Catalog\n"
        "from theodolite.engine.training.examples import open_examples\n"
        "peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "catalog, path = Catalog(), sys.argv[1]\n"
        "before = peak()\n"
        "examples = open_examples(path, 'unsup', catalog, folder=Path('.'))\n"
        "assert len(examples) == 50_000 and examples[49_999][0].endswith('end.')\n"
        "print(peak() - before)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert int(result.stdout) * (1 if sys.platform == "darwin" else 1024) < 20 * 10**6


_LABELLED = "premise\thypothesis\tlabel\nP\tF\te\nQ\tG\t"


@pytest.mark.parametrize(
    ("name", "objective", "content", "code", "named"),
    [
        ("a.csv", "sup", "A sentence.,x\nb,1\nc,2\n", "ambiguous", ["first line"]),
        ("b.csv", "sup", "id,kind,left part,right part\n1,2,c,d\n", "ambiguous", ["right part"]),
        ("c.csv", "sup", "text\na\nb\n", "wrong-kind", ["hard_neg"]),
        ("d.csv", "sup", "sent0,sent1\n", "too-few", ["no example"]),
        ("e.csv", "sup", "sent0,sent1\na,b\n", "too-few", ["one example"]),
        ("f.csv", "sup", 'sent0,sent1\n"a\nb",c\nd,e,f\n', "damaged", ["line 4 has 3 cells"]),
        ("g.txt", "sup", "One.\nTwo.\n", "wrong-kind", ["hard_neg"]),
        ("h.txt", "unsup", "\n \n\n", "too-few", ["3 empty lines"]),
        ("i.txt", "unsup", "Only one.\n", "too-few", ["one example"]),
        ("j.csv", "next-sentence", "sent0,sent1\na,b\nc,d\n", "wrong-kind", ["running text"]),
        ("k.tsv", "sup", _LABELLED + "e\n", "too-few", []),  # no contradiction, no triplet
        ("l.tsv", "sup", _LABELLED + "perhaps\n", "invalid", ["line 3", "'perhaps'"]),
        ("m.txt", "unsup", "", "missing", []),
        (
            "n.txt",
            "unsup",
            "Été.\nDéjà.\n".encode() + b"\xe9t\xe9",
            "damaged",
            ["line 3, byte 1", "0xE9", "ISO-8859-1"],
        ),
        ("o.txt", "unsup", "One.\nTwo\0.\n", "damaged", ["NUL byte"]),
        ("p.txt", "unsup", "word " * 300_000, "too-large", ["line 1", "megabyte"]),
        ("q.csv", "unsup", 'sent0,sent1\n"' + "a,b\n" * 400_000, "too-large", ["quote"]),
        ("r.csv", "unsup", 'sent0,sent1\na,b\n"c,d\n', "damaged", ["line 3", "quote"]),
        ("s.txt", "unsup", gzip.compress(b"One.\nTwo.\n", mtime=0), "wrong-kind", ["gzip"]),
        ("t.doc", "unsup", "One.\nTwo.\n", "wrong-kind", ["format"]),
        ("u.jsonl", "unsup", '{"text": "a"}\n{"text": \n', "damaged", ["line 2"]),
        ("v.jsonl", "unsup", '{"text": "a"}\n["b"]\n', "damaged", ["line 2", "list"]),
        (
            "w.jsonl",
            "unsup",
            '{"text": "a"}\n{"text": ["b"]}\n',
            "damaged",
            ["line 2", "'text'", "list"],
        ),
        ("x.jsonl", "unsup", '{"text": "a"}\n{"text": "\\ud800"}\n', "damaged", ["surrogate"]),
        (
            "y.txt.gz",
            "unsup",
            gzip.compress(b"One.\nTwo.\n" * 1000, mtime=0)[:-20],
            "damaged",
            ["gzip"],
        ),
        ("z.txt.gz", "unsup", b"One.\n", "wrong-kind", ["gzip"]),
    ],
    ids=short,
)
def test_what_cannot_be_learned_from_is_refused(tmp_path, name, objective, content, code, named):
    """With the file and the line; nothing half unpacked stays."""
    with refused(code, name, *named):
        opened(written(tmp_path, name, content), objective)
    assert not list((tmp_path / "working").glob("*"))
    with refused("no-file", "missing.txt"):
        opened(tmp_path / "missing.txt")
    with refused("unknown", "'missing'"):
        open_examples("missing", "unsup", Catalog(), folder=tmp_path)


@pytest.mark.parametrize(
    ("objective", "loss", "prompts", "parts"),
    [
        ("sup", "", "q: | d:", ["q: ", "d: ", "d: "]),
        ("sup", "", "q:", ["q: ", "q: ", "q: "]),
        ("unsup", "", "q: | d:", ["q: "]),
        ("st", "CosineSimilarityLoss", "| d:", ["", "d: ", ""]),  # the score is no sentence
    ],
)
def test_prompts_stand_before_the_sentences_of_each_column(
    tmp_path, catalog, objective, loss, prompts, parts
):
    path = written(tmp_path, "a.csv", "sent0,sent1,hard_neg\na,b,c\nd,e,f\n")
    train = "starter" if loss else str(path)
    spec = TrainSpec(objective, "minilm", train, "x", prompts=prompts, loss=loss or "CoSENTLoss")
    plain = examples_of(spec, catalog, tmp_path)
    for cells, prompted in zip(plain, plain.with_prompts(spec.column_prompts), strict=True):
        assert prompted == tuple(map("".join, zip(parts, cells, strict=True)))


def test_an_upload_is_data_like_any_other(tmp_path):
    path = written(tmp_path, "stored", "question,duplicate,other\na,b,c\nd,,f\ng,h,i\n")
    columns = {"anchor": "question", "positive": "duplicate", "negative": "other"}
    mapping = {"kind": "triplets", "columns": columns, "header": True}
    catalog = Catalog(uploads=Uploads(mine=Upload(path, "mine.csv", mapping)))
    triplets, sentences = (
        open_examples("upload:mine", objective, catalog, folder=tmp_path)
        for objective in ("sup", "unsup")
    )
    assert (list(triplets), triplets.notes) == (
        [("a", "b", "c"), ("g", "h", "i")],
        ("1 row with an empty sentence was left out.",),
    )
    assert {text for (text,) in sentences} == set("abcdfghi")


@pytest.mark.parametrize("ending", ["jsonl", "parquet"])
def test_lists_of_positives_and_hard_negatives(tmp_path: Path, ending: str) -> None:
    """Each of their texts is in an example; other lists are named and left out."""

    def of(columns: dict[str, list], **settings) -> Examples:
        rows = list(zip(*columns.values(), strict=True))
        content = jsonl(columns, rows) if ending == "jsonl" else parquet(pa.table(columns))
        return opened(written(tmp_path, f"{len(columns)}.{ending}", content), "sup", **settings)

    several = {"query": ["a", "c"], "pos": [["b"], ["d", "e"]], "neg": [["f", "g"], ["h"]]}
    triplets = [("a", "b", "f"), ("a", "b", "g"), ("c", "d", "h"), ("c", "e", "h")]
    examples = of(several | {"pos_scores": [[0.5], [1.0, 0.5]]})
    assert list(examples) == triplets
    assert all(map(str.__contains__, examples.notes, ["pos_scores", "2 examples more"]))
    pairs = [("a", "b"), ("c", "d"), ("c", "e")]
    assert list(of(several, hard_negatives=False)) == pairs
    numbered = {"anchor": ["a", "c"], "positive": ["b", "d"]}
    numbered |= {"negative_1": ["f", "h"], "negative_2": ["g", None]}
    assert list(of(numbered)) == [*triplets[:2], ("c", "d", "h")]
    assert list(of(several | {"neg": [[""], []]})) == pairs
    # As sentence-transformers mines them, for encoders and for rerankers.
    rows = [["b", "d"], ["f", "h"], ["g", None]]
    numbered = dict(zip(("answer", "negative_1", "negative_2"), rows, strict=True))
    assert list(of({"question": ["a", "c"]} | numbered)) == [*triplets[:2], ("c", "d", "h")]
    labelled = {"docs": [["b", "f", "g"], ["d", "h"]], "labels": [[1, 0, 0], [1, 0]]}
    assert list(of({"query": ["a", "c"]} | labelled)) == [*triplets[:2], ("c", "d", "h")]
    with refused("missing", "numbers"):
        of({"query_id": [1, 2], "pos_id": [3, 4], "neg_id": [5, 6]})
    passages = [[{"docid": "1", "text": "b"}], [{"docid": "2", "text": "d"}]]
    if ending == "jsonl":
        assert list(of({"query": ["a", "c"], "positive_passages": passages})) == pairs[:2]
    with refused("missing", "pos"):
        of({"pos": several["pos"]})
    assert list(of({"set": [["a", "b"], ["c", "d"], ["c", "e"]]})) == pairs
    with refused("missing", "set", "pairs"):
        of({"set": [["a", "b", "c"], ["d", "e"]]})


def test_an_upload_of_lists_trains_as_its_file_does(tmp_path: Path) -> None:
    """Documents judged 0 are hard negatives, if most queries have some."""
    pairs = [("a", "b"), ("c", "d"), ("c", "e"), ("i", "j")]

    def both(against: list[list[str]], **settings) -> list[Examples]:
        rows = zip("aci", [["b"], ["d", "e"], ["j"]], against, strict=True)
        file = written(tmp_path / "given", "lists.jsonl", jsonl(("query", "pos", "neg"), rows))
        found = convert(file, tmp_path).path
        mapping = preview(found, found.name).mapping.to_dict()
        catalog = Catalog(uploads=Uploads(mine=Upload(found, found.name, mapping)))
        upload = open_examples("upload:mine", "sup", catalog, folder=tmp_path, **settings)
        return [upload, opened(file, "sup", **settings)]

    upload, file = both([["f", "g"], ["h"], []])
    assert list(upload) == list(file) and len(upload) == 4
    assert "1 query without a document judged 0 was left out." in upload.notes
    for examples in both([["f"], ["h"], ["k"]], hard_negatives=False):
        assert list(examples) == pairs
    assert list(both([["f", "g"], [], []])[0]) == pairs


def test_an_upload_of_pairs_trains_as_its_file_does(tmp_path: Path) -> None:
    """Without scores it is read as translations: they too mean the same."""
    file = written(
        tmp_path,
        "pairs.csv",
        "sent0,sent1\nA dog barks loudly,A loud dog\nTwo cats sleep,Cats at rest in the sun\n",
    )
    seen = preview(file, file.name)
    catalog = Catalog(uploads=Uploads(mine=Upload(file, file.name, seen.mapping.to_dict())))
    upload = open_examples("upload:mine", "sup", catalog, folder=tmp_path)
    assert seen.kind == "parallel" and list(upload) == list(opened(file, "sup"))


def test_tables_of_other_programs_are_read_as_they_are(tmp_path: Path) -> None:
    """Excel, Arrow, and what `save_to_disk` wrote: of several splits only the one to train on."""
    triplets = [("a", "b", "c"), ("d", "e", "f"), ("g", "h", "i")]
    table = Dataset.from_dict(dict(zip(COLUMNS["sup"], zip(*triplets, strict=True), strict=True)))
    table.save_to_disk(tmp_path / "saved", num_shards=2)
    DatasetDict(train=table, test=table).save_to_disk(tmp_path / "splits")
    feather.write_feather(table.data.table, tmp_path / "x.feather")
    (book := openpyxl.Workbook()).active.append(COLUMNS["sup"])
    for row in triplets:
        book.active.append(row)
    book.save(tmp_path / "x.xlsx")
    found = {
        name: opened(tmp_path / name, "sup") for name in ("saved", "splits", "x.feather", "x.xlsx")
    }
    for name, examples in found.items():
        assert list(examples) == triplets, name
    assert found["splits"].notes == ("Only its train split is learned from.",)
    assert "The sheet Sheet of x.xlsx was read." in found["x.xlsx"].notes
    assert not list((tmp_path / "working").glob("*"))
    saved = str(tmp_path / "saved")
    assert names_of(f"{saved},starter") == [saved, "starter"] and absolute(saved) == saved
    next((tmp_path / "saved").glob("*.arrow")).write_bytes(b"ARROW1")
    with refused("damaged", "data-"):
        opened(tmp_path / "saved", "sup")


_SAID = [("Ein Satz.", "Noch einer."), ("Fünf.", "Sechs.")]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("lists.jsonl", "".join(f"{json.dumps(row)}\n" for row in _SAID)),
        ("pairs.csv", "Ein Satz.,Noch einer.\nFünf.,Sechs.\n"),
        ("marked.tsv", "Ein Satz.\tNoch einer.\t1\na\tb\t0\nFünf.\tSechs.\t1\n"),
        ("answers.jsonl", jsonl(("id", "question", "answer"), [(1, *_SAID[0]), (2, *_SAID[1])])),
        *(
            (f"{yes}.jsonl", jsonl(names, [(*_SAID[0], yes), ("a", "b", no), (*_SAID[1], yes)]))
            for names, yes, no in [
                (("anchor", "positive", "label"), "True", "False"),
                (("sentence1", "sentence2", "label"), 1.0, 0.0),
                (("sentence1", "sentence2", "label"), 0.9, 0.25),
            ]
        ),
        ("empty.jsonl", jsonl(("x", "y", "z"), [(one, "", other) for one, other in _SAID])),
    ],
    ids=short,
)
def test_pairs_as_people_write_them(tmp_path, name, content):
    """Without a line of names, or with labels of other kinds than those of inference."""
    assert list(opened(written(tmp_path, name, content), "sup")) == _SAID


@pytest.mark.data
def test_sets_and_files_of_the_data_folder(data_root, real, tmp_path):
    """No dev and no test pair; of MRPC the paraphrases of the training part."""

    def examples(name, objective="sup"):
        return open_examples(str(name), objective, real, folder=tmp_path)

    train, _, test = real.load("STSBenchmark").parts.values()
    assert len(examples("STSBenchmark")) == int((train.gold >= 4).sum())
    sentences = {text for (text,) in examples("STSBenchmark", "unsup")}
    assert not sentences & (set(test.left) - set(train.left) - set(train.right))
    assert [len(examples(name)) for name in ("MRPC", "nli")] == [2753, 5996]
    for file in ("cad_snli/train.tsv", "wiki_nli/base_wiki_train.jsonl"):
        assert len(examples(data_root / "nli" / file)) > 500
    with refused("wrong-kind", "banking77"):
        examples("banking77")


def test_of_parquet_only_the_columns_that_are_needed_are_read(tmp_path: Path) -> None:
    """What another column holds, here times that Python has no numbers for, does not matter."""
    texts = ["one", "two", "three", "four"]
    when = pa.array([0, 0, 2**60, 2**60], pa.timestamp("ms"))
    table = pa.table({"when": when, "sent0": texts, "sent1": texts[::-1]})
    path = written(tmp_path, "pairs.parquet", parquet(table, row_group_size=2))
    assert list(opened(path, "sup")) == list(zip(texts, texts[::-1], strict=True))


def test_parquet_cut_off_while_it_is_read(tmp_path: Path) -> None:
    """It is an error, and not the end of the process, as where a mapped file is cut off."""
    table = pa.table({"text": [f"{n} of a few sentences" * 20 for n in range(9000)]})
    raw = parquet(table, row_group_size=3000, compression="none")
    file = written(tmp_path, "long.parquet", raw)
    batches = ParquetFile(file, file.name, bounded=False).batches()
    assert len(next(batches)[0]) == 3000
    os.truncate(file, 1000)
    with refused("damaged", "long.parquet"):
        list(batches)
