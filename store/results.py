"""Results of evaluations, and published results of others.

A result is immutable numbers and the values behind each of them. It comes as a plain mapping with
the fields of an evaluation's result. Its arrays lie in one `.npz` file named by the hash of its
bytes, its numbers in SQLite.
"""

import base64
import contextlib
import io
import math
import sqlite3
import time
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np

from theodolite.store.database import Filed, Table, where
from theodolite.store.errors import StoreError, as_store_errors
from theodolite.store.files import is_whole, write_once
from theodolite.store.hashing import to_json

KEY = ("encoder", "fingerprint", "task", "protocol", "seed", "data_hash")
"""The key of a result. The encoder's name is part of it so that two specs of one fingerprint each
have their row; everything costly is shared by fingerprint alone."""
PUBLISHED_KEY = ("model", "revision", "task", "data_revision", "version")
"""The key of a published result. Another revision of model or data is another result."""

_MAIN = ("split", "aggregation", "metric", "score", "n", "unit")
_COLUMNS = (*KEY, "dim", *_MAIN, "details", "examples", "seconds", "error", "hint", "created")
_LISTED = ", ".join(("id", *(c for c in _COLUMNS if c != "details")))
_INSERT = f"INSERT INTO results ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"
_PLAIN = (*KEY, "dim", "details", "seconds", "error", "hint")
_SCORE = ("split", "aggregation", "metric", "score", "n", "main", "unit")
_PUBLISHED = (*PUBLISHED_KEY, "metric", "score", "facts", "added", "scores")
_SAME_QUESTION = "encoder = ? AND task = ? AND protocol = ? AND seed = ?"


_MAX_BYTES = 2**30
"""Most that the arrays of a result may unpack to: 134 million numbers."""
REPAIR = "`theodolite store check --repair` queues it again."


