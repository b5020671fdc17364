"""The Python interface of Theodolite.

    import theodolite as th

    th.evaluate(["minilm", "wordllama"], "starter")
    th.compare(["minilm", "wordllama"])
    th.search("a dog runs on the grass", encoders=["minilm", "random:256"]).to_pandas()

Results have a notebook view, and `to_pandas()` makes a table of them. Each name is imported on
first use: importing this module costs nothing.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from theodolite.app.python.verbs import (
        choose,
        compare,
        decode,
        evaluate,
        gate_check,
        gate_save,
        map,
        search,
        train,
    )
    from theodolite.app.workspace import Workspace
    from theodolite.engine.decode import open_decoder
    from theodolite.engine.encoders import load
    from theodolite.engine.errors import UserError
    from theodolite.engine.mteb.model import mteb
    from theodolite.engine.training import TrainSpec

__all__ = [
    "TrainSpec",
    "UserError",
    "Workspace",
    "choose",
    "compare",
    "decode",
    "evaluate",
    "gate_check",
    "gate_save",
    "load",
    "map",
    "mteb",
    "open_decoder",
    "search",
    "train",
]

_PLACES = {
    **dict.fromkeys(
        (
            *("choose", "compare", "decode", "evaluate", "gate_check", "gate_save"),
            *("map", "search", "train"),
        ),
        "theodolite.app.python.verbs",
    ),
    "TrainSpec": "theodolite.engine.training",
    "UserError": "theodolite.engine.errors",
    "Workspace": "theodolite.app.workspace",
    "load": "theodolite.app.python.named",
    "mteb": "theodolite.engine.mteb.model",
    "open_decoder": "theodolite.engine.decode",
}

_HERE = Path(__file__).resolve().parent
if not (_HERE / "app").is_dir():  # in a checkout, `app` and the others lie beside this folder
    __path__.insert(0, str(_HERE.parent))


def __getattr__(name: str) -> Any:
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    from theodolite.app import pages

    if name.startswith("_") or name not in (questions := pages.questions()):
        raise AttributeError(f"module 'theodolite' has no attribute {name!r}")
    return import_module("theodolite.app.surfaces.notebook").function(pages.load(questions[name]))


def __dir__() -> list[str]:
    from theodolite.app import pages

    return sorted({*__all__, *pages.questions()})
