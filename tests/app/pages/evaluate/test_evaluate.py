"""What an evaluation would cost, the groups of tasks, and the protocols that the plan names."""

from pathlib import Path

import pytest

from tests.engine.tasks.test_registry import RETRIEVAL_AND_LABELS
from tests.fakes import folder
from tests.store.test_results import result
from theodolite.app.pages.evaluate import page
from theodolite.app.pages.evaluate.estimate import (
    Estimate,
    Estimates,
    estimate,
    roughly,
)
from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate, start
from theodolite.app.question import Working
from theodolite.app.workspace import Workspace
from theodolite.engine.tasks import MTEB_HERE

A = "random:256"


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    """An empty store beside a small data folder."""
    return Workspace(tmp_path / "store", folder.write(tmp_path / "data"))


def made(workspace: Workspace, *given, **more) -> list[Estimate]:
    """The estimates, after steps that go on."""
    *steps, last = estimate(workspace, EvaluateJob.of(workspace, *given, **more))
    shares = [one.done for one in steps if isinstance(one, Working)]
    assert shares == sorted(shares) and len(shares) == len(steps) > 0
    return last.estimates


def test_disk_is_what_the_store_grows_by(workspace: Workspace) -> None:
    """To the byte, for a model in one piece; the time of what never ran is unknown."""
    tasks = ["SST5", "StarterSTS"]
    (found,) = made(workspace, [A], tasks)
    sets = [workspace.catalog.load(name).sentences for name in ("SST5", "starter-pairs")]
    assert found.new == len({sentence for sentences in sets for sentence in sentences})
    assert (found.results, found.seconds, found.unknown) == (2, None, 2)
    rows = evaluate(workspace, EvaluateJob((A,), tuple(tasks)))
    assert [row["error"] for row in rows] == [None, None]
    files = (workspace.store.folder / "vectors").rglob("*.[fk]*")  # locks aside
    assert sum(file.stat().st_size for file in files) == found.disk


def test_what_is_there_costs_nothing(workspace: Workspace) -> None:
    """Results are counted with their seeds; vectors once."""
    list(evaluate(workspace, EvaluateJob((A,), ("SST5",), seeds=2)))
    (again,) = made(workspace, [A], ["SST5"], seeds=2)
    assert (again.results, again.new, again.disk, again.seconds) == (0, 0, 0, None)
    (more,) = made(workspace, [A], ["SST5"], seeds=5)
    assert (more.results, more.new, more.unknown) == (3, 0, 0)


def test_times_are_those_of_earlier_evaluations(workspace: Workspace) -> None:
    """The encoder's own before those of others, by the task; of others, their median."""
    put = workspace.store.results.put
    for encoder, task, seconds in (
        (A, "SST5", 30.0),
        ("wordllama", "SST5", 90.0),
        ("wordllama", "StarterSTS", 4.0),
        ("minilm", "StarterSTS", 8.0),
    ):
        put(result(encoder=encoder, task=task, seconds=seconds, fingerprint="earlier"))
    (found,) = made(workspace, [A], ["SST5", "StarterSTS", "StarterTopics"])
    assert (found.seconds, found.unknown) == (36.0, 1)
    (row,) = Estimates([found]).table_rows()
    assert row["time"] == "about 40 s and 1 unknown"


def test_an_encoder_that_cannot_be_loaded_is_said(workspace: Workspace, tmp_path: Path) -> None:
    """The others are estimated all the same."""
    bad, good = made(workspace, [f"dir:{tmp_path / 'nothing'}", A], ["StarterSTS"])
    assert bad.error and (good.error, good.results) == (None, 1)


def test_numbers_are_rounded_as_guesses() -> None:
    """One figure, two for those that begin with a one."""
    rounded = {
        0: "–",
        0.2: "under 1 s",
        1.4: "about 1 s",
        14.2: "about 14 s",
        47: "about 50 s",
        89: "about 90 s",
        200: "about 3 min",
        5000: "about 80 min",
        36_000: "about 10 h",
        93_600: "about 30 h",
    }
    assert {seconds: roughly(seconds) for seconds in rounded} == rounded


def test_tasks_stand_in_the_family_of_their_type(tmp_path: Path) -> None:
    """And those of MTEB's types make up a suite; each is scored by the kind of its data."""
    retrieving = Workspace(tmp_path / "store", folder.files(tmp_path, RETRIEVAL_AND_LABELS))
    here, job = page.tasks_here(retrieving), EvaluateJob.of(retrieving, ["random:8"], "mine")
    assert (here["mine"], here["banking77/few-shot"]) == ("Retrieval", "Few-shot classification")
    assert page.members(MTEB_HERE, here) == ["banking77/few-shot", "mine"]
    assert job.protocol_of("mine", retrieving.catalog).name == "mteb-v2"
    assert job.keys(retrieving.catalog) == [("random:8", "mine", 42)]


def test_only_what_was_loaded_is_listed(workspace: Workspace) -> None:
    """A misspelt folder is not, nor what a person wants unlisted."""
    listed = workspace.store.encoders
    for name in ("random:8", "dir:/typo"):
        list(evaluate(workspace, EvaluateJob((name,), ("StarterSTS",)), listed=False))
    start(workspace, EvaluateJob(("dir:/typo",), ("StarterSTS",)))
    assert listed.list() == []
    for name in ("random:8", "dir:/typo"):
        list(evaluate(workspace, EvaluateJob((name,), ("StarterSTS",))))
    assert [row["name"] for row in listed.list()] == ["random:8"]
