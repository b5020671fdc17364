"""What a file is by its first bytes, asked before a reader is chosen."""

from __future__ import annotations

from pathlib import Path

from engine.errors import UserError

LFS = b"version https://git-lfs.github.com/spec/"
"""How a Git LFS pointer begins: <https://github.com/git-lfs/git-lfs/blob/main/docs/spec.md>."""


def lfs_pointer(path: Path) -> bool:
    """Whether the file is a Git LFS pointer: a few lines of text in place of the content."""
    try:
        if not path.is_file():  # opening a pipe would wait
            return False
        with path.open("rb") as file:
            return file.read(len(LFS)) == LFS
    except OSError:  # not permitted: reading it will say so
        return False


def refuse_pointer(path: Path) -> None:
    """Refuse a Git LFS pointer.

    Raises:
        UserError: names the file and says how to get its content.
    """
    if lfs_pointer(path):
        raise UserError(
            f"{path} is a Git LFS pointer: its content was not downloaded with the repository.",
            "Run `git lfs install` and `git lfs pull` there, or download the file itself.",
        )
