"""Evaluations and corpora by the workers of a fleet: the same to the digit as on one machine."""

import random
import signal
import time
from operator import itemgetter
from pathlib import Path

import numpy as np
import pytest

from tests.app.fleet.conftest import Lab, Postgres
from tests.app.jobs.conftest import kill
from tests.waiting import wait_until
from theodolite.app import corpora
from theodolite.app.jobs.submit import perform, queue
from theodolite.app.pages.encoders.corpus import EncodeCorpusJob
from theodolite.app.pages.evaluate.job import EvaluateJob, queue_evaluation
from theodolite.app.workspace import Workspace
from theodolite.store import Store

TASKS = ["StarterSTS", "StarterTopics", "StarterSearch"]


def over(store: Store, run_id: str) -> None:
    """Wait for a run to be done, and whole; for as long as it gets on."""
    while (run := store.runs.get(run_id))["state"] in ("queued", "running"):
        wait_until(
            lambda before=run: (
                store.runs.get(run_id)["state"] not in ("queued", "running")
                or store.runs.get(run_id)["done"] > before["done"]
            )
        )
    assert (run["state"], run["error"]) == ("done", None), store.logs.lines(run_id)
    assert {unit["state"] for unit in store.runs.units(run_id)} == {"done"}


def assert_equal(store: Store, other: Store) -> None:
    """What the other has of its encoders is once in this one, with every number and value."""
    there = other.results.table(all_versions=True)
    encoders = {row["encoder"] for row in there}
    here = [row for row in store.results.table(all_versions=True) if row["encoder"] in encoders]
    question = itemgetter("encoder", "task", "protocol", "seed")
    own = {"id": 0, "created": 0, "seconds": 0}
    for row, same in zip(sorted(here, key=question), sorted(there, key=question), strict=True):
        assert {**row, **own} == {**same, **own}
        assert store.results.scores(row["id"]) == other.results.scores(same["id"])
        values = store.results.examples(row["id"]), other.results.examples(same["id"])
        np.testing.assert_equal(*values)


def on_one_machine(folder: Path, job: EvaluateJob) -> Store:
    """The same evaluation without a fleet."""
    alone = Workspace(folder)
    list(perform(alone, job))
    return alone.store


def corpus_job(workspace: Workspace, text: Path, out: Path) -> EncodeCorpusJob:
    """A corpus of eight shards into a folder."""
    text.write_text("".join(f"sentence {number} of the corpus\n" for number in range(4000)))
    form = {"format": "npy", "dtype": "float32", "rows": 500}
    encoder = "random:256 | normalise"
    return EncodeCorpusJob.of(workspace, [text], None, encoder, out, form, lambda *_: None)


def test_a_killed_worker_costs_nothing(
    lab: Lab, workspace: Workspace, postgres: Postgres, tmp_path: Path
) -> None:
    """One that comes back, then one that does not: every unit once, as on one machine."""
    encoders = [f"random:{dim}" for dim in (32, 48, 64, 96)]
    run_id = queue_evaluation(workspace, encoders, TASKS)
    workers = [lab.start_worker(number) for number in (1, 2)]
    lab.start_home()
    wait_until(lambda: lab.home.runs.get(run_id)["done"] > 0)
    if postgres.network is not None:
        joined = {(postgres.network.address_of(number), True) for number in (1, 2)}
        wait_until(lambda: postgres.machines() == joined)
    kill(workers[0])
    lab.start_worker(1)
    over(lab.home, run_id)
    job = EvaluateJob.of(workspace, encoders, TASKS)
    assert_equal(lab.home, on_one_machine(tmp_path / "alone", job))
    assert "by lab-2: Took" in "\n".join(lab.home.logs.lines(run_id))

    run_id = queue(workspace, corpus_job(workspace, tmp_path / "text.txt", tmp_path / "fleet"))
    wait_until(lambda: lab.home.runs.get(run_id)["done"] > 0)
    kill(workers[1])
    over(lab.home, run_id)
    alone = Workspace(tmp_path / "alone")
    list(perform(alone, corpus_job(alone, tmp_path / "text.txt", tmp_path / "one")))
    here, there = (
        {file.name: file.read_bytes() for file in (tmp_path / out).rglob("*.*")}
        for out in ("fleet", "one")
    )
    assert here == there
    assert len([name for name in here if name.endswith(".npy")]) == 8
    assert corpora.folders(lab.home) == {"fleet": tmp_path / "fleet"}


@pytest.mark.long
@pytest.mark.parametrize(("encoders", "kills"), [(24, 6), (200, 30)])
def test_anything_may_be_killed(
    lab: Lab, workspace: Workspace, postgres: Postgres, tmp_path: Path, encoders: int, kills: int
) -> None:
    """Workers, home and database, at random: nothing lost, nothing doubled, equal to the digit."""
    specs = [f"random:{16 + dim}" for dim in range(encoders)]
    run_id = queue_evaluation(workspace, specs, TASKS)
    rng = random.Random(2021)
    workers = {number: lab.start_worker(number) for number in (1, 2)}
    home = lab.start_home()
    wait_until(lambda: lab.home.runs.get(run_id)["done"] > 0)
    for number in range(kills):
        done = lab.home.runs.get(run_id)["done"]
        wait_until(lambda before=done: lab.home.runs.get(run_id)["done"] > before)
        time.sleep(rng.uniform(0.0, 1.0))
        if number % 6 == 4:
            kill(home)
            home = lab.start_home()
        elif number % 6 == 5:
            postgres.stop(signal.SIGQUIT)
            time.sleep(rng.uniform(0.0, 3.0))
            postgres.start()
        else:
            slot = rng.choice(list(workers))
            kill(workers[slot])
            workers[slot] = lab.start_worker(slot)
    over(lab.home, run_id)
    job = EvaluateJob.of(workspace, specs, TASKS)
    assert_equal(lab.home, on_one_machine(tmp_path / "alone", job))
