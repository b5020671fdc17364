"""Immutable files, named by the hash of their content."""

import hashlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

TEMPORARY = ".tmp"
_CHUNK = 1 << 20


def write_once(folder: Path, chunks: Iterable[bytes], suffix: str) -> tuple[str, int]:
    """Write chunks to a file of `folder` named by their hash.

    The file is complete on disk before it has its name: a crash leaves at most a temporary file,
    which `Store.clean` removes.

    Returns:
        (name, bytes): the file is `folder / name`.

    Raises:
        OSError: on an I/O error; nothing is left behind.
    """
    folder.mkdir(parents=True, exist_ok=True)
    temporary = folder / f"{secrets.token_hex(8)}{TEMPORARY}"
    digest, size = hashlib.blake2b(digest_size=20), 0
    try:
        with temporary.open("xb") as file:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        name = digest.hexdigest() + suffix
        # Replacing a file of the same name changes nothing but its age, which keeps `clean` from
        # taking it for an orphan until the row that names it is written.
        temporary.replace(folder / name)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(folder)
    return name, size


def is_whole(path: Path) -> bool:
    """Whether the content of a file written by `write_once` still matches its name."""
    digest = hashlib.blake2b(digest_size=20)
    for chunk in chunks_of(path):
        digest.update(chunk)
    return path.name.startswith(digest.hexdigest())


def chunks_of(path: Path) -> Iterator[bytes]:
    """The bytes of a file, a megabyte at a time."""
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            yield chunk


def _sync_folder(folder: Path) -> None:
    """Make a rename survive a power cut; folders cannot be opened on Windows, nor need it there."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
