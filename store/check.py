"""Verify every byte of a store, and reclaim the space of unreferenced files."""

import contextlib
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from theodolite.store.errors import (
    DATABASE,
    StoreDamaged,
    StoreFull,
    as_store_errors,
    damage,
)
from theodolite.store.files import is_whole
from theodolite.store.folder import Store
from theodolite.store.nouns import DecoderRow
from theodolite.store.results import REPAIR

_CHECKPOINT = ".training"
"""Suffix of a folder that holds the checkpoint of a training."""
_FILES = (
    (
        "examples",
        "SELECT examples AS files, 'The values behind result ' || id || ', ' || task || ' of '"
        " || encoder || ',' AS what FROM results WHERE examples > ''",
        f"Its scores stand; significance cannot be computed from it. {REPAIR}",
    ),
    (
        "uploads",
        "SELECT file AS files, 'The bytes of the upload ' || quote(name) AS what FROM uploads",
        "Remove it and upload it again.",
    ),
    (
        "derived",
        "SELECT files, 'Numbers of the ' || kind || ' ' || substr(key, 1, 8) AS what FROM derived",
        "`theodolite store clean` forgets it; make it again.",
    ),
)
"""Folder, the files there that rows name with what they are, what to do about a bad one."""
GRACE = 3600.0
"""Seconds for which an unreferenced file is left alone: its row may not be written yet."""


@dataclass(frozen=True)
class Finding:
    """A fault found in a store."""

    subject: str
    message: str
    hint: str

    def __str__(self) -> str:
        return f"{self.subject}: {self.message} {self.hint}"


def check(store: Store) -> list[Finding]:
    """Verify the database, every file named in it, every vector, and look for orphans."""
    problems = [*_database(store)]
    for part in (_find_dangling, _find_missing, _decoders, _vectors, _orphan_findings):
        try:
            with as_store_errors(store.folder):
                problems.extend(part(store))
        except (StoreDamaged, AttributeError, KeyError, TypeError, ValueError) as error:
            # Values of no known form: only a damaged database has them.
            if not any(finding.subject == DATABASE for finding in problems):
                problems.append(_damage(error))
    return problems


def clean(store: Store, grace: float = GRACE) -> int:
    """Remove orphaned files and checkpoints, vectors of removed encoders, free pages of databases.

    On a full disk files are removed; the databases are left as they are, since that takes room.

    Unreferenced files younger than `grace` seconds are left alone.

    Returns:
        Bytes reclaimed.
    """
    if not isinstance(store.database.refusal, StoreFull):
        store.refuse_writing()
    for finding in _database(store):
        raise damage(store.folder, finding.message)
    with as_store_errors(store.folder):
        _if_room(store, lambda: _checkpoint(store))
        before = _size(store.folder)
        _if_room(store, lambda: _forget_lost(store))
        for path in orphans(store, grace):
            path.unlink(missing_ok=True)
        for folder in checkpoints(store, grace):
            shutil.rmtree(folder, ignore_errors=True)
        for fingerprint in [*_find_abandoned(store), *_ownerless(store, grace)]:
            with contextlib.suppress(StoreFull):  # its files go first
                store.vectors.remove(fingerprint)
        _if_room(store, lambda: store.database.connection.execute("VACUUM"))
        _if_room(store, lambda: _checkpoint(store))
    return max(0, before - _size(store.folder))


def _if_room(store: Store, change: Callable[[], object]) -> None:
    """Change the database, unless the disk is too full for that."""
    with contextlib.suppress(StoreFull), as_store_errors(store.folder):
        store.refuse_writing()
        change()


def _checkpoint(store: Store) -> None:
    store.database.connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _forget_lost(store: Store) -> None:
    """Forget derived results and decoders whose files are gone or damaged."""
    for row in store.database.rows("SELECT key, files FROM derived"):
        if any(_failure(store.derived.folder / file) for file in row["files"].values()):
            store.derived.remove(row["key"])
    for gone in _gone(store):
        store.decoders.remove(gone["name"])


def orphans(store: Store, grace: float = GRACE) -> Iterator[Path]:
    """Files of the store that no row names, older than `grace` seconds; temporary ones included."""
    known = {f"{folder}/{file}" for folder, file, *_ in _files_of_rows(store)}
    known |= {f"logs/{run_id}.log" for run_id in store.runs.ids()}
    latest = time.time() - grace
    for folder in ("logs", *(folder for folder, *_ in _FILES)):
        for path in sorted((store.folder / folder).glob("*")):
            unnamed = f"{folder}/{path.name}" not in known
            if unnamed and path.is_file() and path.stat().st_mtime <= latest:
                yield path


