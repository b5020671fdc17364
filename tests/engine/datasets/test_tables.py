"""Uploaded tables, as pandas, Excel and others write them: read as meant, or named."""

import csv
import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pytest

from tests.errors import refused
from tests.fakes.folder import files, parquet
from theodolite.engine.corpus.cut import texts_of
from theodolite.engine.datasets import Catalog, formats, limits
from theodolite.engine.datasets.tables import Mapping, labelled_rows, preview, read
from theodolite.engine.training.examples import open_examples

PAIRS = Mapping("pairs", {"left": "sentence1", "right": "sentence2", "score": "score"})
BY_PANDAS: dict[str, Callable[[pd.DataFrame], bytes]] = {
    ".csv": lambda table: table.to_csv(index=False).encode(),
    ".tsv": lambda table: table.to_csv(index=False, sep="\t").encode(),
    ".jsonl": lambda table: table.to_json(orient="records", lines=True).encode(),
    ".json": lambda table: table.to_json().encode(),
    ".parquet": lambda table: table.to_parquet(),
}


@pytest.mark.parametrize(
    ("filename", "raw", "mapping", "expected"),
    [
        (
            "x.csv",
            b"text,label,split\nGood.,1,train\nBad.,0,test\n",
            Mapping("labels", {"text": "text", "label": "label", "split": "split"}),
            {"sentences": ["Good.", "Bad."], "labels": ["1", "0"], "splits": ["train", "test"]},
        ),
        (
            "x.txt",
            b"One.\n\nTwo.\r\n",
            Mapping("sentences", {"text": "text"}),
            {"sentences": ["One.", "Two."]},
        ),
        (
            "x.jsonl",
            b'{"a": "x", "p": "y", "n": "z"}\n',
            Mapping("triplets", {"anchor": "a", "positive": "p", "negative": "n"}),
            {"sentences": ["x", "y", "z"]},
        ),
        (
            "x.jsonl",
            b'{"id": 1, "text": {"title": "x", "body": {"en": "A"}}}\n{"text": {"title": "y"}}\n',
            Mapping("sentences", {"text": "text.title"}),
            {"sentences": ["x", "y"]},
        ),
        (
            "x.json",
            b'[{"id": 1, "text": {"title": "x", "body": {"en": "One."}}}]',
            Mapping("sentences", {"text": "text.body.en"}),
            {"sentences": ["One."]},
        ),
        (
            "x.jsonl",
            b'["One.", ["a"], 0.5]\n\n["Two.", [], 1]\n',
            Mapping("sentences", {"text": "column 1"}),
            {"sentences": ["One.", "Two."]},
        ),
        (
            "x.jsonl",
            b'["text", "label"]\n["One.", 1]\n["Two.", 0]\n',
            Mapping("labels", {"text": "text", "label": "label"}),
            {"sentences": ["One.", "Two."], "labels": ["1", "0"]},
        ),
    ],
)
def test_each_kind_is_read(
    filename: str, raw: bytes, mapping: Mapping, expected: dict[str, list[str]]
) -> None:
    """In the order of the file."""
    data = read(raw, filename, mapping)
    assert {name: getattr(data, name) for name in expected} == expected


def test_a_split_makes_parts_of_pairs() -> None:
    mapping = Mapping("pairs", {"left": "a", "right": "b", "score": "s", "split": "part"})
    parts = read(
        b"a\tb\ts\tpart\nx\ty\t1\tdev\nx\tz\t2\ttest\nx\tw\t3\tdev\n", "x.tsv", mapping
    ).parts
    assert {k: part.gold.tolist() for k, part in parts.items()} == {
        "dev": [1.0, 3.0],
        "test": [2.0],
    }


@pytest.mark.parametrize(
    ("header", "row", "kind", "guesses"),
    [
        ("sentence1,sentence2,score", "A b.,C d.,1", "pairs", ["sentence1", "sentence2", "score"]),
        (
            "sentence1,sentence2,label",
            "A b.,C d.,1.5",
            "pairs",
            ["sentence1", "sentence2", "label"],
        ),
        ("id,s1,s2,similarity", "1,A b.,C d.,1", "pairs", ["s1", "s2", "similarity"]),
        (
            "Sentence A,Sentence B,Gold",
            "A b.,C d.,1",
            "pairs",
            ["Sentence A", "Sentence B", "Gold"],
        ),
        (
            "links,rechts,note",
            "Ein langer Satz.,Zwei lange Sätze.,1.5",
            "pairs",
            ["links", "rechts", "note"],
        ),
        (  # whole numbers may be classes
            "premise,hypothesis,label",
            "A b.,C d.,0",
            "labelled-pairs",
            ["premise", "hypothesis", "label"],
        ),
        ("text,category", "A b.,x", "labels", ["text", "category"]),
        ("id,review,sentiment", "7,A b.,pos", "labels", ["review", "sentiment"]),
        ("text,label", "A b.,1", "labels", ["text", "label"]),
        ("sent0,sent1,hard_neg", "A b.,C d.,E f.", "triplets", ["sent0", "sent1", "hard_neg"]),
        ("anchor,positive,negative", "A.,B.,C.", "triplets", ["anchor", "positive", "negative"]),
        # Quora's pairs, Microsoft's paraphrases, and one of several negatives.
        (
            "id,qid1,qid2,question1,question2,is_duplicate",
            "7,3,9,A b?,C d?,1",
            "labelled-pairs",
            ["question1", "question2", "is_duplicate"],
        ),
        (
            "Quality,#1 ID,#2 ID,#1 String,#2 String",
            "1,7,9,A b.,C d.",
            "labelled-pairs",
            ["#1 String", "#2 String", "Quality"],
        ),
        (
            "anchor,positive,negative_1,negative_2",
            "A.,B.,C.,D.",
            "triplets",
            ["anchor", "positive", "negative_1"],
        ),
        ("caption", "A dog on a lawn.", "sentences", ["caption"]),
        ("query,answer", "Why so?,It is so.", "retrieval", ["query", "answer"]),
        ("anchor,positive", "Why so?,It is so.", "retrieval", ["anchor", "positive"]),
        ("anchor,query", "Why so?,It is so.", "sentences", ["query"]),
        ("id,question,answer", "7,Why so?,It is so.", "retrieval", ["question", "answer"]),
    ],
)
def test_columns_are_guessed(header: str, row: str, kind: str, guesses: list[str]) -> None:
    """From names as data sets have them, else from values."""
    mapping = preview(f"{header}\n{row}\n{row}\n".encode(), "x.csv").mapping
    assert (mapping.kind, list(mapping.columns.values())) == (kind, guesses)


