"""`theodolite compare`: which differences are significant, from a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from theodolite.app import formats
from theodolite.app.terminal import (
    EncodersArgument,
    JsonOption,
    ProtocolOption,
    TasksOption,
    emit,
    emit_json,
    say,
    verb,
)
from theodolite.app.workspace import Workspace

if TYPE_CHECKING:
    from theodolite.app.pages.compare.service import Comparison


@verb
def compare(
    workspace: Workspace,
    encoders: EncodersArgument,
    tasks: TasksOption = None,
    protocol: ProtocolOption = None,
    null_check: Annotated[
        bool,
        typer.Option("--null-check", help="Check the verdicts on copies of the first encoder."),
    ] = False,
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

    --null-check tests the tests: 100 pairs of copies of the first encoder, each with 1 % noise,
    on every task that is compared. They do not differ, so at most 5 % of the verdicts should say
    that they do; a rate that chance does not explain ends with exit status 1.
    """
    from theodolite.app.pages.compare import service as comparison

    report = comparison.compare(workspace, encoders, tasks, protocol)
    if null_check:
        _null_check(workspace, report, as_json)
        return
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


def _null_check(workspace: Workspace, report: Comparison, as_json: bool) -> None:
    from theodolite.app.pages.compare.null_check import null_check, of_comparison

    last = {}
    for rate in null_check(workspace, report.encoders[0], of_comparison(report)):
        last[rate.task] = rate
    rows = [rate.row() for rate in last.values()]
    columns = ("task", "protocol", "test", "pairs", "wrong", "most", "holds", "error")
    emit(rows, columns, as_json)
    if not all(rate.holds for rate in last.values()):
        raise typer.Exit(1)


def _in_words(row: dict[str, Any]) -> dict[str, Any]:
    """A row of a comparison as the table prints it."""
    p = row.get("p_holm", row.get("p"))
    verdict, note = row["verdict"], row.get("tie_group_note")
    text = f"{verdict} ({note})" if note else verdict
    return {**row, "p": None if p is None else formats.p_value(p), "verdict": text}
