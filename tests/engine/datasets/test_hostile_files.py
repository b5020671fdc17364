"""Some hundred malformed files, made from a seed: each ends in a data set or in one clear sentence.

Sound files of every kind are damaged (bytes flipped, cut, repeated, put in from elsewhere), and
some are hostile as they stand. None may raise anything but a `UserError`, take long or take much:
small files that would become large are refused before anything is built.
"""

import gzip
import json
import random
import resource
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pytest

from tests.errors import refused
from tests.fakes.folder import files, parquet
from theodolite.engine.corpus.cut import texts_of
from theodolite.engine.datasets import Catalog, formats, limits
from theodolite.engine.datasets.columns import ROLES, guess
from theodolite.engine.datasets.tables import Mapping, Preview, preview, read, read_columns
from theodolite.engine.errors import UserError
from theodolite.engine.training.examples import open_examples

SEED = 20
DAMAGED = 25
"""Of every sound file."""
SECONDS = 2.0
"""That one reading of a file may take, of the processor's time."""
MEGABYTES = 300

ROWS = [
    ("A man plays a guitar.", "Someone makes music.", 3.5, "x"),
    ('She said "yes", twice.', "Naïve 日本 🙂", 0.0, "y"),
    ("Line\none", "tab\tbed; semicolon", -5.0, "x"),
] * 5
NAMES = ("sentence1", "sentence2", "score", "label")


def sound() -> dict[str, bytes]:
    """The same rows in every format, plain and packed."""
    quoted = [[f'"{str(c).replace(chr(34), chr(34) * 2)}"' for c in row] for row in ROWS]
    bare = [[" ".join(str(c).split()) for c in row] for row in ROWS]
    files = {
        "x.csv": "\n".join(",".join(row) for row in [NAMES, *quoted]).encode(),
        "x.tsv": "\n".join("\t".join(row) for row in [NAMES, *bare]).encode(),
        "x.txt": "\n".join(row[0] for row in bare).encode(),
        "x.jsonl": "\n".join(json.dumps(dict(zip(NAMES, r, strict=True))) for r in ROWS).encode(),
    }
    files |= {f"{name}.gz": gzip.compress(raw, mtime=0) for name, raw in files.items()}
    columns = {name: pa.array([r[i] for r in ROWS]) for i, name in enumerate(NAMES)}
    when = pa.array([datetime(2020, 1, 1)] * len(ROWS), pa.timestamp("us", tz="UTC"))
    return files | {
        "x.parquet": parquet(
            pa.table(columns | {"when": when, "many": pa.array([["a"]] * len(ROWS))})
        ),
        "y.parquet": parquet(pa.table(columns), compression="none", use_dictionary=False),
    }


def stamps(kind: pa.DataType, value: int) -> bytes:
    """A Parquet file with sentences and times."""
    times = pa.array([value, value], pa.int64()).cast(kind, safe=False)
    return parquet(pa.table({"text": ["a", "b"], "when": times}))


def nested(depth: int) -> bytes:
    """JSON, a list in a list in a list."""
    return b'{"text": ' + b"[" * depth + b"]" * depth + b"}\n"


