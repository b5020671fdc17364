"""The overhead of a queue on Postgres, and how throughput scales with the workers of a fleet.

    python -m benchmarks.fleet [--workers 1,2,4,8] [--units 96]
    python -m benchmarks.fleet --clients 64 --empty 50000

Starts and stops its own Postgres (Debian's programs, in a folder in /tmp, as nobody when root). The
first form measures evaluations of narrow random encoders on the smallest task. First the overhead
of a unit: on one worker whose queue is never empty, the time from one answer to the next, minus the
seconds that the child worked. Then the latency of a unit that does nothing, from sending it to
reading its answer, and units per hour by number of workers, beside the same units on one machine
without a queue. In the second form many clients send units that do nothing, while executors take
them.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import psutil

from benchmarks.claims import within
from tests.app.fleet.conftest import Lab, Postgres
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.needs import VERSION
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation
from theodolite.app.workspace import Workspace
from theodolite.store.fleet import Fleet

TASK = "StarterTopics"
_WARM = 20  # warm-up units, not counted
EMPTY = """
import sys, time
from theodolite.app.fleet.address import Address
fleet = Address(sys.argv[1]).database()
fleet.fill(sys.argv[2])
print("ready", flush=True)
while True:
    claimed = fleet.claim(sys.argv[2], ["empty"], "")
    if claimed:
        fleet.answer(claimed[0], sys.argv[2], {})
    else:
        time.sleep(0.01)
"""


CLOCK = """
CREATE TABLE theodolite.answered (id text, at timestamptz);
CREATE FUNCTION theodolite.note() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO theodolite.answered VALUES (NEW.id, clock_timestamp()); RETURN NEW; END $$;
CREATE TRIGGER note AFTER UPDATE OF answer ON theodolite.units
    FOR EACH ROW EXECUTE FUNCTION theodolite.note();
"""
"""Records when each answer is written."""


def main() -> None:
    """Measure and print; exit 1 if the overhead is above its limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--workers", default="1,2,4,8")
    parser.add_argument("--units", type=int, default=96, help="evaluations for each of them")
    parser.add_argument("--clients", type=int, help="only this: so many at once, with empty units")
    parser.add_argument("--empty", type=int, default=2000, help="units that do nothing")
    parser.add_argument("--executors", type=int, default=2, help="processes that take those")
    given = parser.parse_args()
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not programs:
        sys.exit("There is no Postgres below /usr/lib/postgresql: apt install postgresql.")
    postgres = Postgres(programs[-1].parent)
    try:
        postgres.start()
        if given.clients:
            crowd(postgres.make("crowd"), given.clients, given.empty, given.executors)
            return
        met = overhead(postgres.make("overhead"), given.units)
        latency(postgres.make("latency"), 300)
        spread(postgres, [int(n) for n in given.workers.split(",")], given.units)
        if not met:
            sys.exit(1)
    finally:
        postgres.close()