def test_a_file_without_header() -> None:
    """A first line with a number or a sentence in it is data; a person can overrule the guess."""
    raw = b"A cat.,A dog.,2.5\nA hat.,A cap.,4\n"
    look, columns = preview(raw, "x.csv"), ("column 1", "column 2", "column 3")
    assert (look.header, look.kind, look.n_rows, look.columns) == (False, "pairs", 2, columns)
    assert read(raw, "x.csv", look.mapping).parts["all"].gold.tolist() == [2.5, 4.0]
    assert preview(raw, "x.csv", header=True).n_rows == 1
    # STS-B: numbers that are whole are no scores beside others that are not.
    rows = [(f"{n:04}", gold, f"A cat {n}.", f"A dog {n}.") for n, gold in ((4, 2.5), (9, 4))]
    named = "\n".join("\t".join(("main", *map(str, row))) for row in rows).encode()
    assert preview(named, "x.tsv").mapping.columns["score"] == "column 3"
    # AG News has a class, a title and a text of it; MS MARCO a query and two passages.
    for row, found in (
        ("1,Title NO,A long text of number NO in many words", [3, 1]),
        ("what is number NO,This is number NO of all,Something else that is not NO", [1, 2, 3]),
    ):
        assert list(
            preview(
                "\n".join(row.replace("NO", str(i)) for i in range(9)).encode(), "x.csv"
            ).mapping.columns.values()
        ) == [f"column {n}" for n in found]
    # Whether two texts belong together: PAWS' pairs, or passages judged for each query.
    for left, kind, names in (
        ("text NO of all", "labelled-pairs", ("left", "right", "label")),
        ("one query", "retrieval", ("query", "document", "grade")),
    ):
        rows = [f"{left}\tpassage NO in words\t{i % 2}".replace("NO", str(i)) for i in range(9)]
        mapping = preview("\n".join(rows).encode(), "x.tsv").mapping
        assert mapping.kind == kind
        assert mapping.columns == {name: f"column {n}" for n, name in enumerate(names, 1)}
    # Qualtrics writes two lines more: the questions, and its own numbers of them.
    more = 'Name,Answer\n"{""ImportId"":""_recordId""}","{""ImportId"":""QID1""}"\n'
    answers = "".join(f"R{i},The answer {i} of all\n" for i in range(9))
    assert preview(f"ResponseId,Q1\n{more}{answers}".encode(), "x.csv").n_rows == 9
    # Two words above pairs of words may be names or words, which is said.
    look = preview(b"singular,plural\ncat,cats\ndog,dogs\nmouse,mice\n", "x.csv")
    assert (look.columns, "first line" in look.problems[0]) == (("singular", "plural"), True)


