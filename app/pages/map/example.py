"""Shipped maps, found by their settings, independently of the installed libraries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from theodolite.app.examples import shipped
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

NAMES = ("map", "spaces")
"""Shipped examples that contain maps."""


def key_of(question: Mapping[str, Any]) -> str | None:
    """The key of the shipped map for a `MapJob.question`; None if none ships."""
    digest = hash_of(to_json(question))
    found = (shipped.read(name) for name in NAMES)
    return next((e.facts["keys"][digest] for e in found if e and digest in e.facts["keys"]), None)


def get(key: str) -> tuple[dict[str, Any], dict[str, np.ndarray]] | None:
    """Facts and arrays of a shipped map, in the form of the store; None for an unknown key."""
    for name in NAMES:
        example = shipped.read(name)
        if example is not None and key in example.facts["maps"]:
            own = f"{key}/"
            arrays = {
                k.removeprefix(own): a for k, a in example.arrays.items() if k.startswith(own)
            }
            return dict(example.facts["maps"][key]), arrays
    return None
