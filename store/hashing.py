"""Values as canonical JSON, and hashes of texts."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from theodolite.store.errors import damage


def to_json(value: object) -> str:
    """JSON text with sorted keys, so that equal values give equal text; takes NumPy's scalars."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, default=_plain)


def from_json(text: str) -> Any:
    """The value of a column of JSON.

    Raises:
        StoreDamaged: it is none, as when bytes of the database were changed.
    """
    try:
        return json.loads(text)
    except (TypeError, ValueError) as error:
        raise damage(None, f"a value in it is no JSON ({error})") from error


def hash_of(*texts: str) -> str:
    """BLAKE2b hash of the texts in order, 32 hexadecimal digits."""
    return hashlib.blake2b("\0".join(texts).encode(), digest_size=16).hexdigest()


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray | tuple | set | frozenset):
        return list(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} cannot be kept as JSON")
