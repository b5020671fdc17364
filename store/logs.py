"""The output of runs' processes, one file per run."""

from __future__ import annotations

import re
from pathlib import Path

from theodolite.store.runs import Runs

RUN = re.compile(r"[0-9a-f]{12}")
_LIMIT = 2 << 20  # bytes read from the end of a log; nobody reads more in a page


class Logs:
    """The logs of runs."""

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
