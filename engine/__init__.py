"""The computational core: encoders, data sets, tasks, geometry.

    from theodolite.engine import evaluate, load

    for result in evaluate(load("wordllama"), "starter"):
        print(result.task, result.error or round(result.main.score, 2))

Importing this module does not import torch; `load` is resolved when first used.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

# Imported eagerly: otherwise the module of the same name would shadow the function.
from theodolite.engine.evaluate import evaluate

if TYPE_CHECKING:
    from theodolite.engine.encoders import load

__all__ = ["evaluate", "load"]

# A failed task is a result with an error; its traceback goes to the log, if one is set up.
logging.getLogger(__name__).addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name == "load":
        from theodolite.engine.encoders import load

        return load
    raise AttributeError(f"module 'engine' has no attribute {name!r}")
