"""Which part of a data set is scored where only one is."""

from __future__ import annotations

from collections.abc import Collection

_SCORED = ("test", "dev", "validation", "val")


def scored_split(names: Collection[str]) -> str:
    """Return `test` where there is one, else `dev` or its other names, else the first.

    Raises:
        ValueError: there is none.
    """
    if not names:
        raise ValueError("a data set without splits has none to score")
    return next((name for name in _SCORED if name in names), next(iter(names)))
