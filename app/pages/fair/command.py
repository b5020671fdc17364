"""`theodolite fair`: the advice of the page Fairness, from a terminal."""

from __future__ import annotations

from typing import Annotated

import typer

from theodolite.app.pages.fair.service import PROJECTION, advise
from theodolite.app.terminal import JsonOption, TasksOption, emit_json, line, say, verb
from theodolite.app.workspace import Workspace


@verb
def fair(
    workspace: Workspace,
    encoders: Annotated[
        list[str] | None,
        typer.Argument(metavar="[ENCODER]…", help="Spec strings; default: every listed encoder."),
    ] = None,
    tasks: TasksOption = None,
    projection: Annotated[
        str, typer.Option(help="How encoders are brought to one size: pca or random.")
    ] = PROJECTION,
    as_json: JsonOption = False,
) -> None:
    """Say what would make a comparison of these encoders unfair.

    theodolite fair minilm wordllama random:256

    Size, normalisation, classifier, similarity, baselines, transfer against probing, seeds: each
    with a verdict, and the commands that evaluate what is missing. After Eger, Rücklé, Gurevych
    2019. With --json every point is one object, with its numbers under `evidence`.
    """
    advice = advise(workspace, encoders or (), tasks, projection=projection)
    for number, point in enumerate(advice.points, 1):
        if as_json:
            emit_json(point.row())
            continue
        line(f"{number} {point.title} [{point.verdict}]")
        for sentence in filter(None, (*point.words, point.see)):
            line(f"  {sentence}")
        for run in point.missing_runs:
            line(f"  $ {run.command}")
    for caution in advice.cautions:
        if as_json:
            emit_json({"warning": caution})
        else:
            say(f"Note: {caution}")
