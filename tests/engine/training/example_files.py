"""Files of training data for the tests, written and opened."""

from __future__ import annotations

import gzip
from pathlib import Path

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.training.examples import Examples, open_examples


def opened(path: Path, objective="unsup", **settings) -> Examples:
    """Open a file with the shipped catalog."""
    return open_examples(
        str(path), objective, Catalog(), folder=path.parent / "working", **settings
    )


def written(folder: Path, name: str, content: str | bytes) -> Path:
    """Write a file, packed if its name says so."""
    path = folder / name
    raw = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(raw) if name.endswith(".gz") else raw)
    return path
