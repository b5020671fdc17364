"""`theodolite runs`: trainings, their curves and where they differ."""

from typing import Annotated

import typer

from theodolite.app.pages.trainings import service
from theodolite.app.pages.trainings.answer import Trainings
from theodolite.app.terminal import JsonOption, emit, emit_json, line, say, verb
from theodolite.app.workspace import Workspace

COLUMNS = "key kind state label step steps score loss seconds out error".split()
MAX_RUNS = 200
"""Most runs listed."""


@verb
def runs(
    workspace: Workspace,
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]…", help="Trainings to compare: keys from the list."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """List the trainings of encoders and decoders; of those named, the curves.

    theodolite runs

    theodolite runs 36e4305ecb44 8fd1c09a77e2:0

    theodolite runs 36e4305ecb44 --json > curves.jsonl

    A key is a run, or a run and the number of a training of its sweep. With --json the list has
    all settings, and a run that is named gives one object an eval and one a report. The score is an
    encoder's on its dev set, the loss a decoder's on held-out sentences.
    """
    workspace.store.terminals.end_forsaken()
    if not keys:
        emit([vars(row) for row in service.table(workspace, MAX_RUNS)], COLUMNS, as_json)
        return
    courses = service.courses_of(workspace, keys)
    if as_json:
        for event in Trainings(courses).rows():
            del event["training"]  # its key says which
            emit_json(event)
        return
    differ = service.differences([row.settings for row, _ in courses])
    rows = []
    for place, (row, _) in enumerate(courses):  # numbers at full precision
        own = {name: values[place] for name, values in differ.items()}
        exact = {n: str(value) if isinstance(value, float) else value for n, value in own.items()}
        rows.append({**vars(row), **exact})
    emit(rows, ("key", "label", *differ, "score", "loss"), False)
    if len(rows) > 1 and not differ:
        say("Their settings are identical.")
    for row, curves in courses:
        field = "loss" if row.is_decoder else "score"
        text = ", ".join(f"{event['step']:,}: {event[field]:.2f}" for event in curves.evals)
        line(f"{row.label}, {field} by update: {text or 'none yet'}")
