"""Jobs done in the foreground or left to a worker, whichever verb asks for them."""

import logging
import math
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.main import get_command

from tests.fakes import command_line
from theodolite.app.cli import app
from theodolite.app.jobs import reporter as reporters, submit
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.submit import perform, queue
from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store import Store

log = logging.getLogger("theodolite.tests")

A, B = "random:8", "random:12"
COMPUTING = {
    "evaluate": ("evaluate", A, "--tasks", "StarterSTS"),
    "project": ("project", A, "starter-pairs", "--method", "pca"),
    "spaces": ("spaces", A, B, "--in", "starter-pairs", "--maps", "pca"),
    "geometry": ("geometry", A, "--on", "starter-pairs"),
    "curate": ("curate", "near", "starter-pairs", "-e", A),
    "choose": ("choose", "starter-pairs", "-e", A),
    "encode": ("encode", A, "--in", "starter-pairs"),
    "upgrade": ("upgrade", A, B, "--in", "starter-topics"),
    "encode-corpus": ("encode-corpus", A, "corpus.txt", "--out", "out"),
    "encode to search": ("search", "a boat", "--in", "starter-topics", "-e", A),
    "train": ("train", "unsup", "minilm", "--train", "starter", "--out", "never"),
    "sweep": tuple("sweep unsup minilm --train starter --out never --set seed=1,2".split()),
    "train-decoder": ("train-decoder", A, "--limit", "300"),
}
"""Kind of job (and why) -> a verb that asks for one."""
_LONG = pytest.param("choose", marks=pytest.mark.long)
HERE = [*list(COMPUTING)[:5], _LONG, *list(COMPUTING)[6:10]]


