"""Runs of background work: their spec, their progress, how they ended, and what they report.

The rows are the queue as well: a worker claims a run that waits. A run has an `attempt`,
incremented by each retry, and a worker names the attempt it works for: late reports on a run that
was cancelled or retried change nothing.
"""

import builtins
import contextlib
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from theodolite.store.database import Table, where
from theodolite.store.errors import NoSuchRun, StoreError
from theodolite.store.hashing import hash_of, to_json
from theodolite.store.run_rows import RunRow, State, UnitRow

_FURTHER = 0.01
"""Fraction of a unit that a process must have done beyond those before it, to have got further."""

_COLUMNS = ", ".join(RunRow.__annotations__)

_WEIGH = """
    UPDATE runs SET fraction = coalesce((
        SELECT (sum(weight * CASE state WHEN 'waiting' THEN share ELSE 1 END)
            + runs.unit_fraction * coalesce((
            SELECT weight FROM units WHERE run = runs.id AND state = 'waiting'
            ORDER BY position LIMIT 1), 0)) / sum(weight)
        FROM units WHERE run = runs.id), 0)
    WHERE id = ?"""
"""The weighted mean over units: 1 for those that are over, the local progress for the present one
(the first that waits), and the progress of other machines for all that wait."""


class Runs(Table):
    """Runs and their units."""

    def create(
        self,
        kind: str,
        spec: Mapping[str, Any],
        title: str,
        priority: int = 0,
        worker: str | None = None,
    ) -> str:
        """Queue a run and return its id, or that of an equal run that is not over yet.

        Args:
            kind: of job.
            spec: of the job, JSON-able and complete: equal specs are equal work.
            title: for people.
            priority: lower runs earlier; 0 is usual.
            worker: the caller, if it executes the run at once; by default the run waits.
        """
        text = to_json(spec)
        digest = hash_of(kind, text)
        run_id, now = secrets.token_hex(6), time.time()
        with self._database.write() as connection:
            if live := self.live((kind, spec)):
                return live
            connection.execute(
                "INSERT INTO runs (id, kind, title, spec, spec_hash, state, worker, priority,"
                " attempt, total, created, updated) VALUES (?, ?, ?, ?, ?,"
                " CASE WHEN ? IS NULL THEN 'queued' ELSE 'running' END, ?, ?, 1, 0, ?, ?)",
                [run_id, kind, title, text, digest, worker, worker, priority, now, now],
            )
        return run_id

    def live(self, *wanted: tuple[str, Mapping[str, Any]]) -> str:
        """The id of a run that is not over yet: the first of these (kind, spec); empty for none."""
        hashes = [hash_of(kind, to_json(spec)) for kind, spec in wanted]
        rows = self._database.rows(
            f"SELECT id, spec_hash FROM runs WHERE spec_hash IN ({','.join('?' * len(hashes))})"
            " AND state IN ('queued', 'running')",
            hashes,
        )
        ids = {row["spec_hash"]: row["id"] for row in rows}
        return next((str(ids[hash]) for hash in hashes if hash in ids), "")

    def get(self, run_id: str) -> RunRow:
        """The run of that id.

        Raises:
            NoSuchRun: when there is none.
        """
        runs = self._rows("WHERE id = ?", run_id)
        if not runs:
            raise NoSuchRun(
                f"There is no run {run_id[:40]!r}.", "`theodolite jobs list` shows all runs."
            )
        return runs[0]

    def list(
        self,
        states: Sequence[State] | None = None,
        limit: int = 200,
        kinds: Sequence[str] | None = None,
    ) -> list[RunRow]:
        """The newest runs first, only those in `states` and of `kinds` when given."""
        condition, parameters = where(state=states, kind=kinds)
        newest = f"WHERE {condition} ORDER BY created DESC, rowid DESC LIMIT ?"
        return self._rows(newest, *parameters, limit)

    def units(self, run_id: str) -> builtins.list[UnitRow]:
        """The units of a run in order; none until a worker has taken it up."""
        columns = ", ".join(UnitRow.__annotations__)
        rows = self._database.rows(
            f"SELECT {columns} FROM units WHERE run = ? ORDER BY position",
            [run_id],
        )
        return [UnitRow(**row) for row in rows]  # type: ignore[typeddict-item]

    # What a person does

    def cancel(self, run_id: str) -> bool:
        """Cancel a run that is not over; return whether there was one."""
        now = time.time()
        changed = self._database.change(
            "UPDATE runs SET state = 'cancelled', finished = ?, updated = ?, eta_seconds = NULL,"
            " message = '' WHERE id = ? AND state IN ('queued', 'running')",
            [now, now, run_id],
        )
        return changed > 0

    def ask(self, run_id: str, word: str) -> bool:
        """Send a request to a running run; return whether it was running."""
        changed = self._database.change(
            "UPDATE runs SET asked = ?, updated = ? WHERE id = ? AND state = 'running'",
            [word, time.time(), run_id],
        )
        return changed > 0

    def retry(self, run_id: str, worker: str | None = None) -> bool:
        """Queue a run that is over again, keeping its done units; return whether it was over.

        With a `worker` it is taken up at once, also from the queue and from an earlier process of
        that worker; False when another executes it.
        """
        with self._database.write() as connection:
            cursor = connection.execute(
                "UPDATE runs SET state = iif(:worker IS NULL, 'queued', 'running'),"
                " worker = coalesce(:worker, worker), attempt = attempt + 1, error = NULL,"
                " hint = '', message = '', asked = '', finished = NULL, updated = :now"
                " WHERE id = :run AND (state NOT IN ('queued', 'running')"
                " OR :worker IS NOT NULL AND (state = 'queued' OR worker = :worker))",
                {"worker": worker, "now": time.time(), "run": run_id},
            )
            if cursor.rowcount == 0:
                return False
            connection.execute(
                "UPDATE units SET state = 'waiting', crashes = 0, reached = 0, error = NULL,"
                " hint = '' WHERE run = ? AND state <> 'done'",
                [run_id],
            )
            _count(connection, run_id)
        return True

    def prioritise(self, run_id: str, priority: int | None = None) -> bool:
        """Change the priority of a waiting run; return whether it was still waiting.

        If `priority` is None it goes before all others that wait.
        """
        changed = self._database.change(
            "UPDATE runs SET updated = ?, priority = coalesce("
            "?, (SELECT min(priority) - 1 FROM runs WHERE state = 'queued'))"
            " WHERE id = ? AND state = 'queued'",
            [time.time(), priority, run_id],
        )
        return changed > 0

    def ids(self) -> set[str]:
        """Ids of all runs."""
        return {row["id"] for row in self._database.rows("SELECT id FROM runs")}

    # What a worker does

    def waiting(self) -> builtins.list[RunRow]:
        """Runs that wait, the next one first."""
        return self._rows("WHERE state = 'queued' ORDER BY priority, created, rowid")

    def wait(self, run_id: str, attempt: int, message: str) -> None:
        """Say what a run waits for; empty for its turn."""
        self._database.change(
            "UPDATE runs SET message = ?, updated = ?"
            " WHERE id = ? AND attempt = ? AND state = 'queued'",
            [message, time.time(), run_id, attempt],
        )

    def claim(self, run_id: str, attempt: int, worker: str) -> bool:
        """Take a run that waits for a worker; False when another was quicker."""
        changed = self._database.change(
            "UPDATE runs SET state = 'running', worker = ?, message = '', updated = ?"
            " WHERE id = ? AND attempt = ? AND state = 'queued'",
            [worker, time.time(), run_id, attempt],
        )
        return changed > 0

    def requeue(self, run_id: str, attempt: int) -> None:
        """Have a run wait again whose worker is gone; what is done of it stays done."""
        self._database.change(
            "UPDATE runs SET state = 'queued', message = '', updated = ?"
            " WHERE id = ? AND attempt = ? AND state = 'running'",
            [time.time(), run_id, attempt],
        )

    def start(
        self,
        run_id: str,
        attempt: int,
        worker: str,
        labels: Sequence[str],
        weights: Sequence[float] | None = None,
    ) -> bool:
        """Take up a run, or take it up again; False when it was cancelled or retried meanwhile.

        `labels` are of the units, in the order they are done; `weights` are their relative lengths,
        None for equal ones.
        """
        now = time.time()
        with self._database.write() as connection:
            cursor = connection.execute(
                "UPDATE runs SET state = 'running', worker = ?, total = ?, clock = ?,"
                " clock_fraction = NULL, eta_seconds = NULL, started = coalesce(started, ?),"
                " updated = ? WHERE id = ? AND attempt = ? AND state IN ('queued', 'running')",
                [worker, len(labels), now, now, now, run_id, attempt],
            )
            if cursor.rowcount == 0:
                return False
            for position, label in enumerate(labels):
                connection.execute(
                    "INSERT OR IGNORE INTO units (run, position, label, weight, state)"
                    " VALUES (?, ?, ?, ?, 'waiting')",
                    [run_id, position, label, weights[position] if weights else 1.0],
                )
            connection.execute("UPDATE units SET share = 0 WHERE run = ?", [run_id])
            _count(connection, run_id)
            connection.execute("UPDATE runs SET clock_fraction = fraction WHERE id = ?", [run_id])
        return True

    def is_running(self, run_id: str, attempt: int) -> bool:
        """Whether work on this attempt should go on."""
        return self.request(run_id, attempt) is not None

    def request(self, run_id: str, attempt: int) -> str | None:
        """The request to this attempt, empty for none; None when it should end at once."""
        sql = "SELECT asked FROM runs WHERE id = ? AND attempt = ? AND state = 'running'"
        row = self._database.row(sql, [run_id, attempt])
        return None if row is None else str(row["asked"])

    def resumed(self, run_id: str, attempt: int, unit: float) -> None:
        """Record that the present unit resumes where an earlier process left it.

        That part was not done at the present speed: the time left is measured from here.
        """
        now = time.time()
        with self._database.write() as connection:
            connection.execute(
                "UPDATE runs SET unit_fraction = ?, updated = ? WHERE id = ? AND attempt = ?",
                [min(max(unit, 0.0), 1.0), now, run_id, attempt],
            )
            _weigh(connection, run_id)
            connection.execute(
                "UPDATE runs SET clock = ?, clock_fraction = fraction WHERE id = ?", [now, run_id]
            )

    def progress(self, run_id: str, attempt: int, unit: float, message: str) -> bool:
        """Record the progress of the present unit (0 to 1); False when work should stop."""
        now = time.time()
        with self._database.write() as connection:
            cursor = connection.execute(
                "UPDATE runs SET unit_fraction = ?, message = ?, updated = ?"
                " WHERE id = ? AND attempt = ? AND state = 'running'",
                [min(max(unit, 0.0), 1.0), message, now, run_id, attempt],
            )
            if cursor.rowcount == 0:
                return False
            _weigh(connection, run_id)
            _time_left(connection, run_id, now)
        return True

    def shares(self, run_id: str, attempt: int, shares: Mapping[int, float], message: str) -> bool:
        """Record other machines' progress on units, by position; False when work should stop."""
        now = time.time()
        with self._database.write() as connection:
            cursor = connection.execute(
                "UPDATE runs SET unit_fraction = 0, message = ?, updated = ?"
                " WHERE id = ? AND attempt = ? AND state = 'running'",
                [message, now, run_id, attempt],
            )
            if cursor.rowcount == 0:
                return False
            connection.execute("UPDATE units SET share = 0 WHERE run = ? AND share > 0", [run_id])
            for position, share in shares.items():
                connection.execute(
                    "UPDATE units SET share = ? WHERE run = ? AND position = ?"
                    " AND state = 'waiting'",
                    [share, run_id, position],
                )
            _weigh(connection, run_id)
            if any(share > _FURTHER for share in shares.values()):
                _time_left(connection, run_id, now)
        return True

    def end_unit(
        self,
        run_id: str,
        position: int,
        seconds: float,
        error: str | None = None,
        hint: str = "",
        *,
        left_out: bool = False,
    ) -> bool:
        """Record the end of a unit; False when it was recorded before.

        With `left_out` it was not begun, on request, which is no failure; `error` says so.
        """
        state = "left out" if left_out else "done" if error is None else "failed"
        with self._database.write() as connection:
            cursor = connection.execute(
                "UPDATE units SET state = ?, seconds = ?, error = ?, hint = ?"
                " WHERE run = ? AND position = ? AND state = 'waiting'",
                [state, seconds, error, hint, run_id, position],
            )
            _count(connection, run_id)
            _time_left(connection, run_id, time.time())
            return bool(cursor.rowcount > 0)

    def lost_unit(self, run_id: str, position: int) -> int:
        """Record that the process executing a unit crashed; return the crashes in a row.

        A process that got further than all before it restarts the count: the next will, too.
        """
        row = self._database.row(
            "UPDATE units SET reached = max(reached, at),"
            " crashes = CASE WHEN at > reached + ? THEN 1 ELSE crashes + 1 END"
            " FROM (SELECT unit_fraction AS at FROM runs WHERE id = ?)"
            " WHERE run = ? AND position = ? RETURNING crashes",
            [_FURTHER, run_id, run_id, position],
        )
        return 0 if row is None else int(row["crashes"])

    def checkpointed(self, run_id: str, position: int) -> None:
        """Reset the crashes of a unit that has got further since: it does not always crash."""
        self._database.change(
            "UPDATE units SET crashes = 0 WHERE run = ? AND position = ?", [run_id, position]
        )

    def finish(
        self,
        run_id: str,
        attempt: int,
        state: Literal["done", "failed"],
        message: str = "",
        error: str | None = None,
        hint: str = "",
    ) -> bool:
        """End a run; False when it was over already.

        A run with failed units does not end as done, but as partly failed.
        """
        now = time.time()
        changed = self._database.change(
            "UPDATE runs SET message = ?, error = ?, hint = ?, finished = ?,"
            " state = CASE WHEN ? = 'done' AND failed > 0 THEN 'partly failed' ELSE ? END,"
            " updated = ?, eta_seconds = NULL,"
            " fraction = CASE WHEN ? = 'done' THEN 1 ELSE fraction END"
            " WHERE id = ? AND attempt = ? AND state IN ('queued', 'running')",
            [message, error, hint, now, state, state, now, state, run_id, attempt],
        )
        return changed > 0

    def _rows(self, which: str, *given: object) -> builtins.list[RunRow]:
        rows = self._database.rows(f"SELECT {_COLUMNS} FROM runs {which}", given)
        return [RunRow(**row) for row in rows]  # type: ignore[typeddict-item]


