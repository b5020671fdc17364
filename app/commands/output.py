"""How commands speak: tables for people, JSON lines for programs, errors in a sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Table
from rich.text import Text

P = ParamSpec("P")
R = TypeVar("R")

StoreOption = Annotated[
    Path | None,
    typer.Option("--store", metavar="FOLDER", help="Where results live. Default: THEODOLITE_HOME."),
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Evaluation data. Default: THEODOLITE_DATA."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object a line.")]

to_stderr = Console(stderr=True, highlight=False)


def emit(rows: Sequence[Mapping[str, Any]], columns: Sequence[str], as_json: bool) -> None:
    """Print rows: whole as JSON lines, or the named columns as a table."""
    if as_json:
        for row in rows:
            emit_json(row)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        numeric = any(isinstance(row.get(column), int | float) for row in rows)
        table.add_column(column.replace("_", " "), justify="right" if numeric else "left")
    for row in rows:
        table.add_row(*(Text(_cell(row.get(column))) for column in columns))
    Console(highlight=False, soft_wrap=not sys.stdout.isatty()).print(table)


def emit_json(row: Mapping[str, Any]) -> None:
    """Print one object on one line, at once."""
    sys.stdout.write(json.dumps(row, ensure_ascii=False, default=str) + "\n")
    sys.stdout.flush()


def say(text: str) -> None:
    """Tell a person something without disturbing what a program reads."""
    to_stderr.print(Text(text))


def _cell(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    return str(value)


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float, float, str], None]]:
    """Yield a function (done, total, what) that moves a bar on stderr; silent when piped."""
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=to_stderr,
        transient=True,
        disable=not sys.stderr.isatty(),
    ) as bars:
        bar = bars.add_task(title, total=None)

        def move(done: float, total: float, what: str) -> None:
            bars.update(bar, completed=done, total=total, description=what)

        yield move


def plain_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Show what a person can mend as one sentence and exit with 2; never a traceback."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        from engine.errors import UserError
        from store.errors import StoreError

        try:
            return command(*args, **kwargs)
        except (UserError, StoreError) as error:
            if kwargs.get("as_json"):
                emit_json({"error": error.message, "hint": error.hint})
            to_stderr.print(Text.assemble(("error: ", "bold red"), error.message))
            if error.hint:
                to_stderr.print(Text(error.hint))
            raise typer.Exit(2) from error
        except KeyboardInterrupt as stop:
            raise typer.Exit(130) from stop

    return run
