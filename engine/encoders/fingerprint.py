"""Fingerprints of everything that determines a vector: hashes of files and of settings."""

import hashlib
from functools import lru_cache
from pathlib import Path

from theodolite.engine.stamps import of_file

FORMAT = "1"
"""Part of every fingerprint: raised when the same weights and options start to give new vectors."""


def fingerprint(*parts: object) -> str:
    """32 hex digits over the parts and the format version; order matters."""
    digest = hashlib.blake2b(FORMAT.encode(), digest_size=16)
    for part in parts:
        raw = str(part).encode("utf-8", "surrogatepass")
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.hexdigest()


def file_sha256(path: Path) -> str:
    """SHA-256 of a file, cached while its stamp stays the same."""
    return _sha256(path, of_file(path))


@lru_cache(maxsize=1024)
def _sha256(path: Path, stamp: object) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
