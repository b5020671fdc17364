"""Files as pandas, Excel, the hub and other programs write them: read as meant, or named."""

import csv
import gzip
import json
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from tests.errors import refused
from theodolite.engine.corpus.cut import texts_of
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.formats import open_table
from theodolite.engine.datasets.tables import preview, read
from theodolite.engine.errors import Code
from theodolite.engine.training.examples import open_examples

TEXTS = [
    "a small red boat",
    'she said "yes", twice; then left',
    "naïve 日本 🙂",
    "it cost 3,50 | or so",
    "the ship sails on",
    'tab\tand quote " inside',
]
PAIRS = pd.DataFrame(
    {
        "satz1": TEXTS,
        "satz2": [text.upper() for text in TEXTS],
        "wertung": [2.8, 0.0, 5.0, 3.25, 1.0, 4.5],
    }
)
LABELS = pd.DataFrame({"text": TEXTS, "label": ["pos", "neg"] * 3})
CATEGORIES = LABELS.astype({"label": "category"})

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


HASH = read(text(PAIRS)[1], "x.csv", preview(text(PAIRS)[1], "x.csv").mapping).hash
AS_PAIRS: dict[str, Callable[[], Written]] = {
    "comma": lambda: text(PAIRS),
    "semicolon": lambda: text(PAIRS, sep=";"),
    "tab named csv": lambda: text(PAIRS, sep="\t"),
    "bar": lambda: text(PAIRS, sep="|"),
    "decimal commas": lambda: text(PAIRS, sep=";", decimal=","),
    "decimal commas in quotes": lambda: text(PAIRS, decimal=","),
    "byte order mark": lambda: text(PAIRS, encoding="utf-8-sig"),
    "utf-16": lambda: text(PAIRS, encoding="utf-16"),
    "index": lambda: text(PAIRS, index=True),
    "index, shuffled": lambda: text(shuffled(PAIRS), index=True),
    "index, written twice": lambda: text(PAIRS.reset_index(names="Unnamed: 0"), index=True),
    "index with a name": lambda: text(shuffled(PAIRS), index=True, index_label="id"),
    "all in quotes": lambda: text(PAIRS, quoting=csv.QUOTE_ALL),
    "text in quotes": lambda: text(PAIRS, quoting=csv.QUOTE_NONNUMERIC),
    "escaped, no quotes": lambda: text(PAIRS, quoting=csv.QUOTE_NONE, escapechar="\\"),
    "escaped quotes": lambda: text(PAIRS, doublequote=False, escapechar="\\"),
    "no header": lambda: text(PAIRS, header=False),
    "no header, decimal commas": lambda: text(PAIRS, header=False, sep=";", decimal=","),
    "columns without names": lambda: text(PAIRS.set_axis([0, 1, 2], axis=1)),
    "columns without names, index": lambda: text(PAIRS.set_axis([0, 1, 2], axis=1), index=True),
    "tsv": lambda: text(PAIRS, "x.tsv", sep="\t"),
    "tsv, all in quotes": lambda: text(PAIRS, "x.tsv", sep="\t", quoting=csv.QUOTE_ALL),
    "tsv named txt": lambda: text(PAIRS, "x.txt", sep="\t"),
    "csv named txt": lambda: text(PAIRS.set_axis(["s1", "s2", "score"], axis=1), "x.txt"),
    "csv named tsv": lambda: text(PAIRS.set_axis(["s1", "s2", "score"], axis=1), "x.tsv"),
    "unicode text of Excel": lambda: text(
        PAIRS, "x.txt", "utf-16", sep="\t", lineterminator="\r\n"
    ),
    "csv of Excel": lambda: ("x.csv", excel(PAIRS).encode("utf-8-sig")),
    "old Macintosh": lambda: ("x.csv", excel(PAIRS, "\r").encode()),
    "separator named": lambda: ("x.csv", ("sep=;\r\n" + excel(PAIRS)).encode("utf-8-sig")),
    "empty columns and rows": lambda: (
        "x.csv",
        (excel(PAIRS).replace("\r\n", ";;\r\n") + ";;;;\r\n\r\n").encode(),
    ),
    "json records": lambda: values(PAIRS, "records"),
    "json records, indented": lambda: values(PAIRS, "records", indent=2),
    "json records named jsonl": lambda: values(PAIRS, "records", "x.jsonl"),
    "json lines named json": lambda: values(PAIRS, "records", lines=True),
    "json columns": lambda: values(PAIRS, "columns"),
    "json columns, indented": lambda: values(PAIRS, "columns", indent=1),
    "json index": lambda: values(PAIRS, "index"),
    "json split": lambda: values(PAIRS, "split"),
    "two byte order marks": lambda: text(
        PAIRS.rename(columns={"satz1": "\ufeffsatz1"}), encoding="utf-8-sig"
    ),
    "a space after each separator": lambda: (
        "x.csv",
        "\n".join(
            ", ".join('"' + str(cell).replace('"', '""') + '"' for cell in row)
            for row in [PAIRS.columns, *PAIRS.itertuples(index=False)]
        ).encode(),
    ),
    "comma, packed": lambda: packed(text(PAIRS)),
    "json lines": lambda: values(PAIRS, "records", "x.jsonl", lines=True),
    "json lines, packed": lambda: packed(values(PAIRS, "records", "x.jsonl", lines=True)),
    "parquet": lambda: ("X.PARQUET", PAIRS.to_parquet()),
    "json table": lambda: values(PAIRS, "table"),
    "json values": lambda: values(PAIRS, "values"),
    "json lists": lambda: ("x.json", json.dumps(PAIRS.to_dict("list")).encode()),
    "json of the hub's viewer": lambda: (
        "x.json",
        json.dumps(
            {
                "features": [],
                "rows": [
                    {"row_idx": i, "row": row} for i, row in enumerate(PAIRS.to_dict("records"))
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
    (tmp_path / filename).write_bytes(raw)
    table = open_table(tmp_path / filename, filename, bounded=False)  # as training does
    left, right = (table.columns.index(look.mapping.columns[role]) for role in ("left", "right"))

    part = data.parts["all"]
    assert (look.kind, look.n_rows, look.problems) == ("pairs", 6, [])
    assert list(zip(part.left, part.right, part.gold, strict=True)) == [
        *PAIRS.itertuples(False, None)
    ]
    pairs = [[row[left].strip(), row[right].strip()] for _, row in table.rows]
    assert pairs == PAIRS.iloc[:, :2].to_numpy().tolist()
    assert data.hash == HASH == read(tmp_path / filename, filename, look.mapping).hash


AS_LABELS: dict[str, Callable[[], Written]] = {
    "comma": lambda: text(LABELS),
    "index": lambda: text(LABELS, index=True),
    "index, shuffled": lambda: text(shuffled(LABELS), index=True),
    "no header": lambda: text(LABELS, header=False),
    "tsv without header": lambda: text(LABELS, "x.tsv", sep="\t", header=False),
    "names with spaces": lambda: text(LABELS.set_axis([" Text ", "LABEL "], axis=1)),
    "tsv": lambda: text(LABELS, "x.tsv", sep="\t"),
    "json columns": lambda: values(LABELS, "columns"),
    "json split": lambda: values(LABELS, "split"),
    "json index of names": lambda: values(LABELS.set_axis(list("abcdef")), "index"),
    # Categories are the texts they stand for.
    "parquet": lambda: ("x.parquet", CATEGORIES.to_parquet(index=False)),
    "parquet, index, shuffled": lambda: ("x.parquet", shuffled(CATEGORIES).to_parquet(index=True)),
}


@pytest.mark.parametrize("made", AS_LABELS.values(), ids=AS_LABELS)
def test_labels_come_out_as_they_went_in(made: Callable[[], Written], tmp_path: Path) -> None:
    """Text and label, and the same texts in a corpus."""
    filename, raw = made()
    look = preview(raw, filename)
    data = read(raw, filename, look.mapping)
    (tmp_path / filename).write_bytes(raw)
    encoded = texts_of(tmp_path / filename, look.mapping.columns["text"])

    assert (data.sentences, data.labels) == (TEXTS, list(LABELS.label))
    assert list(encoded) == TEXTS


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


def test_a_first_line_that_may_be_either_is_said() -> None:
    """Two words above pairs of words may be names or words."""
    look = preview(b"singular,plural\ncat,cats\ndog,dogs\nmouse,mice\n", "x.csv")
    assert look.columns == ("singular", "plural")
    assert any("first line" in problem for problem in look.problems)


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
        ("x.csv", b"text,label\nf\xfcr,a\n", "damaged", "ISO-8859-1"),
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
        ("x.feather", b"", "wrong-kind", "to_parquet"),
        ("x.csv.bz2", b"", "wrong-kind", "Unpack"),
        ("x.json", b'{"text": "a", "of": {"b": 1}', "damaged", "JSON"),
        ("x.json", b'{"version": "1", "data": {"a": 1}}\n\n', "wrong-kind", "JSON"),
    ],
)
def test_what_is_no_table_is_named(filename: str, raw: bytes, code: Code, named: str) -> None:
    """By what it is, with what to do, wherever files are read."""
    with refused(code, filename, named) as caught:
        preview(raw, filename)
    assert caught.value.hint


@pytest.mark.parametrize("name", ["x.txt", "x.csv", "x.tsv", "x.jsonl"])
def test_a_pointer_is_no_corpus_and_no_training_data(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(LFS)
    assert preview(b"The version is https://git-lfs.github.com/spec/v1.\n", "x.txt").n_rows == 1
    with refused("wrong-kind", name, "Git LFS"):
        list(texts_of(tmp_path / name))
    with refused("wrong-kind", name, "Git LFS"):
        open_examples(str(tmp_path / name), "unsup", Catalog(), folder=tmp_path)
