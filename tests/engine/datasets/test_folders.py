"""Collections, labelled sets, triplets and SentEval's other tasks, on real files and hand-made."""

from __future__ import annotations

import gzip
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from tests.errors import refused
from theodolite.engine.datasets import Catalog, ScoredPairs, folders
from theodolite.engine.errors import Code

# name -> (sentences, classes, splits), as the data folder's README states them.
LABELLED = {
    "MR": (10662, 2, {}),
    "SUBJ": (10000, 2, {}),
    "MPQA": (10606, 2, {}),
    "SST2": (70042, 2, {"train": 67349, "dev": 872, "test": 1821}),
    "SST5": (11855, 5, {"train": 8544, "dev": 1101, "test": 2210}),
    "TREC": (5952, 6, {"train": 5452, "test": 500}),
    "Length": (21414, 6, {"train": 17142, "dev": 2136, "test": 2136}),
    "WordContent": (39360, 984, {"train": 31488, "dev": 3936, "test": 3936}),
    "BigramShift": (40520, 2, {"train": 32416, "dev": 4052, "test": 4052}),
    "ObjNumber": (480, 2, {"train": 384, "dev": 48, "test": 48}),
    "banking77": (13083, 77, {"train": 10003, "test": 3080}),
    "emotion": (20000, 6, {"train": 16000, "val": 2000, "test": 2000}),
    "tweeteval_emotion": (5052, 4, {"train": 3257, "val": 374, "test": 1421}),
    "tweeteval_irony": (4601, 2, {"train": 2862, "val": 955, "test": 784}),
    "tweeteval_offensive": (14100, 2, {"train": 11916, "val": 1324, "test": 860}),
    "stackoverflow": (20000, 20, {}),
    "bbc_news": (2225, 5, {}),
    "search_snippets": (12340, 8, {}),
    "tweet": (2472, 89, {}),
    "googlenews": (11108, 152, {}),
}
COLLECTIONS = {
    "flickr30k": 155070,
    "flickr30k-val": 5070,
    "flickr30k-test": 5000,
    "flickr30k-test-de": 5000,
    "coco-captions": 30000,
    "coco-captions-dev": 5000,
    "unlabelled/wiki_split": 44944,
    "unlabelled/wiki1m_for_simcse_head": 11914,
    "nli": 3 * 5996,
    "nli/nli_triplets_snli_devtest": 3 * 6338,
}


@pytest.mark.data
@pytest.mark.parametrize("name", LABELLED)
def test_labelled_sets_have_their_counts(data_root: Path, name: str) -> None:
    """Sentences, classes and splits are those of the source."""
    data = Catalog(data_root).load(name)
    counts = (len(data.sentences), len(set(data.labels)), dict(Counter(data.splits)))
    assert counts == LABELLED[name]
    assert len(data.labels) == len(data.sentences)


@pytest.mark.data
@pytest.mark.parametrize("name", COLLECTIONS)
def test_collections_have_their_counts(data_root: Path, name: str) -> None:
    """No line is lost or split."""
    assert len(Catalog(data_root).load(name).sentences) == COLLECTIONS[name]


@pytest.mark.data
@pytest.mark.parametrize(
    ("name", "parts", "scale"),
    [
        ("biosses", {"test": 100}, (0, 4)),
        ("stsb_multi_mt/de", {"train": 5749, "dev": 1500, "test": 1379}, (0, 5)),
        ("stsb_multi_mt/zh", {"dev": 1500, "test": 1379}, (0, 5)),
    ],
)
def test_scored_pairs_have_their_counts(
    data_root: Path, name: str, parts: dict[str, int], scale: tuple[int, int]
) -> None:
    """Splits and scales are those of the source; languages of STS-B are aligned by row."""
    data = Catalog(data_root).load(name)
    assert isinstance(data, ScoredPairs)
    assert {split: len(part.gold) for split, part in data.parts.items()} == parts
    assert data.scale == scale
    if name.startswith("stsb"):
        english = Catalog(data_root).load("stsb_multi_mt/en")
        assert data.parts["test"].gold.tolist() == english.parts["test"].gold.tolist()


@pytest.mark.data
def test_every_set_listed_can_be_loaded(data_root: Path) -> None:
    """The list promises nothing that is not there, and names the shape that comes."""
    catalog = Catalog(data_root)
    for info in catalog.list():
        data = catalog.load(info.name)
        assert data.kind == info.kind
        assert data.name == info.name
        assert data.sentences
        assert info.description.endswith(".")


