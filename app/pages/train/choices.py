"""Bases and training data that the forms offer, and uploads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from theodolite.engine.errors import UserError
from theodolite.engine.training.presets import STARTER

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace

NEW = "new:layers=4,hidden=256,heads=4,vocab=8000"
"""A small BERT with random weights."""
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
    """Encoders that can be trained: plain models without steps, MiniLM, and a new BERT."""
    rows = workspace.store.encoders.list()
    names = [
        row["name"]
        for row in rows
        if row["info"].get("kind") in TRAINABLE and not set("|+?") & set(row["name"])
    ]
    return list(dict.fromkeys([*names, "minilm", NEW]))


def datasets(workspace: Workspace, objective: str, chosen: str) -> list[tuple[str, str]]:
    """(label, name) of the data sets for an objective: own uploads first, then the starter set.

    Args:
        workspace: with the data sets.
        objective: of the training.
        chosen: also listed, unless it is a data set that does not fit.
    """
    infos, kinds = workspace.catalog.list(), FITTING.get(objective)
    fitting = [info.name for info in infos if not kinds or info.kind in kinds]
    uploads = [name for name in fitting if name.startswith("upload:")]
    names = [*uploads, STARTER, *fitting]
    if chosen and chosen not in [info.name for info in infos]:
        names.append(chosen)
    return [("Starter set" if name == STARTER else name, name) for name in dict.fromkeys(names)]


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
