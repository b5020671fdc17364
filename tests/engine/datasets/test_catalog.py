"""The catalog: names, folders, uploads, files of the hub, and what is said of an unknown name."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from huggingface_hub import constants

from tests.errors import refused
from tests.fakes.folder import files
from tests.fakes.hub import FakeHub, commit
from theodolite.engine import tasks
from theodolite.engine.datasets import (
    Catalog,
    LabelledPairs,
    LabelledSentences,
    PairPart,
    Retrieval,
    ScoredPairs,
    Sentences,
    Triplets,
    Upload,
)
from theodolite.engine.datasets.held_out import join, split, split_name
from theodolite.engine.datasets.hub import HubFile, parse
from theodolite.engine.errors import did_you_mean


class Uploads:
    """Uploads in a dictionary, in place of a store."""

    def __init__(self, **uploads: Upload) -> None:
        self.uploads = uploads
        self.names, self.get = (lambda: list(uploads)), uploads.__getitem__


def labels(path: Path, text: str, column: str = "label") -> Upload:
    """An upload of labelled sentences, under a name that means nothing."""
    path.write_text(text)
    columns = {"text": "text", "label": column}
    return Upload(path, "mine.csv", {"kind": "labels", "columns": columns})


def unlabelled(root: Path, **texts: str) -> Catalog:
    return Catalog(files(root, {f"unlabelled/{name}.txt": text for name, text in texts.items()}))


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch) -> None:
    """THEODOLITE_DATA is the folder when none is given; a given one wins."""
    unlabelled(tmp_path / "a", x="One.\n")
    other = unlabelled(tmp_path / "b", y="Two.\n")
    monkeypatch.setenv("THEODOLITE_DATA", str(tmp_path / "a"))
    assert Catalog().load("unlabelled/x").sentences == ["One."]
    assert "unlabelled/x" not in other.names()


def test_a_root_that_is_no_data_folder(tmp_path: Path) -> None:
    files(tmp_path, {"file": "x", "empty/.keep": ""})
    for name, code in (("none", "no-file"), ("file", "no-file"), ("empty", "wrong-kind")):
        with refused(code, tmp_path / name):
            Catalog(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("starter-pair", "Did you mean starter-pairs"),
        ("STARTER-TOPICS", "Did you mean starter-topics"),
        ("STS16", "downstream/STS/STS16-en-test"),
        ("SICKRelatedness", "downstream/SICK"),
        ("zzz", "theodolite data"),
        ("upload:none", "theodolite data"),
        ("", "theodolite data"),
        ("../../etc/passwd", "theodolite data"),
    ],
)
@pytest.mark.usefixtures("no_folder")
def test_unknown_names(name: str, hint: str) -> None:
    """The answer names the close ones, or where the files of a known set belong."""
    with refused("unknown", repr(name)) as caught:
        Catalog().load(name)
    assert hint in caught.value.hint


@pytest.mark.usefixtures("no_folder")
def test_uploads(tmp_path: Path) -> None:
    """`upload:NAME` reads the kept bytes by the file's own name, and anew for another mapping."""
    assert Catalog().names() == ["starter-pairs", "starter-topics"]
    text = "text,label,other\nOne.,a,x\nTwo.,b,y\n"
    uploads = Uploads(mine=labels(tmp_path / "0a1b2c", text))
    catalog = Catalog(uploads=uploads)
    info, first = catalog.list()[0], catalog.load("upload:mine")
    assert (info.name, info.kind, info.origin) == ("upload:mine", "labels", "upload")
    assert (first.name, first.labels) == ("upload:mine", ["a", "b"])
    assert catalog.load("upload:mine") is first
    with refused("unknown", "upload:other"):
        catalog.load("upload:other")
    uploads.uploads["mine"] = labels(tmp_path / "0a1b2c", text, "other")
    assert catalog.load("upload:mine").labels == ["x", "y"]
    uploads.uploads["mine"] = labels(tmp_path / "second", text.replace(",a,", ",c,"))
    assert catalog.load("upload:mine").labels == ["c", "b"]


def test_only_the_last_few_stay_in_memory(tmp_path: Path) -> None:
    """A data set is read once while it is in use, and let go when many others were asked for."""
    catalog = unlabelled(tmp_path, **{str(i): f"Sentence {i}.\n" for i in range(20)})
    first = catalog.load("unlabelled/0")
    assert catalog.load("unlabelled/0") is first
    for i in range(1, 20):
        catalog.load(f"unlabelled/{i}")
    again = catalog.load("unlabelled/0")
    assert again is not first and again.hash == first.hash


def test_distinct_sentences_and_all_of_them(tmp_path: Path) -> None:
    """In order; the hash is of these sentences and of nothing that goes with them."""
    catalog = unlabelled(tmp_path, a="One.\nTwo.\nOne.\n", b="One.\nTwo.\n", c="Two.\nOne.\n")
    a, b, c = (catalog.sentences(f"unlabelled/{name}") for name in "abc")
    assert a == b == (["One.", "Two."], a[1])
    every_a, every_b = (catalog.every_sentence(f"unlabelled/{name}") for name in "ab")
    assert (every_a[0], every_b) == (["One.", "Two.", "One."], b)
    assert len({a[1], c[1], every_a[1]}) == 3
    assert catalog.sentences("starter") == catalog.sentences("starter-topics")


