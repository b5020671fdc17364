"""Import and export of results: MTEB's folders of JSON files, and the hub's YAML.

Published results are kept apart from those computed here: they have no values per example, so they
are marked as published and never tested for significance.
"""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.mteb import results
from theodolite.engine.mteb.results import NamedFile, Reading

FORMATS = ("mteb", "yaml")


def export(workspace: Workspace, folder: Path, form: str, rows: list[dict[str, Any]]) -> list[Path]:
    """Write the results that have no error; return the files."""
    if form not in FORMATS:
        raise UserError(f"{form!r} is not a format for results.", f"Take {' or '.join(FORMATS)}.")
    complete = [row for row in rows if row["error"] is None]
    if not complete:
        raise UserError(
            "There are no results to write.",
            "`results list` shows the available ones.",
            code="no-result",
        )
    full = workspace.store.results.in_full([row["id"] for row in complete])
    whole = [{**row, **full[row["id"]]} for row in complete]
    if form == "mteb":
        return results.write(folder, whole)
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for encoder in dict.fromkeys(row["encoder"] for row in whole):
        file = folder / f"{results.as_file(encoder)}.yaml"
        mine = [row for row in whole if row["encoder"] == encoder]
        on_hub = {row["task"]: name for row in mine if (name := row["details"].get("hub_dataset"))}
        file.write_text(results.as_yaml(mine, on_hub), "utf-8")
        written.append(file)
    return written


def bring(
    workspace: Workspace, files: Path | Sequence[NamedFile], model: str = "", revision: str = ""
) -> Reading:
    """Import published results into the store.

    Args:
        workspace: its store keeps them.
        files: a folder, a ZIP archive or a file on this machine; or uploads with their names.
        model: name of the model, for files which do not give it themselves or by their folders.
        revision: revision of that model.
    """
    workspace.refuse_visitors()
    named = results.inside(files) if isinstance(files, Path) else files
    entries = results.read(named, model.strip(), revision.strip())
    workspace.store.published.put(
        asdict(result) | {"metric": result.main.metric, "score": result.main.score}
        for result in entries.results
    )
    return entries


def forget(workspace: Workspace, models: Sequence[tuple[str, str]]) -> int:
    """Delete the imported results of (model, revision) pairs; return their number."""
    workspace.refuse_visitors()
    if not models:
        raise UserError("Nothing chosen.", "Choose models above the button.", code="missing")
    return workspace.store.published.forget(models)
