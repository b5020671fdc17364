"""Folders of sentence-transformers from the command line and Python: added, evaluated, searched."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer
from typer.testing import CliRunner

import theodolite as th
from tests.engine.encoders.folders import LFS_POINTER, LIKE_THEIRS, Folders
from tests.fakes.command_line import objects, theodolite
from tests.fakes.uploads import beir
from theodolite.app.cli import app
from theodolite.app.pages.choose import service as choose

DOCUMENTS = ["a cat sat on the mat", "the dog ran", "a dog and a cat slept", "the cat ran quickly"]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """Writes folders."""
    return Folders(tmp_path)


def test_what_cannot_encode_is_not_added(home: Path, folders: Folders) -> None:
    """What can is listed with the dimension that its vectors have."""
    pointer = folders.mean("pointer")
    (pointer / "model.safetensors").write_text(LFS_POINTER)
    for spec, said in ((f"dir:{pointer}", "Git LFS pointer"), ("dir:/nowhere", "no folder")):
        assert said in "\n".join(theodolite("encoders", "add", spec, code=2))
    cnn = LIKE_THEIRS["cnn"](folders, "cnn")
    (row,) = objects(theodolite("encoders", "add", f"dir:{cnn}", "--json"))
    assert row["dim"] == 24 and row["fingerprint"]
    assert "depends on the texts that are encoded with it" in row["warnings"][0]
    kept = [row["name"] for row in objects(theodolite("encoders", "list", "--json"))]
    assert [name for name in kept if name.startswith("dir:")] == [f"dir:{cnn}"]


def test_texts_that_will_be_cut_are_said_before_a_run(home: Path, folders: Folders) -> None:
    """By `evaluate`, `encode` and `choose`, and in Python."""
    spec, file = f"dir:{folders.mean('st')}", folders.root / "long.csv"
    rows = [f"{' '.join(['cat dog'] * 20)} {i},{'ab'[i % 2]}" for i in range(40)]
    file.write_text("text,label\n" + "\n".join(rows) + "\n")
    theodolite("data", "add", str(file), "--name", "long")
    said = "40 of 40 texts of upload:long are longer than the 24 tokens"
    task = "upload:long/classify"
    for command in (
        ["evaluate", spec, "--tasks", task],
        ["encode", spec, "--in", "upload:long", "--out", str(folders.root / "v.npy")],
    ):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0 and said in " ".join(done.stderr.split())
    with pytest.warns(UserWarning, match=said):
        th.evaluate(spec, task)
    workspace = th.Workspace(str(home / "store"))
    planned = choose.plan(workspace, choose.job_of(workspace, "upload:long", [spec]))
    assert any(said in line for line in planned)


def test_routes_are_taken_in_tasks_and_in_search(home: Path, folders: Folders) -> None:
    """By the command line and in Python, whose objects need no store."""
    folder = folders.router("router")
    spec, model = f"dir:{folder}", SentenceTransformer(str(folder), device="cpu")
    query = "the cat and the dog"
    expected = model.similarity(model.encode_query([query]), model.encode_document(DOCUMENTS))[0]
    order = np.argsort(-expected.numpy())
    for encoder in (spec, th.load(spec)):
        (hits,) = th.search(query, DOCUMENTS, encoder).hits.values()
        assert [hit.sentence for hit in hits[0]] == [DOCUMENTS[i] for i in order]

    corpus, queries, judged = beir(folders.root / "beir", 12)
    theodolite("data", "add", str(corpus), str(queries), str(judged), "--name", "mine")
    (main,) = (
        row
        for row in objects(theodolite("evaluate", spec, "--tasks", "upload:mine", "--json"))
        if row["main"]
    )
    workspace = th.Workspace(str(home / "store"))
    data = workspace.catalog.load("upload:mine")
    found = model.similarity(
        model.encode_query(list(data.queries.values())),
        model.encode_document(list(data.documents.values())),
    ).numpy()
    names = list(data.documents)
    gains = []
    for row, judgements in zip(found, data.judgements["test"].values(), strict=True):
        ranked = [names[i] for i in np.argsort(-row, kind="stable")[:10]]
        (answer,) = judgements
        gains.append(1 / np.log2(2 + ranked.index(answer)) if answer in ranked else 0.0)
    assert main["score"] == pytest.approx(100 * np.mean(gains), abs=0.01)


def test_files_of_vectors_are_read_before_they_are_added(home: Path) -> None:
    """What their first lines do not show is said now, not in the middle of an evaluation."""
    words = home / "v.txt"
    for text, says in (("the 1 2\nship 3 nan\n", "'ship'"), ("9 2\nthe 1 2\n", "states 9 words")):
        words.write_text(text)
        assert says in theodolite("encoders", "add", f"words:{words}", code=2)[-1]
    np.save(home / "x.npy", np.ones((2, 3), np.float32))
    (home / "x.txt").write_text("only one\n")
    refused = theodolite("encoders", "add", f"vectors:{home / 'x.npy'}", code=2)[-1]
    assert "x.txt has 1 sentences" in refused
    words.write_text("the 1 2\nship 3 4\n")
    theodolite("encoders", "add", f"words:{words}")
