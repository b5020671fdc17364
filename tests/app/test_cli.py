"""The command line, as a person or a script meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

VERBS = ["serve", "encode", "evaluate", "compare", "search", "encoders", "data", "jobs", "store",
         "worker"]  # fmt: skip
TWO = ["random:16", "random:64"]


def theodolite(*arguments: str, code: int = 0, given: str | None = None) -> list[str]:
    """Run the command, check its exit code and return the lines of its output."""
    done = subprocess.run(
        [sys.executable, "-m", "app.cli", *arguments],
        capture_output=True,
        text=True,
        input=given,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines() if code == 0 else [*done.stdout.splitlines(), done.stderr]


def objects(lines: list[str]) -> list[dict]:
    """One JSON object a line, nothing else."""
    return [json.loads(line) for line in lines]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store, and no data folder."""
    monkeypatch.setenv("THEODOLITE_HOME", str(tmp_path / "store"))
    monkeypatch.delenv("THEODOLITE_DATA", raising=False)
    return tmp_path


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_teaches_itself(verb: str) -> None:
    """`--help` of every verb says what it does."""
    text = "\n".join(theodolite(verb, "--help"))
    assert "Usage" in text
    assert len(text) > 300


def test_every_number_is_one_object_and_one_of_them_is_main(home: Path) -> None:
    """`evaluate --json` prints what the issue of record promises to scripts."""
    rows = objects(theodolite("evaluate", "random:16", "--tasks", "starter", "--json"))
    fields = {"encoder", "fingerprint", "task", "protocol", "seed", "split", "aggregation",
              "metric", "score", "n", "main"}  # fmt: skip
    assert all(fields <= row.keys() for row in rows)
    for task in ("StarterSTS", "StarterTopics", "StarterSearch"):
        assert sum(row["main"] for row in rows if row["task"] == task) == 1
    assert {row["metric"] for row in rows} >= {"spearman", "pearson", "accuracy", "precision_at_10"}


def test_what_was_measured_is_read_and_not_measured_again(home: Path) -> None:
    """A second evaluation prints the same numbers."""
    first = theodolite("evaluate", "random:16", "--tasks", "StarterSTS", "--json")
    assert theodolite("evaluate", "random:16", "--tasks", "StarterSTS", "--json") == first


def test_compare_says_which_differences_are_real(home: Path) -> None:
    """Each task has a difference with its interval around it, against the first encoder."""
    theodolite("evaluate", *TWO, "--tasks", "starter")
    rows = objects(theodolite("compare", *TWO, "--json"))
    against = [row for row in rows if row.get("against")]
    assert len(against) == 3
    assert all(row["low"] <= row["delta"] <= row["high"] for row in against)
    assert any("size" in row["warning"] for row in rows if "warning" in row)


def test_search_finds_the_sentence_itself(home: Path) -> None:
    """The nearest neighbour of a sentence of the collection is that sentence."""
    sentence = objects(theodolite("data", "show", "starter-topics", "-n", "1", "--json"))[1]
    hits = objects(
        theodolite("search", sentence["sentence"], "-e", "random:64", "-k", "3", "--json")
    )
    assert hits[0]["sentence"] == sentence["sentence"]
    assert hits[0]["cosine"] == pytest.approx(1.0, abs=1e-5)
    assert [hit["rank"] for hit in hits] == [1, 2, 3]


def test_encode_writes_vectors_from_standard_input(home: Path) -> None:
    """One sentence a line in, one row a sentence out."""
    out = home / "vectors.npy"
    theodolite("encode", "random:16", "--out", str(out), given="one\ntwo words\none\n")
    vectors = np.load(out, allow_pickle=False)
    assert vectors.shape == (3, 16)
    assert vectors.dtype == np.float32
    assert np.array_equal(vectors[0], vectors[2])


def test_an_upload_becomes_a_task(home: Path) -> None:
    """A file of one's own is added, shown, measured and removed."""
    file = home / "mine.csv"
    lines = [f"the {w} sat,a {w} was sitting,{i % 6}" for i, w in enumerate("abcdefghij")]
    file.write_text("sentence1,sentence2,score\n" + "\n".join(lines))
    theodolite("data", "add", str(file), "--name", "mine")
    listed = [row["name"] for row in objects(theodolite("data", "list", "--json"))]
    assert "upload:mine" in listed
    rows = objects(theodolite("evaluate", "random:16", "--tasks", "upload:mine", "--json"))
    assert any(row["main"] for row in rows)
    theodolite("data", "remove", "upload:mine")


def test_a_store_in_order_is_said_to_be(home: Path) -> None:
    """`store check` finds nothing wrong, `store clean` says what it freed."""
    theodolite("evaluate", "random:16", "--tasks", "StarterSTS")
    assert objects(theodolite("store", "check", "--json")) == []
    assert "bytes" in objects(theodolite("store", "clean", "--json"))[0]


def test_a_queued_run_waits_and_can_be_cancelled(home: Path) -> None:
    """Without a worker a run stays queued; cancelling it is seen in the list."""
    run = objects(theodolite("jobs", "add", "random:16", "--tasks", "StarterSTS", "--json"))[0][
        "id"
    ]
    assert objects(theodolite("jobs", "list", "--json"))[0]["state"] == "queued"
    theodolite("jobs", "cancel", run)
    assert objects(theodolite("jobs", "list", "--json"))[0]["state"] == "cancelled"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["evaluate", "minilmm"], "minilm"),
        (["evaluate", "random:16", "--tasks", "StarterSTSS"], "StarterSTS"),
        (["evaluate", "random:16", "--protocol", "simcse-2020"], "simcse-2021"),
        (["evaluate", "random:16", "--data", "/nowhere/at/all"], "/nowhere/at/all"),
        (["encode", "random:16", "--file", "/nowhere/at/all", "--json"], "/nowhere/at/all"),
        (["compare", "random:16"], "two encoders"),
        (["search", "x", "--in", "starter-topic", "-e", "random:16"], "starter-topics"),
        (["search", "  ", "-e", "random:16"], "empty"),
        (["serve", "--host", "0.0.0.0"], "--auth"),  # noqa: S104
        (["serve", "--auth", "nobody"], "NAME:PASSWORD"),
        (["jobs", "cancel", "nothing"], "nothing"),
    ],
)
def test_what_cannot_be_used_is_said_in_a_sentence(
    home: Path, arguments: list[str], said: str
) -> None:
    """Exit code 2, what was wrong and what to do, never a traceback."""
    assert said in theodolite(*arguments, code=2)[-1]
