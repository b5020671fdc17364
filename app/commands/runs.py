"""`theodolite runs`: training runs, how they went and where they differ."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from app.commands.measure import open_workspace
from app.commands.output import (
    DataOption,
    JsonOption,
    StoreOption,
    emit,
    emit_json,
    line,
    plain_errors,
    say,
)
from engine.errors import UserError


@plain_errors
def runs(
    keys: Annotated[
        list[str] | None,
        typer.Argument(metavar="[RUN]…", help="Runs to set side by side: keys of the list."),
    ] = None,
    store: StoreOption = None,
    data: DataOption = None,
    as_json: JsonOption = False,
) -> None:
    """List every training run; of those that are named, the curves and where they differ.

    theodolite runs

    theodolite runs 36e4305ecb44 8fd1c09a77e2:0

    theodolite runs 36e4305ecb44 --json > curves.jsonl

    A key is a run, or a run and the number of a training of its sweep. With --json the list has
    all settings, and a run that is named gives one object a look and one a report.
    """
    from app.training import runs as training

    workspace = open_workspace(store, data)
    rows = training.table(workspace)
    if not keys:
        columns = ("key", "state", "label", "step", "steps", "score", "seconds", "out", "error")
        emit([vars(row) for row in rows], columns, as_json)
        return
    known = {row.key: row for row in rows}
    for key in keys:
        if key not in known:
            raise UserError(f"There is no training run {key!r}.", "`theodolite runs` lists them.")
    chosen = [known[key] for key in dict.fromkeys(keys)]
    if as_json:
        for row in chosen:
            _print_curves(row.key, training.curves(workspace, row.key))
        return
    differing = training.differences(chosen)
    emit([_side(row, differing) for row in chosen], ("run", "label", *differing, "score"), False)
    if len(chosen) > 1 and not differing:
        say("Their settings are the same.")
    for row in chosen:
        looks = training.curves(workspace, row.key).looked
        steps = zip(looks["step"], looks["score"], strict=True)
        said = ", ".join(f"{step:,}: {score:.2f}" for step, score in steps)
        line(f"{row.label}, dev score by update: {said or 'none yet'}")


def _side(row: Any, differing: dict[str, list[Any]]) -> dict[str, Any]:
    settings = {name: _exactly(row.settings.get(name)) for name in differing}
    return {"run": row.key, "label": row.label, "score": row.score, **settings}


def _exactly(value: Any) -> Any:
    """A setting with all its digits: two that differ must not look alike."""
    return str(value) if isinstance(value, float) else value


def _print_curves(key: str, found: Any) -> None:
    for kind in ("stepped", "looked", "noted"):
        columns = getattr(found, kind)
        for values in zip(*columns.values(), strict=True):
            emit_json({"run": key, "kind": kind, **dict(zip(columns, values, strict=True))})
