"""SentEval's STS files: the reference's text, counts and order, and clear words about bad files."""

import gzip
import json
import os
import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine import tasks
from theodolite.engine.datasets import Catalog, coco
from theodolite.engine.datasets.senteval import STS_SUBSETS
from theodolite.engine.datasets.tables import preview, read


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


def year_of(year: str, rows: list[str], gold: list[str]) -> dict[str, bytes]:
    """The files of a year whose subsets all hold the same rows."""
    return {
        f"downstream/STS/{year}-en-test/STS.{kind}.{subset}.txt": "\n".join([*lines, ""]).encode()
        for subset in STS_SUBSETS[year]
        for kind, lines in (("input", rows), ("gs", gold))
    }


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("shape", ["", "senteval"])
def test_both_shapes_of_data_folder(tmp_path: Path, shape: str, packed: bool) -> None:
    """SentEval's own folder and a root that holds it as `senteval/` read alike, STS16 too.

    Packed or not, and nothing is unpacked to disk.
    """
    year = year_of("STS16", ["a  cat .\ta dog .", "x\ty", "one\ttwo"], ["4", "", "1.5"])
    if packed:
        year = {f"{name}.gz": gzip.compress(raw) for name, raw in year.items()}
    folder.files(tmp_path / shape, year)
    before = sorted(tmp_path.rglob("*"))
    catalog = Catalog(tmp_path)
    data = catalog.load("STS16")
    assert [info.name for info in catalog.list() if info.origin == "folder"] == ["STS16"]
    assert tuple(data.parts) == STS_SUBSETS["STS16"]
    part = data.parts["headlines"]  # tokens are joined by one space; the unscored pair is dropped
    assert [*zip(part.left, part.right, part.gold, strict=True)] == [
        ("a cat .", "a dog .", 4.0),
        ("one", "two", 1.5),
    ]
    assert sorted(tmp_path.rglob("*")) == before


def test_quotes_and_crlf_in_stsb(tmp_path: Path) -> None:
    """STS-B is a bare tab split: a lone quote is text. CRLF ends and extra columns do no harm."""
    rows = 'g\tf\t2012\t1\t3.8\t"a man said\tshe " left\tsource\r\n' * 2
    names = [f"downstream/STS/STSBenchmark/sts-{split}.csv" for split in ("train", "dev", "test")]
    root = folder.files(tmp_path, dict.fromkeys(names, rows))
    part = Catalog(root).load("STSBenchmark").parts["dev"]
    assert [*zip(part.left, part.right, part.gold, strict=True)] == [
        ('"a man said', 'she " left', 3.8)
    ] * 2


# --- COCO ---


SIZES = {"train": 2, "valid": 3, "test": 4}


def features(n: int) -> np.ndarray:
    return np.random.default_rng(n).normal(size=(n, 6)).astype(np.float32)


def captions(n: int) -> list[list[str]]:
    return [[f"photograph {i} seen {k} times ." for k in range(5)] for i in range(n)]


COCO = {
    f"downstream/COCO/{stem}.{ending}": content
    for stem, n in SIZES.items()
    for ending, content in (
        ("json", json.dumps(captions(n)).encode()),
        ("npy", folder.npy(features(n))),
    )
}


def test_features_and_captions_of_each_split(tmp_path: Path) -> None:
    """Parquet holds the same as NumPy's files."""
    place = folder.files(tmp_path, COCO) / "downstream" / "COCO"
    data = Catalog(tmp_path).load("COCO")
    assert list(data.parts) == ["train", "dev", "test"]
    for part, n in zip(data.parts.values(), SIZES.values(), strict=True):
        np.testing.assert_array_equal(part.images, features(n))
        assert list(part.captions) == [text for five in captions(n) for text in five]
    (place / "train.npy").unlink()
    pq.write_table(pa.table({"features": features(2).tolist()}), place / "train.parquet")
    assert coco.read(place).hash == data.hash


# --- files that are missing or damaged ---


YEAR = year_of("STS14", ["a\tb", "c\td", "e\tf"], ["1", "2", "3"])
PAIRS, GOLD = "STS.input.images.txt", "STS.gs.images.txt"
STS_PAIRS, STS_GOLD = (f"downstream/STS/STS14-en-test/{name}" for name in (PAIRS, GOLD))
IMAGES, TEXTS = "downstream/COCO/test.npy", "downstream/COCO/test.json"
CUT = gzip.compress(b"a\tb\nc\td\ne\tf\n", mtime=0)[:-12]


def without(files: dict[str, bytes], name: str) -> dict[str, bytes]:
    return {other: content for other, content in files.items() if other != name}


