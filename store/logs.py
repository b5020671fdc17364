"""What the processes of runs print, a file a run."""

from __future__ import annotations

from pathlib import Path

from store.runs import Runs

_LIMIT = 2 << 20  # bytes read from the end of a log; nobody reads more in a page


class Logs:
    """The logs of runs."""

    def __init__(self, runs: Runs, folder: Path) -> None:
        self._runs = runs
        self.folder = folder

    def path(self, run_id: str) -> Path:
        """The file that a run's processes write to.

        Raises:
            StoreError: for an id of no run: no other file is ever named.
        """
        return self.folder / f"{self._runs.get(run_id)['id']}.log"

    def lines(self, run_id: str, after: int = 0) -> list[str]:
        """The lines of a run's log from number `after` on; of a huge log only the end.

        Raises:
            StoreError: when there is no such run.
        """
        path = self.path(run_id)
        if not path.exists():
            return []
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _LIMIT))
            text = file.read().decode("utf-8", "replace")
        return text.splitlines()[after:]
