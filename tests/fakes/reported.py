"""A store with something of every kind that can be reported; names and texts wish us ill."""

import base64
import csv
import re
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import theodolite as th
from tests.fakes.stores import invent, invent_all, put_cost, starter_store
from tests.fakes.workers import say
from theodolite.app.jobs import submit
from theodolite.app.pages.judge import session as judging
from theodolite.app.pages.train.job import TrainJob
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.starter import FOLDER
from theodolite.engine.training import Evaluated, Finished, Noted, Started, Stepped, TrainSpec

HOSTILE = "<img src=x onerror=\"document.title='hit'\">"
PAIR = ("random:8", "random:4")


@contextmanager
def answered(root: Path, *others: str) -> Iterator[Workspace]:
    """A store of its own with results, a training, a session and a decision.

    Args:
        root: of its folder, and of the files that were decided on.
        others: encoders measured beside the pair.
    """
    made = starter_store(root)
    results(made)
    for name in others:
        invent(made, name, "MR", 0.7)
    training(made)
    session(made)
    decided(made, root)
    yield made
    made.close()


def results(workspace: Workspace) -> None:
    """Invented ones of two encoders on two tasks."""
    invent_all(workspace, dict(zip(PAIR, (0.9, 0.6), strict=True)), ("MR", "CR"))


def training(workspace: Workspace) -> str:
    """A run with three evaluations, and a note of somebody's."""
    spec = TrainSpec("unsup", "minilm", "starter", "")
    run = submit.queue(workspace, TrainJob.of(workspace, spec))
    workspace.store.runs.start(run, 1, "local-0", ["training"])
    events = [
        Started(0, 60, 600, 22_000_000, "cpu", "fp32", "0" * 32),
        *(
            Stepped(n, 60, 2.0 - n / 60, 3e-5, 1.0, 400.0, float(n), 9.0, None)
            for n in range(10, 70, 10)
        ),
        *(Evaluated(20 * n, n == 3, 60.0 + n, 0.5, -2.0) for n in (1, 2, 3)),
        Noted(40, HOSTILE),
        Finished(60, 60, 63.0, 12.0, "somewhere", "random:64", "done", None),
    ]
    say(workspace, run, *events)
    workspace.store.runs.end_unit(run, 0, 12.0)
    workspace.store.runs.finish(run, 1, "done")
    return run


def session(workspace: Workspace) -> str:
    """A session of judging, ten marks far, with a query that wishes us ill."""
    asked = judging.JudgeSpec("starter-topics", PAIR, queries=[HOSTILE, "a boat"], seed=1)
    begun = judging.begin(workspace, asked)
    judging.play(
        workspace, begun, lambda asked: "relevant" if "a" in asked.query else "not", most=10
    )
    return begun


def decided(workspace: Workspace, folder: Path) -> str:
    """The data set of a decision on two encoders."""
    for name in (*PAIR, "random:256"):
        put_cost(workspace, name, latency_ms=[1.0], dim=8)
    rows = [
        (line, name)
        for name in ("cooking", "sea")
        for line in (FOLDER / "topics" / f"{name}.txt").read_text("utf-8").splitlines()[:24]
    ]
    with (folder / "topics.csv").open("w", newline="", encoding="utf-8") as opened:
        csv.writer(opened).writerows([("text", "label"), (HOSTILE, "sea"), *rows])
    th.choose(folder / "topics.csv", PAIR, workspace=workspace)
    return "upload:topics"


def unpacked(document: str) -> str:
    """What a browser makes of a report."""
    packed = re.findall(r'packed = "([^"]*)"', document)[0]
    return zlib.decompress(base64.b64decode(packed), -zlib.MAX_WBITS).decode()


def body(document: str) -> str:
    """Its HTML, without style, scripts and the values of charts."""
    return re.findall(r"<main.*</main>", unpacked(document), re.DOTALL)[0]
