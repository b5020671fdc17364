"""Files that a person brings."""

from __future__ import annotations

from pathlib import Path

from app.pages.data.service import keep
from app.workspace import Workspace
from engine.datasets.tables import preview


def collection(workspace: Workspace, tmp_path: Path, name: str, lines: list[str]) -> str:
    """Upload sentences, one a line; return the name of the data set."""
    file = tmp_path / f"{name}.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    mapping = preview(file, file.name).mapping
    return "upload:" + keep(workspace, file, file.name, name, mapping)["name"]