class Results(Filed):
    """Results by key. A success never changes; an error is replaced by the next result.

    So is a success whose per-example values can no longer be read: its scores stand until it is
    measured again.
    """

    def put(
        self, result: Mapping[str, Any], examples: Mapping[str, np.ndarray] | None = None
    ) -> int:
        """Keep a result and return its id.

        A result put again under its key changes nothing. An error is replaced by whatever comes
        next for the same encoder, task, protocol and seed, and never replaces a success.

        Args:
            result: the fields `encoder fingerprint dim task protocol seed data_hash scores details
                seconds error hint`; `scores` holds mappings with `split aggregation metric score n
                main unit`, exactly one of them main, or none at all beside an `error`.
            examples: named arrays of per-example values; taken from `result` when left out.

        Raises:
            ValueError: for scores that do not fit the above, or arrays of objects.
        """
        main = _main_score(result)
        arrays = dict((result.get("examples") if examples is None else examples) or {})
        known = self.get(**{name: result[name] for name in KEY})
        lost = None
        if known is not None and known["error"] is None:
            if result.get("error") is not None or self.is_readable(known):
                return int(known["id"])
            lost = known["id"]
        file = self._write_examples(arrays)
        row = [*(result[name] for name in KEY), result.get("dim", 0)]
        row += [main.get(name) for name in _MAIN]
        row += [to_json(result.get("details", {})), file, result.get("seconds", 0.0)]
        row += [result.get("error"), result.get("hint", ""), time.time()]
        with self._database.write() as connection:
            return _insert(connection, result, row, lost)

    def get(self, **key: Any) -> dict[str, Any] | None:
        """The result under a key (the names in `KEY`), with its details, or None."""
        where = " AND ".join(f"{name} = ?" for name in KEY)
        row = self._database.row(
            f"SELECT * FROM results WHERE {where}",
            [key[name] for name in KEY],
        )
        return None if row is None else _read(row)

    def by_id(self, result_id: int) -> dict[str, Any]:
        """The result of that id, with its details."""
        row = self._database.row("SELECT * FROM results WHERE id = ?", [result_id])
        if row is None:
            raise StoreError(
                f"There is no result number {result_id}.",
                "It may have been an error.",
                code="unknown",
            )
        return _read(row)

    def edition(self) -> tuple[int, int]:
        """A version that changes with every added or removed result, for caches."""
        return self._database.edition("results")

    def table(
        self,
        *,
        encoders: Sequence[str] | None = None,
        tasks: Sequence[str] | None = None,
        protocols: Sequence[str] | None = None,
        seeds: Sequence[int] | None = None,
        all_versions: bool = False,
    ) -> list[dict[str, Any]]:
        """Main scores and errors, one row per result, oldest first.

        Weights and data can change under a name, and each version has its own result. The newest
        counts, except that a failure to read the encoder or the data does not hide an earlier
        result.

        Only those of the given values; with `all_versions` every result, not only the one that
        counts.
        """
        condition, parameters = where(encoder=encoders, task=tasks, protocol=protocols, seed=seeds)
        sql = f"SELECT {_LISTED} FROM results WHERE {condition} ORDER BY id"
        rows = [_read(row) for row in self._database.rows(sql, parameters)]
        return rows if all_versions else _that_count(rows)

    def scores(self, result_id: int) -> list[dict[str, Any]]:
        """Every number of a result as a flat mapping: the key's names, then the score's."""
        result = self.by_id(result_id)
        head = {name: result[name] for name in KEY if name != "data_hash"}
        return [head | row for row in self.in_full([result_id])[result_id]["scores"]]

    def in_full(self, result_ids: Sequence[int]) -> dict[int, dict[str, Any]]:
        """Details and every number of many results at once: id -> `details`, `scores`.

        Unknown ids are absent. For one result see `by_id` and `scores`.
        """
        condition, parameters = where(id=result_ids)
        sql = f"SELECT id, details FROM results WHERE {condition}"
        rows = self._database.rows(sql, parameters)
        full = {row["id"]: {"details": row["details"], "scores": []} for row in rows}
        condition, parameters = where(result=full)
        for row in self._database.rows(
            "SELECT result, split, aggregation, metric, score, n, main, unit FROM scores"
            f" WHERE {condition} ORDER BY result, position",
            parameters,
        ):
            row["main"] = bool(row["main"])
            row["score"] = _or_nan(row["score"])
            full[row.pop("result")]["scores"].append(row)
        return full

    def examples(self, result_id: int) -> dict[str, np.ndarray]:
        """The per-example arrays of a result; empty when it has none."""
        name = self.by_id(result_id)["examples"]
        try:
            return {} if name is None else arrays_of((self.folder / name).read_bytes())
        except Exception as error:  # zipfile, zlib, NumPy and the disk each have their own
            raise StoreError(
                f"The per-example values of result {result_id} cannot be read: {error}.",
                f"Its scores stand; {REPAIR}",
                code="damaged",
            ) from error

    def with_examples(
        self, result_ids: Sequence[int]
    ) -> Iterator[tuple[int, dict[str, Any], dict[str, np.ndarray] | None]]:
        """Id, details and per-example arrays of many results; None for arrays that are lost.

        For one result see `by_id` and `examples`.
        """
        condition, parameters = where(id=result_ids)
        sql = f"SELECT id, details, examples FROM results WHERE {condition} ORDER BY id"
        for row in self._database.rows(sql, parameters):
            name, arrays = row["examples"], None
            with contextlib.suppress(Exception):  # as in `examples`
                arrays = {} if name is None else arrays_of((self.folder / name).read_bytes())
            yield row["id"], row["details"], arrays

    def pack(self, result_id: int) -> dict[str, Any]:
        """A result as JSON from which another store restores it exactly; see `keep`."""
        row = self.by_id(result_id)
        packed = {name: row[name] for name in _PLAIN}
        scores = self.in_full([result_id])[result_id]["scores"]
        packed["scores"] = [score | {"score": _number(score["score"])} for score in scores]
        if row["examples"] is not None:
            self.examples(result_id)  # raises if damaged, before it is sent
            file = (self.folder / row["examples"]).read_bytes()
            packed["examples"] = base64.b64encode(file).decode("ascii")
        return packed

    def keep(self, packed: Mapping[str, Any]) -> int:
        """Store a packed result and return its id here; a known result changes nothing."""
        try:
            result = {name: packed[name] for name in _PLAIN}
            result["scores"] = [
                {name: score[name] for name in _SCORE} | {"score": _or_nan(score["score"])}
                for score in packed["scores"]
            ]
            examples = packed.get("examples")
            file = None if examples is None else base64.b64decode(examples, validate=True)
            return self.put(result, {} if file is None else arrays_of(file))
        except StoreError:
            raise
        except Exception as error:  # base64, zipfile, zlib and NumPy each have their own
            raise StoreError(
                f"A result from elsewhere cannot be read: {type(error).__name__}, {error}.",
                "Use the same version of Theodolite on all machines.",
                code="damaged",
            ) from error

    def is_readable(self, row: Mapping[str, Any]) -> bool:
        """Whether the per-example values of a row are intact; True when it has none."""
        path = None if row["examples"] is None else self.folder / row["examples"]
        return path is None or (path.is_file() and is_whole(path))

    def missing(self, rows: Iterable[Mapping[str, Any]]) -> set[int]:
        """Ids of the rows whose file of per-example values is gone; no file is read."""
        there = {path.name for path in self.folder.glob("*")}
        return {row["id"] for row in rows if row["examples"] and row["examples"] not in there}

    def sizes(self, rows: Iterable[Mapping[str, Any]]) -> dict[int, int]:
        """Bytes of the per-example values of some rows, by id."""
        files = [(row["id"], self.folder / (row["examples"] or "none")) for row in rows]
        return {number: path.stat().st_size if path.is_file() else 0 for number, path in files}

    def remove(self, result_ids: Sequence[int]) -> int:
        """Forget results, with their per-example values unless shared; return how many."""
        with self._database.write() as connection:
            condition, parameters = where(id=result_ids)
            files = connection.execute(
                f"SELECT DISTINCT examples FROM results WHERE {condition}",
                parameters,
            ).fetchall()
            count = connection.execute(
                f"DELETE FROM results WHERE {condition}", parameters
            ).rowcount
            for (file,) in files:
                used = connection.execute("SELECT 1 FROM results WHERE examples = ?", [file])
                if file and used.fetchone() is None:
                    (self.folder / file).unlink(missing_ok=True)
        return int(count)

    def _write_examples(self, arrays: Mapping[str, np.ndarray]) -> str | None:
        if not arrays:
            return None
        for name, array in arrays.items():
            if np.asarray(array).dtype.hasobject:
                raise ValueError(f"examples {name!r} must be an array of numbers, not of objects")
        buffer = io.BytesIO()
        np.savez_compressed(buffer, allow_pickle=False, **arrays)
        with as_store_errors(self._database.path.parent):
            return write_once(self.folder, [buffer.getvalue()], ".npz")[0]


