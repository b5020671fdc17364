"""Results out and in: MTEB's folders of JSON files, and the hub's YAML.

What others published is kept apart from what was measured here: it has no values per example, so it
is shown as published and never tested.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import UserError
from engine.mteb import results
from engine.mteb.results import PublishedResult

if TYPE_CHECKING:
    from app.workspace import Workspace

FORMATS = ("mteb", "yaml")


def export(workspace: Workspace, folder: Path, form: str, rows: list[dict[str, Any]]) -> list[Path]:
    """Write results that went well; return the files.

    Raises:
        UserError: an unknown format, or nothing to write.
    """
    if form not in FORMATS:
        raise UserError(f"{form!r} is no format of results.", f"Take {' or '.join(FORMATS)}.")
    kept = [row for row in rows if row["error"] is None]
    if not kept:
        raise UserError("There is no result to write.", "`results list` shows what is here.")
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
    workspace: Workspace, place: Path, model: str | None, revision: str
) -> tuple[list[PublishedResult], list[str]]:
    """Keep published results; return them, and what could not be read.

    Raises:
        UserError: for visitors, or nothing can be read.
    """
    workspace.refuse_visitors()
    if place.suffix in (".yaml", ".yml"):
        if not model:
            raise UserError(
                "The hub's YAML does not say whose results it holds.", "Add --model owner/name."
            )
        found = results.read_yaml(place, model, revision)
        problems: list[str] = []
    else:
        found, problems = results.read(place)
    workspace.store.published.put(
        asdict(one) | {"metric": one.main.metric, "score": one.main.score} for one in found
    )
    return found, problems