def _weigh(connection: Any, run_id: str) -> None:
    """Recompute the progress of the whole run."""
    connection.execute(_WEIGH, [run_id])


def _count(connection: Any, run_id: str) -> None:
    """Recount the units that are over, so that none counts twice. The next one begins at 0."""
    connection.execute(
        "UPDATE runs SET updated = ?, unit_fraction = 0,"
        " (done, failed) = (SELECT count(*) FILTER (WHERE state = 'done'),"
        " count(*) FILTER (WHERE state = 'failed') FROM units WHERE run = runs.id) WHERE id = ?",
        [time.time(), run_id],
    )
    _weigh(connection, run_id)


def _time_left(connection: Any, run_id: str, now: float) -> None:
    """Set the time left by the rate since the present worker began; NULL until there is one.

    The first hundredths take longer than the others, as a model is loaded.
    """
    connection.execute(
        "UPDATE runs SET eta_seconds = CASE WHEN fraction - clock_fraction > "
        "CASE WHEN ? - clock > 60 THEN 0 ELSE 0.02 END"
        " THEN (? - clock) * (1 - fraction) / (fraction - clock_fraction) END WHERE id = ?",
        [now, now, run_id],
    )


RUN = re.compile(r"[0-9a-f]{12}")
_ROW = 64
"""Approximate bytes of an event besides its data, in the table and its indexes."""
_LIMIT = 2 << 20  # bytes read from the end of a log; nobody reads more in a page