@pytest.fixture
def home(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty store, no data folder, and a corpus in the working folder."""
    monkeypatch.chdir(home)
    (home / "corpus.txt").write_text("A boat.\nTwo dogs run.\n")
    return home


def theodolite(*arguments: str, code: int = 0) -> list[dict]:
    """Run a verb with --json; its objects."""
    lines = command_line.theodolite(*arguments, "--json", code=code)
    return command_line.objects([line for line in lines if line.startswith("{")])


@pytest.mark.parametrize("kind", COMPUTING)
def test_every_verb_that_computes_can_leave_it_to_a_worker(home: Path, kind: str) -> None:
    """It says the run's id, and that run waits and is the job that was asked for."""
    (output,) = theodolite(*COMPUTING[kind], "--queue")
    (run,) = theodolite("jobs", "list")
    assert (run["id"], run["kind"], run["state"]) == (output["id"], kind.split()[0], "queued")


def test_no_other_verb_computes_what_is_queued() -> None:
    """Who has --queue is in the table above, but what needs a decoder, and what evaluates."""
    commands = get_command(app).commands
    found = {name for name, verb in commands.items() if any(p.name == "queue" for p in verb.params)}
    assert found == {arguments[0] for arguments in COMPUTING.values()} | {
        "diagnose",
        "distributions",
    }


@pytest.mark.parametrize("kind", HERE)
def test_what_is_done_in_the_foreground_is_seen_on_jobs(home: Path, kind: str) -> None:
    """Once: asked again it is read, with the same answer and no other run."""
    first = theodolite(*COMPUTING[kind])
    (run,) = theodolite("jobs", "list")
    assert (run["kind"], run["state"], run["worker"]) == (kind.split()[0], "done", "terminal")
    assert run["done"] == run["total"] > 0
    assert theodolite(*COMPUTING[kind]) == first
    assert len(theodolite("jobs", "list")) == 1


def test_a_query_that_needs_little_encoding_is_no_run(home: Path) -> None:
    """A few sentences are encoded while one waits."""
    (home / "few.txt").write_text("A boat.\nA house by the sea.\nTwo dogs run.\n")
    theodolite("data", "add", "few.txt")
    assert theodolite("search", "a boat", "--in", "upload:few", "-e", A)
    assert theodolite("jobs", "list") == []


def test_what_a_run_had_evaluated_before_it_broke_off_is_told_too(
    home: Path, workspace: Workspace
) -> None:
    """The verb goes on in the same row."""
    begun = perform(workspace, EvaluateJob.of(workspace, [A], ["StarterSTS", "StarterTopics"]))
    next(what for _, _, what in begun if what is not None)
    (run,) = workspace.store.runs.list()
    workspace.store.runs.end_unit(run["id"], 0, 1.0)
    begun.close()
    assert states(workspace) == ["cancelled"]
    rows = theodolite("evaluate", A, "--tasks", "StarterSTS,StarterTopics")
    assert [row["task"] for row in rows if row["main"]] == ["StarterSTS", "StarterTopics"]
    (run,) = theodolite("jobs", "list")
    assert (run["state"], run["done"]) == ("done", 2)


def test_an_evaluation_that_fails_is_a_run_that_failed(home: Path) -> None:
    """With the reason; what else was asked is evaluated all the same."""
    rows = theodolite("evaluate", f"dir:{home}/nowhere", A, "--tasks", "StarterSTS", code=1)
    assert any(row.get("main") for row in rows)
    (run,) = theodolite("jobs", "list")
    assert (run["state"], run["done"], run["failed"]) == ("partly failed", 1, 1)
    assert run["error"] == rows[0]["error"] != ""


@dataclass(frozen=True)
class Counting(Job):
    """Count up to ten, and fail at a number."""

    kind = "counting"
    failing: int = -1

    def units(self) -> list[str]:
        """Two."""
        return ["first", "second"]

    def work(
        self, workspace: Workspace, position: int, reporter: reporters.Reporter
    ) -> Iterator[int]:
        """Warn, then count."""
        log.warning("The weights of %s look odd.", position)
        for number in range(10):
            reporter._polled = 0.0  # ask the store at every number, not twice a second
            reporter(number, 10)
            if number == self.failing:
                raise UserError("It broke.", "Mend it.")
            yield number


def states(workspace: Workspace) -> list[str]:
    """Those of all runs."""
    return [run["state"] for run in workspace.store.runs.list()]


def at_work(workspace: Workspace, job: Job) -> str:
    """The id of a run that a worker is at."""
    run = queue(workspace, job)
    workspace.store.workers.beat("local-0")
    workspace.store.runs.start(run, 1, "local-0", job.units())
    return run


def test_what_a_worker_is_at_is_followed_to_its_answer(workspace: Workspace) -> None:
    """The verb computes nothing itself, and ends with the result."""
    job = EvaluateJob.of(workspace, [A], ["StarterSTS"])
    run = at_work(workspace, job)
    calls = []

    def work(done: float, total: float, what: str) -> None:
        calls.append((done, what))
        if len(calls) == 1:
            evaluate_one(workspace, A, "StarterSTS")
            workspace.store.runs.end_unit(run, 0, 1.0)
            workspace.store.runs.finish(run, 1, "done")

    (row,) = evaluate(workspace, job, work)
    assert row["score"] is not None
    assert [done for done, _ in calls] == [0.0, 1.0]
    (seen,) = workspace.store.runs.list()
    assert (seen["id"], seen["state"], seen["worker"]) == (run, "done", "local-0")


def test_what_goes_wrong_with_a_followed_run_is_said(workspace: Workspace) -> None:
    """That it failed, with its reason; that it was cancelled."""
    runs = workspace.store.runs
    for error, end in (
        (UserError, lambda run: runs.finish(run, 1, "failed", error="It broke.", hint="Mend it")),
        (reporters.Cancelled, runs.cancel),
    ):
        run = at_work(workspace, Counting())
        begun = perform(workspace, Counting())
        assert next(begun)[0]["id"] == run
        end(run)
        with pytest.raises(error):
            list(begun)


def test_any_job_is_cancelled_from_elsewhere(workspace: Workspace) -> None:
    """Its next word is its last."""
    begun = perform(workspace, Counting())
    assert [next(begun)[2] for _ in range(4)] == [None, 0, 1, 2]
    (run,) = workspace.store.runs.list()
    workspace.store.runs.cancel(run["id"])
    with pytest.raises(reporters.Cancelled):
        list(begun)
    assert states(workspace) == ["cancelled"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_cancels_it_and_then_ends_the_process(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    """As the system would have ended it; afterwards the signal means what it meant before."""
    came: list[int] = []
    monkeypatch.setattr(submit.signal, "raise_signal", came.append)
    before = signal.signal(number, signal.SIG_DFL)  # the tests themselves may run under nohup
    try:
        with pytest.raises(KeyboardInterrupt):
            for _ in perform(workspace, Counting()):
                os.kill(os.getpid(), number)
                time.sleep(5)
        assert states(workspace) == ["cancelled"]
        assert came == [number]
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


def test_a_signal_that_is_ignored_stays_ignored(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As SIGHUP is under nohup."""
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        for _ in perform(workspace, Counting()):
            os.kill(os.getpid(), signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)
    assert states(workspace) == ["done"]


def test_evaluations_step_aside_for_what_somebody_waits_for(workspace: Workspace) -> None:
    """From the moment that it is queued, before a worker has begun it."""
    queue(workspace, EvaluateJob.of(workspace, [A], ["StarterSTS"]))
    assert workspace.store.visits.seconds_since() == math.inf
    queue(workspace, MapSpec(A, "starter-pairs"))
    assert workspace.store.visits.seconds_since() < math.inf


def test_a_bar_moves_over_all_units(workspace: Workspace) -> None:
    """From nothing to the last share of the last unit."""
    moves: list[tuple[float, float, str]] = []
    list(perform(workspace, Counting(), move=lambda *at: moves.append(at)))
    shares = [done / total for done, total, _ in moves]
    assert shares == sorted(shares)
    assert [shares[0], shares[-1]] == pytest.approx([0.0, 0.95])
    assert {what for _, _, what in moves} == {"first", "second"}


def test_what_is_warned_of_meanwhile_is_in_the_log_of_the_run(workspace: Workspace) -> None:
    """And nothing after it; a run that is forgotten leaves no log."""
    list(perform(workspace, Counting()))
    log.warning("Later.")
    (run,) = workspace.store.runs.list()
    first, second = workspace.store.logs.lines(run["id"])
    assert first.endswith("The weights of 0 look odd.")
    assert second.endswith("The weights of 1 look odd.")
    with pytest.raises(UserError, match="It broke"):
        list(perform(workspace, Counting(failing=0)))
    assert list(workspace.store.logs.sizes()) == [run["id"]]


# How a unit of an evaluation pauses while somebody waits for a page.


WORKER = "local-0"


class Clock:
    """Time as the reporter sees it: it passes while it sleeps; `then` is called once."""

    def __init__(self) -> None:
        self.now, self.at, self.began = 100.0, math.inf, time.time()
        self.then = lambda: None

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.began + self.now - 100.0

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
def paused(store: Store, clock: Clock) -> Callable[[], float]:
    """Reports progress of a unit of an evaluation, half a second into it; its pauses in seconds."""
    of = begin(store, "evaluate"), 1, 0, "STSBenchmark · minilm"
    reporter = reporters.PausingReporter(store, *of, worker=WORKER, kinds=["project", "search"])
    clock.now += 0.55

    def report() -> float:
        reporter(1, 4)
        return reporter.paused

    return report


def visit(store: Store, clock: Clock) -> None:
    """Have a page opened at the present moment of the clock."""
    opened = clock.now
    store.visits = SimpleNamespace(seconds_since=lambda: clock.now - opened)


def test_a_unit_pauses_until_the_map_is_there(store, paused, clock):
    """Its run says so meanwhile; the time is counted apart."""
    waited_for = begin(store, "project")

    def ends() -> None:
        (run,) = store.runs.list(kinds=["evaluate"])
        assert run["message"] == "STSBenchmark · minilm · paused for a page"
        assert run["fraction"] == 0.25
        store.runs.finish(waited_for, 1, "done")

    clock.at, clock.then = clock.now + 0.9, ends
    assert paused() == pytest.approx(0.9, abs=0.1)
    clock.now += 0.55
    assert paused() == pytest.approx(0.9, abs=0.1)


def test_a_page_that_opens_comes_first(store, paused, clock):
    """For a second; work may go on for as long before the next page can pause it again."""
    clock.now += 0.5
    visit(store, clock)
    assert paused() == pytest.approx(1.0, abs=0.11)
    visit(store, clock)
    assert paused() == pytest.approx(1.0, abs=0.11)


def test_only_for_the_beginning_of_a_long_run(store, paused, clock):
    """Else a search over millions would keep evaluations from ending."""
    begin(store, "search")
    store.database.change("UPDATE runs SET started = ?", [clock.time()])
    assert paused() == pytest.approx(30.0, abs=1.0)


@pytest.mark.parametrize(("kind", "worker"), [("project", "another"), ("train", WORKER), ("", "")])
def test_what_is_no_reason_to_pause(store, paused, clock, kind, worker):
    """Another worker's run, one that nobody waits for, a page opened before; nor nothing."""
    if kind:
        begin(store, kind, worker)
    visit(store, clock)
    clock.now += 1.1
    assert paused() == 0
