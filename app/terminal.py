"""Output of commands: tables for people, JSON lines for programs, errors in a sentence."""

import inspect
import json
import logging
import math
import os
import re
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import wraps
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Annotated, Any, ParamSpec, TypeVar

import typer
from rich.cells import cell_len
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

from theodolite.app import formats
from theodolite.app.jobs.job import Job
from theodolite.app.names import labelled
from theodolite.app.question import Answer, Question
from theodolite.app.spec import Parameter, Spec, parameters
from theodolite.app.workspace import Workspace, default_data, default_store
from theodolite.engine.errors import PlacedError, UserError
from theodolite.store.errors import StoreError

P = ParamSpec("P")
R = TypeVar("R")

FleetOption = Annotated[
    str | None,
    typer.Option(
        "--fleet",
        metavar="URL",
        envvar="THEODOLITE_FLEET",
        help="Postgres that several machines share: postgresql://user@host/database.",
    ),
]
FilesOption = Annotated[
    str | None,
    typer.Option(
        "--files",
        metavar="ADDRESS",
        envvar="THEODOLITE_FILES",
        help="In a fleet: where its machines share files, such as s3://lab/fleet or a mounted "
        "folder.",
    ),
]
StoreOption = Annotated[
    Path | None,
    typer.Option(
        "--store", metavar="FOLDER", help="Folder of the store. Default: THEODOLITE_HOME."
    ),
]
DataOption = Annotated[
    Path | None,
    typer.Option("--data", metavar="FOLDER", help="Evaluation data. Default: THEODOLITE_DATA."),
]
SpreadsheetOption = Annotated[
    bool,
    typer.Option(
        "--spreadsheet", help="In CSV: put an apostrophe before text that looks like a formula."
    ),
]
FORMATS = ("", ".csv", ".html", ".md", ".json")
"""Endings of the files that an answer is written to; without one it is CSV."""
OutOption = Annotated[
    list[Path] | None,
    typer.Option(
        "--out",
        metavar="FILE",
        help=f"Write it to FILE{', FILE'.join(FORMATS[1:])}. May be repeated.",
    ),
]
QueueOption = Annotated[
    bool, typer.Option("--queue", help="Queue it for the app's worker, in the background.")
]
PriceOption = Annotated[
    float | None,
    typer.Option(min=0.0, help="Price of a million tokens, to estimate the cost of an endpoint."),
]
TasksOption = Annotated[
    str | None, typer.Option(help="Comma-separated tasks or suites; default: evaluated tasks.")
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]

LOG = "theodolite.log"
"""Log file in the store's folder, with warnings and tracebacks."""

FIRST_LINE_SECONDS, LINE_SECONDS = 2.0, 10.0
"""Time of the first progress line without a terminal, and interval of the next ones."""

INTERRUPTED = 128 + signal.SIGINT
"""Exit status after Ctrl+C, as shells have it."""

