"""The overhead of a queue on Postgres, and how throughput scales with the workers of a fleet.

    python -m benchmarks.fleet [--workers 1,2,4,8] [--units 96]
    python -m benchmarks.fleet --clients 64 --empty 50000

Starts and stops its own Postgres (Debian's programs, in a folder in /tmp, as nobody when root). The
first form measures evaluations of narrow random encoders on the smallest task. First the overhead
of a unit: on one worker whose queue is never empty, the time from one answer to the next, minus the
seconds that the child worked, both as recorded by the queue. Then the latency of a unit that does
nothing, from enqueueing to its answer, and units per hour by number of workers, beside the same
units on one machine without a queue. In the second form many clients enqueue units that do nothing
and read their answers, while executors take them.
"""

from __future__ import annotations

import argparse
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
from typing import Any

import psutil

from benchmarks.claims import within
from tests.app.fleet.conftest import Lab, Postgres
from theodolite.app.fleet import queue
from theodolite.app.fleet.address import Address
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation
from theodolite.app.workspace import Workspace

TASK = "StarterTopics"
_WARM = 20  # warm-up units, not counted
EMPTY = """
import sys, threading
from dbos import DBOS
from theodolite.app.fleet import queue
from theodolite.app.fleet.address import Address
DBOS(config=queue.config_of(Address(sys.argv[1]), sys.argv[2]))
@DBOS.workflow(name="empty")
def empty(number: int) -> int:
    return number
DBOS.listen_queues(["empty"])
DBOS.launch()
DBOS.register_queue("empty", worker_concurrency=int(sys.argv[3]), polling_interval_sec=0.01)
print("ready", flush=True)
threading.Event().wait()
"""


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
        database, client = queue.database_of(Address(address)), queue.client_of(Address(address))
        while not database.rows("SELECT 1 FROM theodolite.workers"):
            time.sleep(0.2)
        catalog = Workspace(lab.home.folder).catalog
        for number in range(units):
            job = EvaluateJob((f"random:{16 + number}",), (TASK,))
            needs = job.needs(catalog, 0).to_json()
            unit = queue.Unit(
                kind=job.kind, spec=job.to_spec(), label=job.title, needs=needs, files={}
            )
            _enqueue(client, f"unit-{number}", unit, queue.WORKFLOW, "evaluate")
        while _counts(address).get("SUCCESS", 0) < units:
            time.sleep(0.5)
        cpu = sum(worker.cpu_times()[:2])
        lab.close()
    done = sorted(client.list_workflows(load_input=False), key=lambda one: one.completed_at)
    worked = [one.output["outcome"]["seconds"] for one in done]
    between = [(b.completed_at - a.completed_at) / 1000 for a, b in pairwise(done)]
    # The queue counts whole milliseconds, and an answer may be written while the next unit runs.
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
    """Print the latency of units that do nothing, one at a time; `dbos` polls every 10 ms."""
    client = queue.client_of(Address(address))
    (executor,) = _executors(address, 1, 1)
    stages = []
    for number in range(units + _WARM):
        began = time.perf_counter()
        _enqueue(client, f"one-{number}", number)
        sent = time.perf_counter()
        client.retrieve_workflow(f"one-{number}").get_result(polling_interval_sec=0.002)
        read = time.perf_counter()
        client.delete_workflow(f"one-{number}")
        stages.append((sent - began, read - sent, time.perf_counter() - read))
    executor.kill()
    print("a unit that does nothing, one at a time: " + _spread([*map(sum, stages[_WARM:])]))
    for place, name in enumerate(("enqueue", "claim, do and answer", "delete")):
        print(f"  {name}: " + _spread([times[place] for times in stages[_WARM:]]))


def crowd(address: str, clients: int, units: int, executors: int) -> None:
    """Print the throughput of many clients that enqueue units at the same time."""
    running = _executors(address, executors, 16)
    share, errors = units // clients, 0
    lock = threading.Lock()

    def enqueue(client: Any, who: int) -> list[float]:
        nonlocal errors
        took = []
        for number in range(share):
            began = time.perf_counter()
            try:
                _enqueue(client, f"{who}-{number}", number)
            except Exception:  # counted: the number of errors is a result
                with lock:
                    errors += 1
            took.append(time.perf_counter() - began)
        return took

    connections = [queue.client_of(Address(address)) for _ in range(clients)]
    began = time.monotonic()
    with ThreadPoolExecutor(clients) as pool:
        took = [t for each in pool.map(enqueue, connections, range(clients)) for t in each]
    sent = time.monotonic() - began
    counts = _counts(address)
    while counts.get("SUCCESS", 0) + errors < share * clients:
        time.sleep(0.5)
        counts = _counts(address)
    done = time.monotonic() - began
    for process in running:
        process.kill()
    print(
        f"{clients} clients, {share * clients:,} empty units, {executors} executors: enqueued in "
        f"{sent:.1f} s ({share * clients / sent:,.0f} a second), all done after {done:.1f} s "
        f"({share * clients / done:,.0f} a second), {errors} errors"
    )
    print("  enqueueing one, among all: " + _spread(took))


def _executors(address: str, number: int, at_once: int) -> list[subprocess.Popen[str]]:
    started = []
    for slot in range(number):
        process = subprocess.Popen(
            [sys.executable, "-c", EMPTY, address, f"empty-{slot}", str(at_once)],
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        if process.stdout is None or process.stdout.readline().strip() != "ready":
            raise RuntimeError("an executor did not start")
    time.sleep(2.0)  # dbos looks for new queues once a second
    return started


def _enqueue(
    client: Any, name: str, given: Any, workflow: str = "empty", where: str = "empty"
) -> None:
    client.enqueue(
        {
            "workflow_name": workflow,
            "queue_name": where,
            "workflow_id": name,
            "app_version": queue.VERSION,
        },
        given,
    )


def _counts(address: str) -> dict[str, int]:
    """Number of units by status."""
    rows = queue.database_of(Address(address)).rows(
        f"SELECT status, count(*)::int AS n FROM {queue.SCHEMA}.workflow_status GROUP BY 1"  # noqa: S608
    )
    return {row["status"]: row["n"] for row in rows}


def _spread(seconds: list[float]) -> str:
    parts = statistics.quantiles(seconds, n=100)
    return f"p50 {1000 * statistics.median(seconds):.1f} ms, p95 {1000 * parts[94]:.1f} ms"


if __name__ == "__main__":
    main()
