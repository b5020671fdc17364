"""Which tasks a file of vectors suffices for: `vectors:FILE` knows the sentences of FILE only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace


def coverage(
    workspace: Workspace, spec: str, tasks: str | Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Count what a spec with files of vectors lacks, task by task.

    Args:
        workspace: whose data are asked.
        spec: with at least one `vectors:FILE`.
        tasks: names or suites; None is every task whose data is here.

    Yields:
        `task`, `sentences`, `lacking` (of the distinct sentences), `first` (of the lacking ones)
        and `error` (why the data cannot be read, else None).

    Raises:
        UserError: an unknown task, a file that cannot be read, or a spec without such a file.
    """
    from engine import tasks as registry
    from engine.encoders.vectors import Coverage

    asked = Coverage(spec)
    if not asked.files:
        raise UserError(
            f"{spec} has no file of vectors.", "It can encode every sentence; nothing is lacking."
        )
    catalog = workspace.catalog
    names = (
        [task.name for task in registry.available(catalog)]
        if tasks is None
        else registry.expand(tasks, catalog)
    )
    for name in names:
        row = {"task": name, "sentences": 0, "lacking": 0, "first": "", "error": None}
        try:
            dataset = catalog.load(registry.get(name, catalog).dataset)
            sentences = list(dict.fromkeys(dataset.sentences))
            lacking = asked.lacking(sentences)
            row |= {"sentences": len(sentences), "lacking": len(lacking)}
            row["first"] = lacking[0][:80] if lacking else ""
        except UserError as error:
            row["error"] = str(error)
        yield row
