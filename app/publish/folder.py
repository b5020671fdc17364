"""A folder of published files: written and replaced, and nothing else in it ever removed."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from theodolite.engine.errors import UserError

LIST = "theodolite/published.json"
"""The list of the files that were written, so that these alone are replaced the next time."""


def check(folder: Path) -> list[str]:
    """Check that a folder may be written; return the files that were published there before."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise UserError(
            f"{folder} is a link or a file.",
            "Name a folder that is empty or new.",
            code="wrong-kind",
        )
    if not folder.exists():
        return []
    there = [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]
    if links := [path for path in there if path.is_symlink()]:
        raise UserError(
            f"{links[0]} is a link: what is written there would land elsewhere.",
            "Remove it, or name a folder that is empty or new.",
            code="wrong-kind",
        )
    known = listed(folder / LIST)
    names = [path.relative_to(folder).as_posix() for path in there]
    if others := sorted(set(names) - {*known, LIST}):
        raise UserError(
            f"{folder} holds {others[0]}, which was not published.",
            "Name a folder that is empty or new.",
            code="conflict",
        )
    return names


def write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write files, and remove those published there before that are not among them."""
    before = check(folder)
    try:
        # Listed first, then written: what an interruption leaves can be replaced as well.
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
        raise UserError(
            f"{folder} cannot be written: {error.strerror or error}.",
            "Name another folder.",
            code="no-file",
        ) from error


def list_of(files: Iterable[str]) -> bytes:
    """Content of `LIST` for a folder with these files."""
    return (json.dumps({"files": sorted(files)}, indent=1) + "\n").encode()


def listed(file: Path) -> set[str]:
    """The names in a list; none when it cannot be read."""
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