_LOG_BYTES = 1 << 20
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Control characters: a terminal executes some of them, and sentences are untrusted."""

to_stderr = Console(stderr=True, highlight=False, soft_wrap=True)
log = logging.getLogger("theodolite.cli")


class Unwritable(OSError):
    """Standard output is full, or was closed as by `| head`."""


def emit(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], as_json: bool, decimals: int = 2
) -> None:
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
        table.add_row(*(Text(_cell(row.get(column), decimals)) for column in columns))
    # A file or a pipe has no width: nothing is cut.
    wide = None if sys.stdout.isatty() else 10_000
    with _refuse_full_output():
        Console(highlight=False, width=wide).print(table)


def emit_json(row: Mapping[str, Any]) -> None:
    """Print one object on one line, unbuffered.

    NaN and infinity become null, since JSON has neither; non-ASCII characters are escaped, so that
    neither the locale nor a lone surrogate nor a Unicode line separator can break a line.
    """
    _print(json.dumps(_finite(row), allow_nan=False, default=str))


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    return [_finite(item) for item in value] if isinstance(value, list | tuple) else value


def line(text: str) -> None:
    """Print a line to stdout, for people and pipes."""
    _print(_harmless(labelled(text)))


def _print(text: str) -> None:
    with _refuse_full_output():
        sys.stdout.write(text + "\n")
        sys.stdout.flush()


@contextmanager
def _refuse_full_output() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise Unwritable(error.errno, error.strerror) from error


def say(text: str) -> None:
    """Print a message to stderr, so that stdout stays clean for programs."""
    to_stderr.print(Text(_harmless(labelled(text))))


def _harmless(text: str) -> str:
    return _CONTROL.sub("\ufffd", text).encode("utf-8", "replace").decode()


def _cell(value: Any, decimals: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.{decimals}f}"
    if isinstance(value, list | tuple):
        value = ", ".join(map(str, value))
    return _harmless(labelled(re.sub(r"\s*[\n\t]\s*", " ", str(value))))


@contextmanager
def progress_bar(title: str) -> Iterator[Callable[[float, float, str], None]]:
    """Yield a function (done, total, what) that moves a bar, or prints lines, on stderr."""
    if not sys.stderr.isatty():
        yield _lines()
        return
    with Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
        console=to_stderr,
        transient=True,
    ) as bars:
        bar = bars.add_task(title, total=None)

        def move(done: float, total: float, what: str) -> None:
            bars.update(bar, completed=done, total=total, description=what)

        yield move


def _lines() -> Callable[[float, float, str], None]:
    """Progress as plain lines, for a file or a pipe; short work prints none."""
    began = time.monotonic()
    due = began + FIRST_LINE_SECONDS

    def move(done: float, total: float, what: str) -> None:
        nonlocal due
        now = time.monotonic()
        if now < due or not 0 < done < total:
            return
        due = now + LINE_SECONDS
        passed = now - began
        left = passed / done * (total - done) if done / total > 0.02 or passed > 60.0 else None
        say(
            f"{what}: {int(100 * done / total)} % done, {formats.time_left(left)}".removesuffix(
                ", "
            )
        )

    return move


def plain_errors(command: Callable[P, R]) -> Callable[P, R]:
    """Show an error as one sentence and exit with 2; the traceback goes to the log."""

    @wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> R:
        store = kwargs.get("store")
        file = _log_to(store if isinstance(store, Path) else default_store())
        as_json = bool(kwargs.get("as_json"))
        try:
            return command(*args, **kwargs)
        except (UserError, StoreError) as error:
            raise _report_error(error, as_json) from error
        except KeyboardInterrupt as stop:
            say("Stopped. What was finished is kept.")
            raise typer.Exit(INTERRUPTED) from stop
        except (typer.Exit, typer.Abort, Unwritable):
            raise
        except Exception as error:
            log.exception("%s failed", command.__name__)
            if isinstance(error, FileNotFoundError | PermissionError) and error.filename:
                message = f"{error.filename} cannot be opened ({error.strerror})."
                problem = UserError(message, "Check its path and its permissions.", code="no-file")
            else:
                text = f"{type(error).__name__}: {error}".splitlines()[0]
                message = f"An internal error occurred ({text})."
                problem = UserError(message, f"{file} has the details.", code="failed")
            raise _report_error(problem, as_json) from error

    return run


def verb(command: Callable[..., R]) -> Callable[..., R]:
    """Make a command of a function that takes a workspace, with --store and --data in its place."""
    opened = takes("workspace", open_workspace)(command)
    signature = inspect.signature(opened).parameters.values()
    ordered = sorted(signature, key=lambda one: one.name in ("store", "data", "as_json"))
    opened.__signature__ = inspect.Signature(ordered)  # type: ignore[attr-defined]
    return plain_errors(opened)


def command(question: Question[Any, Any]) -> Callable[..., None]:
    """Make the command of a question: an argument or an option for each value of its spec."""

    @takes_values("spec", question.spec)
    def run(
        workspace: Workspace,
        spec: Spec,
        out: OutOption = None,
        spreadsheet: SpreadsheetOption = False,
        queue: QueueOption = False,
        as_json: JsonOption = False,
    ) -> None:
        for file in out or ():
            _check_format(file, question.answer_type.formats)
            check_writable(file)

        waiting: list[str] = []

        def do(job: Job) -> bool:
            if queue:
                from theodolite.app.jobs import submit

                waiting.append(submit.queue(workspace, job))
                report_queued(waiting[-1], as_json)
            else:
                do_here(workspace, job)
            return not queue

        # A job that is done here has a bar of its own.
        with nullcontext() if question.queues else progress_bar(question.name) as move:
            spec = question.prepare(workspace, spec)
            answer = last(question.answer(workspace, spec, do), move)
        if waiting and not answer.rows():
            return
        for file in out or ():
            _write(question, spec, answer.complete(), file, spreadsheet)
        print_answer(answer.complete(), out or (), as_json)

    if not question.queues:
        run = takes("queue", bool, ())(run)
    run.__name__ = question.name
    run.__doc__ = "\n\n".join(
        [question.about, *(f"theodolite {line}" for line in question.examples)]
    )
    return verb(run)


def last(answers: Iterator[Answer], move: Callable[[float, float, str], None] | None) -> Answer:
    """The last of the answers, with the progress of those before it in a bar."""
    for answer in answers:
        for block in answer.blocks() if move else ():
            done = getattr(block, "done", None)
            if move and done is not None:
                move(done, 1.0, block.text)  # type: ignore[union-attr]
    return answer


def print_answer(answer: Answer, out: Sequence[Path], as_json: bool) -> None:
    """Print the table, unless it was written to files, and the notes."""
    for file in out:
        is_own = file.suffix.lower() in answer.formats  # such as a map, which has no rows
        number = "" if is_own else formats.plural(len(answer.rows()), "row")
        say(f"{number} written to {file}." if number else f"{file} is written.")
    if not out or as_json:
        rows = answer.lines() if as_json else answer.table_rows()
        emit(rows, answer.table_columns(), as_json, answer.decimals)
    if as_json and (facts := answer.facts()):
        emit_json(facts)
    for text in answer.notes():
        say(text)
    for text in answer.warnings():
        if as_json:
            emit_json({"warning": text})
        else:
            say(f"Note: {text}")
    if answer.exit_code:
        raise typer.Exit(answer.exit_code)


def _check_format(out: Path, more: Iterable[str]) -> None:
    known = (*FORMATS, *more)
    if out.suffix.lower() not in known:
        raise UserError(
            f"{out.name} has no ending of a supported format.",
            f"Use a file name that ends in {', '.join(known[1:])}.",
            code="wrong-kind",
        )


def _write(
    question: Question[Any, Any], spec: Spec, answer: Answer, out: Path, spreadsheet: bool
) -> None:
    """Write an answer in the format of the file's ending."""
    from theodolite.app.report import file, markdown
    from theodolite.store.hashing import to_json

    match out.suffix.lower():
        case ".html":
            text = file.html(file.of_answer(question, spec, answer))
        case ".md":
            text = f"# {answer.title}\n\n{markdown.of_blocks(answer.blocks())}\n"
        case ".json":
            text = to_json(answer.facts() or answer.rows())
        case ending if ending in answer.formats:
            answer.formats[ending](answer, out)
            return
        case _:
            out.write_bytes(answer.to_csv(spreadsheet=spreadsheet))
            return
    out.write_text(text, encoding="utf-8")


