"""Paths as people write them."""

import os
from pathlib import Path

from theodolite.engine.errors import UserError


def expand(text: str) -> Path:
    """Return the path that a person wrote, with `~` expanded to their home folder.

    A name that only begins like a home folder (`~$list.csv`) stays as it is: `Path.expanduser`
    would raise.
    """
    if "\0" in text:
        printable = text.replace("\0", "\\0")
        raise UserError(f"'{printable}' is not a path.", "A path has no NUL character.")
    return Path(os.path.expanduser(text))  # noqa: PTH111 - see above
