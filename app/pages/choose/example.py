"""The shipped example sheet: the included encoders on the starter topics."""

from __future__ import annotations

from typing import TYPE_CHECKING

from theodolite.app.examples import shipped
from theodolite.app.pages.choose.job import ChooseJob
from theodolite.app.pages.choose.sheet import Sheet, make
from theodolite.app.workspace import STARTER_ENCODERS
from theodolite.engine.progress import nobody

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

NAME = "choose"
DATA = "starter-topics"


def make_example(workspace: Workspace) -> None:
    """Make the example sheet and write it."""
    from theodolite.app.jobs.submit import perform

    job = ChooseJob.of(DATA, STARTER_ENCODERS[::-1])
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
