"""`theodolite choose`: which encoder for a file of your own, from a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from theodolite.app.terminal import (
    JsonOption,
    QueueOption,
    check_writable,
    emit,
    emit_json,
    line,
    progress_bar,
    queued,
    say,
    verb,
)
from theodolite.app.workspace import Workspace

EncodersOption = Annotated[
    list[str] | None,
    typer.Option("--encoder", "-e", metavar="ENCODER", help="A spec; default: all installed."),
]
MaxMsOption = Annotated[
    float | None, typer.Option(help="Maximum milliseconds per sentence, on this machine.")
]
MaxBytesOption = Annotated[int | None, typer.Option(help="Maximum bytes per vector.")]
LicencesOption = Annotated[
    str, typer.Option("--licence", help="Comma-separated licences, such as apache-2.0.")
]
MarginOption = Annotated[
    float | None, typer.Option(help="Points that a cheaper form may lose; default: 2.")
]
FORMATS = (".html", ".md", ".json")


@verb
def choose(
    workspace: Workspace,
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, TSV, JSONL, Parquet, plain text or ZIP; or the name of a data set.",
        ),
    ],
    columns: Annotated[
        str | None, typer.Option(help="role=column,…  e.g. text=review,label=stars")
    ] = None,
    encoders: EncodersOption = None,
    max_ms: MaxMsOption = None,
    max_bytes: MaxBytesOption = None,
    licences: LicencesOption = "",
    margin: MarginOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the sheet to FILE.md, FILE.html or FILE.json.")
    ] = None,
    queue: QueueOption = False,
    as_json: JsonOption = False,
) -> None:
    """Decide which encoder to take for your data, and how sure that is.

    theodolite choose reviews.csv --columns text=review,label=stars

    theodolite choose questions.csv -e minilm -e wordllama --max-ms 5 --out sheet.html

    Who is best, who ties with it, the cheapest that is shown to lose less than a margin, in its
    smallest vectors, how many more examples would end the ties, and what speaks against trusting
    it. With --json, an object for each encoder comes first, and the sheet last.
    """
    from theodolite.app.jobs import submit
    from theodolite.app.pages.choose import service, words

    if out is not None:
        _check_format(out)
        check_writable(out)
    job = service.job_of(
        workspace, file, encoders, columns, max_ms, max_bytes, licences.split(","), margin
    )
    if queue:
        queued(submit.queue(workspace, job), as_json)
        return
    for text in service.sent(workspace, job):
        say(text)
    for text in service.warned(workspace, job):
        say(f"Warning: {text}")
    with progress_bar(job.title) as move:
        sheet = service.sheet_of(workspace, job, move)
    if out is not None:
        out.write_text(_written(sheet, out), encoding="utf-8")
        say(f"The sheet is in {out}.")
    if as_json:
        for row in sheet["encoders"]:
            emit_json(row)
        emit_json(sheet)
        return
    line(f"{words.headline(sheet)}.")
    for text in [*words.columns(sheet), *words.sentences(sheet)]:
        line(text)
    for one in sheet["warnings"]:
        say(f"Warning ({one['code']}): {one['message']}")
    heads, rows = words.table(sheet)
    emit([dict(zip(heads, row, strict=True)) for row in rows], heads, False)


def _check_format(out: Path) -> None:
    from theodolite.engine.errors import UserError

    if out.suffix.lower() not in FORMATS:
        raise UserError(
            f"{out.name} has no ending of a supported format.",
            f"Use a file name that ends in {', '.join(FORMATS)}.",
            code="wrong-kind",
        )


def _written(sheet: Mapping[str, Any], out: Path) -> str:
    """The sheet in the format of the file's ending."""
    from theodolite.app.pages.choose import words
    from theodolite.app.report import answers, file
    from theodolite.store.hashing import to_json

    match out.suffix.lower():
        case ".html":
            return file.html(answers.of_decision(sheet))
        case ".md":
            return words.markdown(sheet)
    return to_json(sheet)