def takes_values(name: str, spec: type[Spec]) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Replace a command's parameter, which is a spec, by an option for each of its values."""

    def make(**given: Any) -> Spec:
        return spec(**{n.removeprefix(_OF_SPEC): value for n, value in given.items()})

    return takes(name, make, map(_option, parameters(spec)))


_OF_SPEC = "spec_"
"""Before the names of a spec's values: `data` is an option of every command."""


def _option(parameter: Parameter) -> inspect.Parameter:
    """The argument or option of a command for a value of a spec."""
    kind, text = parameter.annotation, parameter.meaning
    info: Any
    default: Any = inspect.Parameter.empty
    if parameter.required:
        info = typer.Argument(help=text, metavar=parameter.field.label.upper())
    elif parameter.field.argument:
        metavar = f"[{parameter.field.label.upper()}]"
        info, default = typer.Argument(help=text, metavar=metavar), parameter.default
    else:
        text += " May be repeated." if parameter.many else ""
        info = typer.Option(*parameter.flags, help=text)
        default = list(parameter.default) or None if parameter.many else parameter.default
        default = parameter.text(default) if parameter.field.none else default
        kind = kind | None if default is None else kind
    return inspect.Parameter(
        _OF_SPEC + parameter.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind, info],
    )


def takes(
    name: str, make: Callable[..., object], options: Iterable[inspect.Parameter] | None = None
) -> Callable[[Callable[..., R]], Callable[..., R]]:
    """Replace a command's parameter by options, from whose values it is made.

    Several commands can so share options, with their defaults and help.

    Args:
        name: name of the parameter.
        make: makes its value from those of the options, passed by name.
        options: parameters with `typer.Option`; None for those of `make`.
    """
    if options is None:
        options = inspect.signature(make, eval_str=True).parameters.values()
    options = [one.replace(kind=one.KEYWORD_ONLY) for one in options]

    def wrap(command: Callable[..., R]) -> Callable[..., R]:
        own = inspect.signature(command, eval_str=True).parameters

        @wraps(command)
        def run(**given: Any) -> R:
            value = make(**{option.name: given.pop(option.name) for option in options})
            return command(**given, **{name: value})

        every = [
            one.replace(kind=one.KEYWORD_ONLY)
            for parameter in own.values()
            for one in (options if parameter.name == name else [parameter])
        ]
        run.__signature__ = inspect.Signature(every)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in every}
        return run

    return wrap


