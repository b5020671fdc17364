"""A folder of any files becomes data sets by a manifest in it."""

import json
from pathlib import Path

import pytest

from tests.errors import refused
from tests.fakes import folder
from theodolite.engine.datasets import Catalog
from theodolite.engine.errors import Code

PLACE = "mteb/classification/reviews"
TABLE = {"kind": "labels", "files": {"train": "a.csv"}, "columns": {"text": "said", "label": "is"}}


def catalog(root: Path, manifest: object, **files: str) -> Catalog:
    named = {f"{PLACE}/{name.replace('_', '.')}": text for name, text in files.items()}
    return Catalog(folder.files(root, {f"{PLACE}/dataset.json": json.dumps(manifest), **named}))


def test_a_table_by_its_columns(tmp_path: Path) -> None:
    told = {"licence": "CC0", "languages": ["de"], "description": "Reviews."}
    found = catalog(tmp_path, TABLE | told, a_csv="is,said\ngood,Gut.\nbad,Schlecht.\n")
    data = found.load("reviews")
    assert (data.sentences, data.labels, data.splits) == (
        ["Gut.", "Schlecht."],
        ["good", "bad"],
        ["train", "train"],
    )
    (info,) = [info for info in found.list() if info.name == "reviews"]
    assert (info.licence, info.languages, info.description) == ("CC0", ("deu",), "Reviews.")
    assert info.tasks[0] == "reviews/classify"


def test_a_set_for_each_language_that_the_names_tell(tmp_path: Path) -> None:
    manifest = {
        "kind": "sentences",
        "name": "notes/{language}",
        "files": "{language}_{split}.txt",
        "lines": ["{text}"],
    }
    files = {
        f"{PLACE}/dataset.json": json.dumps(manifest),
        f"{PLACE}/de_test.txt": "Zwei.\n",
        f"{PLACE}/de_train.txt": "Eins.\n\n",
        f"{PLACE}/fr_train.txt": "Un.\n",
    }
    found = Catalog(folder.files(tmp_path, files))
    assert found.load("notes/de").sentences == ["Eins.", "Zwei."]
    assert found.load("notes/fr").sentences == ["Un."]


def test_files_side_by_side_and_names_of_labels(tmp_path: Path) -> None:
    manifest = {
        "kind": "labels",
        "files": {"test": {"text": ["t.txt", 1, 2], "label": "l.txt"}},
        "labels": "n.txt",
    }
    files = {"t_txt": "no\nOne.\nno\nTwo.\n", "l_txt": "0\n1\n", "n_txt": "0\tcalm\n"}
    data = catalog(tmp_path, manifest, **files).load("reviews")
    assert (data.sentences, data.labels) == (["One.", "Two."], ["calm", "1"])


def test_it_takes_the_place_of_what_ships(tmp_path: Path) -> None:
    lines = {"kind": "sentences", "files": {"": "train.txt"}, "lines": ["{text}"], "name": "mine"}
    place = "mteb/classification/emotion"
    files = {f"{place}/dataset.json": json.dumps(lines), f"{place}/train.txt": "text;label\na;b\n"}
    found = Catalog(folder.files(tmp_path, files))
    assert found.load("mine").sentences == ["text;label", "a;b"]
    assert "emotion" not in found.names()


@pytest.mark.parametrize(
    ("manifest", "code", "named"),
    [
        ("x", "damaged", "dataset.json"),
        ({"kind": "labels"}, "damaged", "files"),
        (TABLE | {"kinds": 1}, "unknown", "'kinds'"),
        (TABLE | {"kind": "letters"}, "damaged", "letters"),
        (TABLE | {"columns": {"text": "said"}}, "damaged", "'label'"),
        (TABLE | {"files": {"train": "../../other.csv"}}, "damaged", "outside"),
        (TABLE | {"files": "{year}.csv"}, "damaged", "{year}"),
    ],
)
def test_a_manifest_that_cannot_be_used_says_why(
    tmp_path: Path, manifest: object, code: Code, named: str
) -> None:
    found = catalog(tmp_path, manifest, a_csv="is,said\ngood,Gut.\n")
    (info,) = found.unread()
    assert info.name == PLACE
    if code != "unknown":
        with refused(code, named):
            found.load(PLACE)
    assert named in str(info.problem)
    assert "starter-topics" in found.names()


@pytest.mark.parametrize(
    ("manifest", "files", "code", "named"),
    [
        (TABLE, {}, "no-file", "a.csv"),
        (TABLE, {"a_csv": "text,is\na,b\n"}, "unknown", "'said'"),
        (
            {"kind": "labels", "files": {"": {"text": "a.txt", "label": "b.txt"}}},
            {"a_txt": "1\n2\n", "b_txt": "1\n"},
            "mismatch",
            "a.txt has 2 rows",
        ),
        (
            {"kind": "labels", "files": {"": "a.txt"}, "lines": ["{label}\t{text}"]},
            {"a_txt": "1\ta\nb\n"},
            "damaged",
            "line 2",
        ),
    ],
)
def test_files_that_are_not_as_described_are_named(
    tmp_path: Path, manifest: object, files: dict[str, str], code: Code, named: str
) -> None:
    with refused(code, named):
        catalog(tmp_path, manifest, **files).load("reviews")
