"""What the queue promises while nothing is killed; at rest it asks for nothing."""

import signal
import time

import psutil
import pytest

from tests.app.jobs.conftest import Bench, alive, child_of
from tests.waiting import PATIENCE, wait_until
from theodolite.app.web.progress import how_far
from theodolite.store import forget


def test_a_run_is_done_unit_by_unit(shared: Bench) -> None:
    """In order, by one child, with a log, a result each, and nothing left to wait for."""
    run = shared.over(shared.measure("plain", 3, 0.05))
    assert (run["state"], run["done"], run["total"], run["fraction"]) == ("done", 3, 3, 1.0)
    assert run["worker"] == "local-0"
    assert [u["state"] for u in shared.store.runs.units(run["id"])] == ["done"] * 3
    begun = [line[1:] for line in shared.begun() if line[0] == "plain"]
    assert [position for position, _ in begun] == ["0", "1", "2"]
    assert len({child for _, child in begun}) == 1
    assert len(shared.store.results.table(encoders=["plain"])) == 3
    assert "2 of 3: unit 1" in "\n".join(shared.store.logs.lines(run["id"]))


def test_progress_moves_inside_a_unit(shared: Bench) -> None:
    run_id = shared.measure("slow", 2, 2.0)
    wait_until(lambda: shared.store.runs.get(run_id)["fraction"] > 0.2)
    row = shared.store.runs.get(run_id)
    assert row["message"] in ("unit 0", "unit 1")
    assert row["eta_seconds"] is None or row["eta_seconds"] > 0
    shared.store.runs.cancel(run_id)


def test_what_a_person_waits_for_does_not_wait(shared: Bench) -> None:
    """Neither behind the run at work nor behind those before it; two of them take turns."""
    long = shared.under_way("long", 1, 60.0)
    before = shared.measure("before", 1, 0.01)
    awaited = [shared.measure(f"awaited{n}", 1, 0.3, kind="awaited") for n in range(2)]
    ended = [shared.over(run) for run in awaited]
    assert [run["state"] for run in ended] == ["done", "done"]
    assert ended[1]["started"] >= ended[0]["finished"]
    assert [shared.store.runs.get(run)["state"] for run in (long, before)] == ["running", "queued"]
    shared.store.runs.cancel(long)
    assert shared.over(before)["state"] == "done"


def test_what_an_earlier_run_makes_is_waited_for(shared: Bench) -> None:
    """In the other queue as well; a folder whose name only begins so is another."""
    making = shared.under_way("m", 1, 60.0, kind="making")
    reading = shared.measure("dir:/made/m", 1, 0.01, kind="awaited")
    assert shared.over(shared.measure("dir:/made/m2", 1, 0.01, kind="awaited"))["state"] == "done"
    wait_until(lambda: shared.store.runs.get(reading)["message"])
    run = shared.store.runs.get(reading)
    assert run["state"] == "queued"
    assert shared.store.runs.get(making)["title"] in how_far(run)
    shared.store.runs.cancel(making)
    assert shared.over(reading)["state"] == "done"


def test_an_evaluation_pauses_for_what_a_person_waits_for(shared: Bench) -> None:
    """Inside its unit, which is not said to have taken longer for it."""
    patient = shared.under_way("patient", 1, 4.0, kind="patient")
    awaited = shared.measure("awaited", 1, 2.0, kind="awaited")
    wait_until(lambda: "paused" in shared.store.runs.get(patient)["message"])
    assert shared.store.runs.get(awaited)["state"] == "running"
    shared.over(awaited)
    run = shared.over(patient)
    [unit] = shared.store.runs.units(patient)
    assert run["state"] == "done"
    assert unit["seconds"] < run["finished"] - run["started"] - 1.0


def test_a_waiting_run_can_be_moved_to_the_front(shared: Bench) -> None:
    """Even when the queue holds it already, and it is done once."""
    first = shared.under_way("long", 1, 2.0)
    runs = [shared.measure(f"moved{n}", 1, 0.01) for n in range(3)]
    assert shared.store.runs.prioritise(runs[2])
    assert not shared.store.runs.prioritise(first)  # it runs already
    for run in runs:
        shared.over(run)
    begun = [name for name, *_ in shared.begun() if name.startswith("moved")]
    assert begun == ["moved2", "moved0", "moved1"]


def test_errors_are_values(shared: Bench) -> None:
    """A unit that goes wrong is told in words, the others go on, the log has the rest."""
    run = shared.over(shared.store.runs.create("failing", {"wrong": ["told", "", "bug"]}, "three"))
    assert run["state"] == "partly failed"
    assert (run["done"], run["failed"], run["total"]) == (1, 2, 3)
    assert (run["error"], run["hint"]) == ("The model gives NaN.", "Try float32.")
    units = shared.store.runs.units(run["id"])
    assert [(u["state"], u["error"], u["hint"]) for u in units] == [
        ("failed", "The model gives NaN.", "Try float32."),
        ("done", None, ""),
        ("failed", "ZeroDivisionError: by zero", "The log of the run has more."),
    ]
    log = "\n".join(shared.store.logs.lines(run["id"]))
    assert "unit 1 prints" in log
    assert "Traceback" in log