HOSTILE: list[tuple[str, bytes]] = [
    ("zone.parquet", stamps(pa.timestamp("us", tz="Mars/Olympus_Mons"), 0)),
    ("far.parquet", stamps(pa.timestamp("ms"), 2**60)),
    ("early.parquet", stamps(pa.timestamp("us", tz="UTC"), -(2**62))),
    ("long.parquet", stamps(pa.duration("s"), 2**62)),
    (
        "bytes.parquet",
        parquet(pa.table({"text": pa.array([b"\xff", b"a"]), "n": pa.array([1, 2])})),
    ),
    ("nothing.parquet", parquet(pa.table({"text": pa.array([], pa.string())}))),
    ("null.parquet", parquet(pa.table({"text": pa.nulls(3)}))),
    ("lists.parquet", parquet(pa.table({"text": pa.array([[1.5], []])}))),
    (
        "map.parquet",
        parquet(pa.table({"a": pa.array([{"k": 1}, None]), "text": pa.array(["x", "y"])})),
    ),
    ("key.jsonl", b'{"\\ud800": "a", "text": "b"}\n'),
    ("half.jsonl", b'{"text": "\\ud800", "label": "\\udfff"}\n' * 3),
    ("half-score.jsonl", b'{"sentence1": "a", "sentence2": "b", "score": "\\ud800"}\n' * 3),
    ("big.jsonl", b'{"text": "a", "score": ' + b"9" * 4000 + b"}\n"),
    ("huge.jsonl", b'{"text": "a", "score": ' + b"9" * 9000 + b"}\n"),
    ("inf.jsonl", b'{"sentence1": "a", "sentence2": "b", "score": 1e999}\n' * 2),
    ("nan.jsonl", b'{"text": NaN, "label": -Infinity}\n' * 2),
    ("deep.jsonl", nested(900)),
    ("deeper.jsonl", nested(100_000)),
    ("empty-key.jsonl", b'{"": 1}\n{"": 2}\n'),
    ("no-key.jsonl", b"{}\n{}\n"),
    ("types.jsonl", b'{"text": 1, "label": null}\n{"text": {}, "label": true}\n'),
    ("names.csv", ",".join(["a"] * 1999).encode() + b"\n" + b"b," * 1998 + b"b\n"),
    ("quote.csv", b'"' * 99_999),
    ("quotes.csv", b'a,b\n"' + b'""' * 50_000),
    ("ends.csv", b"\r" * 50_000 + b"a,b\r\n" * 3),
    ("separators.csv", b";;;\n\t,;\n,,,,\n"),
    ("blank.tsv", b" \t \n\t\t\n"),
    ("controls.txt", bytes(range(1, 32)) * 9),
    ("separators.txt", "a\u2028b\u2029c\x85d\x0be\x0cf\n".encode() * 9),
    ("members.txt.gz", gzip.compress(b"a line\n") * 2000 + b"\0" * 9),
    ("tail.txt.gz", gzip.compress(b"a line\n") + b"rubbish"),
    ("bomb.txt.gz", gzip.compress(b"\n" * 30_000_000)),
    ("line.csv.gz", gzip.compress(b"a" * 30_000_000)),
    ("NAME.CSV.GZ", gzip.compress(b"text\na\n")),
    ("..", b"a"),
    (".gz", gzip.compress(b"a")),
    ("\udcff.csv", b"text\na\nb\n"),
]


def damaged(raw: bytes, random_: random.Random) -> bytes:
    """A file, damaged in some way."""
    made = bytearray(raw)
    for _ in range(random_.choice((1, 1, 2, 8))):
        at, length = random_.randrange(len(made) + 1), random_.choice((1, 2, 8, 100))
        match random_.randrange(5):
            case 0:
                made[at : at + length] = random_.randbytes(length)
            case 1:
                del made[at : at + length]
            case 2:
                made[at:at] = made[max(0, at - length) : at] * random_.choice((1, 50))
            case 3:
                made[at:at] = random_.choice(
                    (b"\0", b'"', b"\r", b"\n\n", b"\t", b"\xff\xfe", b"\xc3", b"{", b"9" * 400)
                )
            case _:
                for _ in range(min(length, 8)):
                    if made:
                        made[random_.randrange(len(made))] ^= 1 << random_.randrange(8)
    return bytes(made)


