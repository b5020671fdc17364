"""The small tables: settings, encoders, decoders, workers. Knows a spec only as a name."""

import builtins
import contextlib
import math
import os
import socket
import time
from collections.abc import Collection, Mapping
from itertools import count
from pathlib import Path
from typing import Any, TypedDict

from theodolite.store.database import Filed, Table
from theodolite.store.errors import StoreError, StoreGone
from theodolite.store.hashing import to_json

SILENCE = 15.0
"""Seconds without a heartbeat after which a worker counts as gone."""


class EncoderRow(TypedDict):
    """An encoder in the list."""

    name: str
    info: dict[str, Any]
    added: float


class DecoderRow(TypedDict):
    """A decoder in the list: the encoder whose vectors it reads, its folder, facts about it."""

    name: str
    encoder: str
    fingerprint: str
    folder: Path
    info: dict[str, Any]
    added: float


class WorkerRow(TypedDict):
    """A worker; times are seconds since 1970."""

    slot: str
    pid: int
    host: str
    started: float
    seen: float


class Settings(Table):
    """JSON values by name."""

    def get(self, name: str, default: Any = None) -> Any:
        """The value stored under a name, or `default`."""
        row = self._database.row("SELECT value FROM settings WHERE name = ?", [name])
        return default if row is None else row["value"]

    def set(self, name: str, value: Any) -> None:
        """Store a JSON-able value; None forgets the name."""
        if value is None:
            self._database.change("DELETE FROM settings WHERE name = ?", [name])
            return
        self._database.change("REPLACE INTO settings VALUES (?, ?)", [name, to_json(value)])


_FORMER = "former names of encoders"
"""Under which the settings have them."""


class Encoders(Table):
    """Canonical spec -> facts about it, in the order they were added.

    Attributes:
        closed: whether no others can be used, as by visitors.
    """

    closed = False

    def add(self, name: str, info: Mapping[str, Any] | None = None) -> EncoderRow:
        """Add an encoder; adding it again replaces its facts and keeps its place."""
        self._database.change(
            "INSERT INTO encoders VALUES (?, ?, ?)"
            " ON CONFLICT (name) DO UPDATE SET info = excluded.info",
            [name, to_json(info or {}), time.time()],
        )
        # Removed by another process just now: return what was given.
        row: EncoderRow = {"name": name, "info": dict(info or {}), "added": time.time()}
        return self.get(name) or row

    def get(self, name: str) -> EncoderRow | None:
        """The encoder of that name, or None."""
        row = self._database.row("SELECT * FROM encoders WHERE name = ?", [name])
        return None if row is None else EncoderRow(**row)  # type: ignore[typeddict-item]

    def list(self) -> list[EncoderRow]:
        """All encoders, in the order they were added."""
        rows = self._database.rows("SELECT * FROM encoders ORDER BY added, rowid")
        return [EncoderRow(**row) for row in rows]  # type: ignore[typeddict-item]

    def names(self) -> builtins.list[str]:
        """Their names, in the same order."""
        return [row["name"] for row in self.list()]

    def infos(self) -> dict[str, dict[str, Any]]:
        """Name -> facts, in the same order."""
        return {row["name"]: row["info"] for row in self.list()}

    def remove(self, name: str) -> bool:
        """Forget an encoder; return whether it was listed.

        Its results stay; its vectors go at the next `Store.clean`.
        """
        return self._database.change("DELETE FROM encoders WHERE name = ?", [name]) > 0

    def labels(self) -> dict[str, str]:
        """Spec -> the name that people gave to the encoder; none of a store that is gone."""
        with contextlib.suppress(StoreGone):
            rows = self._database.rows("SELECT encoder, name FROM labels")
            return {row["encoder"]: row["name"] for row in rows}
        return {}

    def former(self) -> dict[str, str]:
        """Name that people gave before -> spec of what had it; none of a store that is gone."""
        with contextlib.suppress(StoreGone):
            former: dict[str, str] = Settings(self._database).get(_FORMER, {})
            return former
        return {}

    def label(self, encoder: str, name: str, *, numbered: bool = False) -> None:
        """Give a listed encoder a name, in place of its earlier one, which is remembered.

        Args:
            encoder: its canonical spec.
            name: as people write it.
            numbered: whether a name that another one has gets a number, instead of an error.
        """
        with self._database.write() as connection:
            if before := self.labels().get(encoder):
                Settings(self._database).set(_FORMER, self.former() | {before: encoder})
            connection.execute("DELETE FROM labels WHERE encoder = ?", [encoder])
            used = {name for (name,) in connection.execute("SELECT name FROM labels")}
            if name in used and not numbered:
                raise StoreError(
                    f"There is an encoder named {name!r} already.",
                    "Choose another name, or rename that one first.",
                    code="conflict",
                )
            connection.execute("INSERT INTO labels VALUES (?, ?)", [_free(name, used), encoder])


