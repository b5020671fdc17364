"""A file of one's own becomes a data set of the workspace: for the data page and `data add`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import UserError

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.datasets.tables import Mapping
    from store.uploads import UploadRow


def name_for(filename: str) -> str:
    """A first idea of a name: the file's, without endings and odd characters."""
    stem = re.sub(r"(\.[A-Za-z0-9]{1,8}){1,2}$", "", filename)
    return re.sub(r"[^\w .+-]", "-", stem).strip(" .-")[:80] or "data"


def keep(workspace: Workspace, file: Path, filename: str, name: str, mapping: Mapping) -> UploadRow:
    """Read a file under a mapping, and only when that works keep it under a name.

    Raises:
        UserError: the file does not fit the mapping; says where.
        StoreError: the name cannot be used, or the disk is full.
    """
    from engine.datasets import tables

    workspace.refuse_visitors()
    dataset = tables.read(file, filename, mapping, name)
    return workspace.store.uploads.add(
        name,
        mapping.kind,
        file,
        mapping=mapping.to_dict(),
        info={"sentences": len(dataset.sentences), "hash": dataset.hash},
        filename=filename,
    )


def mapping_of(file: Path, kind: str | None, columns: str | None) -> Mapping:
    """The mapping that a command line asks for, its gaps filled by guesses.

    Args:
        file: the table.
        kind: of data set; None for the likeliest.
        columns: `role=column,…`; None for guesses.

    Raises:
        UserError: a role or column that does not exist, or too little to guess from.
    """
    from engine.datasets import tables
    from engine.datasets.columns import ROLES
    from engine.datasets.files import listed

    if not file.is_file():
        raise UserError(f"There is no file {str(file)!r}.", "Check the path.")
    look = tables.preview(file, file.name)
    if kind is None and columns is None:
        return look.mapping
    chosen: dict[str, str] = {}
    for piece in filter(None, (columns or "").split(",")):
        role, equals, column = piece.partition("=")
        if not equals:
            raise UserError(
                f"{piece!r} does not say which column plays which role.",
                "Write --columns role=column,role=column.",
            )
        chosen[role.strip()] = column.strip()
    # The roles that were named say what it is; `Mapping` refuses a kind that does not exist.
    named = next((k for k, roles in ROLES.items() if chosen and set(roles) <= chosen.keys()), None)
    wanted: Any = kind or named or look.kind
    if not chosen:
        roles = ROLES.get(wanted, ())
        chosen = {role: look.guesses[role] for role in roles if role in look.guesses}
        missing = [role for role in roles if role not in chosen]
        if missing:
            known = ",".join(f"{role}={chosen.get(role, 'COLUMN')}" for role in roles)
            raise UserError(
                f"No column of {file.name} looks like the {' or the '.join(missing)} of {wanted}. "
                f"Its columns are: {listed(look.columns)}.",
                f"Say which one it is: --columns {known}",
            )
        if wanted in ("pairs", "labels") and "split" in look.guesses:
            chosen["split"] = look.guesses["split"]
    return tables.Mapping(wanted, chosen, look.header)