@pytest.mark.parametrize(
    ("header", "row", "kind", "found"),
    [
        # Label Studio's CSV, tweets with dates, reviews with an id, links beside a text.
        ("created_at,sentiment,text", "2026-01-0NO,good,The text NO", "labels", "text sentiment"),
        ("tweet_created,text", "2015-02-24 11:3NO,The tweet NO is long", "sentences", "text"),
        ("Text,Score,PairID", "The long text NO,NO.5,p20NO", "sentences", "Text"),
        # A product's id repeats, but is no label; a title stands beside a longer text.
        ("ProductId,Score,Text", "B0NO%2X,NO%2,The long text NO", "labels", "Text Score"),
        (
            "Title,Land,Genre,Plot",
            "Film NO,L NO%2,K NO%2,The plot of film NO",
            "labels",
            "Plot Genre",
        ),
        ("text,url", "The long text NO,https://a.org/NO", "sentences", "text"),
        # Dates of Twitter, a licence beside each sentence, a text with marks in it.
        *(
            ("at,full_text", f"{at},The text NO", "sentences", "full_text")
            for at in ("Wed Oct 1NO 20:19:24 +0000 2018", "Mon Apr 0NO 22:19 PDT 2009", "7 July")
        ),
        ("text,from", "Text NO,CC-BY 2.0 (France) Attribution: x.org #NO", "sentences", "text"),
        ("annot_utt,utt,intent", "up at [time : NO am],up at NO,i NO%2", "labels", "utt intent"),
        ("Tweet,Target,Stance", "The text NO,t NO%2,for NO%2", "labels", "Tweet Stance"),
        ("anchor,target,score", "phrase NO,other NO,0.NO", "pairs", None),
        ("question_text,document_text", "What is NO?,A text NO", "retrieval", None),
        # Pairs by names: QNLI's and ANLI's; a class of two that no name tells.
        ("question,sentence,label", "What NO?,It is NO,NO%2", "labelled-pairs", None),
        ("context,hypothesis,label", "What is NO,It is NO,NO%2", "labelled-pairs", None),
        ("sentence1,sentence2,same", "What is NO,It is NO,NO%2", "labelled-pairs", None),
        # Labels that are grades, and texts named as labels are.
        ("sentence1,sentence2,label", "What is NO,It is NO,NO.5", "pairs", None),
        ("source,target", "One sentence NO here,Ein Satz NO als dieser", "parallel", None),
        # SQuAD's title is no label of its questions.
        ("title,context,question", "A,A long text NO,What is NO?", "retrieval", "question context"),
    ],
)
def test_columns_beside_the_texts_are_told(
    header: str, row: str, kind: str, found: str | None
) -> None:
    rows = [row.replace("NO%2", str(i % 2)).replace("NO", str(i)) for i in range(9)]
    mapping = preview("\n".join([header, *rows]).encode(), "x.csv").mapping
    columns = [*mapping.columns.values()]
    assert (mapping.kind, columns) == (kind, found.split() if found else header.split(","))


def test_rows_without_a_label_are_told_from_the_others() -> None:
    """SNLI's without a majority, the hub's -1, and what an annotator rejected in Prodigy."""
    pairs = Mapping("labelled-pairs", {"left": "a", "right": "b", "label": "label"})
    texts = Mapping("labels", {"text": "a", "label": "label"})
    for labels, mapping, more, without in (
        ("yes no -", pairs, "", 1),
        ("0 1 2 -1", pairs, "", 1),
        ("-1 0 1", pairs, "", 0),  # a scale
        ("yes no -", texts, "", 0),
        ("yes no no", texts, "accept reject ignore", 2),
        ("yes no no", texts, "Paris Rome Bonn", 0),
    ):
        answers = more.split() or [""] * 4
        rows = [f"A text.,Another.,{x},{y}" for x, y in zip(labels.split(), answers, strict=False)]
        file = "\n".join(["a,b,label,answer", *rows]).encode()
        kept, count = labelled_rows(file, "x.csv", mapping)
        assert count == without and len(kept.splitlines()) == (len(rows) - count) * (count > 0)


@pytest.mark.parametrize("name", ["x.txt", "x.txt.gz"])
def test_a_late_letter_tells_the_encoding(name: str, tmp_path: Path) -> None:
    """Beyond what is looked at of a file; told anew when the file changes, and of bytes too."""
    file = tmp_path / name
    for letter in ("ö", "é"):
        raw = ("A plain sentence.\n" * 100_000 + f"{letter}\n").encode("cp1252")
        file.write_bytes(gzip.compress(raw, 0) if name.endswith(".gz") else raw)
        for source in (file, file.read_bytes()):
            *_, (_, last) = formats.open_table(source, name).rows
            assert last == [letter]


def test_json_with_a_list_for_each_split() -> None:
    """Of rows, or of a text and its class, as CLINC has them."""
    mapping = Mapping("labels", {"text": "column 1", "label": "column 2", "split": "split"})
    for cells in (["a b c", "x"], {"column 1": "a b c", "column 2": "x"}):
        raw = json.dumps({split: [cells] * 2 for split in ("train", "val")}).encode()
        assert read(raw, "x.json", mapping).splits == ["train"] * 2 + ["val"] * 2


def test_repeated_names_are_numbered_and_said() -> None:
    raw = "\ufefftext;text;label\na;b;c\nd;e;f\n".encode()
    look = preview(raw, "x.csv")
    assert look.columns == ("text", "text (2)", "label")
    assert any("text" in problem for problem in look.problems)
    mapping = Mapping("labels", {"text": "text (2)", "label": "label"})
    assert read(raw, "x.csv", mapping).sentences == ["b", "e"]
    # A name that a file gives may be one that we would make.
    columns = formats.open_table(b"a,a (2),a,a,a (2)\n1,2,3,4,5\n", "x.csv", header=True).columns
    assert columns == ("a", "a (2)", "a (3)", "a (4)", "a (2) (2)")


BAD_PAIRS = "sentence1,sentence2,score\n" + "a,b,1\n" * 3


