"""`theodolite encode-corpus`: a corpus of any size to a folder of vectors."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.command_line import objects, theodolite
from theodolite.app.jobs.kinds import job_of
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.unit import do
from theodolite.app.pages.encoders.shard import EncodeShardJob
from theodolite.app.pages.search import indexes
from theodolite.app.workspace import Workspace
from theodolite.engine.corpus.reading import EncodedCorpus
from theodolite.engine.encoders import load


def corpus(folder: Path, sentences: int) -> Path:
    """Different sentences, a line each."""
    file = folder / "corpus.txt"
    file.write_text("".join(f"sentence {i} of the corpus\n" for i in range(sentences)))
    return file


def arguments(file: Path, out: Path, *, rows: int) -> list[str]:
    """Of the verb."""
    return ["encode-corpus", "random:8", str(file), "--out", str(out), "--shard-rows", f"{rows}"]


def killed_and_resumed(file: Path, out: Path, *, rows: int, kills: int) -> None:
    """Encode by processes of their own that are killed at random, until one gets to the end."""
    command = [sys.executable, "-m", "theodolite.app", *arguments(file, out, rows=rows)]
    draws = random.Random(7)
    shards = out / "shards"
    for _ in range(kills):
        before = len(list(shards.glob("*.json")))
        process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
        # At any moment from the first shard on; and once while the corpus is cut.
        wanted = before + draws.randint(0, 3)
        while process.poll() is None and len(list(shards.glob("*.json"))) < wanted:
            time.sleep(0.005)
        time.sleep(draws.random() * 0.1)
        process.send_signal(signal.SIGKILL)
        process.wait(60)
    assert subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


def assert_whole(file: Path, out: Path) -> None:
    """Every line has its row, once, in order, and nothing of the killed is left."""
    lines = file.read_text().split("\n")[:-1]
    found = EncodedCorpus(out)
    assert list(found.sentences()) == lines
    expected = load("random:8").encode(lines)
    np.testing.assert_array_equal(found.vectors(np.arange(len(lines))), expected)
    assert list(out.rglob("*.tmp")) == []


def test_files_become_a_folder_that_says_what_it_is(home: Path) -> None:
    """Asked again, it is read and not encoded again."""
    more = home / "more.txt"
    more.write_text("one more\n")
    verb = [*arguments(corpus(home, 10), home / "out", rows=4), str(more), "--json"]
    (row,) = objects(theodolite(*verb))
    assert (row["count"], row["dim"]) == (11, 8)
    assert row["fingerprint"] == load("random:8").fingerprint
    assert list(EncodedCorpus(home / "out").sentences())[-1] == "one more"
    manifest = (home / "out" / "manifest.json").stat().st_mtime_ns
    assert objects(theodolite(*verb)) == [row]
    assert (home / "out" / "manifest.json").stat().st_mtime_ns == manifest


def test_a_queued_corpus_is_a_run_with_a_unit_for_each_shard(home: Path) -> None:
    """Which a worker does from the folder alone, though the file is gone."""
    file = corpus(home, 10)
    (queued,) = objects(theodolite(*arguments(file, home / "out", rows=4), "--queue", "--json"))
    file.unlink()
    workspace = Workspace(home / "store")
    job = job_of(workspace.store.runs.get(queued["id"]))
    assert job.title == "Encode 10 sentences into out with random:8"
    assert job.units() == ["Shard 1 of 3", "Shard 2 of 3", "Shard 3 of 3"]
    for position, label in enumerate(job.units()):
        reporter = Reporter(workspace.store, queued["id"], 1, position, label)
        assert do(workspace, job, position, reporter).failure is None
    assert job.is_stored(workspace)
    workspace.close()


def test_a_shard_by_itself_goes_to_the_others(home: Path) -> None:
    """Each done alone, in any order, the corpus is complete, and nothing else is left."""
    file = corpus(home, 10)
    (queued,) = objects(theodolite(*arguments(file, home / "out", rows=4), "--queue", "--json"))
    workspace = Workspace(home / "store")
    job = job_of(workspace.store.runs.get(queued["id"]))
    for position in (2, 0, 1):
        part = job.part(position)
        assert isinstance(part, EncodeShardJob)
        assert not part.is_stored(workspace)
        reporter = Reporter(workspace.store, queued["id"], 1, position, part.title)
        assert do(workspace, part, 0, reporter).failure is None
        assert part.is_stored(workspace)
    assert_whole(file, home / "out")
    assert [one for one in (home / "out" / "shards").iterdir() if one.is_dir()] == []
    workspace.close()


def test_it_is_a_data_set_whose_vectors_are_read_in_the_folder(home: Path) -> None:
    """Also by an index; the store has none of them, and forgets the folder when it is told to."""
    (row,) = objects(theodolite(*arguments(corpus(home, 300), home / "out", rows=64), "--json"))
    assert row["dataset"] == "corpus:out"
    (hit,) = objects(
        theodolite(
            "search",
            "sentence 7 of the corpus",
            "--in",
            "corpus:out",
            "-e",
            "random:8",
            "-k",
            "1",
            "--json",
        )
    )
    assert (hit["sentence"], round(hit["cosine"], 5)) == ("sentence 7 of the corpus", 1.0)
    workspace = Workspace(home / "store")
    indexes.make(workspace, "random:8", "corpus:out")
    encoder = workspace.load("random:8")
    sentences, data_hash = workspace.catalog.sentences("corpus:out")
    index = indexes.open_index(workspace, encoder, sentences, data_hash)
    assert index is not None
    found = index.search(encoder.encode(["sentence 7 of the corpus"]), 1)[1]
    assert sentences[found[0, 0]] == "sentence 7 of the corpus"
    assert workspace.store.vectors.usage() == {}
    theodolite("data", "remove", "corpus:out")
    assert "corpus:out" not in workspace.catalog.names()
    assert (home / "out" / "manifest.json").exists()
    workspace.close()


def test_a_corpus_that_is_gone_is_encoded_again_by_whoever_needs_it(home: Path) -> None:
    """Its vectors are a cache like any other."""
    theodolite(*arguments(corpus(home, 300), home / "out", rows=64))
    (home / "out" / "manifest.json").unlink()
    workspace = Workspace(home / "store")
    queries = ["sentence 7 of the corpus"]
    np.testing.assert_array_equal(
        workspace.load("random:8").encode(queries), load("random:8").encode(queries)
    )
    workspace.close()


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
    lines = theodolite("encode-corpus", encoder, file, "--out", str(out), *more, code=2)
    assert named in lines[-1]
    assert not out.exists()


def test_an_encoder_and_sentences_go_as_before(home: Path) -> None:
    """The encoder first, or as an option."""
    first = theodolite("encode", "random:4", "a boat", "--json")
    assert theodolite("encode", "a boat", "--encoder", "random:4", "--json") == first
    assert json.loads(first[0])["sentence"] == "a boat"


def test_killed_twice_it_loses_and_doubles_nothing(home: Path) -> None:
    """The small case."""
    file = corpus(home, 4000)
    killed_and_resumed(file, home / "out", rows=200, kills=2)
    assert_whole(file, home / "out")


@pytest.mark.long
def test_a_million_sentences_are_resumed_after_kills(home: Path) -> None:
    """SIGKILL at random moments, while it is cut and while it is encoded."""
    os.environ.pop("THEODOLITE_DATA", None)
    file = corpus(home, 1_000_000)
    killed_and_resumed(file, home / "out", rows=16_384, kills=12)
    assert_whole(file, home / "out")
