"""Files transferred through the database of a fleet, in chunks, by the hash of their content.

A complete file is not transferred again, and a partial one is resumed, in either direction. Every
chunk is verified when it arrives, and the whole file when it is complete.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from theodolite.store.errors import StoreError
from theodolite.store.fleet import Postgres

CHUNK = 4 << 20
"""Bytes of a chunk; the last of a file is shorter."""
UNUSED_HOURS = 24
"""Hours after which files that nobody sent or fetched are deleted."""


class Damaged(StoreError):
    """The data in the database differ from those that were sent, or are gone: it is sent anew."""

    code = "damaged"


class Transfers:
    """Files in the database, named by the SHA-256 of their content."""

    def __init__(self, database: Postgres) -> None:
        self._rows = database.rows

    def send(self, digest: str, path: Path) -> None:
        """Upload the chunks of a file that are not in the database yet.

        Raises:
            FleetAway: when the database does not answer.
        """
        there = {
            row["number"]
            for row in self._rows(
                "UPDATE theodolite.chunks SET used = now() WHERE file = %s RETURNING number",
                [digest],
            )
        }
        try:
            size = path.stat().st_size
            with path.open("rb") as file:
                for number in range(chunks(size)):
                    if number not in there:
                        file.seek(number * CHUNK)
                        self._put(digest, number, file.read(CHUNK))
        except OSError as error:
            raise StoreError(f"{path.name} cannot be sent: {error.strerror or error}.") from error

    def fetch(self, digest: str, size: int, path: Path) -> None:
        """Download a file, resuming a partial download.

        Args:
            digest: SHA-256 of its content.
            size: its bytes.
            path: to write to; a file of that size there is not fetched again.

        Raises:
            FleetAway: when the database does not answer.
            Damaged: when a chunk or the whole file fails its checksum, or a chunk is gone.
        """
        if path.is_file() and path.stat().st_size == size:
            return
        part = path.with_name(f"{path.name}.arriving")
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            with part.open("ab") as file:
                file.truncate(file.tell() // CHUNK * CHUNK)
                for number in range(file.seek(0, 2) // CHUNK, chunks(size)):
                    file.write(self._get(digest, number))
                    file.flush()
            with part.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
            if found != digest or part.stat().st_size != size:
                part.unlink()
                raise Damaged(f"{path.name} did not arrive as it was sent.", "Try it again.")
            part.replace(path)
        except OSError as error:
            raise StoreError(
                f"{path.name} cannot be written: {error.strerror or error}.",
                "Make room for it.",
                code="no-file",
            ) from error

    def forget(self, digests: Sequence[str]) -> None:
        """Delete files."""
        self._rows("DELETE FROM theodolite.chunks WHERE file = ANY(%s)", [list(digests)])

    def clean(self) -> None:
        """Delete the files that nobody sent or fetched for `UNUSED_HOURS`."""
        self._rows(
            "DELETE FROM theodolite.chunks WHERE used < now() - make_interval(hours => %s)",
            [UNUSED_HOURS],
        )

    def _put(self, digest: str, number: int, data: bytes) -> None:
        self._rows(
            "INSERT INTO theodolite.chunks VALUES (%s, %s, %s, %s, now()) ON CONFLICT DO NOTHING",
            [digest, number, _checksum(data), data],
        )

    def _get(self, digest: str, number: int) -> bytes:
        found = self._rows(
            "UPDATE theodolite.chunks SET used = now() WHERE file = %s AND number = %s"
            " RETURNING digest, data",
            [digest, number],
        )
        if not found:
            raise Damaged("A file is no longer in the fleet's database.", "Try it again.")
        data = bytes(found[0]["data"])
        if _checksum(data) != found[0]["digest"]:
            self._rows(
                "DELETE FROM theodolite.chunks WHERE file = %s AND number = %s", [digest, number]
            )
            raise Damaged("A file was damaged in the fleet's database.", "Try it again.")
        return data


def chunks(size: int) -> int:
    """Number of chunks of a file of `size` bytes."""
    return -(-size // CHUNK)


def _checksum(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=16).hexdigest()
