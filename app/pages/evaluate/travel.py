"""Which evaluations other machines can execute, and what they need for it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.fleet import needs as fleet
from app.fleet.needs import Needs

if TYPE_CHECKING:
    from engine.datasets import Catalog


def stays(encoders: Sequence[str], tasks: Sequence[str], catalog: Catalog) -> str:
    """Why an evaluation is done at home, in words; empty where any machine can do it.

    Raises:
        UserError: an encoder or a task that cannot be read.
    """
    reasons = [fleet.encoder_stays(encoder) for encoder in encoders]
    reasons += [fleet.data_stays(_dataset(task, catalog)) for task in tasks]
    return next(filter(None, reasons), "")


def needs(encoder: str, task: str, catalog: Catalog) -> Needs:
    """What one encoder on one task needs of a machine.

    Raises:
        UserError: an encoder, a task or data that cannot be read here.
    """
    return Needs.of(catalog, [_dataset(task, catalog)], [encoder])


def _dataset(task: str, catalog: Catalog) -> str:
    from engine import tasks

    return tasks.get(task, catalog).dataset
