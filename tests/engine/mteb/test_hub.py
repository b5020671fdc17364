"""MTEB's tasks by name from the hub: fetched from a server that speaks as much of its protocol."""

import json
from pathlib import Path
from typing import Any

import datasets
import pytest
from typer.testing import CliRunner

from tests.fakes.folder import files
from tests.fakes.hub import FakeHub

TASK = "mteb:Banking77Classification"
PLACE, REVISION = "mteb/banking77", "0fd18e25b25c072e09e0d92ab615fda904d66300"
"""Where mteb keeps its data, and at which revision."""


@pytest.fixture
def hub(served: FakeHub, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeHub:
    """With the few rows of a task at the revision that mteb names, and others at main."""
    words = ("my card was stolen again", "what is the exchange rate today")
    for name, text in ((f"banking77@{REVISION}", "{}"), ("banking77", "newer: {}")):
        for split, n in (("train", 12), ("test", 8)):
            rows = [f"{text.format(words[i % 2])} {i},{i % 2}" for i in range(n)]
            table = {f"{split}.csv": "\n".join(["text,label", *rows])}
            files(served.root / "datasets/mteb" / name, table)
    for name, value in {
        "HF_ENDPOINT": served.url,
        "HF_DATASETS_CACHE": tmp_path / "cache",
        "DOWNLOADED_DATASETS_PATH": str(tmp_path / "cache/downloads"),
    }.items():
        monkeypatch.setattr(datasets.config, name, value)
    return served


@pytest.mark.long
def test_a_task_of_the_hub(hub: FakeHub, tmp_path: Path) -> None:
    """Its size is said before a byte is fetched; refusals are sentences; it is fetched once."""
    from theodolite.app.cli import app

    def ask(*words: str) -> tuple[int, list[dict[str, Any]], str]:
        """Exit code, the objects of `--json`, and what was said beside them."""
        done = CliRunner().invoke(app, [*words, "--json", "--store", str(tmp_path / "store")])
        return done.exit_code, [json.loads(line) for line in done.stdout.splitlines()], done.stderr

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
