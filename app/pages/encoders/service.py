"""The encoders that are kept: adding and removing them, and checks of those that read files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.datasets.types import PairPart
    from store.encoders import EncoderRow


def listed(workspace: Workspace) -> list[dict[str, Any]]:
    """What is known of every encoder that is kept, in the order they were added."""
    return [_flat(row) for row in workspace.store.encoders.list()]


def add(workspace: Workspace, spec: str) -> dict[str, Any]:
    """Check a spec, keep it, and return what is known of it.

    Raises:
        UserError: for visitors, or a spec that cannot be read.
    """
    workspace.refuse_visitors()
    return _flat(_described(workspace, spec))


def refresh(workspace: Workspace, spec: str) -> None:
    """List an encoder that was made or is being used, with what is known of it, if anything is."""
    try:
        _described(workspace, spec)
    except UserError:  # it cannot be described: whoever uses it will be told why
        workspace.store.encoders.add(spec)


def ensure_listed(workspace: Workspace, specs: Iterable[str]) -> None:
    """List the encoders that are not in the list yet."""
    for spec in specs:
        if workspace.store.encoders.get(spec) is None:
            refresh(workspace, spec)


def _described(workspace: Workspace, spec: str) -> EncoderRow:
    from engine import encoders

    name = str(encoders.parse(spec))
    return workspace.store.encoders.add(name, encoders.describe(name))


def remove(workspace: Workspace, spec: str) -> None:
    """Forget an encoder. Its results stay.

    Raises:
        UserError: for visitors, or when it is not in the list.
    """
    workspace.refuse_visitors()
    if not workspace.store.encoders.remove(spec):
        raise UserError(f"{spec!r} is not in the list.", "`theodolite encoders list` shows it.")


def _flat(row: Any) -> dict[str, Any]:
    return {**row["info"], **{key: value for key, value in row.items() if key != "info"}}


def check_poolings(workspace: Workspace, spec: str) -> tuple[str, list[dict[str, Any]]]:
    """Measure each pooling on STS-B dev, or on the starter pairs where STS-B is missing.

    Args:
        workspace: whose data are asked.
        spec: its source is checked; the steps after it are left out.

    Returns:
        (what it was measured on, rows of pooling, spearman in points, seconds), best first.

    Raises:
        UserError: for visitors, or a source that cannot be loaded.
    """
    from engine.encoders import doctor

    workspace.refuse_visitors()
    try:
        pairs, measured_on = _parts(workspace, "STSBenchmark")["dev"], "STS-B dev"
    except UserError:
        (pairs,) = _parts(workspace, "starter-pairs").values()
        measured_on = "the starter pairs (STS-B is not available)"
    rows = [
        {"pooling": pooling, "spearman": spearman, "seconds": seconds}
        for pooling, spearman, seconds in doctor.check_poolings(source_of(spec), pairs)
    ]
    return measured_on, sorted(rows, key=lambda row: -row["spearman"])


def source_of(spec: str) -> str:
    """A spec without the steps after its source."""
    return spec.split("|")[0].strip()


def _parts(workspace: Workspace, name: str) -> dict[str, PairPart]:
    parts: dict[str, PairPart] = workspace.catalog.load(name).parts  # type: ignore[union-attr,assignment]
    return parts


def coverage(
    workspace: Workspace, spec: str, tasks: str | Sequence[str] | None = None
) -> Iterator[dict[str, Any]]:
    """Count what a spec with files of vectors lacks, task by task: it knows no other sentences.

    Args:
        workspace: whose data are asked.
        spec: with at least one `vectors:FILE`.
        tasks: names or suites; None is every task whose data is here.

    Yields:
        `task`, `sentences`, `lacking` (of the distinct sentences), `first` (of the lacking ones)
        and `error` (why the data cannot be read, else None).

    Raises:
        UserError: for visitors, an unknown task, a file that cannot be read, or a spec without
            such a file.
    """
    from engine import tasks as registry
    from engine.encoders.vectors import Coverage

    workspace.refuse_visitors()
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
