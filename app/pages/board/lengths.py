"""Text lengths of data sets: computed once, and cached until their files change."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from theodolite.app.pages.board.spec import BoardSpec
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.store.hashing import hash_of

KIND, FORMAT = "text-length", "2"


class Lengths(NamedTuple):
    """Mean lengths of the distinct texts of a data set."""

    characters: float
    words: float


def fits(workspace: Workspace, dataset: str, spec: BoardSpec) -> bool:
    """Whether the text lengths of a data set match the filters; true without such filters."""
    if not spec.by_length:
        return True
    found = measured(workspace, dataset)
    return found is not None and (
        _within(spec.least_characters, found.characters, spec.most_characters)
        and _within(spec.least_words, found.words, spec.most_words)
    )


def _within(low: float | None, mean: float, high: float | None) -> bool:
    return (low is None or low <= mean) and (high is None or mean <= high)


def measured(workspace: Workspace, dataset: str) -> Lengths | None:
    """Mean lengths of a data set's distinct texts; None if they are not available.

    Words are separated by white space: a text in a script without spaces counts as one word.
    """
    try:
        key = hash_of(KIND, FORMAT, dataset, workspace.catalog.content(dataset))
        row = workspace.store.derived.get(key)
        if row is None:
            texts, _ = workspace.catalog.sentences(dataset)
            n = len(texts)
            means = [sum(map(len, texts)) / n, sum(len(t.split()) for t in texts) / n] if n else []
            if not workspace.demo:
                workspace.store.derived.put(key, KIND, {"dataset": dataset, "means": means})
            return Lengths(*means) if n else None
    except UserError:
        return None
    return Lengths(*row["info"]["means"]) if row["info"]["means"] else None


def read(
    workspace: Workspace, datasets: Sequence[str], say: Callable[[str, float | None, None], None]
) -> list[Lengths | None]:
    """Mean lengths of several data sets, reading new ones; reports progress."""
    found = []
    for done, name in enumerate(datasets):
        say(f"Reading {name} for the length of its texts", done / len(datasets), None)
        found.append(measured(workspace, name))
    return found
