"""Theodolite in Python, under the name that is installed.

    import theodolite as th

    for result in th.evaluate(th.load("wordllama"), "starter"):
        print(result.task, result.error or round(result.main.score, 2))

Each name is looked up where it lives when it is first used: importing this costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.pages.choose.service import choose
    from app.pages.compare.service import compare
    from app.pages.search.service import nearest
    from app.workspace import Workspace
    from engine import evaluate
    from engine.decode import open_decoder
    from engine.encoders import load
    from engine.mteb.model import mteb
    from engine.train import train
    from engine.training import TrainSpec

__all__ = [
    "TrainSpec", "Workspace", "choose", "compare", "evaluate", "load", "mteb", "nearest",
    "open_decoder", "train",
]  # fmt: skip

_PLACES = {
    "TrainSpec": "engine.training",
    "Workspace": "app.workspace",
    "choose": "app.pages.choose.service",
    "compare": "app.pages.compare.service",
    "evaluate": "engine",
    "load": "engine.encoders",
    "mteb": "engine.mteb.model",
    "nearest": "app.pages.search.service",
    "open_decoder": "engine.decode",
    "train": "engine.train",
}


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'theodolite' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
