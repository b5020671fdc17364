"""What can be reported: a map, a judgement.

Each is looked up where its page looks it up, and shown as the page shows it. Nothing is evaluated,
drawn or trained for a report: the error for what is missing names the verb that makes it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from html import escape
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.python import views
from theodolite.app.report.file import CAPS, Cap, Parts, Report, Table
from theodolite.app.spaced import evenly_spaced
from theodolite.app.web import parts
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.app.pages.judge.session import Session
    from theodolite.app.pages.map.job import MapJob
    from theodolite.app.pages.map.service import StoredMap
    from theodolite.app.workspace import Workspace

MAX_NAMED = 3
MAX_ROWS = 200
"""Rows of a table in the document; its file has all."""
MAX_WITH_NEIGHBOURS = 5_000
"""Points of a map that has the true neighbours of each in its document."""


def map_of(workspace: Workspace, job: MapJob) -> Report:
    """The report of a map that was computed."""
    from theodolite.app.pages.map import service

    found = job.stored(workspace)
    if found is None:
        raise UserError(
            f"{job.title} has not been computed yet.",
            f"Compute it first: theodolite project {job.encoder!r} {job.dataset}",
            code="no-result",
        )
    few = len(found.points) <= MAX_WITH_NEIGHBOURS
    if few and service.drawn_at_once(workspace, job.encoder, job.dataset):
        found = replace(found, nearest=service.nearest(workspace, found))
    return of_map(found)


def of_map(found: StoredMap) -> Report:
    """The report of a map that is given."""
    import numpy as np

    from theodolite.app.pages.map import service

    info = found.info
    table = service.table(found, np.array(evenly_spaced(len(found.points), CAPS[0].rows), np.int64))
    rows = [[_number(cell) for cell in row] for row in table.itertuples(index=False)]
    how = service.NAMES[info["method"]]
    return Report(
        "map",
        f"Map of {info['dataset']} by {info['encoder']}",
        f"By {how[0].lower() + how[1:] if how[1].islower() else how}.",
        lambda cap: views.plane(views.thinned(found, cap.rows)),
        [Table("map", list(table.columns), rows, len(found.points))],
    )


def _number(cell: Any) -> Any:
    """A float32 with as few digits as identify it, None for NaN; text stays as it is."""
    if isinstance(cell, str):
        return cell
    return None if cell != cell else json.loads(str(cell))


def judgement(workspace: Workspace, session: str, *, names: bool = True) -> Report:
    """What the marks of a session say of its encoders.

    Args:
        workspace: with the session.
        session: its id.
        names: whether the encoders are named; else they are A, B, … as on the page.
    """
    from theodolite.app.pages.judge import report, service

    found = service.opened(workspace, session)
    board = report.board(found)
    command = ["theodolite", "report", "judgement", session, *([] if names else ["--blind"])]
    return of_judgement(board, found, names=names, command=command)


def of_judgement(
    board: Mapping[str, Any],
    session: Session | None = None,
    *,
    names: bool = True,
    command: Sequence[str] = (),
) -> Report:
    """The report of a judgement that is given.

    Args:
        board: made by `app.pages.judge.report.board`.
        session: whose marks are listed; None for an example.
        names: whether the encoders are named.
        command: words of the verb that writes this report again.
    """
    called = {
        name: name if names else f"Encoder {chr(65 + at)}" for at, name in enumerate(board["blind"])
    }
    order = dict.fromkeys(pair[side] for pair in board["pairs"] for side in "ab")
    whose = formats.listed(order if names else sorted(called.values()))
    pairs = [
        {
            name: called.get(value, value) if name in ("a", "b", "verdict") else value
            for name, value in pair.items()
            if name not in ("path", "without_second")
        }
        for pair in board["pairs"]
    ]
    marks = _marks(session, called) if session else []
    tables = [_flat("pairs", pairs), *([_flat("marks", marks)] if marks else [])]
    return Report(
        "judgement",
        f"Judgement of {whose} on {board['collection']}",
        f"{formats.plural(board['marks'], 'mark')}, {board['left']:,} left unmarked.",
        lambda cap: _judged(board, tables, names, cap),
        tables,
        command,
    )


def _judged(board: Mapping[str, Any], tables: Sequence[Table], names: bool, cap: Cap) -> Parts:
    from theodolite.app.pages.judge import views as pages

    shown = [pages.findings({**board, "id": ""}, names=names, visitor=True)]
    for table in tables[1:]:
        shown.append(parts.heading("What was judged", "In the order in which it was asked."))
        shown.append(_read(table.cut(replace(cap, rows=min(cap.rows, MAX_ROWS)))))
    return shown


def _marks(session: Session, called: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row for each mark; of two lists the first encoder's comes first, whichever side it had."""
    from theodolite.app.pages.judge.session import shown

    rows = []
    for position, value in enumerate(session.values.tolist()):
        question = shown(session, position)
        row: dict[str, Any] = {"query": question.query}
        if session.spec.mode == "relevance":
            row |= {"document": question.texts[0][0], "relevant": value}
        else:
            pair = session.pairs[session.pool.keys[session.draws[position].unit][1]]
            lists = question.texts[::-1] if session.swapped(position) else question.texts
            first, second = ("\n".join(texts) for texts in lists)
            row |= {
                "encoder_a": called[pair[0]],
                "encoder_b": called[pair[1]],
                "list_a": first,
                "list_b": second,
                "a_is_better": value,
            }
        rows.append(row)
    return rows


def _flat(name: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """A table of mappings, one column per field; values other than text and numbers as JSON."""
    columns = list(dict.fromkeys(field for row in rows for field in row))
    return Table(name, columns, [[_cell(row.get(field)) for field in columns] for row in rows])


def _cell(value: Any) -> Any:
    plain = value is None or isinstance(value, str | int | float)
    return value if plain else json.dumps(value, ensure_ascii=False)


def _read(table: Table) -> str:
    """A table as HTML."""

    def cell(value: Any) -> str:
        shown = f"{value:g}" if isinstance(value, float) else "" if value is None else str(value)
        return f'<span dir="auto">{escape(shown)}</span>'

    rows = [[cell(value) for value in row] for row in table.rows]
    heads = [column.replace("_", " ") for column in table.columns]
    more = table.total - len(rows)
    below = f'<p class="t-small t-muted">{more:,} more in {escape(table.name)}.csv.</p>'
    return parts.table(heads, rows, table.name, stacked=True) + (below if more > 0 else "")
