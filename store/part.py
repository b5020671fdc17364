"""Copy part of a store: some results under other names, or all of them to be shipped."""

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from theodolite.store.check import clean
from theodolite.store.errors import DATABASE, as_store_errors
from theodolite.store.folder import Store
from theodolite.store.hashing import to_json


def copy_results(
    source: Store,
    target: Store,
    ids: Sequence[int],
    encoders: Mapping[str, str],
    tasks: Mapping[str, str],
) -> None:
    """Copy results with their scores, per-example values and times, in their order.

    Args:
        source: the store to copy from.
        target: the store to copy to, which assigns ids of its own.
        ids: of the results.
        encoders: name in the source -> name in the target.
        tasks: likewise.
    """
    files = target.results.folder
    with as_store_errors(target.folder), target.database.write() as connection:
        files.mkdir(exist_ok=True)
        for row in _rows(source, "results WHERE id", ids):
            number = row.pop("id")
            row |= {"encoder": encoders[row["encoder"]], "task": tasks[row["task"]]}
            row["details"] = to_json(row["details"])
            written = connection.execute(
                f"INSERT INTO results ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
                list(row.values()),
            )
            for score in _rows(source, "scores WHERE result", [number]):
                values = [written.lastrowid, *list(score.values())[1:]]
                marks = ", ".join("?" * len(values))
                connection.execute(f"INSERT INTO scores VALUES ({marks})", values)
            path = row["examples"] and source.results.folder / row["examples"]
            if path and path.is_file():
                shutil.copyfile(path, files / row["examples"])


def ship(store: Store, folder: Path) -> None:
    """Write the results of a store into a folder that is only read, for `Store.shipped`; close it.

    Left out are caches, runs, and what encoders and decoders are made of.
    """
    for table in ("vector_users", "runs", "judgings", "settings"):
        store.database.change(f"DELETE FROM {table}")
    clean(store, grace=0.0)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    store.close()
    # As small as it can be, and without a log beside it.
    store.database.connection.executescript(
        "PRAGMA journal_mode = DELETE; PRAGMA page_size = 1024; VACUUM"
    )
    store.close()
    shutil.copyfile(store.database.path, folder / DATABASE)
    for held in (store.results.folder, store.derived.folder):
        if held.is_dir():
            shutil.copytree(held, folder / held.name)


def _rows(source: Store, where: str, ids: Sequence[int]) -> list[dict[str, Any]]:
    return source.database.rows(
        f"SELECT * FROM {where} IN (SELECT value FROM json_each(?)) ORDER BY 1, 2",
        [json.dumps(list(ids))],
    )
