"""Results of a time when the device chose the precision: each goes under the spec that says it.

Once a GPU took half precision for a spec without `dtype`, and what it gave stands under that spec
beside what a CPU gave in float32. Today float32 is meant. The migration that came with the change
noted all of them; what is noted of an encoder goes once it has been settled.
"""

from __future__ import annotations

from collections.abc import Collection

from store.database import Database


class Precisions:
    """Encoder -> fingerprints of its results whose precision was not said."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def unsaid(self, encoder: str) -> list[tuple[str, str]]:
        """(fingerprint, hash of the data) of each result that is not settled yet."""
        rows = self._database.rows(
            "SELECT fingerprint, data_hash FROM unsaid_precisions WHERE encoder = ?", [encoder]
        )
        return [(row["fingerprint"], row["data_hash"]) for row in rows]

    def settle(self, encoder: str, settled: str, fingerprints: Collection[str]) -> int:
        """Give results of these fingerprints the spec that says their precision.

        Nothing is noted of the encoder afterwards.

        Args:
            encoder: the spec without `dtype`.
            settled: the spec with it.
            fingerprints: those that `said` has.

        Returns:
            How many results have moved.
        """
        moved = 0
        with self._database.write() as connection:
            for fingerprint in fingerprints:
                moved += connection.execute(
                    "UPDATE OR IGNORE results SET encoder = ?"
                    " WHERE encoder = ? AND fingerprint = ?",
                    [settled, encoder, fingerprint],
                ).rowcount
                # The same question was asked under both specs: one answer is enough.
                connection.execute(
                    "DELETE FROM results WHERE encoder = ? AND fingerprint = ?",
                    [encoder, fingerprint],
                )
            connection.execute("DELETE FROM unsaid_precisions WHERE encoder = ?", [encoder])
        return moved
