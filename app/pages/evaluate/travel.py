"""Whether other machines can execute an evaluation, and their requirements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from theodolite.app.fleet import needs as fleet
from theodolite.app.fleet.needs import Needs

if TYPE_CHECKING:
    from theodolite.engine.datasets import Catalog


def stays(encoders: Sequence[str], tasks: Sequence[str], catalog: Catalog) -> str:
    """The reason why an evaluation has to run on this machine; empty if any machine can run it."""
    reasons = [fleet.encoder_stays(encoder) for encoder in encoders]
    reasons += [fleet.data_stays(_dataset(task, catalog)) for task in tasks]
    return next(filter(None, reasons), "")


def needs(encoder: str, task: str, catalog: Catalog) -> Needs:
    """Requirements of evaluating one encoder on one task."""
    return Needs.of(catalog, [_dataset(task, catalog)], [encoder])


def _dataset(task: str, catalog: Catalog) -> str:
    from theodolite.engine import tasks

    return tasks.get(task, catalog).dataset