def test_a_folder_is_looked_into_again_but_not_within_a_snapshot(tmp_path: Path) -> None:
    catalog = unlabelled(tmp_path, words="twelve bytes")
    before = {info.name: info.bytes for info in catalog.with_sizes(catalog.list())}
    with catalog.snapshot():
        (tmp_path / "unlabelled" / "more.txt").write_text("seven b")
        assert set(catalog.names()) == set(before)
    after = {info.name: info.bytes for info in catalog.with_sizes(catalog.list())}
    assert after == before | {"unlabelled/more": 7}


# --- what every kind of data set has ---


SENTENCES = ["a cat", "a dog"]
PLACES = np.arange(2, dtype=np.int32)
MADE = {
    "scores": lambda some: ScoredPairs(
        "x", {"all": PairPart(tuple(some), tuple(SENTENCES), np.array([1.0, 2.0]))}, "splits"
    ),
    "labels": lambda some: LabelledSentences("x", some, ["y", "z"]),
    "pairs": lambda some: LabelledPairs(
        "x", some, PLACES, PLACES[::-1], ["y", "z"], ["train", "test"]
    ),
    "triplets": lambda some: Triplets("x", some, SENTENCES, SENTENCES),
    "sentences": lambda some: Sentences("x", some),
}


@pytest.mark.parametrize("kind", MADE)
def test_content_is_hashed_once(kind: str) -> None:
    """However often it is asked for: an evaluation asks five times, of up to a million rows."""
    data, other = (MADE[kind](sentences) for sentences in (SENTENCES, ["a cat", "a cow"]))
    assert data.hash != other.hash
    assert data.hash is data.hash, "hashed again"


# --- files of the hub ---


ROWS = "sentence1,sentence2,score\nA cat.,A dog.,2.5\nA hat.,A cap.,4\n"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """`owner/sts` with two files at `main`, one of them changed at `v2`."""
    contents = {
        "sts/data/test.csv": ROWS,
        "sts/texts.jsonl": '{"body": "One."}\n{"body": "Two."}\n',
        "sts/broken.csv": b"text\nun th\xc3\xa9, un caf\xe9\n",
        "sts@v2/data/test.csv": ROWS.replace("cap", "cup"),
    }
    return files(tmp_path / "hub" / "datasets" / "owner", contents) / "sts"


