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
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from app.pages.decode.service import DecodeOptions
    from app.python.verbs import choose, compare, decode, evaluate, map, search, train
    from app.workspace import Workspace
    from engine.decode import open_decoder
    from engine.encoders import load
    from engine.mteb.model import mteb
    from engine.training import TrainSpec

__all__ = [
    "DecodeOptions", "TrainSpec", "Workspace", "choose", "compare", "decode", "evaluate", "load",
    "map", "mteb", "open_decoder", "search", "train",
]  # fmt: skip

_PLACES = {
    **dict.fromkeys(("choose", "compare", "decode", "evaluate", "map", "search", "train"),
                    "app.python.verbs"),
    "DecodeOptions": "app.pages.decode.service",
    "TrainSpec": "engine.training",
    "Workspace": "app.workspace",
    "load": "engine.encoders",
    "mteb": "engine.mteb.model",
    "open_decoder": "engine.decode",
}  # fmt: skip


def _refuse_what_hides_ours() -> None:
    """Refuse to start when a user's file or folder shadows one of our packages.

    Raises:
        ImportError: a package is shadowed; names the file or folder and the remedy.
    """
    ours = Path(__file__).resolve().parents[1]
    for name in ("app", "engine", "store"):
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            place = next(iter(getattr(spec, "submodule_search_locations", None) or ()), None)
        else:
            file = Path(spec.origin).resolve()
            place = None if file == ours / name / "__init__.py" else file
            if place is not None and place.name == "__init__.py":
                place = place.parent
        if place is not None:
            raise ImportError(
                f"{place} hides Theodolite's own package {name!r}. Rename it, or start Python in "
                "another folder."
            )


_refuse_what_hides_ours()


def __getattr__(name: str) -> Any:
    if name not in _PLACES:
        raise AttributeError(f"module 'theodolite' has no attribute {name!r}")
    return getattr(import_module(_PLACES[name]), name)


def __dir__() -> list[str]:
    return __all__