@pytest.mark.parametrize(
    ("name", "files", "code", "named"),
    [
        ("STS14", YEAR | {STS_PAIRS: b"a\tb\ncaf\xe9\td\ne\tf\n"}, "damaged", "line 2, byte 4"),
        ("STS14", YEAR | {STS_PAIRS: b"a\tb\nc\ne\tf\n"}, "damaged", f"{PAIRS}, line 2"),
        ("STS14", YEAR | {STS_PAIRS: b"a\tb\nc\0\td\ne\tf\n"}, "damaged", f"{PAIRS}, line 2"),
        ("STS14", without(YEAR, STS_PAIRS) | {f"{STS_PAIRS}.gz": CUT}, "damaged", f"{PAIRS}.gz"),
        (
            "STS14",
            YEAR | {STS_GOLD: b"1\n2\nhigh\n"},
            "damaged",
            f"{GOLD}, line 3: the score 'high'",
        ),
        ("STS14", YEAR | {STS_GOLD: b"1\ninf\n3\n"}, "damaged", f"{GOLD}, line 2: the score 'inf'"),
        ("STS14", YEAR | {STS_GOLD: b"1\n2\n"}, "mismatch", f"{PAIRS} has 3 lines"),
        ("STS14", YEAR | {STS_GOLD: b"\n\n\n"}, "missing", GOLD),
        ("STS14", without(YEAR, STS_GOLD), "no-file", GOLD),
        ("COCO", without(COCO, IMAGES), "no-file", "COCO/test.npy"),
        ("COCO", without(COCO, TEXTS), "no-file", "COCO/test.json"),
        (
            "COCO",
            COCO | {IMAGES: folder.npy(features(9))},
            "mismatch",
            "test.json has 20 captions of 4 images",
        ),
        (
            "COCO",
            COCO | {IMAGES: folder.npy(np.full((4, 6), np.nan, np.float32))},
            "damaged",
            "COCO/test.npy",
        ),
        ("COCO", COCO | {IMAGES: folder.npy(np.zeros((4, 6)))}, "wrong-kind", "float64"),
        (
            "COCO",
            COCO | {IMAGES: folder.npy(np.zeros((0, 6), np.float32))},
            "wrong-kind",
            "COCO/test.npy",
        ),
        ("COCO", COCO | {IMAGES: b"\x93NUMPY"}, "damaged", "COCO/test.npy"),
        ("COCO", COCO | {TEXTS: b"{"}, "damaged", "COCO/test.json"),
        ("COCO", COCO | {TEXTS: b"7"}, "damaged", "COCO/test.json"),
        ("COCO", COCO | {TEXTS: json.dumps([["too few"]] * 4).encode()}, "mismatch", "4 captions"),
        ("COCO", COCO | {TEXTS: json.dumps([[1] * 5] * 4).encode()}, "mismatch", "COCO/test.json"),
        (
            "COCO",
            COCO
            | {
                "downstream/COCO/test.parquet": folder.parquet(
                    pa.table({"features": [[1.0], [1.0, 2.0]]})
                )
            },
            "damaged",
            "COCO/test.parquet",
        ),
    ],
)
def test_what_is_missing_or_wrong_is_named(
    tmp_path: Path, name: str, files: dict[str, bytes], code: str, named: str
) -> None:
    """File and line, and no path of the machine."""
    with refused(code, named) as caught:
        Catalog(folder.files(tmp_path, files)).load(name)
    assert caught.value.hint and str(tmp_path) not in str(caught.value)


def test_a_pickle_is_not_read(tmp_path: Path) -> None:
    """It is named with what to do; what it would run leaves no trace."""
    trace = tmp_path / "trace"
    attack = pickle.dumps(folder.Calls(os.system, f"touch {trace}"))
    folder.files(tmp_path / "downstream" / "COCO", {f"{stem}.pkl": attack for stem in SIZES})
    with refused("wrong-kind", "COCO/train.pkl", "train.npy"):
        Catalog(tmp_path).load("COCO")
    assert not trace.exists()


# --- probing ---


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
    assert [*zip(data.splits, data.labels, data.sentences, strict=True)] == [
        ("train", "NN", "one two"),
        ("dev", "XX", "three"),
        ("test", "NN", "four"),
    ]


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
    """Split, label and sentence, as the data folder reads it; two tabs and a mark are needed."""
    raw = gzip.compress(RAW) if filename.endswith(".gz") else RAW
    look = preview(raw, filename)
    assert (look.kind, look.columns) == ("labels", ("split", "label", "text"))
    folder.files(tmp_path, {"probing/mine.txt": RAW})
    assert read(raw, filename, look.mapping).hash == Catalog(tmp_path).load("probing/mine").hash
    longer = RAW + b"te\tNN\n"
    assert "line 5 (2)" in preview(longer, "x.txt").problems[0]
    with refused("damaged", "line 5 (2)"):
        read(longer, "x.txt", look.mapping)
    for line in (b"tr is a mark\n", b"tr\tone tab\n", b"train\ta\tb\n"):
        assert preview(line * 2, "x.txt").columns == ("text",)


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
    assert listed == listed | {"TREC": "TREC", "banking77": "banking77/classify"}
