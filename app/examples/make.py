"""Make the examples that ship: `python -m app.examples.make [NAME ...]`, all of them without names.

In a fresh store, with the encoders and the starter set that ship. The files belong into the
repository; a test says when one no longer answers the question that its page asks.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from app.examples import costs, geometry, maps, results, shipped, trainings
from app.pages.board import leaks, similarity
from app.pages.choose import example as choose
from app.pages.curate import service as curate
from app.pages.decode import example as decode
from app.pages.diagnose import example as diagnose
from app.pages.encoders import service as encoders
from app.pages.judge import example as judge
from app.pages.search import example as search

if TYPE_CHECKING:
    from app.workspace import Workspace

MAKERS: dict[str, Callable[[Workspace], None]] = {
    "map": maps.make_map,
    "spaces": maps.make_spaces,
    "geometry": geometry.make,
    "search": search.make,
    "curate": curate.make_example,
    "decode": decode.make_decode,
    "interpolate": decode.make_interpolate,
    "arithmetic": decode.make_arithmetic,
    "diagnose": diagnose.make,
    "judge": judge.make,
    "results": results.make,
    "similarity": similarity.make_example,
    "leaks": leaks.make_example,
    "trainings": trainings.make,
    "cost": costs.make,
    "choose": choose.make_example,
}
"""Name -> what makes and writes that example."""


def main(names: list[str]) -> None:
    """Make the examples of these names."""
    from app.workspace import STARTER_ENCODERS, Workspace

    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder) / "store")
        for encoder in STARTER_ENCODERS:
            encoders.add(workspace, encoder)
        for name in names or MAKERS:
            shipped.forget(name)
            MAKERS[name](workspace)
        workspace.close()


if __name__ == "__main__":
    main(sys.argv[1:])
