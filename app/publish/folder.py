"""A folder of published files: made, made anew, and never with anything else taken away."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from engine.errors import UserError

LIST = "theodolite/published.json"
"""Names what was written, so that the next time it can be replaced, and nothing else."""


def check(folder: Path) -> list[str]:
    """See that a folder may be written; return the files that were published there before.

    Raises:
        UserError: a file or link, or a folder that holds something else or links out of itself.
    """
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UserError(f"{folder} is a link or a file.", "Name a folder that is empty or new.")
    if not folder.exists():
        return []
    there = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    if links := [path for path in there if path.is_symlink()]:
        raise UserError(f"{links[0]} is a link: what is written there would land elsewhere.",
                        "Remove it, or name a folder that is empty or new.")  # fmt: skip
    known = _listed(folder / LIST)
    names = [path.relative_to(folder).as_posix() for path in there]
    if others := sorted(set(names) - {*known, LIST}):
        raise UserError(f"{folder} holds {others[0]}, which was not published.",
                        "Name a folder that is empty or new.")  # fmt: skip
    return names


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, and remove what was published there before and is not among them.

    Raises:
        UserError: as `check`; the disk refuses.
    """
    before = check(folder)
    try:
        # First named, then written: what is left half done can be replaced as well.
        _write(folder, LIST, list_of({*before, *files}))
        for name in set(before) - {*files, LIST}:
            (folder / name).unlink()
        for name, data in files.items():
            _write(folder, name, data)
        for path in sorted(folder.rglob("*"), reverse=True):
            if path.is_dir() and not any(path.iterdir()):
                path.rmdir()
        _write(folder, LIST, list_of(files))
    except OSError as error:
        raise UserError(f"{folder} cannot be written: {error.strerror or error}.",
                        "Name another folder.") from error  # fmt: skip


def list_of(files: Iterable[str]) -> bytes:
    """What stands in the list of a folder that holds these files."""
    return (json.dumps({"files": sorted(files)}, indent=1) + "\n").encode()


def _listed(file: Path) -> set[str]:
    """What a list names, as far as it is inside its folder."""
    try:
        found = json.loads(file.read_text("utf-8"))["files"]
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {name for name in found if isinstance(name, str)} if isinstance(found, list) else set()


def _write(folder: Path, name: str, data: bytes) -> None:
    path = PurePosixPath(name)
    if path.is_absolute() or ".." in path.parts:
        raise ValueError(f"{name!r} is not inside a folder")
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(data)
