"""What a home says while a run waits, what it does itself, and that nothing is left of a run."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.app.fleet.conftest import Lab, films
from tests.fakes.small_training import small, write_sentences
from tests.waiting import wait_until
from theodolite.app.fleet.address import Address
from theodolite.app.fleet.coordinator import Coordinator
from theodolite.app.fleet.files import Files
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.train.job import TrainJob
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
    home = Coordinator(workspace, Address.parse(lab.address))
    assert home.local_only_reason(job) == ""
    ended: list[str] = []
    at_work = threading.Thread(target=lambda: ended.append(home.work(run, 1, job)), daemon=True)
    at_work.start()
    wait_until(lambda: "No worker takes it yet" in runs.get(run_id)["message"])
    lab.start_worker(1)
    wait_until(lambda: runs.get(run_id)["done"] == 1)
    wait_until(lambda: "No worker has the data set MR" in runs.get(run_id)["message"])
    assert lab.start_worker(1).wait(timeout=120) == 2
    assert "is at work in this fleet" in lab.printed()
    assert [unit["state"] for unit in runs.units(run_id)] == ["waiting", "done"]
    runs.cancel(run_id)
    at_work.join(timeout=60)
    assert ended == ["stopped"]
    assert lab.rows("units") == 0


def test_without_an_address_for_files_they_stay(database: str, tmp_path: Path) -> None:
    """And what is said names the option."""
    workspace, address = Workspace(tmp_path / "home"), Address.parse(database)
    (tmp_path / "files").mkdir()
    home = Coordinator(workspace, address)
    sharing = Coordinator(workspace, address, Files(f"file://{tmp_path}/files"))
    spec = small(write_sentences(tmp_path / "text.txt"), tmp_path / "out", steps=2)
    (tmp_path / "words.txt").write_text("a 1 2\n")
    encoder = f"words:{tmp_path}/words.txt"
    for job in (
        TrainJob.of(workspace, spec),
        TrainJob.of(workspace, replace(spec, out=f"file://{tmp_path}/files/mine")),
        EvaluateJob((encoder,), ("StarterSTS",)),
    ):
        assert "--files" in home.local_only_reason(job)
        assert sharing.local_only_reason(job) == ""
    elsewhere = TrainJob.of(workspace, replace(spec, out=f"file://{tmp_path}/mine"))
    assert "--files" in sharing.local_only_reason(elsewhere)
    assert home.local_only_reason(EvaluateJob(("random:8",), ("StarterSTS",))) == ""