@pytest.mark.parametrize("spec", [("no such kind", {}), ("failing", {"no": "units"})])
def test_work_that_cannot_be_read_fails(shared: Bench, spec: tuple[str, dict]) -> None:
    """And harms nothing else."""
    run = shared.over(shared.store.runs.create(*spec, "nonsense"))
    assert (run["state"], bool(run["error"])) == ("failed", True)


def test_cancelling_kills_the_tree(shared: Bench) -> None:
    """Processes that ignore requests to end included; the next run goes on."""
    pids_file = shared.notes.with_name("pids")
    run_id = shared.store.runs.create(
        "stubborn", {"number": 1, "notes": str(pids_file)}, "stubborn"
    )
    wait_until(lambda: pids_file.exists() and pids_file.read_text().endswith("\n"))
    pids = [int(pid) for pid in pids_file.read_text().split()]
    assert all(map(alive, pids))
    assert shared.store.runs.cancel(run_id)
    wait_until(lambda: not any(map(alive, pids)), seconds=55.0)  # the jobs themselves last for 60
    assert shared.store.runs.get(run_id)["state"] == "cancelled"
    assert shared.over(shared.measure("after", 1, 0.01))["state"] == "done"


def test_a_waiting_run_can_be_cancelled_and_retried_or_removed(shared: Bench) -> None:
    """It is not begun before, and is done after; one that was removed never is."""
    first = shared.under_way("ahead", 1, 1.0)
    waiting, removed = (shared.measure(name, 1, 0.01) for name in ("waiting", "removed"))
    assert shared.store.runs.cancel(waiting) and shared.store.runs.cancel(removed)
    assert forget.run(shared.store, removed)
    assert shared.over(first)["state"] == "done"
    assert shared.over(shared.measure("behind", 1, 0.01))["state"] == "done"
    assert not {"waiting", "removed"} & {line[0] for line in shared.begun()}
    shared.store.runs.retry(waiting)
    assert shared.over(waiting)["state"] == "done"


@pytest.mark.parametrize(
    ("kind", "number", "crashes", "state", "units"),
    [
        ("crashing", signal.SIGKILL, 2, "done", ["done"] * 3),
        ("crashing", signal.SIGSEGV, 9, "failed", ["waiting"] * 3),
        ("continuing", signal.SIGKILL, 9, "partly failed", ["failed", "done", "done"]),
    ],
)
def test_a_child_that_crashes(
    shared: Bench, kind: str, number: signal.Signals, crashes: int, state: str, units: list[str]
) -> None:
    """Is replaced twice; then the run fails in words, and the worker lives on.

    Of a kind that continues the unit fails alone; the job may have a word of its own.
    """
    notes = shared.notes.with_name(f"{kind} {number.name} {crashes}")
    spec = {"number": 3, "notes": str(notes), "crashes": crashes, "signal": int(number)}
    run = shared.over(shared.store.runs.create(kind, spec, kind))
    assert (run["state"], run["done"]) == (state, units.count("done"))
    assert [unit["state"] for unit in shared.store.runs.units(run["id"])] == units
    assert len(notes.read_text().splitlines()) == 3
    if kind == "continuing":
        assert run["message"] == "Told."
    if crashes == 9:
        words = {"SIGKILL": "was killed, most often because memory ran out"}
        assert words.get(number.name, "crashed (SIGSEGV)") in run["error"]
        assert "3 times" in run["error"]
    assert shared.over(shared.measure(f"after {notes.name}", 1, 0.01))["state"] == "done"


def test_a_child_that_ends_while_idle_leaves_no_zombie(shared: Bench) -> None:
    """Nor anything it started; the next run has another one."""
    shared.over(shared.measure("before it ends", 1, 0.01))
    (worker,) = shared.store.workers.list()
    child = child_of(psutil.Process(worker["pid"]))
    child.kill()
    wait_until(lambda: not psutil.pid_exists(child.pid))
    others = psutil.Process(worker["pid"]).children()
    assert all("--warm" in other.cmdline() for other in others)  # a zombie has no command
    run = shared.over(shared.measure("after it ended", 1, 0.01))
    assert (run["state"], shared.store.runs.units(run["id"])[0]["crashes"]) == ("done", 0)


def test_a_worker_at_rest_takes_no_time(shared: Bench) -> None:
    """It takes hardly any CPU time, and starts the next run as soon as it is queued."""
    shared.over(shared.measure("before the rest", 1, 0.01))
    (worker,) = shared.store.workers.list()
    process = psutil.Process(worker["pid"])
    wait_until(lambda: _rests(process, _seconds(process)))
    for kind in ("measure", "awaited"):
        run = shared.over(shared.measure("after a rest", 1, 0.01, kind=kind))
        assert run["started"] - run["created"] < PATIENCE / 10


def _seconds(process: psutil.Process) -> float:
    used = process.cpu_times()
    return float(used.user + used.system)


def _rests(process: psutil.Process, before: float) -> bool:
    """Whether a process takes at most 2 % of a core for two seconds; it took 5 when it polled."""
    time.sleep(2.0)
    return _seconds(process) - before <= 0.04


def test_a_slot_is_filled_once(shared: Bench) -> None:
    """A second worker of one name says so and ends."""
    assert shared.start_worker("local-0").wait() == 1