class Decoders(Filed):
    """Name -> folder of the decoder and facts about it.

    Attributes:
        folder: of the decoders that were trained here; others may be anywhere.
    """

    def add(
        self, folder: Path, encoder: str, fingerprint: str, info: Mapping[str, Any] | None = None
    ) -> DecoderRow:
        """Add a decoder under the name of its folder; adding it again replaces its facts.

        A different folder of the same name gets a numeric suffix.

        `encoder` is the canonical spec of the encoder that it belongs to.
        """
        stored = self._stored_path(folder)
        with self._database.write() as connection:
            connection.execute("DELETE FROM decoders WHERE folder = ?", [stored])
            names = {name for (name,) in connection.execute("SELECT name FROM decoders")}
            name = _free(folder.name, names)
            row = [name, encoder, fingerprint, stored, to_json(info or {}), time.time()]
            connection.execute("INSERT INTO decoders VALUES (?, ?, ?, ?, ?, ?)", row)
        return {
            "name": name,
            "encoder": encoder,
            "fingerprint": fingerprint,
            "folder": folder,
            "info": dict(info or {}),
            "added": float(str(row[-1])),
        }

    def list(self) -> list[DecoderRow]:
        """All decoders, newest first."""
        rows = self._database.rows("SELECT * FROM decoders ORDER BY added DESC, rowid DESC")
        # An absolute folder stays as it is.
        return [DecoderRow(**row | {"folder": self.folder / row["folder"]}) for row in rows]  # type: ignore[typeddict-item]

    def remove(self, name: str) -> bool:
        """Forget a decoder; return whether it was listed. Its folder stays."""
        return self._database.change("DELETE FROM decoders WHERE name = ?", [name]) > 0

    def _stored_path(self, folder: Path) -> str:
        """The path to store: relative for a folder of the store, so that the store can move."""
        path, own = folder.expanduser().absolute(), self.folder.absolute()
        return str(path.relative_to(own) if path.is_relative_to(own) else path)


class Workers(Table):
    """Slot -> the process that fills it, of those that work on the queue."""

    def beat(self, slot: str) -> None:
        """Record a heartbeat of this process in its slot."""
        now, pid = time.time(), os.getpid()
        self._database.change(
            "INSERT INTO workers VALUES (?, ?, ?, ?, ?) ON CONFLICT (slot) DO UPDATE SET"
            " started = CASE WHEN pid = excluded.pid THEN started ELSE excluded.started END,"
            " pid = excluded.pid, host = excluded.host, seen = excluded.seen",
            [slot, pid, socket.gethostname(), now, now],
        )

    def gone(self, slot: str) -> None:
        """Record that this process leaves its slot."""
        self._database.change("DELETE FROM workers WHERE slot = ? AND pid = ?", [slot, os.getpid()])

    def list(self) -> list[WorkerRow]:
        """Workers with a heartbeat in the last `SILENCE` seconds, by slot."""
        rows = self._database.rows(
            "SELECT * FROM workers WHERE seen > ? ORDER BY slot", [time.time() - SILENCE]
        )
        return [WorkerRow(**row) for row in rows]  # type: ignore[typeddict-item]


def _free(name: str, names: Collection[str]) -> str:
    """The name, with a number behind it if it is taken."""
    tried = (f"{name}-{n}" if n > 1 else name for n in count(1))
    return next(one for one in tried if one not in names)


class Visits:
    """When a page was last opened or asked for an interactive run, shared between processes.

    Work that nobody waits for steps aside then.

    Args:
        file: its time of modification says it, so that looking costs microseconds.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def note(self) -> None:
        """Note that somebody waits; where nothing can be written, nothing is noted."""
        with contextlib.suppress(OSError):
            self._file.touch()

    def seconds_since(self) -> float:
        """Seconds since the last one, infinite if there was none."""
        try:
            return time.time() - self._file.stat().st_mtime
        except OSError:
            return math.inf
