"""Import and export of results: MTEB's folders of JSON files, and the hub's YAML.

What others published is kept apart from what was measured here: it has no values per example, so it
is shown as published and never tested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import UserError
from engine.mteb import reading, results
from engine.mteb.reading import NamedFile, Reading

if TYPE_CHECKING:
    from app.workspace import Workspace

FORMATS = ("mteb", "yaml")


def export(workspace: Workspace, folder: Path, form: str, rows: list[dict[str, Any]]) -> list[Path]:
    """Write results that went well; return the files.

    Raises:
        UserError: an unknown format, or nothing to write.
    """
    if form not in FORMATS:
        raise UserError(f"{form!r} is not a format for results.", f"Take {' or '.join(FORMATS)}.")
    kept = [row for row in rows if row["error"] is None]
    if not kept:
        raise UserError(
            "There are no results to write.", "`results list` shows the available ones."
        )
    full = workspace.store.results.in_full([row["id"] for row in kept])
    whole = [{**row, **full[row["id"]]} for row in kept]
    if form == "mteb":
        return results.write(folder, whole)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for encoder in dict.fromkeys(row["encoder"] for row in whole):
        file = folder / f"{results.as_file(encoder)}.yaml"
        mine = [row for row in whole if row["encoder"] == encoder]
        on_hub = {row["task"]: name for row in mine
                  if (name := row["details"].get("hub_dataset"))}  # fmt: skip
        file.write_text(results.as_yaml(mine, on_hub), "utf-8")
        written.append(file)
    return written


def bring(
    workspace: Workspace, files: Path | Sequence[NamedFile], model: str = "", revision: str = ""
) -> Reading:
    """Keep published results, and say what was read.

    Args:
        workspace: which keeps them.
        files: a folder, a ZIP archive or a file on this machine; or uploads with their names.
        model: whose they are, where neither a file nor its folders say it.
        revision: of that model.

    Raises:
        UserError: for visitors, or nothing can be read.
    """
    workspace.refuse_visitors()
    named = reading.inside(files) if isinstance(files, Path) else files
    found = reading.read(named, model.strip(), revision.strip())
    workspace.store.published.put(
        asdict(one) | {"metric": one.main.metric, "score": one.main.score} for one in found.results
    )
    return found


def forget(workspace: Workspace, models: Sequence[tuple[str, str]]) -> int:
    """Let go of all that was imported of some models, each with its revision; say how much.

    Raises:
        UserError: for visitors, or nothing is named.
    """
    workspace.refuse_visitors()
    if not models:
        raise UserError("Nothing chosen.", "Choose models above the button.")
    return workspace.store.published.forget(models)