def spread(postgres: Postgres, workers: list[int], units: int) -> None:
    """Print units per hour on one machine without a queue, and by number of workers."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        alone = Workspace(Path(folder) / "alone")
        encoders = [f"random:{16 + n}" for n in range(units)]
        began = time.monotonic()
        for _ in perform(alone, EvaluateJob.of(alone, encoders, [TASK])):
            pass
        print(f"one process, no queue: {3600 * units / (time.monotonic() - began):,.0f} an hour")
        for number in workers:
            place = Path(folder) / f"fleet-{number}"
            place.mkdir()
            lab = Lab(place, postgres.make(f"spread_{number}"))
            took, worked = _measured(lab, number, encoders)
            lab.close()
            lost = 1000 * (took * number - worked) / units
            print(
                f"{number} workers: {3600 * units / took:,.0f} units an hour; beside the work "
                f"itself {lost:.0f} ms of a worker for each",
                flush=True,
            )


def _measured(lab: Lab, workers: int, encoders: list[str]) -> tuple[float, float]:
    """Wall seconds for all encoders, and seconds of work on them, after a warm-up."""
    workspace = Workspace(lab.home.folder)
    for number in range(workers):
        lab.start_worker(number)
    lab.start_home()
    warm = queue_evaluation(workspace, [f"random:{2 + n}" for n in range(2 * workers)], [TASK])
    _over(lab, warm)
    began = time.monotonic()
    run_id = queue_evaluation(workspace, encoders, [TASK])
    _over(lab, run_id)
    took = time.monotonic() - began
    return took, sum(unit["seconds"] or 0.0 for unit in lab.home.runs.units(run_id))


def _over(lab: Lab, run_id: str) -> None:
    while lab.home.runs.get(run_id)["state"] in ("queued", "running"):
        time.sleep(0.05)


def overhead(address: str, units: int) -> bool:
    """Whether the overhead of a worker whose queue is never empty is at most 20 ms per unit."""
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder:
        lab = Lab(Path(folder), address)
        worker = psutil.Process(lab.start_worker(1).pid)
        database = Address(address).database()
        while not database.rows("SELECT 1 FROM theodolite.workers"):
            time.sleep(0.2)
        database.rows(CLOCK)
        catalog = Workspace(lab.home.folder).catalog
        for number in range(units):
            job = EvaluateJob((f"random:{16 + number}",), (TASK,))
            given = {"kind": job.kind, "spec": job.to_spec(), "label": job.title, "files": {}}
            given["needs"] = job.resources(catalog).needs(catalog)
            database.send(f"unit-{number}", "evaluate", VERSION, given, given["needs"])
        while _answered(address) < units:
            time.sleep(0.5)
        cpu = sum(worker.cpu_times()[:2])
        lab.close()
    done = database.rows(
        "SELECT answer, extract(epoch FROM at)::float AS at FROM theodolite.units"
        " JOIN theodolite.answered USING (id) ORDER BY at"
    )
    worked = [json.loads(row["answer"])["outcome"]["seconds"] for row in done]
    between = [after["at"] - before["at"] for before, after in pairwise(done)]
    # An answer may be written while the next unit runs.
    beside = [max(0.001, both - work) for both, work in zip(between, worked[1:], strict=True)][
        _WARM:
    ]
    load = os.getloadavg()[0]
    print(
        f"a worker whose queue is never empty, units of {statistics.median(worked):.3f} s, "
        f"load {load:.0f}"
    )
    print(f"  beside the work: {_spread(beside)}")
    print(f"  CPU of the worker without its child: {1000 * cpu / units:.0f} ms a unit")
    return within("fleet, beside the work of a unit", 0.02, beside)


def latency(address: str, units: int) -> None:
    """Print the latency of units that do nothing, one at a time, taken by a poll every 10 ms."""
    fleet = Address(address).database()
    (executor,) = _executors(address, 1)
    stages = []
    for number in range(units + _WARM):
        began = time.perf_counter()
        fleet.send(f"one-{number}", "empty", "", {})
        sent = time.perf_counter()
        while fleet.units([f"one-{number}"])[f"one-{number}"]["answer"] is None:
            time.sleep(0.002)
        read = time.perf_counter()
        fleet.remove([f"one-{number}"])
        stages.append((sent - began, read - sent, time.perf_counter() - read))
    executor.kill()
    print("a unit that does nothing, one at a time: " + _spread([*map(sum, stages[_WARM:])]))
    for place, name in enumerate(("send", "claim, do and answer", "delete")):
        print(f"  {name}: " + _spread([times[place] for times in stages[_WARM:]]))


def crowd(address: str, clients: int, units: int, executors: int) -> None:
    """Print the throughput of many clients that enqueue units at the same time."""
    running = _executors(address, executors)
    share, errors = units // clients, 0
    lock = threading.Lock()

    def send(fleet: Fleet, who: int) -> list[float]:
        nonlocal errors
        took = []
        for number in range(share):
            began = time.perf_counter()
            try:
                fleet.send(f"{who}-{number}", "empty", "", {})
            except Exception:  # counted: the number of errors is a result
                with lock:
                    errors += 1
            took.append(time.perf_counter() - began)
        return took

    connections = [Address(address).database() for _ in range(clients)]
    began = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        took = [t for each in pool.map(send, connections, range(clients)) for t in each]
    sent = time.monotonic() - began
    while _answered(address) + errors < share * clients:
        time.sleep(0.5)
    done = time.monotonic() - began
    for process in running:
        process.kill()
    print(
        f"{clients} clients, {share * clients:,} empty units, {executors} executors: sent in "
        f"{sent:.1f} s ({share * clients / sent:,.0f} a second), all done after {done:.1f} s "
        f"({share * clients / done:,.0f} a second), {errors} errors"
    )
    print("  sending one, among all: " + _spread(took))


def _executors(address: str, number: int) -> list[subprocess.Popen[str]]:
    started = []
    for slot in range(number):
        process = subprocess.Popen(
            [sys.executable, "-c", EMPTY, address, f"empty-{slot}"],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            raise RuntimeError("an executor did not start")
    return started


def _answered(address: str) -> int:
    """Number of units that were answered."""
    rows = (
        Address(address)
        .database()
        .rows("SELECT count(*)::int AS n FROM theodolite.units WHERE answer IS NOT NULL")
    )
    return int(rows[0]["n"])


def _spread(seconds: list[float]) -> str:
    parts = statistics.quantiles(seconds, n=100)
    return f"p50 {1000 * statistics.median(seconds):.1f} ms, p95 {1000 * parts[94]:.1f} ms"


if __name__ == "__main__":
    main()
