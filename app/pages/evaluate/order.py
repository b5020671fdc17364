"""The order in which tasks are listed: the same on every page."""

from __future__ import annotations

from collections.abc import Iterable


def in_order(tasks: Iterable[str]) -> list[str]:
    """Built-in tasks in the registry's order, SentEval's list first; then the others as given."""
    from engine.tasks import TASKS

    place = {name: i for i, name in enumerate(TASKS)}
    return sorted(tasks, key=lambda name: place.get(name, len(place)))