class Published(Table):
    """Published results by key, without per-example values; storing one again replaces it."""

    def put(self, results: Iterable[Mapping[str, Any]]) -> int:
        """Store results; return how many.

        Args:
            results: each with the names in `PUBLISHED_KEY`, `metric` and `score` of the main score
                in points, `scores` (mappings as those of `Results.put`) and JSON-able `facts`.
        """
        rows = [
            [
                *(result[name] for name in (*PUBLISHED_KEY, "metric", "score")),
                *(to_json(result["facts"]), time.time(), to_json(result["scores"])),
            ]
            for result in results
        ]
        marks = ", ".join("?" * len(_PUBLISHED))
        sql = f"REPLACE INTO published ({', '.join(_PUBLISHED)}) VALUES ({marks})"
        with self._database.write() as connection:
            connection.executemany(sql, rows)
        return len(rows)

    def edition(self) -> tuple[int, int]:
        """A version that changes with every added or removed result."""
        return self._database.edition("published")

    def tasks(self) -> set[str]:
        """Tasks with a published result."""
        return {row["task"] for row in self._database.rows("SELECT DISTINCT task FROM published")}

    def models(self) -> int:
        """Number of model revisions with published results."""
        return len(self.revisions())

    def revisions(self) -> list[tuple[str, str, int]]:
        """(model, revision, number of results) of every model revision."""
        rows = self._database.rows(
            "SELECT model, revision, count(*) AS n FROM published"
            " GROUP BY model, revision ORDER BY model, revision"
        )
        return [(row["model"], row["revision"], row["n"]) for row in rows]

    def table(
        self, *, models: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """Main scores and facts, by model, revision and task."""
        condition, parameters = where(model=models, task=tasks)
        return self._database.rows(
            f"SELECT id, {', '.join(_PUBLISHED[:-1])} FROM published WHERE {condition}"
            " ORDER BY model, revision, task, version",
            parameters,
        )

    def scores(self, result_ids: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
        """Every number of some results, by id; unknown ids are absent."""
        condition, parameters = where(id=result_ids)
        rows = self._database.rows(
            f"SELECT id, scores FROM published WHERE {condition}", parameters
        )
        return {row["id"]: row["scores"] for row in rows}

    def remove(self, result_ids: Sequence[int]) -> int:
        """Forget results; return how many."""
        condition, parameters = where(id=result_ids)
        return self._database.change(f"DELETE FROM published WHERE {condition}", parameters)

    def forget(self, models: Iterable[tuple[str, str]]) -> int:
        """Forget all results of some (model, revision) pairs; return how many."""
        sql = "DELETE FROM published WHERE model = ? AND revision = ?"
        with self._database.write() as connection:
            return sum(int(connection.execute(sql, model).rowcount) for model in models)


def _insert(
    connection: sqlite3.Connection, result: Mapping[str, Any], row: list[Any], lost: int | None
) -> int:
    """Insert a row, replacing an error or a success whose values are lost."""
    question = [result[name] for name in ("encoder", "task", "protocol", "seed")]
    connection.execute(
        f"DELETE FROM results WHERE {_SAME_QUESTION} AND error IS NOT NULL",
        question,
    )
    connection.execute("DELETE FROM results WHERE id = ?", [lost])
    where = " AND ".join(f"{name} = ?" for name in KEY)
    known = connection.execute(
        f"SELECT id FROM results WHERE {where}",
        [result[name] for name in KEY],
    ).fetchone()
    if known is not None:  # another process was quicker
        return int(known[0])
    result_id = int(connection.execute(_INSERT, row).lastrowid or 0)
    for position, score in enumerate(result.get("scores", ())):
        connection.execute(
            "INSERT INTO scores VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                *(result_id, position, score["split"], score["aggregation"], score["metric"]),
                *(_number(score["score"]), score["n"], bool(score["main"]), score.get("unit", "")),
            ],
        )
    return result_id


def _main_score(result: Mapping[str, Any]) -> dict[str, Any]:
    scores = list(result.get("scores", ()))
    if result.get("error") is not None:
        if scores:
            raise ValueError("a result holds scores or an error, got both")
        return {}
    main = [score for score in scores if score["main"]]
    if len(main) != 1:
        raise ValueError(f"a result has exactly one main score, got {len(main)}")
    return {**main[0], "score": _number(main[0]["score"])}


def _number(score: float) -> float | None:
    return None if math.isnan(score) else float(score)  # SQLite has no NaN


def _or_nan(score: float | None) -> float:
    return math.nan if score is None else float(score)


def _read(row: dict[str, Any]) -> dict[str, Any]:
    if row["score"] is None and row["error"] is None:
        row["score"] = math.nan
    return row


def _that_count(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The last row of each question; failures to read count only where there is nothing else."""
    newest: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in rows:  # oldest first
        question = (row["encoder"], row["task"], row["protocol"], row["seed"])
        unread = row["error"] is not None and not (row["fingerprint"] and row["data_hash"])
        if not unread or question not in newest:
            newest.pop(question, None)  # keep the order by id
            newest[question] = row
    return list(newest.values())


def arrays_of(data: bytes) -> dict[str, np.ndarray]:
    """Arrays of an `.npz` file in a fifth of the time of `np.load`; comparisons read thousands."""
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        if sum(entry.file_size for entry in file.infolist()) > _MAX_BYTES:
            raise ValueError(f"it unpacks to more than {_MAX_BYTES >> 20} MB")
        for name in file.namelist():
            member = file.read(name)
            start = 10 + int.from_bytes(member[8:10], "little")
            shape, by_column, dtype = _header(member[:start])
            order: Literal["F", "C"] = "F" if by_column else "C"
            values = np.frombuffer(member, dtype, offset=start)
            arrays[name.removesuffix(".npy")] = values.reshape(shape, order=order)
    return arrays


@lru_cache(maxsize=256)
def _header(start: bytes) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """(shape, Fortran order, dtype) of a `.npy` header, version 1.0 as for plain numbers."""
    if start[:8] != np.lib.format.magic(1, 0):
        raise ValueError("not an array of plain numbers")
    shape, by_column, dtype = np.lib.format.read_array_header_1_0(io.BytesIO(start[8:]))
    if dtype.hasobject:
        raise ValueError("an array of objects is not read")
    return shape, by_column, dtype
