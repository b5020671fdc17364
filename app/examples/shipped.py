"""Examples that ship with Theodolite, which a page shows before it is used for the first time.

An example has a name and one or two files in this folder: facts in `NAME.json`, arrays, if any, in
`NAME.npz`. `python -m theodolite.app.examples.make` makes them with the encoders that ship. A page
shows one only for the fingerprints and the data that it was made with, and the user's own
results replace it.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.engine.errors import UserError
from theodolite.store.hashing import to_json

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy as np

    from theodolite.app.workspace import Workspace

FOLDER = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class Example:
    """An example: JSON-serialisable facts, and arrays by name."""

    facts: dict[str, Any]
    arrays: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def answer(self) -> Any:
        """The answer that `write_answer` stored."""
        return self.facts["answer"]

    def is_of(self, workspace: Workspace, *encoders: str) -> bool:
        """Whether it was made with these encoders and data, by fingerprints and hashes."""
        try:
            return all(
                workspace.catalog.sentences(name)[1] == hashed
                for name, hashed in self.facts["data"].items()
            ) and all(
                workspace.load(name).fingerprint == self.facts["encoders"].get(name)
                for name in encoders
            )
        except UserError:  # not available, or not for visitors
            return False


@lru_cache(maxsize=16)
def read(name: str) -> Example | None:
    """Read an example by its name; None for a missing file."""
    import numpy as np

    facts = FOLDER / f"{name}.json"
    if not facts.exists():
        return None
    arrays = {}
    if (numbers := facts.with_suffix(".npz")).exists():
        with np.load(numbers, allow_pickle=False) as kept:
            arrays = {key: kept[key] for key in kept.files}
    return Example(json.loads(facts.read_text(encoding="utf-8")), arrays)


def write(
    name: str, facts: Mapping[str, Any], arrays: Mapping[str, np.ndarray] | None = None
) -> None:
    """Write an example into this folder, replacing an earlier one."""
    import numpy as np

    file = FOLDER / f"{name}.json"
    file.write_text(to_json(facts) + "\n", encoding="utf-8")
    if arrays:
        np.savez_compressed(file.with_suffix(".npz"), allow_pickle=False, **dict(arrays))
    read.cache_clear()


def forget(name: str) -> None:
    """Delete an example, so that its answer is computed."""
    for suffix in (".json", ".npz"):
        (FOLDER / f"{name}{suffix}").unlink(missing_ok=True)
    read.cache_clear()


def write_answer(
    workspace: Workspace,
    name: str,
    answer: Any,
    encoders: Iterable[str],
    data: Iterable[str] = (),
    arrays: Mapping[str, np.ndarray] | None = None,
) -> None:
    """Write a page's answer with the fingerprints and data hashes that it was made with."""
    write(
        name,
        {
            "answer": answer,
            "encoders": {encoder: workspace.load(encoder).fingerprint for encoder in encoders},
            "data": {dataset: workspace.catalog.sentences(dataset)[1] for dataset in data},
        },
        arrays,
    )
