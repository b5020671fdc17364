"""Every pooling of a checkpoint on a few scored pairs: which one fits, seen in numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.datasets.types import PairPart


def check_on_dev(workspace: Workspace, source: str) -> tuple[str, list[dict[str, Any]]]:
    """Measure each pooling on STS-B dev, or on the starter pairs where STS-B is not at hand.

    Returns:
        (what it was measured on, rows of pooling, spearman in points, seconds), best first.

    Raises:
        UserError: for a source that cannot be loaded.
    """
    from engine.encoders import doctor

    try:
        pairs, measured_on = _parts(workspace, "STSBenchmark")["dev"], "STS-B dev"
    except UserError:
        (pairs,) = _parts(workspace, "starter-pairs").values()
        measured_on = "the starter pairs (STS-B is not at hand)"
    rows = [
        {"pooling": pooling, "spearman": spearman, "seconds": seconds}
        for pooling, spearman, seconds in doctor.check_poolings(source, pairs)
    ]
    return measured_on, sorted(rows, key=lambda row: -row["spearman"])


def _parts(workspace: Workspace, name: str) -> dict[str, PairPart]:
    parts: dict[str, PairPart] = workspace.catalog.load(name).parts  # type: ignore[union-attr,assignment]
    return parts