def peak() -> float:
    """The most memory that this process has had, in megabytes."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / (2**20 if sys.platform == "darwin" else 2**10)


@contextmanager
def in_time() -> Iterator[None]:
    """What is within takes no longer than a file may."""
    started = time.process_time()
    try:
        yield
    finally:
        assert time.process_time() - started < SECONDS


def take_in(name: str, raw: bytes) -> str:
    """Look at a file and read it in every way that the form offers; return what was said."""
    seen = []
    for header in (None, True, False):
        try:
            with in_time():
                look = preview(raw, name, header)
        except UserError as error:
            seen.append(str(error))
            continue
        seen.append(repr(look))
        json.loads(json.dumps([look.columns, look.rows, look.guesses, look.problems]).encode())
        assert sum(map(len, look.problems)) < 5000
        for mapping in _mappings(look):
            try:
                with in_time():
                    data = read(raw, name, mapping)
            except UserError as error:
                seen.append(str(error))
            else:
                assert len(data.hash) == 32
    return "".join(seen)


def _mappings(look: Preview) -> Iterator[Mapping]:
    """One of every kind: guessed columns where there are guesses, else the first ones."""
    for kind, roles in ROLES.items():
        rest = iter([*look.columns[:9], *["no such column"] * 9])
        columns = {role: look.guesses.get(role) or next(rest) or "?" for role in roles}
        if kind == "labels" and len(look.columns) > 2:
            columns["split"] = look.columns[-1]
        yield Mapping(kind, columns, look.header)


RANDOM = random.Random(SEED)
FILES = [
    *HOSTILE,
    *((name, damaged(raw, RANDOM)) for name, raw in sound().items() for _ in range(DAMAGED)),
]


@pytest.mark.parametrize("part", range(10))
def test_a_malformed_file_is_taken_in_or_refused_in_a_sentence(part: int) -> None:
    """Nothing but a `UserError`, in bounded time and memory, and what it says can be shown."""
    for number, (name, raw) in list(enumerate(FILES))[part::10]:
        before = peak()
        try:
            output = take_in(name, raw)
        except Exception as error:
            error.add_note(f"file {number}, {name!r}, {len(raw)} bytes: {raw[:200]!r}")
            raise
        assert peak() - before < MEGABYTES, (number, name)
        assert "\ud800" not in output, (number, name)


@pytest.mark.parametrize(
    ("name", "code", "named"),
    [
        ("zone.parquet", "damaged", "'when' (timestamp[us, tz=Mars/Olympus_Mons])"),
        ("far.parquet", "damaged", "'when' (timestamp[ms])"),
        ("early.parquet", "damaged", "'when' (timestamp[us, tz=UTC])"),
        ("key.jsonl", "damaged", "column '\\ud800'"),
        ("lists.parquet", "wrong-kind", "column"),
    ],
)
def test_what_is_wrong_is_named(name: str, code: str, named: str) -> None:
    """The column, its type and what is the matter with it."""
    with refused(code, name, named) as caught:
        preview(dict(HOSTILE)[name], name)
    assert caught.value.hint


# --- small files that would become large ---


SENTENCES = Mapping("sentences", {"text": "text"})


def one_text(length: int, rows: int, name: str = "text") -> bytes:
    """A Parquet file of one text over and over: the text is stored once."""
    codes = pa.array([0] * rows, pa.int32())
    column = pa.DictionaryArray.from_arrays(codes, pa.array(["x" * length]))
    return parquet(pa.table({name: column}), compression="zstd")


WAYS = {
    "looked at": lambda raw, name, folder: preview(raw, name),
    "read": lambda raw, name, folder: read_columns(
        raw, name, {"text": formats.open_table(raw, name).columns[0]}
    ),
    "trained on": lambda raw, name, folder: open_examples(
        str(files(folder, {name: raw}) / name), "unsup", Catalog(), folder=folder / "work"
    ),
}
COMMAS = b"a" + b"," * 60_000 + b"\n"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("filename", "raw", "says"),
    [
        ("x.csv", COMMAS, ["60,001 columns", "2,000"]),
        ("x.tsv", COMMAS.replace(b",", b"\t"), ["60,001 columns"]),
        (
            "x.jsonl",
            ("{" + ",".join(f'"{i}": 1' for i in range(3000)) + "}\n").encode(),
            ["3,000 columns"],
        ),
        (
            "x.parquet",
            parquet(pa.table({f"c{i}": ["x"] for i in range(2001)})),
            ["2,001 columns"],
        ),
        ("x.txt", b"x" * (limits.MAX_ROW + 1), ["line 1", "a megabyte"]),
        ("x.txt.gz", gzip.compress(b"x" * 7_000_000), ["line 1", "a megabyte"]),
        ("x.csv", b'text\n"' + b"a line\n" * 200_000, ["a megabyte", "quote"]),
        ("x.parquet", one_text(limits.MAX_ROW + 1, 1), ["'text'", "a megabyte"]),
        (
            "x.txt.gz",
            gzip.compress((b"some text " * 50 + b"\n") * 20_000),
            ["100 times its size", "unpacked"],
        ),
        (
            "x.jsonl.gz",
            gzip.compress((b'{"text": "' + b"a" * 500 + b'"}\n') * 20_000),
            ["100 times its size"],
        ),
        ("x.parquet", one_text(1, 1_500_000), ["100 times its size"]),
        ("x.parquet", one_text(1, 1_500_000, "te.xt"), ["100 times its size"]),
        ("x.parquet", one_text(500_000, 20_000), ["100 times its size"]),
        (
            "x.parquet",
            parquet(
                pa.table({"text": ["x" * 1_000_000] * 20}), use_dictionary=False, compression="zstd"
            ),
            ["100 times its size"],
        ),
        (
            "x.parquet",
            parquet(pa.table({"text": ["a"], "many": [[0] * 3_000_000]})),
            ["100 times its size"],
        ),
    ],
)
def test_what_would_become_too_large_is_refused(
    filename: str, raw: bytes, says: list[str], way: str, tmp_path: Path
) -> None:
    with refused("too-large", filename, *says) as caught:
        WAYS[way](raw, filename, tmp_path)
    assert filename in caught.value.message.split()[0] and len(str(caught.value)) < 500


@pytest.mark.parametrize(
    ("filename", "raw", "code", "named"),
    [
        ("x.csv", b",,\n", "missing", "x.csv"),
        ("x.jsonl", b"{}\n{}\n", "missing", "x.jsonl"),
        ("x.jsonl", b'{"\\ud800": 1}\n', "damaged", "'\\ud800'"),
    ],
)
def test_training_files_need_columns_with_names(
    filename: str, raw: bytes, code: str, named: str, tmp_path: Path
) -> None:
    with refused(code, filename, named):
        WAYS["trained on"](raw, filename, tmp_path)


ENDLESS = b"text,label\na,b\n" + b"," * 200_000 + b"x\n"


@pytest.mark.parametrize(
    ("filename", "raw", "named"),
    [
        ("x.csv", ENDLESS, "line 3 (200001)"),
        (
            "x.txt",
            b"x\n" + "é".encode() * 99_999 + b"\xff" + b"x" * 99,
            "line 2, byte 199999 of the line (byte offset 200000 ",
        ),
    ],
    ids=["cells", "bytes"],
)
def test_a_fault_in_a_line_without_end_is_named(filename: str, raw: bytes, named: str) -> None:
    """It is ragged like any other, a sample of such rows stays small, and the place is right."""
    with refused("damaged", named):
        read(raw, filename, SENTENCES)
    assert "line 3 (200001)" in preview(ENDLESS * 3, "x.csv").problems[0]


def test_ordinary_files_are_not_in_the_way(tmp_path: Path) -> None:
    """Repetitive files of some megabytes, a long document, an embedding in columns."""
    repeated = b"the same line over and over\n" * 200_000
    assert len(read(gzip.compress(repeated), "x.txt.gz", SENTENCES).sentences) == 200_000
    document = "word " * 200_000
    for name, raw in (("x.txt", f"{document}\nshort\n"), ("x.csv", f'text\n"{document}"\nshort\n')):
        assert read(raw.encode(), name, SENTENCES).sentences == [document, "short"]
        assert len(preview(raw.encode(), name).rows[0][0]) == 1000
    wide = pa.table({"text": ["A sentence."], **{f"d{i}": [0.5] for i in range(1536)}})
    assert read(parquet(wide), "x.parquet", SENTENCES).sentences == ["A sentence."]


def test_lists_in_lists_are_cut_as_they_are_looked_at() -> None:
    """A megabyte of brackets stands for millions of lists, and a preview keeps 200 rows."""
    raw = ('{"a": [' + "[]," * 300_000 + "[]]}\n").encode() * 6
    look = preview(gzip.compress(raw), "x.jsonl.gz")
    assert (look.n_rows, len(look.rows[0][0]), look.guesses) == (6, 1000, {})


@pytest.mark.parametrize("filename", ["x.csv", "x.parquet"])
def test_training_files_and_corpora_may_have_any_size(
    filename: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is not packed is no bomb, though it has a row more than an upload may have."""
    sentences = [f"{'some words ' * 900}{i}" for i in range(900)]
    sentences[0] = "words" * 40_000  # more than the csv library's own limit for a cell
    table = pa.table({"text": sentences, "label": range(900)})
    text = "text,label\n" + "".join(f"{s},{i}\n" for i, s in enumerate(sentences))
    file = tmp_path / filename
    file.write_bytes(
        text.encode()
        if filename == "x.csv"
        else parquet(table, use_dictionary=False, compression="none")
    )
    monkeypatch.setattr(limits, "MAX_ROWS", 900)
    assert read(file, filename, SENTENCES).sentences == sentences
    for limit, most, named in (("MAX_ROWS", 899, "899 rows"), ("MAX_BYTES", 2**20, "1 MB")):
        monkeypatch.setattr(limits, limit, most)
        with refused("too-large", filename, named):
            read(file, filename, SENTENCES)
    assert list(texts_of(file, "text")) == sentences
    rows = open_examples(str(file), "unsup", Catalog(), folder=tmp_path / "work")
    assert [sentence for (sentence,) in rows] == sentences


def test_of_parquet_a_corpus_reads_the_column_that_it_needs(tmp_path: Path) -> None:
    """What another one would unpack to does not matter; one without texts is refused by name."""
    (tmp_path / "x.parquet").write_bytes(
        parquet(pa.table({"text": ["a"], "many": [[0] * 3_000_000]}))
    )
    assert list(texts_of(tmp_path / "x.parquet", "text")) == ["a"]
    with refused("wrong-kind", "x.parquet", "many"):
        list(texts_of(tmp_path / "x.parquet", "many"))


def test_guessing_is_quick_over_many_columns() -> None:
    """Looking for a label among two thousand columns is not quadratic."""
    columns = [f"c{i}" for i in range(2000)]
    with in_time():
        guess(columns, [["some words that make a text"] * 2000] * 20)
