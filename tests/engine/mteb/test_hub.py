"""MTEB's tasks by name from the hub: fetched from a server that speaks as much of its protocol."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.hub import FakeHub

TASK = "mteb:Banking77Classification"
PLACE, REVISION = "mteb/banking77", "0fd18e25b25c072e09e0d92ab615fda904d66300"
"""Where mteb keeps its data, and at which revision."""
CLIENT = """
import json, sys
from typer.testing import CliRunner
from theodolite.app.cli import app
for line in sys.stdin:
    done = CliRunner().invoke(app, json.loads(line))
    print(json.dumps([done.exit_code, done.stdout, done.stderr]), flush=True)
"""


Ask = Callable[..., tuple[int, list[dict[str, Any]], str]]


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    """With the few rows of a task at the revision that mteb names, and others at main."""
    words = ("my card was stolen again", "what is the exchange rate today")
    for name, text in ((f"banking77@{REVISION}", "{}"), ("banking77", "newer: {}")):
        folder = tmp_path / "hub/datasets/mteb" / name
        folder.mkdir(parents=True)
        for split, n in (("train", 12), ("test", 8)):
            rows = [f"{text.format(words[i % 2])} {i},{i % 2}" for i in range(n)]
            (folder / f"{split}.csv").write_text("\n".join(["text,label", *rows]))
    with FakeHub(tmp_path / "hub") as served:
        yield served


@pytest.fixture
def ask(hub: FakeHub, tmp_path: Path) -> Iterator[Ask]:
    """`theodolite` in a process of its own, with that hub and an empty cache.

    It reads HF_ENDPOINT before all else. What is asked has as its answer the exit code, the objects
    of `--json`, and what was said beside them.
    """
    process = subprocess.Popen(
        [sys.executable, "-c", CLIENT],
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, **hub.environment(tmp_path / "cache")},
    )

    def answer(*words: str) -> tuple[int, list[dict[str, Any]], str]:
        line = [*words, "--json", "--store", str(tmp_path / "store")]
        print(json.dumps(line), file=process.stdin, flush=True)
        code, out, stderr = json.loads(process.stdout.readline())
        return code, [json.loads(row) for row in out.splitlines()], stderr

    yield answer
    process.communicate(timeout=60)


@pytest.mark.long
def test_a_task_of_the_hub(hub: FakeHub, ask: Ask) -> None:
    """Its size is said before a byte is fetched; refusals are sentences; it is fetched once."""

    def listed() -> dict[str, Any]:
        """The task as its suite shows it."""
        _, rows, _ = ask("data", "suite", "MTEB(eng, v1)")
        return next(row for row in rows if row["task"] == TASK)

    def evaluated(encoder: str, task: str = TASK, *more: str) -> tuple[int, Any, str]:
        """Exit code, the main score or the error, and what was said."""
        code, rows, error = ask("evaluate", encoder, "--tasks", task, *more)
        return code, next((row for row in rows if row.get("main", "error" in row)), {}), error

    fetching = f"{TASK} is fetched from the hub first, 167 kB of text"
    before = listed()
    assert (before["here"], before["bytes"], before["licence"]) == (False, 167_036, "mit")
    assert fetching in evaluated("random:32", TASK, "--estimate")[2]
    assert not hub.requests, "nothing was fetched to say so"

    for answer, reported in (
        ("GatedRepo", "is not open to everybody"),
        ("RepoNotFound", "The hub has no data set mteb/banking77"),
    ):
        hub.closed[PLACE] = answer
        code, row, _ = evaluated("random:32")
        assert code == 1
        assert reported in row["error"] and "hf auth login" in row["hint"]
    hub.closed.clear()
    assert not listed()["here"]

    code, row, error = evaluated("random:32")
    assert code == 0 and fetching in error
    assert (row["task"], row["metric"], row["n"]) == (TASK, "accuracy", 8)
    fetched = [request for request in hub.requests if request.endswith(".csv")]
    assert fetched and all(REVISION in request for request in fetched)
    assert listed()["here"]

    hub.close()
    code, row, error = evaluated("random:16")
    assert code == 0 and "fetched" not in error, "what is here needs no hub"
    code, row, _ = evaluated("random:16", "mteb:ImdbClassification")
    assert code == 1 and "the hub cannot be reached" in row["error"] and "Connect" in row["hint"]
