"""`theodolite compare`: which differences are significant, from a terminal."""

from __future__ import annotations

from typing import Any

from app import formats
from app.terminal import (
    EncodersArgument,
    JsonOption,
    ProtocolOption,
    TasksOption,
    emit,
    emit_json,
    say,
    verb,
)
from app.workspace import Workspace


@verb
def compare(
    workspace: Workspace,
    encoders: EncodersArgument,
    tasks: TasksOption = None,
    protocol: ProtocolOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which differences between evaluated encoders are real.

    theodolite compare minilm wordllama random:256

    theodolite compare minilm wordllama --tasks transfer --protocol senteval --json

    Each task gets the difference to the first encoder, its 95 % paired-bootstrap interval, and a
    verdict after Holm's correction over the tasks (McNemar's test where examples are right or
    wrong). Tie groups are another question: all pairs of encoders on one task, with Holm's
    correction over the pairs; those with the letter a tie with the best. With --json: every
    p-value, and the ranks that hold 95 % of the resamples. What was not evaluated yet is evaluated
    by `theodolite evaluate`.
    """
    from app.pages.compare import service as comparison

    report = comparison.compare(workspace, encoders, tasks, protocol)
    emit(
        report.rows() if as_json else [_in_words(row) for row in report.rows()],
        (
            "task",
            "encoder",
            "score",
            "tie_group",
            "against",
            "delta",
            "low",
            "high",
            "p",
            "verdict",
        ),
        as_json,
    )
    for warning in report.warnings:
        if as_json:
            emit_json({"warning": warning})
        else:
            say(f"Note: {warning}")


def _in_words(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a comparison as the table prints it."""
    p = row.get("p_holm", row.get("p"))
    verdict, note = row["verdict"], row.get("tie_group_note")
    text = f"{verdict} ({note})" if note else verdict
    return {**row, "p": None if p is None else formats.p_value(p), "verdict": text}


VERBS = {"compare": compare}
