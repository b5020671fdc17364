"""How a unit of an evaluation pauses while somebody waits for a page."""

import math
import time
from collections.abc import Callable
from types import SimpleNamespace

import pytest

from theodolite.app.jobs import reporter as reporters
from theodolite.app.jobs.reporter import PausingReporter
from theodolite.app.workspace import Workspace
from theodolite.store import Store

WORKER = "local-0"


class Clock:
    """Time as the reporter sees it: it passes while it sleeps; `then` is called once."""

    def __init__(self) -> None:
        self.now, self.at = 100.0, math.inf
        self.then: Callable[[], object] = lambda: None

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return time.time() + self.now - 100.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds
        if self.now >= self.at:
            self.at = math.inf
            self.then()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(reporters, "time", made)
    return made


@pytest.fixture
def store(workspace: Workspace) -> Store:
    return workspace.store


def begin(store: Store, kind: str, worker: str = WORKER) -> str:
    """Have a worker begin a run of one unit; its id."""
    run = store.runs.create(kind, {"for": kind}, kind)
    assert store.runs.start(run, 1, worker, ["unit"])
    return run


@pytest.fixture
def evaluation(store: Store, clock: Clock) -> PausingReporter:
    """The reporter of a unit of an evaluation, half a second into it."""
    of = begin(store, "evaluate"), 1, 0, "STSBenchmark · minilm"
    made = PausingReporter(store, *of, worker=WORKER, kinds=["project", "search"])
    clock.now += 0.55
    return made


def visit(store: Store, clock: Clock) -> None:
    """Have a page opened at the present moment of the clock."""
    opened = clock.now
    store.visits = SimpleNamespace(seconds_since=lambda: clock.now - opened)  # type: ignore[assignment]


def test_a_unit_pauses_until_the_map_is_there(store, evaluation, clock):
    """Its run says so meanwhile; the time is counted apart."""
    waited_for = begin(store, "project")

    def ends() -> None:
        (run,) = store.runs.list(kinds=["evaluate"])
        assert run["message"] == "STSBenchmark · minilm · paused for a page"
        assert run["fraction"] == 0.25
        store.runs.finish(waited_for, 1, "done")

    clock.at, clock.then = clock.now + 0.9, ends
    evaluation(1, 4)
    assert evaluation.paused == pytest.approx(0.9, abs=0.1)
    clock.now += 0.55
    evaluation(1, 4)
    assert evaluation.paused == pytest.approx(0.9, abs=0.1)


def test_a_page_that_opens_comes_first(store, evaluation, clock):
    """For a second; work may go on for as long before the next page can pause it again."""
    clock.now += 0.5
    visit(store, clock)
    evaluation(1, 4)
    assert evaluation.paused == pytest.approx(1.0, abs=0.11)
    visit(store, clock)
    evaluation(1, 4)
    assert evaluation.paused == pytest.approx(1.0, abs=0.11)


def test_only_for_the_beginning_of_a_long_run(store, evaluation):
    """Else a search over millions would keep evaluations from ending."""
    begin(store, "search")
    evaluation(1, 4)
    assert evaluation.paused == pytest.approx(30.0, abs=1.0)


@pytest.mark.parametrize(("kind", "worker"), [("project", "another"), ("train", WORKER), ("", "")])
def test_what_is_no_reason_to_pause(store, evaluation, clock, kind, worker):
    """Another worker's run, one that nobody waits for, a page opened before; nor nothing."""
    if kind:
        begin(store, kind, worker)
    visit(store, clock)
    clock.now += 1.1
    evaluation(1, 4)
    assert evaluation.paused == 0