@pytest.mark.parametrize(
    ("filename", "raw", "code", "named"),
    [
        (
            "x.csv",
            BAD_PAIRS.replace("a", "ä").encode() + "é,b,1\n".encode("cp1252"),
            "damaged",
            ["line 5", "ISO-8859-1"],
        ),
        (
            "x.csv",
            BAD_PAIRS.replace("a", "ä").encode() + "“é”,b,1\n".encode("cp1252"),
            "damaged",
            ["line 5", "WINDOWS-1252"],
        ),
        ("x.csv", BAD_PAIRS.encode("utf-16")[:-1], "damaged", ["UTF-16"]),
        ("x.csv", BAD_PAIRS.encode() + b"\0", "damaged", ["line 5", "NUL", "UTF-16"]),
        ("x.csv", b"", "missing", []),
        ("x.csv", b"\xef\xbb\xbf", "missing", []),
        ("x.csv", b"sentence1,sentence2,score\n", "missing", []),
        ("x.csv", b"sentence1,sentence2,score\na,b,1\n", "too-few", []),
        (
            "x.csv",
            BAD_PAIRS.encode() + b"a,b\na,b,1,4\n",
            "damaged",
            ["2 bad rows", "line 5 (2)", "line 6 (4)"],
        ),
        (
            "x.csv",
            BAD_PAIRS.encode() + b"a,b,n/a\n" * 7,
            "damaged",
            ["7 bad", "line 5 (n/a)", "and 2 more"],
        ),
        (
            "x.csv",
            BAD_PAIRS.encode() + b"a,b,\na,b,nan\n",
            "damaged",
            ["2 bad", "line 5 ()", "line 6 (nan)"],
        ),
        ("x.csv", BAD_PAIRS.encode() + b'a,"b,1\nc,d,2\n', "damaged", ["begins on line 5"]),
        # Line ends inside quotes are counted: a row is named by the line on which it begins.
        (
            "x.csv",
            b'sentence1,sentence2,score\n"a\nb",c,1\nd,e,many\n',
            "damaged",
            ["line 4 (many)"],
        ),
        # Cut short and not UTF-8: looking for the bad byte must not fail on the cut.
        (
            "x.txt.gz",
            gzip.compress(b"one line of latin-1, caf\xe9 " * 1_000, mtime=0)[:-9],
            "damaged",
            [],
        ),
        ("x.csv", b"text,score\na,1\nb,2\n", "unknown", ["no column 'sentence1'"]),
        ("x.csv", b"PAR1....PAR1", "wrong-kind", ["Parquet"]),
        ("x.csv", b"PK\3\4....", "wrong-kind", ["Excel"]),
        ("x.csv", gzip.compress(b"a", mtime=0), "wrong-kind", ["gzip"]),
        ("x.csv.gz", BAD_PAIRS.encode(), "wrong-kind", ["gzip"]),
        ("x.csv.gz", gzip.compress(BAD_PAIRS.encode() * 99, mtime=0)[:-9], "damaged", ["gzip"]),
        ("x.parquet", BAD_PAIRS.encode(), "wrong-kind", ["Parquet"]),
        ("x.parquet", b"PAR1 nothing PAR1", "damaged", ["Parquet"]),
        ("x.xlsx", b"PK\3\4....", "wrong-kind", ["CSV UTF-8"]),
        ("x.pkl", b"\x80\x04.", "wrong-kind", ["to_csv"]),
        ("noending", b"a", "wrong-kind", []),
        (
            "x.jsonl",
            b'{"sentence1": "a", "sentence2": "b", "score": 1}\n{"sent',
            "damaged",
            ["line 2", "JSON"],
        ),
        (
            "x.jsonl",
            b'{"sentence1": "a", "sentence2": "b", "score": 1}\n["a"]\n',
            "damaged",
            ["line 2"],
        ),
        ("x.jsonl", b"[1, 2]", "wrong-kind", ["JSON list"]),
        (
            "x.jsonl",
            b'{"sentence1": ["a"], "sentence2": ["b"], "score": 1}\n' * 2,
            "damaged",
            ["2 bad rows", "Write each text of a list", "line 1"],
        ),
        ("x.jsonl", b"[" * 100_000, "damaged", ["JSON"]),
    ],
)
def test_bad_files_are_named_with_their_place(
    filename: str, raw: bytes, code: str, named: list[str]
) -> None:
    with refused(code, filename, *named) as caught:
        read(raw, filename, PAIRS)
    assert caught.value.hint


def test_cells_that_are_not_text_are_refused() -> None:
    """A list, no cell at all and half a surrogate pair are no sentences."""
    raw = b'{"text": "fine"}\n{"text": ["a"]}\n{"body": "a"}\n{"text": "\\ud800"}\n'

    assert preview(raw, "x.jsonl").n_rows == 4
    with refused("damaged", "3 bad rows", "line 2", "line 3", "line 4"):
        read(raw, "x.jsonl", Mapping("sentences", {"text": "text"}))


def test_fields_in_fields_are_columns() -> None:
    """As pandas.json_normalize and DuckDB name them; what is left in a list stays one cell."""
    row = {"id": 7, "text": {"title": "T", "body": "A longer text."}, "of": {"tags": ["a"]}}
    shown = preview(f"{json.dumps(row)}\n".encode() * 2, "x.jsonl")

    assert shown.columns == tuple(pd.json_normalize(row).columns)
    assert shown.rows[0] == ["7", "T", "A longer text.", "['a']"]
    assert shown.guesses["text"] == "text.body"


