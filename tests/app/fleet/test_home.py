"""What a home says while a run waits, and that nothing is left of one that is called off."""

import threading
from pathlib import Path

import pytest

from tests.app.fleet.conftest import Lab, films
from tests.waiting import wait_until
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.home import Home
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.workspace import Workspace


@pytest.fixture
def workspace(lab: Lab, tmp_path: Path) -> Workspace:
    """A home with a data set that its workers do not have."""
    return Workspace(lab.home.folder, films(tmp_path))


def test_what_nobody_can_do_waits_and_says_why(lab: Lab, workspace: Workspace) -> None:
    """No worker at first; then one without the data, and no second of its name."""
    runs = workspace.store.runs
    job = EvaluateJob(("random:8",), ("MR", "StarterSTS"))
    run_id = runs.create(job.kind, job.to_spec(), job.title)
    run = runs.get(run_id)
    runs.start(run_id, 1, "local-0", job.units())
    home = Home(workspace, Address.parse(lab.address))
    assert home.takes(job) == ""
    ended: list[str] = []
    at_work = threading.Thread(target=lambda: ended.append(home.work(run, 1, job)), daemon=True)
    at_work.start()
    wait_until(lambda: "No worker has joined" in runs.get(run_id)["message"])
    lab.start_worker(1)
    wait_until(lambda: runs.get(run_id)["done"] == 1)
    wait_until(lambda: "No worker has the data set MR" in runs.get(run_id)["message"])
    assert lab.start_worker(1).wait(timeout=120) == 2
    assert "is at work in this fleet" in lab.printed()
    assert [unit["state"] for unit in runs.units(run_id)] == ["waiting", "done"]
    runs.cancel(run_id)
    at_work.join(timeout=60)
    assert ended == ["stopped"]
    assert home.waiting(run_id) == []