def test_a_file_is_fetched_pinned_and_kept(
    repository: Path, served: FakeHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A branch becomes a commit in the name; that name works off line and gives the same data."""
    data = Catalog().load("hub:owner/sts/data/test.csv")
    assert f"@{commit(repository)}/data/test.csv" in data.name
    columns = {"left": "sentence1", "right": "sentence2", "score": "score"}
    assert parse(data.name).columns == columns
    assert (data.kind, data.sentences) == ("pairs", ["A cat.", "A hat.", "A dog.", "A cap."])
    assert Catalog().load("hub:owner/sts@v2/data/test.csv").sentences[-1] == "A cup."

    requests = len(served.requests)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    again = [Catalog().load(name) for name in (data.name, "hub:owner/sts/data/test.csv")]
    assert [(one.name, one.hash) for one in again] == [(data.name, data.hash)] * 2
    with refused("unreachable"):
        Catalog().load("hub:owner/sts/texts.jsonl")
    assert len(served.requests) == requests
    served.close()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    with refused("unreachable"):
        Catalog().load("hub:owner/sts/x.csv")


@pytest.mark.usefixtures("repository", "served")
def test_columns_can_be_named_and_what_is_not_there_is_said() -> None:
    """Roles in the query choose the columns and with them the kind; files are proposed."""
    texts = Catalog().load("hub:owner/sts/texts.jsonl?text=body")
    assert (texts.kind, texts.sentences) == ("sentences", ["One.", "Two."])
    column = Catalog().load("hub:owner/sts/data/test.csv?text=sentence2")
    assert column.sentences == ["A dog.", "A cap."]
    for name, code, named in (
        ("hub:owner/sts/data/test.csv?text=nope", "unknown", "'nope'"),
        ("hub:owner/nothing/x.csv", "unknown", "owner/nothing"),
        ("hub:owner/sts@v9/data/test.csv", "unknown", "v9"),
        ("hub:owner/sts/data/none.csv", "unknown", "data/test.csv"),
        ("hub:owner/sts/broken.csv", "damaged", "UTF-8"),
        ("hub:owner/sts", "ambiguous", "data/test.csv"),
    ):
        with refused(code, named):
            Catalog().load(name)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("hub:", "invalid"),
        ("hub:owner", "invalid"),
        ("hub:owner/name/x.csv?colour=a", "unknown"),
        ("hub:owner/name/x.csv?left=a&right=b", "missing"),
        ("hub:owner/name/../../x.csv", "invalid"),
        ("hub:owner/name/%2e%2e/x.csv", "invalid"),
    ],
)
def test_bad_names(name: str, code) -> None:
    """Refused before anything is asked of the hub."""
    with refused(code):
        parse(name)


def test_names_come_back_as_they_went() -> None:
    """Slashes in a revision, spaces in paths and odd columns survive."""
    name = "hub:o/n@refs%2Fconvert%2Fparquet/a%20b/0.parquet?text=my%20text%20%26%20more"
    columns = {"text": "my text & more"}
    assert parse(name) == HubFile("o/n", "refs/convert/parquet", "a b/0.parquet", columns)
    assert str(parse(name)) == name


def test_a_kind_before_a_colon_makes_no_names_alike() -> None:
    assert did_you_mean("upload:gone", ["upload:big"], "None.") == "None."
    assert did_you_mean("UPLOAD:bgi", ["upload:big", "big"], "None.") == "Did you mean upload:big?"


# A part of the data is held out by content, whatever the kind.


TEXTS = [f"text {i}" for i in range(90)]
LABELLED = LabelledSentences(
    "mine", [*TEXTS, "TEXT 7 !"], [*("abc"[i % 3] for i in range(90)), "b"]
)
LEFT = [f"left {i // 3}" for i in range(90)]
GOLD = np.arange(90.0)


def by_split(texts: list, splits: list[str]) -> dict[str, list]:
    """Split -> the texts of its examples."""
    return pd.Series(texts).groupby(splits).agg(list).to_dict()


@pytest.mark.parametrize(
    ("data", "rows"),
    [
        (LABELLED, lambda made: by_split(made.sentences, made.splits)),
        (
            LabelledPairs.of("mine", LEFT, TEXTS, ["0", "1"] * 45, [""] * 90),
            lambda made: by_split(made.left.tolist(), made.splits),
        ),
        (
            ScoredPairs(
                name="mine", parts={"all": PairPart((*LEFT,), (*TEXTS,), GOLD)}, parts_are="subsets"
            ),
            lambda made: {name: list(part.left) for name, part in made.parts.items()},
        ),
        (
            Retrieval(
                name="mine",
                queries={text: text for text in TEXTS},
                documents={"d": "document"},
                judgements={"test": {text: {"d": 1} for text in TEXTS}},
            ),
            lambda made: {name: [*judged] for name, judged in made.judgements.items()},
        ),
    ],
    ids=["labels", "labelled-pairs", "pairs", "retrieval"],
)
def test_a_third_is_held_out_of_any_kind_by_content(data, rows) -> None:
    """The same by the same seed; another by another; what shares a text stays together."""
    found, again, other = (rows(split(data, seed, "x")) for seed in (0, 0, 1))
    assert found == again != other and found.keys() == {"train", "test"}
    count = len(found["train"]) + len(found["test"])
    assert count == (91 if data is LABELLED else 90)
    assert 0.25 <= len(found["test"]) / count <= 0.34
    assert not set(found["train"]) & set(found["test"])


def test_repeated_texts_and_labels_are_shared_out() -> None:
    """Texts that differ in case and end marks are in one part, and each label in both."""
    made = split(LABELLED, 0, "x")
    assert made.splits[7] == made.splits[90]
    of = {(label, name) for label, name in zip(made.labels, made.splits, strict=True)}
    assert of == {(label, name) for label in "abc" for name in ("train", "test")}
    shuffled = random.Random(0).sample(range(91), 91)
    labels, texts = ([column[i] for i in shuffled] for column in (made.labels, made.sentences))
    moved = split(LabelledSentences("mine", texts, labels), 0, "x")
    assert [moved.splits[shuffled.index(i)] for i in range(90)] == made.splits[:90]
    # Own splits stay, but for what is in both.
    own = ["train"] * 80 + ["test"] * 11
    kept = split(replace(LABELLED, splits=own), 0, "x")
    assert kept.splits == [*own[:7], "", *own[8:]]  # "text 7" is in test too


@pytest.mark.usefixtures("no_folder")
def test_a_name_says_that_a_part_is_held_out() -> None:
    """Of data sets and of tasks; of data without examples it is refused."""
    catalog, name = Catalog(), join("starter-topics", 3)
    assert split_name(f"{name}/classify") == ("starter-topics/classify", 3)
    task, pairs = (tasks.get(of, catalog) for of in (f"{name}/classify", join("starter-pairs", 3)))
    assert (task.name, task.dataset, task.type) == (f"{name}/classify", name, "classification")
    assert (pairs.dataset, pairs.type) == (join("starter-pairs", 3), "sts")
    assert catalog.load(name).hash != catalog.load(join("starter-topics", 4)).hash
    with refused("wrong-kind", "plain"):
        split(Sentences("plain", TEXTS), 0, "x")