def test_fields_inside_others_are_columns_of_parquet_too() -> None:
    """Missing where what they are in is; the texts of both languages are parallel sentences."""
    pairs = [{"en": "A dog.", "de": "Ein Hund."}, None, {"en": "Rain.", "de": "Regen."}]
    raw = BY_PANDAS[".parquet"](pd.DataFrame({"translation": pairs}))
    shown = preview(raw, "x.parquet")

    assert shown.columns == ("translation.en", "translation.de")
    assert shown.rows[:2] == [["A dog.", "Ein Hund."], ["", ""]]
    (part,) = read(raw, "x.parquet", shown.mapping).parts.values()
    assert (part.left, part.right) == (("A dog.", "", "Rain."), ("Ein Hund.", "", "Regen."))


def test_weights_by_token_remain_one_cell() -> None:
    """A column for each token would be more than a table may have."""
    weights = [{f"{row}-{token}": 1.0 for token in range(50)} for row in range(100)]
    rows = "".join(json.dumps({"text": "A.", "weights": one}) + "\n" for one in weights)

    assert preview(rows.encode(), "x.jsonl").columns == ("text", "weights")


@pytest.mark.parametrize("ending", BY_PANDAS)
def test_a_cell_without_a_value_is_an_empty_sentence(ending: str) -> None:
    """An empty cell in CSV, a null in JSON, a null in Parquet."""
    raw = BY_PANDAS[ending](pd.DataFrame({"text": ["a", None, "c"], "label": ["x", "y", "x"]}))
    look = preview(raw, f"x{ending}")
    assert read(raw, f"x{ending}", look.mapping).sentences == ["a", "", "c"]
    assert look.rows == [["a", "x"], ["", "y"], ["c", "x"]]
    assert look.problems[0].startswith("Empty cells, which count as empty sentences")


@pytest.mark.parametrize("ending", BY_PANDAS)
@pytest.mark.parametrize(
    ("numbers", "labels"),
    [([0.0, 1.0, 1.0], ["0", "1", "1"]), ([0.5, 1.0, 1.5], ["0.5", "1.0", "1.5"])],
)
def test_a_class_that_pandas_wrote_as_a_float_is_the_same_class(
    ending: str, numbers: list[float], labels: list[str]
) -> None:
    """1 and 1.0, where a missing value elsewhere made floats of whole numbers; 1.5 is another."""
    raw = BY_PANDAS[ending](pd.DataFrame({"text": ["a b.", "c d.", "e f."], "label": numbers}))
    mapping = Mapping("labels", {"text": "text", "label": "label"})
    assert read(raw, f"x{ending}", mapping).labels == labels


@pytest.mark.parametrize("missing", ["", "nan", "NaN", "<NA>", "NULL", "#N/A"])
def test_a_missing_label_is_no_class(missing: str) -> None:
    """However pandas wrote it."""
    raw = f"text,label\na,x\nb,{missing}\nc,y\n".encode()
    with refused("damaged", "label", "line 3"):
        read(raw, "x.csv", Mapping("labels", {"text": "text", "label": "label"}))


def test_a_preview_tells_problems_without_failing() -> None:
    """Ragged rows, bad scores and a single row are said before anything is taken in."""
    look = preview(BAD_PAIRS.encode() + b"a,b\nc,d,n/a\n", "x.csv")
    ragged, bad = look.problems
    assert (look.n_rows, "line 5 (2)" in ragged, "line 6 (n/a)" in bad) == (5, True, True)
    again, lists = (
        preview(b"text,label\na,x\ntext,label\nb,y\n", "x.csv"),
        preview(b'{"text": "a", "label": ["x", "y"]}\n' * 2, "x.jsonl"),
    )
    assert (again.n_rows, "names of the columns: line 3" in again.problems[0]) == (3, True)
    assert (lists.kind, "label" in lists.problems[0], "label" in lists.guesses) == (
        *("sentences", True),
        False,
    )
    assert preview(b"text\nOnly.\n", "x.csv").problems == ["There is only one row."]
    mined = b"query,answer,negative_1,negative_2\nWho?,He.,She.,It.\nWhere?,Here.,There.,Up.\n"
    (further,) = preview(mined, "x.csv").problems
    assert "negative_2" in further and "negative_1" not in further
    assert len(preview(BAD_PAIRS.encode() * 20, "x.csv", header=True).rows) == 20


def test_the_size_is_capped_packed_and_unpacked(monkeypatch) -> None:
    """A small archive that unpacks to a huge file is given up on the way."""
    bomb = gzip.compress(b"a line of text\n" * 100_000)
    monkeypatch.setattr(limits, "MAX_BYTES", len(bomb) + 1)

    for filename, raw in (("x.txt", b"a line of text\n" * 1000), ("x.txt.gz", bomb)):
        with refused("too-large", filename):
            read(raw, filename, Mapping("sentences", {"text": "text"}))


@pytest.mark.parametrize(
    ("kind", "columns", "code", "named"),
    [
        ("pairs", {"left": "a", "right": "b"}, "missing", "'score'"),
        ("labels", {"text": "a", "label": ""}, "missing", "'label'"),
        ("sentences", {"text": "a", "score": "b"}, "unknown", "'score'"),
        ("pictures", {"text": "a"}, "unknown", "'pictures'"),
    ],
)
def test_a_mapping_must_be_complete(
    kind: str, columns: dict[str, str], code: str, named: str
) -> None:
    """A missing or unknown role is said at once."""
    with refused(code, named):
        Mapping(kind, columns)