def checkpoints(store: Store, grace: float = GRACE) -> Iterator[Path]:
    """Checkpoint folders of trainings in the store that no run will resume."""
    # Of sweeps as well, whose trainings are nested in the spec; damage is reported by `_database`.
    rows = store.database.rows(
        "SELECT DISTINCT atom FROM runs, json_tree(iif(json_valid(spec), spec, 'null')) AS tree"
        " WHERE tree.key = 'out' AND tree.type = 'text'"
    )
    outs = {row["atom"].replace("\\", "/") for row in rows}
    latest = time.time() - grace
    for folder in sorted(store.folder.glob(f"*/**/*{_CHECKPOINT}")):
        # Compared relative to the store, which may have been moved since the run was queued.
        place = folder.relative_to(store.folder).as_posix().removesuffix(_CHECKPOINT)
        if any(f"/{out}".endswith(f"/{place}") for out in outs):
            continue
        if folder.is_dir() and _last_changed(folder) <= latest:
            yield folder


def _last_changed(folder: Path) -> float:
    return max(path.stat().st_mtime for path in (folder, *folder.rglob("*")))


def _damage(why: object) -> Finding:
    error = why if isinstance(why, StoreDamaged) else damage(None, why)
    return Finding(DATABASE, error.message.partition(DATABASE)[2].strip(), error.hint)


def _database(store: Store) -> Iterator[Finding]:
    """Damage of the store's database; rows that refer to none harm nobody."""
    connection = store.database.connection
    try:
        with as_store_errors(store.folder):
            problems = [str(row[0]) for row in connection.execute("PRAGMA integrity_check")]
            if problems != ["ok"]:
                yield _damage(f"SQLite finds that {problems[0]}")
                return
            for table, column, kind in connection.execute(
                "SELECT m.name, c.name, c.type FROM sqlite_master m, pragma_table_info(m.name) c"
                " WHERE m.type = 'table'"
            ).fetchall():
                if kind == "JSON_TEXT":  # converted as it is read
                    connection.execute(f'SELECT "{column}" FROM "{table}"').fetchall()
    except StoreDamaged as error:
        yield _damage(error)


def _find_dangling(store: Store) -> Iterator[Finding]:
    rows = store.database.connection.execute("PRAGMA foreign_key_check")
    for table, rowid, parent, _ in rows:
        yield Finding(
            DATABASE,
            f"Row {rowid} of {table} refers to a row of {parent} that is not there.",
            "It is harmless to reading; please report how it came about.",
        )


def _files_of_rows(store: Store) -> Iterator[tuple[str, str, str, str]]:
    """(folder, file, what it is, what to do) for each file that a row names; see `_FILES`."""
    for folder, sql, hint in _FILES:
        for row in store.database.rows(sql):
            files = row["files"]
            for file in [files] if isinstance(files, str) else files.values():
                yield folder, file, row["what"], hint


def _find_missing(store: Store) -> Iterator[Finding]:
    for folder, file, what, hint in _files_of_rows(store):
        failure = _failure(store.folder / folder / file)
        if failure:
            yield Finding(f"{folder}/{file}", f"{what} {failure}.", hint)


def _decoders(store: Store) -> Iterator[Finding]:
    for row in _gone(store):
        yield Finding(
            row["folder"].name,
            f"The folder of the decoder {row['name']!r} is gone.",
            "`theodolite store clean` forgets it; train it again if you need it.",
        )


def _gone(store: Store) -> list[DecoderRow]:
    """Decoders whose folder no longer exists."""
    return [row for row in store.decoders.list() if not row["folder"].is_dir()]


def _failure(path: Path) -> str:
    if not path.exists():
        return "are missing"
    return "" if is_whole(path) else "do not have the hash they are named by"


def _vectors(store: Store) -> Iterator[Finding]:
    for path, rows, bad in store.vectors.damaged():
        if bad:
            yield Finding(
                str(path.relative_to(store.folder)),
                f"{bad} of {rows} vectors fail their checksum.",
                "They are never used: they are encoded again when next wanted.",
            )


def _orphan_findings(store: Store) -> Iterator[Finding]:
    unused = [store.folder / "vectors" / name for name in _ownerless(store, GRACE)]
    unresumed = "No run will resume the training whose checkpoint takes these"
    for paths, why in (
        (unused, "No encoder is known to use these"),
        (checkpoints(store), unresumed),
        (orphans(store), "Nothing refers to these"),
    ):
        for path in paths:
            size = _size(path) if path.is_dir() else path.stat().st_size
            yield Finding(
                path.relative_to(store.folder).as_posix(),
                f"{why} {size} bytes.",
                "`theodolite store clean` removes them.",
            )


def _find_abandoned(store: Store) -> list[str]:
    """Fingerprints all of whose known users were removed from the list of encoders."""
    rows = store.database.rows(
        "SELECT fingerprint FROM vector_users LEFT JOIN encoders ON encoders.name = encoder"
        " GROUP BY fingerprint HAVING count(encoders.name) = 0"
    )
    return [row["fingerprint"] for row in rows]


def _ownerless(store: Store, grace: float) -> list[str]:
    """Fingerprints with vectors but without a known user, as after an interrupted removal.

    Those changed within `grace` seconds are left out: their user may not be recorded yet.
    """
    rows = store.database.rows("SELECT DISTINCT fingerprint FROM vector_users")
    known, latest = {row["fingerprint"] for row in rows}, time.time() - grace
    return [
        fingerprint
        for fingerprint in store.vectors.usage()
        if fingerprint not in known and store.vectors.last_used(fingerprint) <= latest
    ]


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
