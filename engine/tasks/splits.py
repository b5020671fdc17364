"""Choice of the split to score."""

from __future__ import annotations

from collections.abc import Collection

_DEV = ("dev", "validation", "val")


def scored_split(names: Collection[str]) -> str:
    """Return `test`; failing that, a name that starts with it, `dev` by any name, or the first.

    Raises:
        ValueError: no names.
    """
    if not names:
        raise ValueError("a data set without splits has none to score")
    if "test" in names:
        return "test"
    tests = (name for name in names if name.startswith("test"))
    return next(tests, next((name for name in _DEV if name in names), next(iter(names))))
