"""SentEval's STS files: the reference's text, counts and order, and clear words about bad files."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tests.errors import refused
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.senteval import STS_SUBSETS
from theodolite.engine.errors import Code

# Counts of the data folder's README and of the papers (STS13 without SMT).
COUNTS = {
    "STS12": {
        "MSRpar": 750,
        "MSRvid": 750,
        "SMTeuroparl": 459,
        "surprise.OnWN": 750,
        "surprise.SMTnews": 399,
    },
    "STS13": {"FNWN": 189, "headlines": 750, "OnWN": 561},
    "STS14": {
        "deft-forum": 450,
        "deft-news": 300,
        "headlines": 750,
        "images": 750,
        "OnWN": 750,
        "tweet-news": 750,
    },
    "STS15": {
        "answers-forums": 375,
        "answers-students": 750,
        "belief": 375,
        "headlines": 750,
        "images": 750,
    },
    "STSBenchmark": {"train": 5749, "dev": 1500, "test": 1379},
    "SICKRelatedness": {"train": 4500, "dev": 500, "test": 4927},
}


@pytest.mark.data
@pytest.mark.parametrize("name", COUNTS)
def test_real_counts_and_order_of_parts(data_root: Path, name: str) -> None:
    """Every part has the published number of pairs, in the reference's order of parts."""
    data = Catalog(data_root).load(name)

    assert {part: len(pairs.gold) for part, pairs in data.parts.items()} == COUNTS[name]
    assert list(data.parts) == list(COUNTS[name])
    assert data.parts_are == ("subsets" if name in STS_SUBSETS else "splits")
    low, high = data.scale
    gold = np.concatenate([part.gold for part in data.parts.values()])
    assert gold.dtype == np.float64
    assert low <= gold.min() < gold.max() <= high


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "file", "columns", "header"),
    [
        ("STSBenchmark", "STS/STSBenchmark/sts-{}.csv", (5, 6, 4), None),
        ("SICKRelatedness", "SICK/SICK_{}.txt", (1, 2, 3), 0),
    ],
)
def test_splits_are_what_pandas_reads(
    data_root: Path, name: str, file: str, columns: tuple[int, int, int], header: int | None
) -> None:
    """An independent reader, told not to interpret quotes, gives the same rows."""
    stems = {"train": "train", "dev": "dev", "test": "test"}
    if name == "SICKRelatedness":
        stems |= {"dev": "trial", "test": "test_annotated"}
    data = Catalog(data_root).load(name)
    for split, stem in stems.items():
        path = data_root / "senteval" / "downstream" / file.format(stem)
        table = pd.read_csv(
            path,
            sep="\t",
            quoting=3,
            header=header,
            usecols=range(7 if header is None else 5),
            dtype=str,
            keep_default_na=False,
        )
        left, right, gold = (table.iloc[:, column].tolist() for column in columns)
        part = data.parts[split]
        assert list(part.left) == [" ".join(s.split()) for s in left]
        assert list(part.right) == [" ".join(s.split()) for s in right]
        assert part.gold.tolist() == [float(g) for g in gold]


@pytest.mark.data
def test_pairs_without_a_score_are_dropped(data_root: Path) -> None:
    """STS15 keeps 3,000 of 8,500 pairs: line i of the gold file decides on line i of the input."""
    folder = data_root / "senteval" / "downstream" / "STS" / "STS15-en-test"
    for subset, part in Catalog(data_root).load("STS15").parts.items():
        pairs = (folder / f"STS.input.{subset}.txt").read_text("utf-8").split("\n")
        gold = (folder / f"STS.gs.{subset}.txt").read_text("utf-8").split("\n")
        kept = [(p, g) for p, g in zip(pairs, gold, strict=True) if g]
        assert [f"{a}\t{b}" for a, b in zip(part.left, part.right, strict=True)] == [
            "\t".join(" ".join(side.split()) for side in p.split("\t")) for p, _ in kept
        ]
        assert part.gold.tolist() == [float(g) for _, g in kept]


def write_year(folder: Path, year: str, rows: list[str], gold: list[str]) -> Path:
    """Write a year whose subsets all hold the same rows."""
    place = folder / "downstream" / "STS" / f"{year}-en-test"
    place.mkdir(parents=True)
    for subset in STS_SUBSETS[year]:
        (place / f"STS.input.{subset}.txt").write_text("".join(f"{r}\n" for r in rows))
        (place / f"STS.gs.{subset}.txt").write_text("".join(f"{g}\n" for g in gold))
    return place


