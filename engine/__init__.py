"""The computing part: encoders, data sets, tasks, geometry.

    from engine import evaluate, load

    for result in evaluate(load("wordllama"), "starter"):
        print(result.task, result.error or round(result.main.score, 2))

Importing this costs no torch; `load` is looked up when first used.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

# Imported at once and not on demand: the module of the same name would otherwise take its place.
from engine.evaluate import evaluate

if TYPE_CHECKING:
    from engine.encoders import load

__all__ = ["evaluate", "load"]

# A task that fails is a result that says so. Its traceback is for whoever sets up a log.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name == "load":
        from engine.encoders import load

        return load
    raise AttributeError(f"module 'engine' has no attribute {name!r}")
