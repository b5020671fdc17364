"""A report and its file formats: one HTML document, or Markdown with its tables."""

from __future__ import annotations

import csv
import io
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from html import escape
from importlib.metadata import version
from typing import Any

from theodolite.app import blocks, formats
from theodolite.app.names import labelled
from theodolite.app.publish.standalone import Piece, document
from theodolite.app.question import Answer, Question
from theodolite.app.spaced import evenly_spaced
from theodolite.app.spec import Spec
from theodolite.app.surfaces.document import file_cell, pieces
from theodolite.app.web import parts

Parts = Sequence[str | Piece]
MAX_BYTES = 5_000_000
"""Maximum size of a document: what any e-mail can carry."""


@dataclass(frozen=True)
class Cap:
    """How much of its texts and rows a report shows.

    Attributes:
        characters: of each text.
        rows: of each table, and points of each map.
    """

    characters: int
    rows: int


CAPS = (
    Cap(10_000, 200_000),
    Cap(1_000, 50_000),
    Cap(300, 20_000),
    Cap(120, 5_000),
    Cap(60, 1_000),
    Cap(30, 100),
)
"""Tried one after the other until the document is small enough."""


@dataclass(frozen=True)
class Table:
    """A table of a report's numbers.

    Attributes:
        name: stem of its file.
        columns: names.
        rows: of cells: texts, numbers, booleans or None.
        total: number of all rows, when `rows` are only some of them.
    """

    name: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int = 0

    def cut(self, cap: Cap) -> Table:
        """The table within a cap: evenly spaced rows, and shortened texts."""
        selection = [self.rows[number] for number in evenly_spaced(len(self.rows), cap.rows)]
        rows = [[shortened(cell, cap) for cell in row] for row in selection]
        return replace(self, rows=rows, total=max(self.total, len(self.rows)))

    def csv(self) -> str:
        """The whole table as text."""
        file = io.StringIO()
        writer = csv.writer(file)
        writer.writerow(self.columns)
        writer.writerows(self.rows)
        return file.getvalue()


@dataclass(frozen=True)
class Report:
    """The content of a report, before it is a file.

    Attributes:
        kind: `comparison`, `map`, …; names the files.
        title: one line of plain text.
        about: its subject, plain text.
        draw: makes what is shown below that, from top to bottom, within a cap: HTML in which
            foreign text is escaped, or components.
        tables: its numbers.
        command: words of the verb that writes it again; none where no verb does.
    """

    kind: str
    title: str
    about: str
    draw: Callable[[Cap], Parts]
    tables: Sequence[Table]
    command: Sequence[str] = ()

    @property
    def name(self) -> str:
        """Stem of its file."""
        return f"theodolite-{self.kind}"


def of_answer(question: Question[Any, Any], spec: Spec, answer: Answer) -> Report:
    """The report of any question's answer."""
    every = answer.rows()
    columns = [one for one in answer.column_names() if any(one in row for row in every)]
    rows = [[row.get(one) for one in columns] for row in every]
    name = question.report_name or question.name
    title, about, command = labelled(
        (
            answer.title or name.capitalize(),
            answer.about or question.about.partition("\n")[0],
            ["theodolite", "report", name, *question.command(spec)[1 + bool(question.group) :]],
        )
    )
    return Report(
        name,
        title,
        about,
        lambda cap: pieces(answer.within(cap.rows).blocks()),
        [Table(name, columns, rows), *_shown_in_part(answer)],
        command,
    )


def _shown_in_part(answer: Answer) -> list[Table]:
    """The tables of which a document has only the first rows."""
    return [
        Table(
            block.name,
            [str(file_cell(cell)) for cell in block.columns],
            [list(map(file_cell, row)) for row in block.rows],
        )
        for block in answer.blocks()
        if isinstance(block, blocks.Table) and block.shown is not None
    ]


def shortened(cell: Any, cap: Cap) -> Any:
    """A text cut to the characters of a cap; any other cell as it is."""
    if not isinstance(cell, str):
        return cell
    text = formats.encodable(cell)
    return text if len(text) <= cap.characters else f"{text[: cap.characters - 1]}…"


def html(report: Report, most: int = MAX_BYTES) -> str:
    """The report as one self-contained HTML document.

    Args:
        report: to write.
        most: bytes. Texts and tables are cut until the document fits, and a notice says so.
    """
    for cap in CAPS:
        document = _document(report, cap)
        if len(document.encode()) <= most:
            break
    return document


def _document(report: Report, cap: Cap) -> str:
    """The HTML document within a cap."""
    tables = [table.cut(cap) for table in report.tables]
    cut = left_out(report, tables, cap)
    notice = parts.say(f"Shortened to stay a small file: {cut}.") if cut else ""
    about = f'<p class="t-muted">{escape(report.about)}</p>' if report.about else ""
    return document(
        [
            f'<header class="t-header"><h1>{escape(report.title)}</h1></header>{about}{notice}',
            *report.draw(cap),
            parts.heading("Numbers", "Everything above as files for other programs."),
            f'<ul class="t-report-files">{"".join(map(_button, tables))}</ul>',
            f'<p class="t-small t-muted">{provenance(report)}</p>',
        ],
        f"{report.title} · Theodolite",
    )


def _button(table: Table) -> str:
    """A button that holds a table and saves it as a file."""
    many = formats.plural(len(table.rows), "row")
    return (
        f'<li><button type="button" class="t-link" data-name="{escape(table.name)}.csv" '
        f'data-text="{escape(table.csv())}" data-press="save">{escape(table.name)}.csv</button> '
        f'<span class="t-small t-muted">{many}</span></li>'
    )


def left_out(report: Report, cut: Sequence[Table], cap: Cap) -> str:
    """What a cap leaves out of a report, in words; empty when nothing."""
    reasons = []
    texts = (cell for table in report.tables for row in table.rows for cell in row)
    if any(isinstance(cell, str) and len(cell) > cap.characters for cell in texts):
        reasons.append(f"texts end after {cap.characters:,} characters")
    reasons += [
        f"{table.name} has {len(table.rows):,} of {table.total:,} rows, evenly spaced"
        for table in cut
        if len(table.rows) < table.total
    ]
    return "; ".join(reasons)


def provenance(report: Report) -> str:
    """Version, date and the command that writes the report again, as HTML."""
    now = f"{datetime.now(UTC):%d %B %Y}".lstrip("0")
    by = f"Written by Theodolite {escape(version('theodolite'))} on {now}."
    words = [*report.command, "--out", f"{report.name}.html"] if report.command else []
    again = escape(shlex.join(words))
    return f"{by} The same on the command line: <code>{again}</code>" if again else by
