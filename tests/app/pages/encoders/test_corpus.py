"""`theodolite encode-corpus`: a corpus of any size to a folder of vectors."""

import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.command_line import objects, theodolite
from tests.fakes.workers import work_off
from theodolite.app.pages.search import service as search
from theodolite.app.workspace import Workspace
from theodolite.engine.corpus.reading import EncodedCorpus
from theodolite.engine.encoders import load
from theodolite.engine.search import ann_index


def lines(count: int) -> list[str]:
    """Different sentences."""
    return [f"sentence {i} of the corpus" for i in range(count)]


def corpus(folder: Path, count: int) -> Path:
    """A file of them."""
    file = folder / "corpus.txt"
    file.write_text("".join(f"{line}\n" for line in lines(count)))
    return file


def arguments(file: Path, out: Path, *, rows: int) -> list[str]:
    """Of the verb."""
    return ["encode-corpus", "random:8", str(file), "--out", str(out), "--shard-rows", f"{rows}"]


def assert_whole(lines: list[str], out: Path) -> None:
    """Every line has its row, once, in order, and nothing of the killed is left."""
    found = EncodedCorpus(out)
    assert list(found.sentences()) == lines
    vectors = found.vectors(np.arange(len(lines)))
    np.testing.assert_array_equal(vectors, load("random:8").encode(lines))
    assert list(out.rglob("*.tmp")) == []


def test_files_become_a_folder_that_says_what_it_is(home: Path) -> None:
    """Asked again, it is read and not encoded again."""
    more, manifest = home / "more.txt", home / "out" / "manifest.json"
    more.write_text("one more\n")
    verb = [*arguments(corpus(home, 10), home / "out", rows=4), str(more), "--json"]
    (row,) = objects(theodolite(*verb))
    assert (row["count"], row["dim"], row["fingerprint"]) == (11, 8, load("random:8").fingerprint)
    assert list(EncodedCorpus(home / "out").sentences())[-1] == "one more"
    written = manifest.stat().st_mtime_ns
    assert objects(theodolite(*verb)) == [row] and manifest.stat().st_mtime_ns == written


def test_a_queued_corpus_is_a_run_with_a_unit_for_each_shard(
    home: Path, workspace: Workspace
) -> None:
    """Which a worker does from the folder alone, though the file is gone."""
    file = corpus(home, 10)
    (run,) = objects(theodolite(*arguments(file, home / "out", rows=4), "--queue", "--json"))
    file.unlink()
    assert work_off(workspace, run["id"])["state"] == "done"
    units = [unit["label"] for unit in workspace.store.runs.units(run["id"])]
    assert units == ["Shard 1 of 3", "Shard 2 of 3", "Shard 3 of 3"]
    assert_whole(lines(10), home / "out")


def test_it_is_a_data_set_whose_vectors_are_read_in_the_folder(
    home: Path, workspace: Workspace
) -> None:
    """Also by an index; the store has none of them, and forgets the folder when it is told to."""
    (row,) = objects(theodolite(*arguments(corpus(home, 300), home / "out", rows=64), "--json"))
    name, text = row["dataset"], "sentence 7 of the corpus"
    (hit,) = objects(
        theodolite("search", text, "--in", name, "-e", "random:8", "-k", "1", "--json")
    )
    assert (hit["sentence"], round(hit["cosine"], 5)) == (text, 1.0)
    search.make_index(workspace, "random:8", name)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ann_index, "EXACT_BELOW", 100)
        opened = search.open_collection(workspace, "random:8", name)
    ((nearest,),) = opened.nearest([text], search.Limits(1))
    assert nearest.sentence == text and workspace.store.vectors.usage() == {} and opened.built
    theodolite("data", "remove", name)
    assert name == "corpus:out" and name not in workspace.catalog.names()
    assert (home / "out" / "manifest.json").exists()


def test_a_corpus_that_is_gone_is_encoded_again_by_whoever_needs_it(
    home: Path, workspace: Workspace
) -> None:
    """Its vectors are a cache like any other."""
    theodolite(*arguments(corpus(home, 300), home / "out", rows=64))
    (home / "out" / "manifest.json").unlink()
    again = workspace.load("random:8").encode(lines(8))
    np.testing.assert_array_equal(again, load("random:8").encode(lines(8)))


@pytest.mark.parametrize(
    ("encoder", "more", "named"),
    [
        ("random:8", ["--dtype", "int8"], "int8"),
        ("random:8", ["--format", "h5"], "h5"),
        ("minilm|center:@task", [], "@task"),
    ],
)
def test_what_cannot_be_encoded_is_refused_before_anything_is_written(
    encoder: str, more: list[str], named: str, home: Path
) -> None:
    out = home / "out"
    file = str(corpus(home, 3))
    assert named in theodolite("encode-corpus", encoder, file, "--out", str(out), *more, code=2)[-1]
    assert not out.exists()


@pytest.mark.parametrize(
    ("sentences", "rows", "kills"),
    [(4000, 200, 2), pytest.param(1_000_000, 16_384, 12, marks=pytest.mark.long)],
)
def test_killed_it_loses_and_doubles_nothing(
    home: Path, sentences: int, rows: int, kills: int
) -> None:
    """By SIGKILL at random moments, while it is cut and while it is encoded."""
    verb = arguments(corpus(home, sentences), home / "out", rows=rows)
    command = [sys.executable, "-m", "theodolite.app", *verb]
    draws, shards = random.Random(7), home / "out" / "shards"
    for _ in range(kills):
        # At any moment from the first shard on; and once while the corpus is cut.
        wanted = len(list(shards.glob("*.json"))) + draws.randint(0, 3)
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(list(shards.glob("*.json"))) < wanted:
            time.sleep(0.005)
        time.sleep(draws.random() * 0.1)
        process.kill()
        process.wait(60)
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0
    assert_whole(lines(sentences), home / "out")