RUNS = (
    r"\b(eval|exec|__import__|import_module)\(|allow_pickle=True|\bpickle\.loads?\("
    r"|\b(import|from) (pickle|_pickle|marshal|shelve)\b"
)


def test_nothing_here_runs_what_a_file_holds() -> None:
    """No module that reads data can unpickle or evaluate."""
    modules = list(Path(formats.__file__).parent.glob("*.py"))
    assert modules and [file.name for file in modules if re.search(RUNS, file.read_text())] == []


# --- files as pandas, Excel, the hub and other programs write them ---


TEXTS = [
    "a small red boat",
    'she said "yes", twice; then left',
    "naïve 日本 🙂",
    "it cost 3,50 | or so",
    "the ship sails on",
    'tab\tand quote " inside',
]
GRADED = pd.DataFrame(
    {
        "satz1": TEXTS,
        "satz2": [text.upper() for text in TEXTS],
        "wertung": [2.8, 0.0, 5.0, 3.25, 1.0, 4.5],
    }
)
LABELLED = pd.DataFrame({"text": TEXTS, "label": ["pos", "neg"] * 3})
CATEGORIES = LABELLED.astype({"label": "category"})

Written = tuple[str, bytes]


def text(
    table: pd.DataFrame, name: str = "x.csv", encoding: str = "utf-8", **options: object
) -> Written:
    """What pandas writes with some options."""
    return name, table.to_csv(**{"index": False, **options}).encode(encoding)


def values(table: pd.DataFrame, orient: str, name: str = "x.json", **options: object) -> Written:
    """What pandas writes as JSON."""
    return name, table.to_json(orient=orient, **options).encode()


def packed(written: Written) -> Written:
    """As gzip leaves it."""
    return f"{written[0]}.gz", gzip.compress(written[1])


def excel(table: pd.DataFrame, lines: str = "\r\n", **options: object) -> str:
    """What Excel writes in Europe, as text."""
    return table.to_csv(index=False, sep=";", decimal=",", lineterminator=lines, **options)


def shuffled(table: pd.DataFrame) -> pd.DataFrame:
    """The rows in the same order, under the numbers that another order had."""
    return table.set_axis([53, 7, 11, 0, 2, 90])


HASH = read(text(GRADED)[1], "x.csv", preview(text(GRADED)[1], "x.csv").mapping).hash
AS_PAIRS: dict[str, Callable[[], Written]] = {
    "comma": lambda: text(GRADED),
    "semicolon": lambda: text(GRADED, sep=";"),
    "tab named csv": lambda: text(GRADED, sep="\t"),
    "bar": lambda: text(GRADED, sep="|"),
    "decimal commas": lambda: text(GRADED, sep=";", decimal=","),
    "decimal commas in quotes": lambda: text(GRADED, decimal=","),
    "byte order mark": lambda: text(GRADED, encoding="utf-8-sig"),
    "utf-16": lambda: text(GRADED, encoding="utf-16"),
    "index": lambda: text(GRADED, index=True),
    "index, shuffled": lambda: text(shuffled(GRADED), index=True),
    "index, written twice": lambda: text(GRADED.reset_index(names="Unnamed: 0"), index=True),
    "index with a name": lambda: text(shuffled(GRADED), index=True, index_label="id"),
    "all in quotes": lambda: text(GRADED, quoting=csv.QUOTE_ALL),
    "text in quotes": lambda: text(GRADED, quoting=csv.QUOTE_NONNUMERIC),
    "escaped, no quotes": lambda: text(GRADED, quoting=csv.QUOTE_NONE, escapechar="\\"),
    "escaped quotes": lambda: text(GRADED, doublequote=False, escapechar="\\"),
    "no header": lambda: text(GRADED, header=False),
    "no header, decimal commas": lambda: text(GRADED, header=False, sep=";", decimal=","),
    "columns without names": lambda: text(GRADED.set_axis([0, 1, 2], axis=1)),
    "columns without names, index": lambda: text(GRADED.set_axis([0, 1, 2], axis=1), index=True),
    "tsv": lambda: text(GRADED, "x.tsv", sep="\t"),
    "tsv, all in quotes": lambda: text(GRADED, "x.tsv", sep="\t", quoting=csv.QUOTE_ALL),
    "tsv named txt": lambda: text(GRADED, "x.txt", sep="\t"),
    "csv named txt": lambda: text(GRADED.set_axis(["s1", "s2", "score"], axis=1), "x.txt"),
    "csv named tsv": lambda: text(GRADED.set_axis(["s1", "s2", "score"], axis=1), "x.tsv"),
    "unicode text of Excel": lambda: text(
        GRADED, "x.txt", "utf-16", sep="\t", lineterminator="\r\n"
    ),
    "csv of Excel": lambda: ("x.csv", excel(GRADED).encode("utf-8-sig")),
    "old Macintosh": lambda: ("x.csv", excel(GRADED, "\r").encode()),
    "separator named": lambda: ("x.csv", ("sep=;\r\n" + excel(GRADED)).encode("utf-8-sig")),
    "a title above": lambda: (
        "x.csv",
        b"Survey;;\n\n" + text(GRADED.set_axis(["s1", "s2", "score"], axis=1), sep=";")[1],
    ),
    "json, under a key of its own": lambda: (
        "x.json",
        json.dumps({"version": 1, "reviews": GRADED.to_dict("records")}).encode(),
    ),
    "empty columns and rows": lambda: (
        "x.csv",
        (excel(GRADED).replace("\r\n", ";;\r\n") + ";;;;\r\n\r\n").encode(),
    ),
    "json records": lambda: values(GRADED, "records"),
    "json records, indented": lambda: values(GRADED, "records", indent=2),
    "json records named jsonl": lambda: values(GRADED, "records", "x.jsonl"),
    "json lines named json": lambda: values(GRADED, "records", lines=True),
    "json columns": lambda: values(GRADED, "columns"),
    "json columns, indented": lambda: values(GRADED, "columns", indent=1),
    "json index": lambda: values(GRADED, "index"),
    "json split": lambda: values(GRADED, "split"),
    "two byte order marks": lambda: text(
        GRADED.rename(columns={"satz1": "\ufeffsatz1"}), encoding="utf-8-sig"
    ),
    "a space after each separator": lambda: (
        "x.csv",
        "\n".join(
            ", ".join('"' + str(cell).replace('"', '""') + '"' for cell in row)
            for row in [GRADED.columns, *GRADED.itertuples(index=False)]
        ).encode(),
    ),
    "comma, packed": lambda: packed(text(GRADED)),
    "json lines": lambda: values(GRADED, "records", "x.jsonl", lines=True),
    "json lines, packed": lambda: packed(values(GRADED, "records", "x.jsonl", lines=True)),
    "parquet": lambda: ("X.PARQUET", GRADED.to_parquet()),
    "json table": lambda: values(GRADED, "table"),
    "json values": lambda: values(GRADED, "values"),
    "json lists": lambda: ("x.json", json.dumps(GRADED.to_dict("list")).encode()),
    "json of the hub's viewer": lambda: (
        "x.json",
        json.dumps(
            {
                "features": [],
                "rows": [
                    {"row_idx": i, "row": row} for i, row in enumerate(GRADED.to_dict("records"))
                ],
            }
        ).encode(),
    ),
}


