"""The shipped example sheet: the included encoders on the starter topics."""

from __future__ import annotations

from theodolite.app.examples import shipped
from theodolite.app.jobs.submit import perform
from theodolite.app.pages.choose.sheet import ChooseJob, Sheet, make
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine.progress import nobody

NAME = "choose"
DATA = "starter-topics"


def make_example(workspace: Workspace) -> None:
    """Make the example sheet and write it."""
    job = ChooseJob(DATA, STARTER_ENCODERS[::-1])
    for _ in perform(workspace, job):
        pass
    sheet = make(workspace, job, nobody)
    shipped.write_answer(
        workspace, NAME, {**sheet, "machine": "the machine it was made on"}, job.encoders, [DATA]
    )


def read(workspace: Workspace) -> Sheet | None:
    """The example sheet; None unless its encoders and data are the installed ones."""
    found = shipped.read(NAME)
    if found is None or not found.is_of(workspace, *found.facts["encoders"]):
        return None
    answer: Sheet = found.answer
    return answer