class Events(Table):
    """Events of the units of runs, in the order they happened."""

    def add(self, run_id: str, kind: str, data: Mapping[str, Any], position: int = 0) -> None:
        """Append an event: a metric, a sample, a note."""
        self._database.change(
            "INSERT INTO events (run, position, time, kind, data) VALUES (?, ?, ?, ?, ?)",
            [run_id, position, time.time(), kind, to_json(data)],
        )

    def of(
        self, run_id: str, position: int = 0, after: int = 0, limit: int = 1000
    ) -> list[dict[str, Any]]:
        """Events of a unit with an `id` above `after`, the oldest first."""
        return self._database.rows(
            "SELECT id, time, kind, data FROM events WHERE run = ? AND position = ? AND id > ?"
            " ORDER BY id LIMIT ?",
            [run_id, position, after, limit],
        )

    def sizes(self, run_id: str | None = None) -> dict[str, int]:
        """Approximate bytes of the events of each run, or of one run if given."""
        only, parameters = ("", []) if run_id is None else ("WHERE run = ?", [run_id])
        rows = self._database.rows(
            f"SELECT run, sum(length(data) + {_ROW}) AS size FROM events {only} GROUP BY run",
            parameters,
        )
        return {row["run"]: int(row["size"]) for row in rows}

    def last(
        self, run_id: str, kind: str, position: int = 0, having: str = ""
    ) -> dict[str, Any] | None:
        """The data of the newest event of a kind, or None.

        If `having` is given, only events count in whose data that field is true.
        """
        # Matched as text: SQLite's JSON functions reject an event that holds a NaN.
        row = self._database.row(
            "SELECT data FROM events WHERE run = ? AND position = ? AND kind = ?"
            " AND (? = '' OR data LIKE ?) ORDER BY id DESC LIMIT 1",
            [run_id, position, kind, having, f'%"{having}": true%'],
        )
        return None if row is None else row["data"]


