"""Addresses of fsspec to write trained weights to, under a root that a worker allows."""

from __future__ import annotations

import shutil
from pathlib import Path
from urllib.parse import urlsplit

from theodolite.engine.errors import UserError


def is_address(out: str) -> bool:
    """Whether `out` is an address such as `s3://lab/models`, not a folder of this machine."""
    return "://" in out


def checked(address: str) -> str:
    """Return an address unchanged if it is valid."""
    from fsspec import available_protocols

    parts = urlsplit(address)
    steps = parts.path.split("/")
    if "::" in address or ".." in steps or parts.query or parts.fragment or not parts.scheme:
        raise UserError(
            f"{address} is not an address for models.", "Write it like s3://bucket/folder."
        )
    if parts.scheme not in available_protocols():
        raise UserError(
            f"No file system is known for {parts.scheme}://.",
            "See fsspec's documentation.",
            code="unsupported",
        )
    return address


def is_below(address: str, root: str) -> bool:
    """Whether an address lies under a root."""
    try:
        return checked(address).startswith(f"{root.rstrip('/')}/")
    except UserError:
        return False


def leave(folder: Path, address: str) -> None:
    """Move a folder of this machine to an address."""
    import fsspec

    try:
        system, place = fsspec.url_to_fs(checked(address))
        for file in sorted(file for file in folder.rglob("*") if file.is_file()):
            to = f"{place}/{file.relative_to(folder).as_posix()}"
            system.makedirs(to.rpartition("/")[0], exist_ok=True)
            system.put_file(str(file), to)
    except Exception as error:  # each file system has errors of its own
        raise UserError(
            f"The model cannot be written to {address}: {type(error).__name__}: {error}.",
            "Give the worker permission to write there, then try again.",
            code="denied",
        ) from error
    shutil.rmtree(folder, ignore_errors=True)