@pytest.mark.parametrize("made", AS_PAIRS.values(), ids=AS_PAIRS)
def test_pairs_come_out_as_they_went_in(made: Callable[[], Written], tmp_path: Path) -> None:
    """Left, right and score, by the guesses of the preview, in an upload and in training.

    The hash is that of the content, not of the bytes, which may be in memory or in a file.
    """
    filename, raw = made()
    look = preview(raw, filename)
    data = read(raw, filename, look.mapping)
    file = files(tmp_path, {filename: raw}) / filename
    table = formats.open_table(file, filename, bounded=False)  # as training does
    left, right = (table.columns.index(look.mapping.columns[role]) for role in ("left", "right"))

    part = data.parts["all"]
    assert (look.kind, look.n_rows, look.problems) == ("pairs", 6, [])
    assert list(zip(part.left, part.right, part.gold, strict=True)) == [
        *GRADED.itertuples(False, None)
    ]
    pairs = [[row[left].strip(), row[right].strip()] for _, row in table.rows]
    assert pairs == GRADED.iloc[:, :2].to_numpy().tolist()
    assert data.hash == HASH == read(file, filename, look.mapping).hash


AS_LABELS: dict[str, Callable[[], Written]] = {
    "comma": lambda: text(LABELLED),
    "index": lambda: text(LABELLED, index=True),
    "index, shuffled": lambda: text(shuffled(LABELLED), index=True),
    "no header": lambda: text(LABELLED, header=False),
    "tsv without header": lambda: text(LABELLED, "x.tsv", sep="\t", header=False),
    "names with spaces": lambda: text(LABELLED.set_axis([" Text ", "LABEL "], axis=1)),
    "tsv": lambda: text(LABELLED, "x.tsv", sep="\t"),
    "json columns": lambda: values(LABELLED, "columns"),
    "json split": lambda: values(LABELLED, "split"),
    "json index of names": lambda: values(LABELLED.set_axis(list("abcdef")), "index"),
    # Categories are the texts they stand for.
    "parquet": lambda: ("x.parquet", CATEGORIES.to_parquet(index=False)),
    "parquet of the hub": lambda: (
        "x.parquet",
        parquet(
            pa.table({"text": TEXTS, "label": [1, 0] * 3}).replace_schema_metadata(
                {
                    "huggingface": '{"info": {"features": {"label": '
                    '{"names": ["neg", "pos"], "_type": "ClassLabel"}}}}'
                }
            )
        ),
    ),
    "parquet, index, shuffled": lambda: ("x.parquet", shuffled(CATEGORIES).to_parquet(index=True)),
}


