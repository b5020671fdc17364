"""MTEB's tasks by name from the hub: fetched from a server that speaks as much of its protocol."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.fakes.hub import FakeHub

pytest.importorskip("mteb")

pytestmark = pytest.mark.slow
TASK = "mteb:Banking77Classification"
PLACE, REVISION = "mteb/banking77", "0fd18e25b25c072e09e0d92ab615fda904d66300"
"""Where mteb keeps its data, and at which revision."""
CLIENT = """
import json, sys
from typer.testing import CliRunner
from app.cli import app
for line in sys.stdin:
    done = CliRunner().invoke(app, json.loads(line))
    print(json.dumps([done.exit_code, done.stdout, done.stderr]), flush=True)
"""


class Terminal:
    """`theodolite` in a process of its own, which reads HF_ENDPOINT before all else."""

    def __init__(self, environment: dict[str, str], store: Path) -> None:
        self._store = store
        self._process = subprocess.Popen(
            [sys.executable, "-c", CLIENT], text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, env={**os.environ, **environment},
        )  # fmt: skip

    def __call__(self, *words: str) -> tuple[int, list[dict[str, Any]], str]:
        """Exit code, the objects of `--json`, and what was said beside them."""
        line = [*words, "--json", "--store", str(self._store)]
        self._process.stdin.write(json.dumps(line) + "\n")
        self._process.stdin.flush()
        code, out, said = json.loads(self._process.stdout.readline())
        return code, [json.loads(row) for row in out.splitlines()], said

    def close(self) -> None:
        """End it."""
        self._process.stdin.close()
        self._process.wait(timeout=60)


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[FakeHub]:
    """With the few rows of a task at the revision that mteb names, and another one at main."""
    words = ("my card was stolen again", "what is the exchange rate today")
    for name, text in ((f"banking77@{REVISION}", "{}"), ("banking77", "newer: {}")):
        folder = tmp_path / "hub/datasets/mteb" / name
        folder.mkdir(parents=True)
        for split, n in (("train", 12), ("test", 8)):
            with (folder / f"{split}.csv").open("w", newline="") as file:
                rows = csv.writer(file)
                rows.writerow(("text", "label"))
                rows.writerows((text.format(f"{words[i % 2]} {i}"), i % 2) for i in range(n))
    with FakeHub(tmp_path / "hub") as served:
        yield served


@pytest.fixture
def ask(hub: FakeHub, tmp_path: Path) -> Iterator[Terminal]:
    """A terminal with that hub and an empty cache."""
    terminal = Terminal(hub.environment(tmp_path / "cache"), tmp_path / "store")
    yield terminal
    terminal.close()


def test_a_task_is_fetched_and_measured(hub: FakeHub, ask: Terminal, tmp_path: Path) -> None:
    """How large it is stands there before a byte is fetched; what is here is not fetched again."""
    _, rows, _ = ask("data", "suite", "MTEB(eng, v1)")
    (before,) = (row for row in rows if row["task"] == TASK)
    assert (before["here"], before["bytes"], before["licence"]) == (False, 167_036, "mit")
    code, _, said = ask("evaluate", "random:32", "--tasks", TASK, "--estimate")
    assert code == 0 and f"{TASK} is fetched from the hub first, 167 kB of text" in said
    assert not hub.requests, "nothing was fetched to say so"

    code, rows, said = ask("evaluate", "random:32", "--tasks", TASK)
    assert code == 0, said
    assert f"{TASK} is fetched from the hub first, 167 kB of text" in said
    (main,) = (row for row in rows if row["main"])
    assert main["task"] == TASK and main["metric"] == "accuracy" and main["n"] == 8
    assert any(REVISION in asked for asked in hub.requests)
    assert not any(f"resolve/main/{name}.csv" in asked for asked in hub.requests
                   for name in ("test", "train"))  # fmt: skip

    _, rows, _ = ask("data", "suite", "MTEB(eng, v1)")
    assert [row["here"] for row in rows if row["task"] == TASK] == [True]
    asked = len(hub.requests)
    offline = {**hub.environment(tmp_path / "cache"), "HF_HUB_OFFLINE": "1"}
    without = Terminal(offline, tmp_path / "store")
    code, rows, said = without("evaluate", "random:16", "--tasks", TASK)
    without.close()
    assert code == 0 and "is fetched" not in said, (rows, said)
    assert len(hub.requests) == asked


@pytest.mark.parametrize(
    ("answer", "told", "hint"),
    [
        ("GatedRepo", "are not open to everybody", "hf auth login"),
        ("RepoNotFound", "The hub has no data set mteb/banking77", "hf auth login"),
    ],
    ids=["a licence to accept", "a login"],
)
def test_what_the_hub_refuses(
    hub: FakeHub, ask: Terminal, answer: str, told: str, hint: str
) -> None:
    """Terms that have to be accepted and data that need a login: why, and what to do."""
    hub.closed[PLACE] = answer
    code, (row,), _ = ask("evaluate", "random:32", "--tasks", TASK)
    assert code == 1
    assert told in row["error"] and hint in row["hint"]
    assert "Traceback" not in row["error"]


def test_without_a_network(hub: FakeHub, tmp_path: Path) -> None:
    """A hub that does not answer, and one that is not asked: the same sentence."""
    for changed in ({"HF_ENDPOINT": "http://127.0.0.1:9"}, {"HF_HUB_OFFLINE": "1"}):
        ask = Terminal({**hub.environment(tmp_path / "cache"), **changed}, tmp_path / "store")
        code, (row,), _ = ask("evaluate", "random:32", "--tasks", TASK)
        ask.close()
        assert code == 1
        assert "are not on this machine, and the hub cannot be reached" in row["error"]
        assert "Connect and try again" in row["hint"]
    assert not hub.requests
