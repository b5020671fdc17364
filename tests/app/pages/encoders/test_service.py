"""Encoders, chosen or from files: added, evaluated, searched, and which tasks they suffice for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sentence_transformers import SentenceTransformer

import theodolite as th
from tests.engine.encoders.folders import LFS_POINTER, LIKE_THEIRS, Folders
from tests.errors import refused
from tests.fakes.command_line import objects, said, theodolite
from theodolite.app.pages.encoders import builder
from theodolite.app.pages.encoders.checks import COVERAGE, CoverageSpec
from theodolite.app.web.controls import Values
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.starter import read_pairs
from theodolite.engine.encoders.spec import parse
from theodolite.engine.encoders.vectors import save

DOCUMENTS = ["a cat sat on the mat", "the dog ran", "a dog and a cat slept", "the cat ran quickly"]


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """Writes folders."""
    return Folders(tmp_path)


def test_what_cannot_encode_is_not_added(home: Path, folders: Folders) -> None:
    """What can is listed with the dimension that its vectors have."""
    pointer = folders.mean("pointer")
    (pointer / "model.safetensors").write_text(LFS_POINTER)
    for spec, why in ((f"dir:{pointer}", "Git LFS pointer"), ("dir:/nowhere", "no folder")):
        assert why in theodolite("encoders", "add", spec, code=2)[-1]
    cnn = LIKE_THEIRS["cnn"](folders, "cnn")
    (row,) = objects(theodolite("encoders", "add", f"dir:{cnn}", "--json"))
    assert row["dim"] == 24 and row["fingerprint"]
    assert "depends on the texts that are encoded with it" in row["warnings"][0]
    names = {row["name"] for row in objects(theodolite("encoders", "list", "--json"))}
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


def test_routes_are_taken_in_search(home: Path, folders: Folders) -> None:
    """By a spec and by an encoder in Python, as in any task."""
    folder, query = folders.router("router"), "the cat and the dog"
    model = SentenceTransformer(str(folder), device="cpu")
    sides = model.encode_query([query]), model.encode_document(DOCUMENTS)
    (order,) = np.argsort(-model.similarity(*sides).numpy(), kind="stable")
    for encoder in (f"dir:{folder}", th.load(f"dir:{folder}")):
        (hits,) = th.search(query, DOCUMENTS, encoder).hits.values()
        assert [hit.sentence for hit in hits[0]] == [DOCUMENTS[i] for i in order]


def test_files_of_vectors_are_read_before_they_are_added(home: Path) -> None:
    """What their first lines do not show is said now, not in the middle of an evaluation."""
    words, vectors = home / "v.txt", home / "x.npy"
    np.save(vectors, np.ones((2, 3), np.float32))
    (home / "x.txt").write_text("only one\n")
    for text, spec, says in (
        ("the 1 2\nship 3 nan\n", f"words:{words}", "'ship'"),
        ("9 2\nthe 1 2\n", f"words:{words}", "states 9 words"),
        ("the 1 2\nship 3 4\n", f"vectors:{vectors}", "x.txt"),
    ):
        words.write_text(text)
        assert says in theodolite("encoders", "add", spec, code=2)[-1]
    theodolite("encoders", "add", f"words:{words}")


def test_every_task_says_how_many_sentences_are_lacking(tmp_path: Path) -> None:
    """With the first of those; data that cannot be read spoil one row."""
    sentences = list(dict.fromkeys(read_pairs().sentences))
    save(tmp_path / "x.parquet", sentences[2:], np.ones((len(sentences) - 2, 3)))
    spec = f"vectors:{tmp_path / 'x.parquet'}"
    (tmp_path / "data" / "probing").mkdir(parents=True)
    (tmp_path / "data" / "probing" / "past_present.txt").write_text("xx\ta\tb\n")
    workspace = Workspace(tmp_path / "store", tmp_path / "data")

    def coverage(spec: str, tasks: str | None = None) -> list[dict[str, Any]]:
        return COVERAGE.last(workspace, CoverageSpec(spec, tasks), lambda job: False).rows()

    rows = {row["task"]: row for row in coverage(spec)}
    assert rows.keys() >= {"StarterSTS", "StarterTopics", "StarterSearch"}
    expected = {"sentences": len(sentences), "lacking": 2, "first": sentences[0], "error": None}
    assert rows["StarterSTS"] == {"task": "StarterSTS", **expected}
    (tense,) = coverage(spec, "Tense")
    assert "past_present.txt, line 1" in tense["error"]
    with refused("wrong-kind", "random:8"):
        coverage("random:8")
    workspace.close()


NAMES = ("source", "value", "pooling", "averaging", "learnt", "before", "steps", "fitted")
PROMPTS = ("prompt", "query_prompt")


def chosen(*values: object, **prompts: str | None) -> Values:
    """What the controls say."""
    assert {control.name for control in builder.CONTROLS} == {*NAMES, *PROMPTS}
    return Values(**dict(zip(NAMES, values, strict=True)), **dict.fromkeys(PROMPTS) | prompts)


@pytest.mark.parametrize(
    ("choices", "text"),
    [
        (("wordllama", None, "", "avg", "starter", None, [], "@task"), "wordllama"),
        (("wordllama", "", "", "max", "starter", "", [], "@task"), "wordllama?pooling=max"),
        (
            ("random", "48", "", "sif", "nli", "", ["normalise"], "@task"),
            "random:48?pooling=sif&data=nli | normalise",
        ),
        (
            ("words", "/a b/x+y.txt", "", "sif", "starter", "", [], "@task"),
            "words:/a b/x%2By.txt?pooling=sif",
        ),
        (
            ("vectors", "/x.npy", "cls", "max", "starter", "minilm + wordllama", ["drop"], "nli"),
            "minilm + wordllama + vectors:/x.npy | drop:1,nli",
        ),
        (
            ("hf", "a/b", "cls_token", "max", "starter", "", ["center", "whiten"], "@task"),
            "hf:a/b?pooling=cls_token | center:@task | whiten:@task",
        ),
        (("minilm", "", builder.LEFT_TO_MODEL, "gem", "starter", "", [], "@task"), "minilm"),
        (
            (None, "", "cls", "avg", "starter", "random:8", ["normalise"], "@task"),
            "random:8 | normalise",
        ),
    ],
)
def test_choices_become_a_spec(choices: tuple, text: str) -> None:
    """Canonical already, options of another source left out."""
    assert builder.compose(chosen(*choices)) == text
    assert str(parse(text)) == text


def test_prompts_are_written_for_models_alone() -> None:
    """Spaces at their ends and all, so that they read back as they were typed."""
    prompts = {"prompt": "passage: ", "query_prompt": "a & b? "}
    rest = ("", "", [], "@task")
    text = builder.compose(chosen("hf", "a/b", "avg", "avg", *rest, **prompts))
    (source,) = parse(text).sources
    assert dict(source.options) == {"pooling": "avg", **prompts}
    minilm = chosen("minilm", "", builder.LEFT_TO_MODEL, "avg", *rest, prompt="@task")
    assert builder.compose(minilm) == "minilm?prompt=@task"
    assert builder.compose(chosen("wordllama", "", "", "avg", *rest, **prompts)) == "wordllama"


def test_nothing_is_written_while_nothing_is_chosen() -> None:
    """Nor while a source lacks its value."""
    for kind in (None, "hf", "words", "vectors", "random"):
        choices = chosen(kind, " ", "cls", "avg", "starter", "", ["normalise"], "nli")
        assert builder.compose(choices) == ""
