"""What comes home of a unit, when it does not arrive."""

import hashlib
from pathlib import Path

import pytest

from app.fleet import queue
from app.fleet.arrivals import Arrivals
from app.fleet.needs import Needs
from app.pages.train.job import TrainJob
from app.workspace import Workspace
from store.postgres import Postgres as Database
from store.reports import Reports
from store.transfers import Transfers
from tests.fakes.small_training import small, write_sentences

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("change", [
    "UPDATE theodolite.chunks SET data = 'x'", "DELETE FROM theodolite.chunks",
])  # fmt: skip
def test_a_folder_that_does_not_arrive_ends_its_unit(
    database: str, tmp_path: Path, change: str
) -> None:
    """With a sentence; it is not asked for without end, and nothing is left in its place."""
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
        "outcome": {"seconds": 2.0, "error": None, "hint": ""}, "results": [], "reports": [],
        "folder": {"name": "out", "files": {"out/model.safetensors": [digest, 7]}},
        "slot": "lab-1",
    }  # fmt: skip
    outcome = Arrivals(workspace, Reports(shared), transfers).keep(
        run_id, unit, job, Needs(), answer
    )
    assert "fleet's database" in outcome["error"] and outcome["hint"] == "Try it again."
    assert not Path(spec.out).exists()
    shared.close()
