"""SentEval's STS files: the reference's text, counts and order, and clear words about bad files."""

import gzip
from pathlib import Path

import pandas as pd
import pytest

from tests.errors import refused
from tests.fakes.folder import files
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.senteval import STS_SUBSETS
from theodolite.engine.errors import Code


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "file", "stems", "columns", "header"),
    [
        (
            "STSBenchmark",
            "STS/STSBenchmark/sts-{}.csv",
            ("train", "dev", "test"),
            [5, 6, 4],
            None,
        ),
        (
            "SICKRelatedness",
            "SICK/SICK_{}.txt",
            ("train", "trial", "test_annotated"),
            [1, 2, 3],
            0,
        ),
    ],
)
def test_splits_are_what_pandas_reads(
    data_root: Path,
    name: str,
    file: str,
    stems: tuple[str, ...],
    columns: list[int],
    header: int | None,
) -> None:
    """An independent reader, told not to interpret quotes, gives the same rows."""
    for part, stem in zip(Catalog(data_root).load(name).parts.values(), stems, strict=True):
        table = pd.read_csv(
            data_root / "senteval" / "downstream" / file.format(stem),
            sep="\t",
            quoting=3,
            header=header,
            usecols=range(7 if header is None else 5),
            dtype=str,
            keep_default_na=False,
        ).iloc[:, columns]
        for ours, theirs in zip((part.left, part.right), table.T.to_numpy()[:2], strict=True):
            assert list(ours) == [" ".join(sentence.split()) for sentence in theirs]
        assert part.gold.tolist() == table.iloc[:, 2].astype(float).tolist()


@pytest.mark.data
def test_pairs_without_a_score_are_dropped(data_root: Path) -> None:
    """STS15 keeps 3,000 of 8,500 pairs: line i of the gold file decides on line i of the input."""
    folder = data_root / "senteval" / "downstream" / "STS" / "STS15-en-test"
    for subset, part in Catalog(data_root).load("STS15").parts.items():
        pairs, gold = (
            (folder / f"STS.{kind}.{subset}.txt").read_text("utf-8").split("\n")
            for kind in ("input", "gs")
        )
        kept = [(p, g) for p, g in zip(pairs, gold, strict=True) if g]
        assert [f"{a}\t{b}" for a, b in zip(part.left, part.right, strict=True)] == [
            "\t".join(" ".join(side.split()) for side in p.split("\t")) for p, _ in kept
        ]
        assert part.gold.tolist() == [float(g) for _, g in kept]


def write_year(
    folder: Path, year: str, rows: list[str], gold: list[str], *, packed: bool = False
) -> Path:
    """Write a year whose subsets all hold the same rows."""
    ending, pack = (".gz", gzip.compress) if packed else ("", bytes)
    return files(
        folder / "downstream" / "STS" / f"{year}-en-test",
        {
            f"STS.{kind}.{subset}.txt{ending}": pack("\n".join([*lines, ""]).encode())
            for subset in STS_SUBSETS[year]
            for kind, lines in (("input", rows), ("gs", gold))
        },
    )


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shape", ["", "senteval"])
def test_both_shapes_of_data_folder(tmp_path: Path, shape: str, packed: bool) -> None:
    """SentEval's own folder and a root that holds it as `senteval/` read alike, STS16 too.

    Packed or not, and nothing is unpacked to disk.
    """
    rows = ["a  cat .\ta dog .", "x\ty", "one\ttwo"]
    place = write_year(tmp_path / shape, "STS16", rows, ["4", "", "1.5"], packed=packed)
    before = sorted(place.iterdir())
    catalog = Catalog(tmp_path)
    data = catalog.load("STS16")
    assert [info.name for info in catalog.list() if info.origin == "folder"] == ["STS16"]
    assert tuple(data.parts) == STS_SUBSETS["STS16"]
    part = data.parts["headlines"]  # tokens are joined by one space; the unscored pair is dropped
    assert (part.left, part.right) == (("a cat .", "one"), ("a dog .", "two"))
    assert part.gold.tolist() == [4.0, 1.5]
    assert sorted(place.iterdir()) == before


def test_quotes_and_crlf_in_stsb(tmp_path: Path) -> None:
    """STS-B is a bare tab split: a lone quote is text. CRLF ends and extra columns do no harm."""
    rows = 'g\tf\t2012\t1\t3.8\t"a man said\tshe " left\tsource\r\n' * 2
    names = [f"downstream/STS/STSBenchmark/sts-{split}.csv" for split in ("train", "dev", "test")]
    part = Catalog(files(tmp_path, dict.fromkeys(names, rows))).load("STSBenchmark").parts["dev"]
    assert (part.left, part.right) == (('"a man said',) * 2, ('she " left',) * 2)
    assert part.gold.tolist() == [3.8, 3.8]


PAIRS, GOLD = "STS.input.images.txt", "STS.gs.images.txt"


@pytest.mark.parametrize(
    ("file", "content", "code", "named"),
    [
        (PAIRS, "a\tb\ncaf\u00e9\td\ne\tf\n".encode("latin-1"), "damaged", "line 2, byte 4"),
        (PAIRS, b"a\tb\nc\ne\tf\n", "damaged", f"{PAIRS}, line 2"),
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
        (GOLD, b"\n\n\n", "missing", GOLD),
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
