"""Files that hold one JSON value."""

import json
from pathlib import Path
from typing import Any, TypeVar

from theodolite.engine.errors import UserError

T = TypeVar("T", dict[str, Any], list[Any])


def json_file(file: Path, shape: type[T], hint: str = "Get the file again.") -> T:
    """The content of a JSON file; empty when the file is missing."""
    if not file.is_file():
        return shape()
    try:
        content = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file} cannot be read: {error}.", hint, code="damaged") from error
    if not isinstance(content, shape):
        raise UserError(
            f"{file} holds a JSON {type(content).__name__} where a {shape.__name__} belongs.",
            hint,
            code="damaged",
        )
    return content
