"""What comes home of a unit, when it does not arrive."""

import hashlib
from pathlib import Path

import pytest

from tests.fakes.small_training import small, write_sentences
from theodolite.app.fleet import queue
from theodolite.app.fleet.arrivals import Arrivals
from theodolite.app.fleet.needs import Needs
from theodolite.app.pages.train.job import TrainJob
from theodolite.app.workspace import Workspace
from theodolite.store.fleet import Postgres as Database
from theodolite.store.fleet import Reports
from theodolite.store.transfers import Damaged, Transfers


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE theodolite.chunks SET data = 'x'",
        "DELETE FROM theodolite.chunks",
    ],
)
def test_a_folder_that_does_not_arrive_is_an_error(
    database: str, tmp_path: Path, change: str
) -> None:
    """Its home can ask for it again; nothing is left in its place."""
    workspace = Workspace(tmp_path / "home")
    spec = small(write_sentences(tmp_path / "text.txt"), tmp_path / "out")
    job = TrainJob.of(workspace, spec)
    run_id = workspace.store.runs.create(job.kind, job.to_spec(), job.title)
    workspace.store.runs.start(run_id, 1, "local-0", job.units())
    (unit,) = workspace.store.runs.units(run_id)
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"weights")
    digest = hashlib.sha256(b"weights").hexdigest()
    shared = Database(database, "fleet")
    transfers = Transfers(shared)
    transfers.send(digest, weights)
    shared.rows(change)
    answer: queue.Answer = {
        "outcome": {"seconds": 2.0, "error": None, "hint": ""},
        "results": [],
        "reports": [],
        "folder": {"name": "out", "files": {"out/model.safetensors": [digest, 7]}},
        "slot": "lab-1",
    }
    arrivals = Arrivals(workspace, Reports(shared), transfers)
    with pytest.raises(Damaged):
        arrivals.keep(run_id, unit, job, Needs(), answer)
    assert not Path(spec.out).exists()
    shared.close()
