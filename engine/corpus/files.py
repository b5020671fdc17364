"""The files of an encoded corpus, and their atomic writes."""

import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from theodolite.engine.errors import UserError, first_line
from theodolite.engine.json_file import json_file

CUT = "cut.json"
MANIFEST = "manifest.json"
SHARDS = "shards"
TEMPORARY = ".tmp"
ENDINGS = {"npy": ".npy", "parquet": ".parquet"}
"""Format of the shards -> ending of their files."""
DTYPES = ("float32", "float16")


def shard_file(folder: Path, name: str, ending: str) -> Path:
    """Return the path of a file of a shard, such as `shards/HASH.npy`."""
    return folder / SHARDS / (name + ending)


@contextmanager
def whole(file: Path) -> Iterator[Path]:
    """Yield a temporary path, which replaces `file` once it is written and synced to disk."""
    temporary = file.with_name(f"{file.name}.{secrets.token_hex(4)}{TEMPORARY}")
    try:
        yield temporary
        with temporary.open("rb") as written:
            os.fsync(written.fileno())
        temporary.replace(file)
    except OSError as error:
        raise UserError(
            f"{file} cannot be written: {first_line(error)}",
            "Free some space or choose another folder, then run the same command again: it "
            "resumes.",
            code="no-file",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def leftovers(folder: Path) -> Iterator[Path]:
    """Temporary files of `whole` in a folder, and no file of anybody else."""
    return folder.glob(f"*.{'[0-9a-f]' * 8}{TEMPORARY}")


def write_json(file: Path, value: Mapping[str, Any]) -> None:
    """Write a JSON object atomically."""
    with whole(file) as path:
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", "utf-8")


def read_json(file: Path) -> dict[str, Any] | None:
    """Read the JSON object in a file; None for a missing file."""
    return json_file(file, dict, "Remove it.") if file.exists() else None
