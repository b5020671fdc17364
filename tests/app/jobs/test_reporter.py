"""How a unit of an evaluation pauses while somebody waits for a page."""

import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.app.jobs.conftest import until
from theodolite.app.jobs import reporter as reporters
from theodolite.app.jobs.reporter import PausingReporter
from theodolite.store import Store

WORKER = "local-0"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty store."""
    made = Store.open(tmp_path)
    yield made
    made.close()


def begin(store: Store, kind: str, worker: str = WORKER) -> str:
    """Have a worker begin a run of one unit; its id."""
    run = store.runs.create(kind, {"for": kind}, kind)
    assert store.runs.start(run, 1, worker, ["unit"])
    return run


@pytest.fixture
def evaluation(store: Store) -> Callable[[], PausingReporter]:
    """Half a second into a unit of an evaluation: reports, and returns its reporter."""
    of = begin(store, "evaluate"), 1, 0, "STSBenchmark · minilm"
    made = PausingReporter(store, *of, worker=WORKER, kinds=["project", "search"])
    time.sleep(0.55)

    def report() -> PausingReporter:
        made(1, 4)
        return made

    return report


def test_nobody_waits(evaluation):
    """It goes on at once."""
    assert evaluation().paused == 0


def test_a_unit_pauses_until_the_map_is_there(store, evaluation):
    """Its run says so meanwhile; the time is counted apart."""
    waited_for = begin(store, "project")
    unit = threading.Thread(target=evaluation)
    unit.start()
    until(lambda: "paused" in store.runs.list(kinds=["evaluate"])[0]["message"])
    unit.join(1.0)
    assert unit.is_alive()
    [run] = store.runs.list(kinds=["evaluate"])
    assert run["message"] == "STSBenchmark · minilm · paused for a page"
    assert run["fraction"] == 0.25
    store.runs.finish(waited_for, 1, "done")
    unit.join(10.0)
    assert not unit.is_alive()
    assert evaluation().paused >= 0.9


def test_a_page_that_opens_comes_first(store, evaluation):
    """For a second; work may go on for as long before the next page can pause it again."""
    time.sleep(0.5)
    store.visits.note()
    paused = evaluation().paused
    assert 0.5 < paused < 5.0  # a busy machine may take some of it
    store.visits.note()
    assert evaluation().paused == paused


def test_a_page_that_was_opened_before_is_no_reason_to_pause(store, evaluation):
    """It is there by now."""
    store.visits.note()
    time.sleep(1.1)
    assert evaluation().paused == 0


def test_only_for_the_beginning_of_a_long_run(store, evaluation, monkeypatch):
    """Else a search over millions would keep evaluations from ending."""
    monkeypatch.setattr(reporters, "_LONGEST_PAUSE", 2.0)  # a busy machine may take some of it
    begin(store, "search")
    assert 0.5 < evaluation().paused < 5.0


@pytest.mark.parametrize(
    ("kind", "worker"), [("project", "another"), ("train", WORKER)], ids=["elsewhere", "not waited"]
)
def test_what_is_no_reason_to_pause(store, evaluation, kind, worker):
    """Another worker's run, and one that nobody waits for."""
    begin(store, kind, worker)
    assert evaluation().paused == 0
