"""Rename the pooling `cls`, which had two meanings, in stored specs.

In the spec of an encoder it was the pooler's output, in that of a training the raw first token. The
store does not know the engine's names: they are repeated here, for one migration.
"""

from __future__ import annotations

import json
import re
from typing import Any

import sqlite_utils

from theodolite.store.hashing import hash_of, to_json

_IN_A_SPEC = re.compile(r"(?<=[?&]pooling=)(cls_before_pooler|cls)(?!\w)")
_TODAY = {"cls": "pooler_output", "cls_before_pooler": "cls_token"}
_COLUMNS = {
    "encoders": ("name", "info"),
    "results": ("encoder", "details", "error", "hint"),
    "vector_users": ("encoder",),
    "unsaid_precisions": ("encoder",),
    "units": ("label",),
    "runs": ("title", "spec", "message", "error", "hint"),
    "events": ("data",),
    "decoders": ("encoder", "info"),
    "projections": ("info",),
    "derived": ("info",),
    "settings": ("value",),
}
_TRAININGS = ("train", "sweep")
_TRAINING_VERSION = 2


def rename(db: sqlite_utils.Database) -> None:
    """Rewrite every stored spec to today's names, and recompute the hashes of runs."""
    db.register_function(_in_a_spec, name="in_today_s_words", deterministic=True)
    for table, columns in _COLUMNS.items():
        for column in columns:
            db.execute(
                f"UPDATE {table} SET {column} = in_today_s_words({column})"  # noqa: S608
                f" WHERE {column} LIKE '%pooling=cls%'"
            )
    for name, info in db.execute("SELECT name, info FROM encoders").fetchall():
        facts = json.loads(info)
        if facts.get("pooling") in _TODAY:
            facts["pooling"] = _TODAY[facts["pooling"]]
            db.execute("UPDATE encoders SET info = ? WHERE name = ?", [to_json(facts), name])
    for run, kind, text in db.execute("SELECT id, kind, spec FROM runs").fetchall():
        spec = json.loads(text)
        if kind in _TRAININGS:
            _training(spec)
            for child in spec.get("children", ()):
                _training(child["spec"])
        db.execute(
            "UPDATE runs SET spec = ?, spec_hash = ? WHERE id = ?",
            [to_json(spec), hash_of(kind, to_json(spec)), run],
        )


def _in_a_spec(text: str | None) -> str | None:
    return text and _IN_A_SPEC.sub(lambda found: _TODAY[found[1]], text)


def _training(spec: dict[str, Any]) -> None:
    """Upgrade a training's own spec to version 2, which has the new name."""
    if "objective" in spec and spec.get("version", 1) < _TRAINING_VERSION:
        spec["version"] = _TRAINING_VERSION
        if spec.get("pooling") == "cls":
            spec["pooling"] = "cls_token"