@pytest.mark.parametrize("made", AS_LABELS.values(), ids=AS_LABELS)
def test_labels_come_out_as_they_went_in(made: Callable[[], Written], tmp_path: Path) -> None:
    """Text and label, and the same texts in a corpus."""
    filename, raw = made()
    look = preview(raw, filename)
    data = read(raw, filename, look.mapping)
    file = files(tmp_path, {filename: raw}) / filename
    assert (data.sentences, data.labels) == (TEXTS, list(LABELLED.label))
    assert list(texts_of(file, look.mapping.columns["text"])) == TEXTS


BY_EXCEL = b'text\tlabel\r\n"yes, that"\tx\r\nno more\ty\r\n"so, so"\tx\r\nall\ty\r\n'


@pytest.mark.parametrize(
    ("name", "raw", "sentences", "labels"),
    [
        # As in GLUE, whose sentences begin and end with quotes of their own.
        (
            "x.tsv",
            b'text\tlabel\n" he said\tno "quotes"\n"all of it"\tand none\nfive" nails\tx ""',
            ['" he said', '"all of it"', 'five" nails'],
            ['no "quotes"', "and none", 'x ""'],
        ),
        # Excel's text with tabs puts cells with a comma in quotes, and no others.
        *(
            (name, BY_EXCEL, ["yes, that", "no more", "so, so", "all"], ["x", "y"] * 2)
            for name in ("x.tsv", "x.txt")
        ),
    ],
)
def test_quotes_are_removed_where_a_program_put_them(
    name: str, raw: bytes, sentences: list[str], labels: list[str]
) -> None:
    data = read(raw, name, preview(raw, name).mapping)
    assert (data.sentences, data.labels) == (sentences, labels)


@pytest.mark.parametrize("ending", [".tsv", ".csv", ".txt"])
def test_pairs_without_a_header_lose_no_line(ending: str) -> None:
    """Neither names nor punctuation: the first line is as long as the others."""
    words = "red blue ship boat sails sea lake river bird".split()
    left = [" ".join(words[i:] + words[:i]) for i in range(9)]
    raw = "".join(f"{a}\t{b}\n" for a, b in zip(left, left[1:] + left[:1], strict=True)).encode()
    look = preview(raw, f"x{ending}")
    assert (look.header, look.n_rows, look.kind) == (False, 9, "parallel")
    assert look.mapping.columns == {"left": "column 1", "right": "column 2"}


LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a2146\nsize 90868376\n"


@pytest.mark.parametrize(
    ("filename", "raw", "code", "named"),
    [
        ("x.csv", LFS, "wrong-kind", "Git LFS"),
        ("x.txt", LFS, "wrong-kind", "Git LFS"),
        ("x.jsonl", LFS, "wrong-kind", "Git LFS"),
        ("x.parquet", LFS, "wrong-kind", "Git LFS"),
        ("x.csv", b"<!DOCTYPE html><html><title>Sign in</title></html>", "wrong-kind", "web page"),
        ("x.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(99), "wrong-kind", "Excel"),
        ("x.csv", b"SQLite format 3\0" + bytes(99), "wrong-kind", "SQLite"),
        ("x.txt", b"\x80\x04\x95" + bytes(99), "wrong-kind", "pickle"),
        (
            "x.csv",
            "text,label\n今日は良い天気です,良い\n".encode("shift_jis"),
            "damaged",
            "another script",
        ),
        (
            "x.csv",
            "text,label\nсегодня хорошая погода,да\n".encode("cp1251"),
            "damaged",
            "another script",
        ),
        ("x.sqlite", b"", "wrong-kind", "CSV"),
        ("x.sav", b"", "wrong-kind", "pandas"),
        ("judged.txt", b"1 0 d1 1\n1 0 d2 0\n", "wrong-kind", "queries.jsonl"),
        ("run.tsv", b"1\tQ0\td1\t1\t9.5\tbm25\n", "wrong-kind", "queries.jsonl"),
        ("x.qrels", b"q1 0 d1 1\n", "wrong-kind", "qrels"),  # judgements alone are no sentences
        ("x.feather", b"", "wrong-kind", "to_parquet"),
        ("x.csv.bz2", b"", "wrong-kind", "Unpack"),
        ("x.json", b'{"text": "a", "of": {"b": 1}', "damaged", "JSON"),
        ("x.jsonl", b'["a", "b"]\n["a"]\n{"a": 1}\n', "damaged", "line 3"),
        ("x.jsonl", b'["a", "b"]\n["a"\n', "damaged", "line 2"),
        ("x.json", b'{"version": "1", "data": {"a": 1}}\n\n', "wrong-kind", "JSON"),
    ],
)
def test_what_is_no_table_is_named(filename: str, raw: bytes, code: str, named: str) -> None:
    """By what it is, with what to do, wherever files are read."""
    with refused(code, filename, named) as caught:
        preview(raw, filename)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.tsv", "x.jsonl"])
@pytest.mark.parametrize(
    "opened",
    [
        lambda file: list(texts_of(file)),
        lambda file: open_examples(str(file), "unsup", Catalog(), folder=file.parent),
    ],
    ids=["corpus", "training"],
)
def test_a_pointer_is_no_corpus_and_no_training_data(
    name: str, opened: Callable[[Path], object], tmp_path: Path
) -> None:
    with refused("wrong-kind", name, "Git LFS"):
        opened(files(tmp_path, {name: LFS}) / name)
