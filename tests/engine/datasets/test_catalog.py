"""The catalog: names, folders, uploads and what is said of a name that is not there."""

from __future__ import annotations

from pathlib import Path

import pytest

from theodolite.engine.datasets import Catalog, Upload
from theodolite.engine.errors import UserError


class Kept:
    """Uploads in a dictionary: what the app gives the catalog, without a store."""

    def __init__(self, **uploads: Upload) -> None:
        self.uploads = uploads

    def names(self) -> list[str]:
        """Names, in the order given."""
        return list(self.uploads)

    def get(self, name: str) -> Upload:
        """One upload, or KeyError."""
        return self.uploads[name]


def labels(path: Path, text: str, column: str = "label") -> Upload:
    """An upload of labelled sentences, under a name that means nothing."""
    path.write_text(text)
    columns = {"text": "text", "label": column}
    return Upload(path, "mine.csv", {"kind": "labels", "columns": columns})


@pytest.fixture
def no_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    """No data folder in the environment."""
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)


def test_the_environment_names_the_folder(tmp_path: Path, monkeypatch) -> None:
    """THEODOLITE_DATA is the folder when none is given; a given one wins."""
    (tmp_path / "a" / "unlabelled").mkdir(parents=True)
    (tmp_path / "b" / "unlabelled").mkdir(parents=True)
    (tmp_path / "a" / "unlabelled" / "x.txt").write_text("One.\n")
    monkeypatch.setenv("THEODOLITE_DATA", str(tmp_path / "a"))

    assert Catalog().load("unlabelled/x").sentences == ["One."]
    assert "unlabelled/x" not in {info.name for info in Catalog(tmp_path / "b").list()}


@pytest.mark.parametrize("make", ["nothing", "a file", "an empty folder"])
def test_a_root_that_is_no_data_folder(tmp_path: Path, make: str) -> None:
    """Said at once, not when the first task fails."""
    root = tmp_path / "data"
    if make == "a file":
        root.write_text("x")
    elif make == "an empty folder":
        root.mkdir()

    with pytest.raises(UserError, match="data folder") as caught:
        Catalog(root)
    assert caught.value.hint


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
    with pytest.raises(UserError) as caught:
        Catalog().load(name)
    assert repr(name) in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.usefixtures("no_folder")
def test_uploads_are_listed_and_read(tmp_path: Path) -> None:
    """`upload:NAME` reads the kept bytes in the format of the file's own name."""
    upload = labels(tmp_path / "0a1b2c", "text,label\nOne.,a\nTwo.,b\n")
    catalog = Catalog(uploads=Kept(mine=upload))
    info = catalog.list()[-1]

    assert (info.name, info.kind, info.origin) == ("upload:mine", "labels", "upload")
    data = catalog.load("upload:mine")
    assert data.name == "upload:mine"
    assert data.labels == ["a", "b"]
    with pytest.raises(UserError, match="upload:other"):
        catalog.load("upload:other")


@pytest.mark.usefixtures("no_folder")
def test_a_name_given_to_another_upload_is_read_anew(tmp_path: Path) -> None:
    """What is remembered is the file and mapping, not the name."""
    text = "text,label,other\nOne.,a,x\nTwo.,b,y\n"
    kept = Kept(mine=labels(tmp_path / "first", text))
    catalog = Catalog(uploads=kept)
    first = catalog.load("upload:mine")

    assert catalog.load("upload:mine") is first
    kept.uploads["mine"] = labels(tmp_path / "first", text, "other")
    assert catalog.load("upload:mine").labels == ["x", "y"]
    kept.uploads["mine"] = labels(tmp_path / "second", text.replace(",a,", ",c,"))
    assert catalog.load("upload:mine").labels == ["c", "b"]


def test_only_the_last_few_stay_in_memory(tmp_path: Path) -> None:
    """A data set is read once while it is in use, and let go when many others were asked for."""
    folder = tmp_path / "unlabelled"
    folder.mkdir()
    for i in range(20):
        (folder / f"{i}.txt").write_text(f"Sentence {i}.\n")
    catalog = Catalog(tmp_path)
    first = catalog.load("unlabelled/0")

    assert catalog.load("unlabelled/0") is first
    for i in range(1, 20):
        catalog.load(f"unlabelled/{i}")
    assert catalog.load("unlabelled/0") is not first
    assert catalog.load("unlabelled/0").hash == first.hash


def test_distinct_sentences_and_all_of_them(tmp_path: Path) -> None:
    """In order; the hash is of these sentences and of nothing that goes with them."""
    folder = tmp_path / "unlabelled"
    folder.mkdir()
    (folder / "a.txt").write_text("One.\nTwo.\nOne.\n")
    (folder / "b.txt").write_text("One.\nTwo.\n")
    (folder / "c.txt").write_text("Two.\nOne.\n")
    catalog = Catalog(tmp_path)
    a, b, c = (catalog.sentences(f"unlabelled/{name}") for name in "abc")

    assert a[0] == ["One.", "Two."]
    assert a[1] == b[1] != c[1]
    every_a, every_b = (catalog.every_sentence(f"unlabelled/{name}") for name in "ab")
    assert every_a[0] == ["One.", "Two.", "One."]
    assert every_a[1] not in (a[1], every_b[1])
    assert every_b == b
    assert catalog.sentences("starter")[1] == catalog.sentences("starter-topics")[1]


def test_a_snapshot_looks_at_the_folders_once(tmp_path: Path) -> None:
    """What is added meanwhile is listed afterwards."""
    (tmp_path / "unlabelled").mkdir()
    catalog = Catalog(tmp_path)
    before = set(catalog.names())
    with catalog.snapshot():
        (tmp_path / "unlabelled" / "new.txt").write_text("A line.\nAnother.\n")
        assert set(catalog.names()) == before
    assert set(catalog.names()) == {*before, "unlabelled/new"}
