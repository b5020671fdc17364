"""Sizes and modification stamps of folders, rescanning only those that changed."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path


class Folders:
    """A cache of folder scans; a folder is rescanned once a file is added or removed.

    A file that is rewritten in place keeps its old size here until then.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[int, int, list[str]]] = {}  # mtime in ns, bytes, subfolders

    def bytes(self, paths: Iterable[Path]) -> int:
        """Return the total bytes of files and folders; missing ones count 0."""
        return sum(size for path in paths for _, size in self._walk(str(path)))

    def stamp(self, paths: Iterable[Path]) -> tuple[int, ...]:
        """Return a stamp that changes when files are added to or removed from the folders."""
        return tuple(changed for path in paths for changed, _ in self._walk(str(path)))

    def _walk(self, path: str) -> Iterator[tuple[int, int]]:
        """Yield (modification time, bytes) of a file, or of a folder and each folder below it."""
        try:
            status = os.stat(path)  # noqa: PTH116, a Path for each of hundreds takes longer
            known = self._seen.get(path)
            if known is None or known[0] != status.st_mtime_ns:
                with os.scandir(path) as found:
                    entries = [(e.path, e.is_dir(), e.stat().st_size) for e in found]
                known = (
                    status.st_mtime_ns,
                    sum(size for _, folder, size in entries if not folder),
                    sorted(place for place, folder, _ in entries if folder),
                )
                self._seen[path] = known
        except NotADirectoryError:
            yield status.st_mtime_ns, status.st_size
            return
        except OSError:
            return
        yield known[:2]
        for folder in known[2]:
            yield from self._walk(folder)
