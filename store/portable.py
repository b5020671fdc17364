"""A result as JSON from which another store restores it exactly: what a worker returns."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from theodolite.store.errors import StoreError
from theodolite.store.results import KEY, arrays_of

if TYPE_CHECKING:
    from theodolite.store.results import Results

_PLAIN = (*KEY, "dim", "details", "seconds", "error", "hint")
_SCORE = ("split", "aggregation", "metric", "score", "n", "main", "unit")


def pack(results: Results, result_id: int) -> dict[str, Any]:
    """A result with its details, every number and the per-example values, JSON-able."""
    row = results.by_id(result_id)
    scores = results.in_full([result_id])[result_id]["scores"]
    packed = {name: row[name] for name in _PLAIN}
    packed["scores"] = [
        {**{name: score[name] for name in _SCORE}, "score": _or_none(score["score"])}
        for score in scores
    ]
    if row["examples"] is not None:
        results.examples(result_id)  # raises if damaged, before it is sent
        packed["examples"] = base64.b64encode((results.folder / row["examples"]).read_bytes())
        packed["examples"] = packed["examples"].decode("ascii")
    return packed


def keep(results: Results, packed: Mapping[str, Any]) -> int:
    """Store a packed result and return its id here; a known result changes nothing."""
    try:
        result = {name: packed[name] for name in _PLAIN}
        result["scores"] = [
            {**{name: score[name] for name in _SCORE}, "score": _or_nan(score["score"])}
            for score in packed["scores"]
        ]
        file = base64.b64decode(packed["examples"], validate=True) if "examples" in packed else None
        examples = {} if file is None else arrays_of(file)
        return results.put(result, examples)
    except StoreError:
        raise
    except Exception as error:  # base64, zipfile, zlib and NumPy each have their own
        raise StoreError(
            f"A result that came from elsewhere cannot be read: {type(error).__name__}, {error}.",
            "Use the same version of Theodolite on all machines.",
            code="damaged",
        ) from error


def _or_none(score: float) -> float | None:
    return None if math.isnan(score) else score  # JSON has no NaN


def _or_nan(score: float | None) -> float:
    return math.nan if score is None else float(score)
