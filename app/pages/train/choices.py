"""Bases and training data that the forms offer, and uploads."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from theodolite.engine.errors import UserError
from theodolite.engine.training.presets import STARTER

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

NEW = (
    ("layers", "Layers", 4),
    ("hidden", "Hidden size", 256),
    ("heads", "Attention heads", 4),
    ("vocab", "Vocabulary", 8000),
)
"""Sizes of a new model: name, label, default."""
TRAINABLE = ("minilm", "hf", "dir")
FITTING = {
    "sup": ("pairs", "labelled-pairs", "triplets"),
    "next-sentence": ("sentences",),
}
"""Objective -> kinds of data sets that it trains on; other objectives take any."""


def default_dev(workspace: Workspace) -> str | None:
    """The default dev set; None if no candidate is installed."""
    from theodolite.engine.training.presets import DEV

    scored = scored_sets(workspace)
    return next((name for name in DEV if name in scored), None)


def scored_sets(workspace: Workspace) -> list[str]:
    """Data sets of graded pairs, which can serve as dev sets."""
    return [info.name for info in workspace.catalog.list() if info.kind == "pairs"]


def bases(workspace: Workspace) -> list[str]:
    """Encoders that can be trained: plain models without steps; MiniLM is always among them."""
    rows = workspace.store.encoders.list()
    names = [
        row["name"]
        for row in rows
        if row["info"].get("kind") in TRAINABLE and not set("|+?") & set(row["name"])
    ]
    return list(dict.fromkeys([*names, "minilm"]))


def new_base(values: Mapping[str, Any]) -> str:
    """`new:layers=4,hidden=256,heads=4,vocab=8000` from the sizes as typed."""
    numbers = {}
    for name, label, usual in NEW:
        text = str(values[name] or "").strip()
        if not text.isdecimal() or int(text) < 1:
            raise UserError(f"{label}: {text[:40]!r} is not a size.", f"Write one such as {usual}.")
        numbers[name] = int(text)
    if numbers["hidden"] % numbers["heads"]:
        raise UserError(
            f"{numbers['heads']} heads do not divide a hidden size of {numbers['hidden']}.",
            "Take a hidden size that is a multiple of the heads, such as 256 and 4.",
            code="mismatch",
        )
    return "new:" + ",".join(f"{name}={number}" for name, number in numbers.items())


def sizes(base: str) -> dict[str, str]:
    """The sizes in a base made by `new_base`; the defaults for any other base."""
    given = dict(pair.partition("=")[::2] for pair in base.removeprefix("new:").split(","))
    given = given if base.startswith("new:") else {}
    return {name: given.get(name, str(usual)) for name, _, usual in NEW}


def datasets(workspace: Workspace, objective: str | None = None) -> list[tuple[str, str]]:
    """(label, name) of the data sets for an objective, or of all; the starter set first."""
    kinds = FITTING.get(objective or "")
    listed = [info.name for info in workspace.catalog.list() if not kinds or info.kind in kinds]
    return [("Starter set", STARTER), *((name, name) for name in listed)]


def encoders(workspace: Workspace) -> list[str]:
    """Installed encoders in the order they were added; MiniLM is always among them."""
    kept = workspace.store.encoders.names()
    return list(dict.fromkeys([*kept, "minilm"]))


def taken_in(workspace: Workspace, file: str | None) -> str:
    """Add an uploaded file to the data sets; return its name."""
    from theodolite.app.pages.data import service as uploads

    workspace.refuse_visitors()
    if not file:
        raise UserError("No file was uploaded.", "Choose one.", code="missing")
    path = Path(file)
    stem = uploads.name_for(path.name)
    taken = {row["name"] for row in workspace.store.uploads.list()}
    names = [stem, *(f"{stem}-{number}" for number in range(2, len(taken) + 3))]
    name = next(name for name in names if name not in taken)
    row = uploads.keep(workspace, path, path.name, name, uploads.mapping_of(path, None, None))
    return f"upload:{row['name']}"
