"""Results of a time when the device chose the precision: each moves to the spec that names it.

A GPU once used half precision for a spec without `dtype`, so its results stand under the same spec
as those of a CPU in float32. Today such a spec means float32. Migration m016 recorded all of these
results; the records of an encoder are deleted once it is settled.
"""

from __future__ import annotations

from collections.abc import Collection

from theodolite.store.database import Database


class Precisions:
    """Encoder -> fingerprints of its results of unknown precision."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unsaid(self, encoder: str) -> list[tuple[str, str]]:
        """(fingerprint, data hash) of each result that is not settled yet."""
        rows = self._database.rows(
            "SELECT fingerprint, data_hash FROM unsaid_precisions WHERE encoder = ?", [encoder]
        )
        return [(row["fingerprint"], row["data_hash"]) for row in rows]

    def settle(self, encoder: str, settled: str, fingerprints: Collection[str]) -> int:
        """Move results of these fingerprints to the spec that names their precision.

        This deletes the encoder's records.

        Args:
            encoder: the spec without `dtype`.
            settled: the spec with it.
            fingerprints: of the results to move.

        Returns:
            Number of results that moved.
        """
        moved = 0
        with self._database.write() as connection:
            for fingerprint in fingerprints:
                moved += connection.execute(
                    "UPDATE OR IGNORE results SET encoder = ?"
                    " WHERE encoder = ? AND fingerprint = ?",
                    [settled, encoder, fingerprint],
                ).rowcount
                # Measured under both specs: one result is enough.
                connection.execute(
                    "DELETE FROM results WHERE encoder = ? AND fingerprint = ?",
                    [encoder, fingerprint],
                )
            connection.execute("DELETE FROM unsaid_precisions WHERE encoder = ?", [encoder])
        return moved
