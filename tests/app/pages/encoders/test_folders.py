"""Folders of sentence-transformers as encoders of the app; importing the library takes seconds."""

from pathlib import Path

import pytest

import theodolite as th
from tests.engine.encoders.folders import LFS_POINTER, LIKE_THEIRS, Folders
from tests.fakes.command_line import objects, said, theodolite


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """Writes folders."""
    return Folders(tmp_path)


def test_what_cannot_encode_is_not_added(home: Path, folders: Folders) -> None:
    """What can is listed with the dimension that its vectors have."""
    pointer = folders.mean("pointer")
    (pointer / "model.safetensors").write_text(LFS_POINTER)
    for spec, why in (
        (f"dir:{pointer}", "Git LFS pointer"),
        ("dir:/nowhere", "no folder"),
        ("hf:a b/c", "is not an id"),
        ("fuse(bm25?stemmer=klingon, random:8)", "no stemmer for klingon"),
    ):
        assert why in theodolite("encoders", "add", spec, code=2)[-1]
    cnn = LIKE_THEIRS["cnn"](folders, "cnn")
    (row,) = objects(theodolite("encoders", "add", f"dir:{cnn}", "--json"))
    assert row["dim"] == 24 and row["fingerprint"] and "depends on the texts" in row["warnings"][0]
    names = [row["name"] for row in objects(theodolite("encoders", "list", "--json"))]
    assert f"dir:{cnn}" in names and f"dir:{pointer}" not in names


def test_texts_that_will_be_cut_are_said_before_a_run(home: Path, folders: Folders) -> None:
    """By a verb, and in Python."""
    spec, file = f"dir:{folders.mean('st')}", folders.root / "long.csv"
    rows = [f"{' '.join(['cat dog'] * 20)} {i},{'ab'[i % 2]}" for i in range(40)]
    file.write_text("text,label\n" + "\n".join(rows) + "\n")
    theodolite("data", "add", str(file), "--name", "long")
    task, text = "upload:long/classify", "40 of 40 texts of upload:long are longer than the 24"
    assert text in said("encode", spec, "--in", "upload:long", "--out", str(home / "v.npy"))
    with pytest.warns(UserWarning, match=text):
        th.evaluate(spec, task)
