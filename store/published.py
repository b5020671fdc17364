"""Published results: numbers by model and task, without per-example values."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from theodolite.store.database import Database
from theodolite.store.hashing import from_json, to_json

KEY = ("model", "revision", "task", "data_revision", "version")
"""The key of a published result. Another revision of model or data is another result."""
_COLUMNS = (*KEY, "metric", "score", "facts", "scores", "added")
_LISTED = ("id", *_COLUMNS[:-2], "added")


class Published:
    """Published results by key; storing one again replaces it."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def put(self, results: Iterable[Mapping[str, Any]]) -> int:
        """Store results; return how many.

        Args:
            results: each with the names in `KEY`, `metric` and `score` of the main score in points,
                `scores` (mappings as those of `Results.put`) and JSON-able `facts`.
        """
        rows = [
            [
                *(one[name] for name in (*KEY, "metric", "score")),
                *(to_json(one["facts"]), to_json(one["scores"]), time.time()),
            ]
            for one in results
        ]
        with self._database.write() as connection:
            for row in rows:
                connection.execute(
                    f"INSERT OR REPLACE INTO published ({', '.join(_COLUMNS)})"  # noqa: S608
                    f" VALUES ({', '.join('?' * len(_COLUMNS))})",
                    row,
                )
        return len(rows)

    def edition(self) -> tuple[int, int]:
        """A version that changes with every added or removed result."""
        return self._database.edition("published")

    def tasks(self) -> set[str]:
        """Tasks with a published result."""
        return {row["task"] for row in self._database.rows("SELECT DISTINCT task FROM published")}

    def models(self) -> int:
        """Number of model revisions with published results."""
        sql = "SELECT count(*) AS n FROM (SELECT DISTINCT model, revision FROM published)"
        row = self._database.row(sql)
        return int(row["n"]) if row else 0

    def held(self) -> list[tuple[str, str, int]]:
        """(model, revision, number of results) of every model revision."""
        rows = self._database.rows(
            "SELECT model, revision, count(*) AS n FROM published"
            " GROUP BY model, revision ORDER BY model, revision"
        )
        return [(row["model"], row["revision"], row["n"]) for row in rows]

    def table(
        self, *, models: Sequence[str] | None = None, tasks: Sequence[str] | None = None
    ) -> list[dict[str, Any]]:
        """Main scores and facts, by model, revision and task.

        Args:
            models: only these; None for all.
            tasks: only these; None for all.
        """
        given = [(c, list(v)) for c, v in (("model", models), ("task", tasks)) if v is not None]
        clauses = [f"{column} IN ({', '.join('?' * len(v))})" for column, v in given]
        rows = self._database.rows(
            f"SELECT {', '.join(_LISTED)} FROM published"  # noqa: S608
            f" WHERE {' AND '.join(clauses) or '1'} ORDER BY model, revision, task, version",
            [value for _, values in given for value in values],
        )
        return [{**row, "facts": from_json(row["facts"])} for row in rows]

    def scores(self, result_ids: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
        """Every number of some results, by id; unknown ids are absent."""
        rows = self._database.rows(
            "SELECT id, scores FROM published WHERE id IN (SELECT value FROM json_each(?))",
            [json.dumps([int(number) for number in result_ids])],
        )
        return {row["id"]: from_json(row["scores"]) for row in rows}

    def remove(self, result_ids: Sequence[int]) -> int:
        """Forget results; return how many."""
        with self._database.write() as connection:
            return int(
                connection.execute(
                    "DELETE FROM published WHERE id IN (SELECT value FROM json_each(?))",
                    [json.dumps([int(number) for number in result_ids])],
                ).rowcount
            )

    def forget(self, models: Iterable[tuple[str, str]]) -> int:
        """Forget all results of some (model, revision) pairs; return how many."""
        sql = "DELETE FROM published WHERE model = ? AND revision = ?"
        with self._database.write() as connection:
            return sum(int(connection.execute(sql, one).rowcount) for one in models)
