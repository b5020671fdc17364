"""Runs done in the process of a test, as a worker would do them."""

from collections.abc import Callable, Iterator

from theodolite.app.jobs.job import Job
from theodolite.app.jobs.kinds import job_of
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import perform
from theodolite.app.jobs.unit import Outcome, conclude, do
from theodolite.app.workspace import Workspace
from theodolite.store.run_rows import RunRow


class Heard(Reporter):
    """A reporter of no run, that hands on how far a unit is."""

    def __init__(self, hear: Callable[[float], None] = lambda share: None) -> None:
        self._hear = hear
        self.run, self.position = "", 0

    def __call__(self, done: int, total: int, message: str = "") -> None:
        """Hand on which share is done."""
        self._hear(done / total if total else 0.0)


def say(workspace: Workspace, run_id: str, *events, position: int = 0) -> None:
    """Store events of a training."""
    for event in events:
        data = event.to_dict()
        workspace.store.events.add(run_id, data.pop("kind"), data, position)


def do_units(
    workspace: Workspace, job: Job, hear: Callable[[float], None] = lambda share: None
) -> list[Outcome]:
    """Do all units of a job that is no run."""
    return [do(workspace, job, position, Heard(hear)) for position in range(len(job.units()))]


def happened(workspace: Workspace, job: Job) -> Iterator[tuple]:
    """Do a job in this process, as a terminal does: (unit, what it tells of it)."""
    for _, position, event in perform(workspace, job):
        if event is not None:
            yield position, event


def work_off(workspace: Workspace, run_id: str) -> RunRow:
    """Do a run to its end; its row."""
    runs = workspace.store.runs
    run = runs.get(run_id)
    job = job_of(run)
    runs.start(run_id, run["attempt"], "local-0", job.units(), job.weights(workspace.store))
    for unit in runs.units(run_id):
        position = unit["position"]
        reporter = Reporter(workspace.store, run_id, run["attempt"], position, unit["label"])
        runs.end_unit(run_id, position, **do(workspace, job, position, reporter).to_dict())
    conclude(workspace.store, run_id, run["attempt"], job)
    return runs.get(run_id)
