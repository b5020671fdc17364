"""Which columns of a file a decision is made on: found by their values, asked for in doubt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    from theodolite.engine.datasets.tables import Mapping

SAMPLE = 200
"""Rows that are looked at."""
MAX_CLASSES, SHORT = 20, 60
"""Most whole numbers that are taken for classes, and most characters of a usual label."""
_DATE = re.compile(r"\d{1,4}[-/.]\d{1,2}[-/.]\d{1,4}([T ].*)?")


def mapping(file: Path) -> Mapping | None:
    """The columns of a table of sentences, with labels or without; None for other files.

    A column called `text` or `label` is what it says; otherwise every column counts that could be
    one by its values.
    """
    from theodolite.engine.datasets import tables
    from theodolite.engine.datasets.formats import open_table

    preview = tables.preview(file, file.name)
    if preview.type or preview.kind not in ("labels", "sentences"):
        return None
    table = open_table(file, file.name)
    rows = [cells for _, cells in islice(table.rows, SAMPLE) if len(cells) == len(table.columns)]
    values = {name: [str(row[i]) for row in rows] for i, name in enumerate(table.columns)}
    named = {name.casefold(): name for name in table.columns}
    texts, labels = candidates({n: v for n, v in values.items() if n != named.get("split")})
    texts = [named["text"]] if "text" in named else texts
    labels = [name for name in labels if name not in texts]
    labels = [named["label"]] if "label" in named else labels
    if not texts:
        return None
    if len(texts) > 1 or len(labels) > 1:
        raise _ambiguous(file.name, texts, labels)
    found = {"text": texts[0]} | ({"label": labels[0]} if labels else {})
    if labels and "split" in named:
        found["split"] = named["split"]
    return tables.Mapping("labels" if labels else "sentences", found, preview.header)


def candidates(values: dict[str, list[str]]) -> tuple[list[str], list[str]]:
    """Columns that could be the text, the longest first, and those that could be the label.

    Args:
        values: column -> its cells.
    """
    length = {name: sum(map(len, cells)) for name, cells in values.items()}
    texts = sorted((n for n, cells in values.items() if _is_text(cells)), key=lambda n: -length[n])
    return texts, [name for name, cells in values.items() if _is_label(cells)]


def _is_text(cells: Sequence[str]) -> bool:
    """Whether most cells differ and are words, not one number, date or code."""
    words = [cell for cell in cells if not _is_atom(cell)]
    return 2 * len(words) > len(cells) and 2 * len(set(words)) > len(words)


def _is_atom(cell: str) -> bool:
    atom = cell.isascii() and not re.search(r"\s", cell.strip())
    return not cell.strip() or atom or bool(_DATE.fullmatch(cell.strip()))


def _is_label(cells: Sequence[str]) -> bool:
    """Whether cells repeat as classes do; not dates, and not numbers that measure something."""
    known = [cell.strip() for cell in cells if cell.strip()]
    distinct = set(known)
    if not 2 <= len(distinct) <= len(known) / 2 or any(map(_DATE.fullmatch, distinct)):
        return False
    numbers = [float(cell) for cell in distinct if _is_number(cell)]
    if len(numbers) == len(distinct):
        return len(numbers) <= MAX_CLASSES and all(map(float.is_integer, numbers))
    return sum(map(len, known)) <= SHORT * len(known)


def _is_number(cell: Any) -> bool:
    from theodolite.engine.datasets.columns import is_number

    return is_number(cell)


def _ambiguous(filename: str, texts: Sequence[str], labels: Sequence[str]) -> UserError:
    several = [
        f"{formats.listed(names)} could each be the {role}"
        for role, names in (("text", texts), ("label", labels))
        if len(names) > 1
    ]
    typed = ",".join([f"text={texts[0]}", *(f"label={name}" for name in labels[:1])])
    return UserError(
        f"Which columns of {filename} count? {'; '.join(several)}.",
        f"Name them under Limits and columns, or on the command line: --columns {typed}",
        code="ambiguous",
    )