def write(path: Path, text: str, encoding: str = "utf-8") -> None:
    """Write a file and the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode(encoding))


def test_latin1_where_the_reference_says_so(tmp_path: Path) -> None:
    """MR and TREC are decoded as latin-1: a UTF-8 accent becomes two characters, as published."""
    base = tmp_path / "downstream"
    write(base / "MR" / "rt-polarity.pos", "a caf\u00e9 .\n")
    write(base / "MR" / "rt-polarity.neg", "bad \n")
    write(base / "TREC" / "train_5500.label", "LOC:city Where is Orl\u00e9ans ?\n", "latin-1")
    write(base / "TREC" / "TREC_10.label", "NUM:date When ?\n")
    catalog = Catalog(tmp_path)

    assert catalog.load("MR").sentences == ["a caf\u00c3\u00a9 .", "bad"]
    assert catalog.load("MR").labels == ["positive", "negative"]
    assert catalog.load("TREC").sentences == ["Where is Orl\u00e9ans ?", "When ?"]
    assert catalog.load("TREC").labels == ["LOC", "NUM"]


def test_what_is_fitted_on_nli_saw_no_test_sentence(tmp_path: Path) -> None:
    """`nli` is the training triplets; files made of dev or test pairs stand alone and say so."""
    write(tmp_path / "nli" / "nli_for_simcse.csv", 'sent0,sent1,hard_neg\n"a, b",c,d\n')
    write(tmp_path / "nli" / "triplets" / "more_devtest.csv", "sent0,sent1,hard_neg\nx,y,z\n")
    catalog = Catalog(tmp_path)
    infos = {info.name: info.description for info in catalog.list()}

    assert catalog.load("nli").sentences == ["a, b", "c", "d"]
    assert "test" in infos["nli/more_devtest"]


@pytest.mark.parametrize(
    ("file", "text", "name", "code", "named"),
    [
        (
            "downstream/TREC/train_5500.label",
            "LOC:city Where ?\nno colon\n",
            "TREC",
            "damaged",
            "line 2",
        ),
        ("downstream/SST/fine/sentiment-train", "2 fine\n3\n", "SST5", "damaged", "line 2"),
        (
            "probing/subj_number.txt",
            "tr\tNN\tA .\nxx\tNN\tB .\n",
            "SubjNumber",
            "damaged",
            "line 2",
        ),
        (
            "mteb/clustering/tweet/tweet-original-order.tsv",
            "1\ta\nb\n",
            "tweet",
            "damaged",
            "line 2",
        ),
        (
            "mteb/clustering/stackoverflow/titles.txt",
            "a\nb\n",
            "stackoverflow",
            "no-file",
            "labels.txt",
        ),
        ("nli/x.csv", "sent0,sent1,hard_neg\na,b,c\na,b\n", "nli", "damaged", "line 3"),
        ("unlabelled/x.txt", "fine\ncaf\u00e9\n", "unlabelled/x", "damaged", "line 2"),
    ],
)
def test_bad_files_are_named_with_their_line(
    tmp_path: Path, file: str, text: str, name: str, code: Code, named: str
) -> None:
    write(tmp_path / file, text, "latin-1")
    with refused(code, named):
        Catalog(tmp_path).load(name)


def test_reading_costs_no_more_than_the_sentences(tmp_path: Path) -> None:
    """A packed file is streamed: the peak while reading is the result and a buffer."""
    path = tmp_path / "unlabelled" / "big.txt.gz"
    path.parent.mkdir()
    text = "".join(f"This is sentence number {i} of very many.\n" for i in range(100_000))
    path.write_bytes(gzip.compress(text.encode(), 1))
    size = len(text)
    catalog = Catalog(tmp_path)

    tracemalloc.start()
    data = catalog.load("unlabelled/big")
    kept, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert len(data.sentences) == 100_000
    assert peak - kept < size / 2  # holding the whole text once would be `size`


def test_sizes_are_those_of_the_files(tmp_path: Path) -> None:
    """A file's, or all of a folder's, also where sets of SentEval lie side by side."""
    write(tmp_path / "unlabelled" / "words.txt", "twelve bytes")
    write(tmp_path / "mteb" / "classification" / "emotion" / "train.txt", "seven b")
    for file in ("MR/rt-polarity.pos", "SUBJ/subj.objective"):
        write(tmp_path / "senteval" / "downstream" / file, "Lines.\n")
    catalog = Catalog(tmp_path)
    sizes = {info.name: info.bytes for info in catalog.with_sizes(catalog.list())}
    assert sizes["starter-pairs"]
    assert sizes == sizes | {"unlabelled/words": 12, "emotion": 7, "MR": 7, "SUBJ": 7}


def test_biosses_keeps_its_spaces(tmp_path: Path) -> None:
    """As mteb scores its sentences, which it does not strip."""
    (tmp_path / "sentence_pairs.txt").write_text(" one \ntwo\n")
    (tmp_path / "annotation_scores.txt").write_text("3.5\n")
    part = folders.read_biosses(tmp_path).parts["test"]
    assert (part.left, part.right, part.gold.tolist()) == ((" one ",), ("two",), [3.5])