@pytest.mark.parametrize("shape", ["", "senteval"])
def test_both_shapes_of_data_folder(tmp_path: Path, shape: str) -> None:
    """SentEval's own folder and a root that holds it as `senteval/` read alike, STS16 too."""
    write_year(
        tmp_path / shape, "STS16", ["a  cat .\ta dog .", "x\ty", "one\ttwo"], ["4", "", "1.5"]
    )

    catalog = Catalog(tmp_path)
    data = catalog.load("STS16")

    assert [info.name for info in catalog.list() if info.origin == "folder"] == ["STS16"]
    assert tuple(data.parts) == STS_SUBSETS["STS16"]
    part = data.parts["headlines"]
    assert part.left == ("a cat .", "one")  # tokens joined by one space; unscored pair dropped
    assert part.right == ("a dog .", "two")
    assert part.gold.tolist() == [4.0, 1.5]


def test_gz_is_read_in_place(tmp_path: Path) -> None:
    """A packed file is the same data set as the plain one, and nothing is unpacked to disk."""
    place = write_year(tmp_path, "STS13", ["a\tb", "c\td"], ["0", "5"])
    plain = Catalog(tmp_path).load("STS13").hash
    for path in list(place.iterdir()):
        path.with_name(path.name + ".gz").write_bytes(gzip.compress(path.read_bytes()))
        path.unlink()
    before = sorted(place.iterdir())

    assert Catalog(tmp_path).load("STS13").hash == plain
    assert sorted(place.iterdir()) == before


def test_quotes_and_crlf_in_stsb(tmp_path: Path) -> None:
    """STS-B is a bare tab split: a lone quote is text. CRLF ends and extra columns do no harm."""
    folder = tmp_path / "downstream" / "STS" / "STSBenchmark"
    folder.mkdir(parents=True)
    row = 'g\tf\t2012\t1\t3.8\t"a man said\tshe " left\tsource\r\n'
    for split in ("train", "dev", "test"):
        (folder / f"sts-{split}.csv").write_bytes(row.encode() * 2)

    part = Catalog(tmp_path).load("STSBenchmark").parts["dev"]

    assert part.left == ('"a man said',) * 2
    assert part.right == ('she " left',) * 2
    assert part.gold.tolist() == [3.8, 3.8]


PAIRS, GOLD = "STS.input.images.txt", "STS.gs.images.txt"


@pytest.mark.parametrize(
    ("file", "content", "code", "named"),
    [
        (PAIRS, "a\tb\ncaf\u00e9\td\ne\tf\n".encode("latin-1"), "damaged", "line 2, byte 4"),
        (PAIRS, b"a\tb\nc\ne\tf\n", "damaged", f"{PAIRS}, line 2: 1 tab"),
        (PAIRS, b"a\tb\nc\0\td\ne\tf\n", "damaged", f"{PAIRS}, line 2"),
        (
            f"{PAIRS}.gz",
            gzip.compress(b"a\tb\nc\td\ne\tf\n", mtime=0)[:-12],
            "damaged",
            f"{PAIRS}.gz",
        ),
        (GOLD, b"1\n2\nhigh\n", "damaged", f"{GOLD}, line 3: the score 'high'"),
        (GOLD, b"1\ninf\n3\n", "damaged", f"{GOLD}, line 2: the score 'inf'"),
        (GOLD, b"1\n2\n", "mismatch", f"{PAIRS} has 3 lines"),
        (GOLD, b"\n\n\n", "missing", PAIRS),
        (GOLD, None, "no-file", GOLD),
    ],
)
def test_bad_files_are_named_with_their_line(
    tmp_path: Path, file: str, content: bytes | None, code: Code, named: str
) -> None:
    """File and line, and no path of the machine."""
    place = write_year(tmp_path, "STS14", ["a\tb", "c\td", "e\tf"], ["1", "2", "3"])
    (place / file.removesuffix(".gz")).unlink()
    if content is not None:
        (place / file).write_bytes(content)
    with refused(code, named) as caught:
        Catalog(tmp_path).load("STS14")
    assert caught.value.hint
    assert str(tmp_path) not in str(caught.value)


def test_short_rows_of_sick(tmp_path: Path) -> None:
    folder = tmp_path / "downstream" / "SICK"
    folder.mkdir(parents=True)
    for stem in ("train", "trial", "test_annotated"):
        (folder / f"SICK_{stem}.txt").write_text("id\ta\tb\tscore\tjudgment\n1\tx\ty\n")
    with refused("damaged", "SICK/SICK_train.txt, line 2: 3 tab"):
        Catalog(tmp_path).load("SICKRelatedness")