class Logs:
    """The output of runs' processes, one file per run."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self._runs = runs
        self.folder = folder

    def path(self, run_id: str) -> Path:
        """The file that a run's processes write to."""
        return self.folder / f"{self._runs.get(run_id)['id']}.log"

    def sizes(self) -> dict[str, int]:
        """Bytes of every log, by run."""
        return {path.stem: path.stat().st_size for path in self.folder.glob("*.log")}

    def remove(self, run_id: str) -> None:
        """Delete the log of a run that is forgotten."""
        if RUN.fullmatch(run_id):  # no other file is ever named
            (self.folder / f"{run_id}.log").unlink(missing_ok=True)

    def note(self, run_id: str, *lines: str) -> None:
        """Append lines with the time of day, unless the disk is full or the run is gone."""
        stamp = time.strftime("%H:%M:%S")
        with (
            contextlib.suppress(OSError, StoreError),
            self.path(run_id).open("a", encoding="utf-8") as file,
        ):
            file.writelines(f"{stamp}  {line}\n" for line in lines)

    def lines(self, run_id: str, after: int = 0) -> list[str]:
        """The lines of a run's log from number `after` on; of a huge log only the end."""
        path = self.path(run_id)
        if not path.exists():
            return []
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LIMIT))
            text = file.read().decode("utf-8", "replace")
        return text.splitlines()[after:]