def open_workspace(store: StoreOption = None, data: DataOption = None) -> Workspace:
    """Open the workspace given by --store and --data, or their defaults."""
    return Workspace(store or default_store(), data or default_data())


def _report_error(error: UserError | StoreError, as_json: bool) -> typer.Exit:
    placed = error if isinstance(error, PlacedError) else None
    if as_json:
        where = {"text": placed.text, "place": placed.place} if placed else {}
        facts = {"error": error.message, "hint": error.hint, "code": error.code}
        emit_json(facts | where)
    to_stderr.print(Text.assemble(("error: ", "bold red"), _harmless(labelled(error.message))))
    if placed:
        before, at, behind = (_harmless(part) for part in placed.marked())
        say(f"  {before}{at}{behind}".rstrip())
        say(f"  {' ' * cell_len(before)}{'^' * max(1, cell_len(at))}")
    if error.hint:
        say(error.hint)
    return typer.Exit(2)


def _log_to(folder: Path) -> Path:
    """Log warnings and tracebacks of this process to a file, created on the first one."""
    file = folder.expanduser() / LOG
    root = logging.getLogger()
    if not root.handlers:
        logging.raiseExceptions = False  # a full disk costs the log only
        handler = RotatingFileHandler(
            file, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8", delay=True
        )
        handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s %(message)s"))
        handler.setLevel(logging.WARNING)
        root.addHandler(handler)
    return file


def check_writable(file: Path) -> None:
    """Check that a file can be written, before anything is computed for it."""
    if file.is_dir() or not os.access(file if file.exists() else file.absolute().parent, os.W_OK):
        raise UserError(
            f"{str(file)!r} cannot be written.",
            "Give a file in a folder you can write to.",
            code="no-file",
        )


def verbs(help_text: str) -> typer.Typer:
    """Make a group of commands."""
    settings = {"help_option_names": ["-h", "--help"]}
    return typer.Typer(help=help_text, no_args_is_help=True, context_settings=settings)


def report_queued(run: str, as_json: bool, *, trains: bool = False) -> None:
    """Report that a run is queued, and how to follow it."""
    done({"id": run}, f"Queued as {run}. Follow it: theodolite jobs wait {run}", as_json)
    if trains and not as_json:
        say(f"Stop it and keep the best: theodolite jobs stop {run}")


def do_here(workspace: Workspace, job: Job) -> None:
    """Run a job in the foreground, with a progress bar, unless its answer is stored.

    Jobs shows it like any other run.
    """
    from theodolite.app.jobs.submit import perform

    if job.is_stored(workspace):
        return
    for text in job.notices(workspace):
        say(text)
    with progress_bar(job.title) as move:
        for _ in perform(workspace, job, move=move):
            pass


def done(row: Mapping[str, Any], sentence: str, as_json: bool) -> None:
    """Report a finished action in a sentence, or print its row as JSON."""
    if as_json:
        emit_json(row)
    else:
        say(sentence)


def join_fleet(fleet: str, files: str | None = None) -> str:
    """Parse the addresses of a fleet, export them to our processes; return how to show them."""
    from theodolite.app.fleet.address import VARIABLE, WARNING, Address
    from theodolite.app.fleet.files import VARIABLE as FILES, Files

    address = Address.parse(fleet)
    if address.has_password and fleet != os.environ.get(VARIABLE):
        say(WARNING)
    os.environ[VARIABLE] = address.url  # not an argument: others could read that
    if not files:
        return str(address)
    os.environ[FILES] = files
    return f"{address}, with files at {Files(files).name}"
