"""Rows of the time when `cls` was a pooling, rewritten to what they meant."""

from __future__ import annotations

import json
from pathlib import Path

import sqlite_utils

from theodolite.store import Store
from theodolite.store.hashing import hash_of, to_json
from theodolite.store.migrations import migrations

OLD = "hf:a/b?pooling=cls + dir:/c?pooling=cls_before_pooler&max_length=9 | normalise"
NEW = "hf:a/b?pooling=pooler_output + dir:/c?pooling=cls_token&max_length=9 | normalise"
TRAIN = {"version": 1, "objective": "unsup", "base": "minilm", "train": "a", "out": "o"}


def _run(db: sqlite_utils.Database, number: str, kind: str, spec: dict[str, object]) -> None:
    text = to_json(spec)
    db.execute(
        "INSERT INTO runs (id, kind, title, spec, spec_hash, state, priority, attempt, total,"
        " created, updated) VALUES (?, ?, ?, ?, ?, 'queued', 0, 1, 1, 1.0, 1.0)",
        [number, kind, f"{OLD} on A", text, hash_of(kind, text)],
    )


def test_every_spec_says_which_it_meant(tmp_path: Path) -> None:
    """Names, facts, results, runs, settings, decoders; fingerprints stay."""
    folder = tmp_path / "store"
    folder.mkdir()
    db = sqlite_utils.Database(folder / "theodolite.db")
    migrations.apply(db, stop_before="m016_unsaid_precisions")
    db.execute("INSERT INTO encoders VALUES (?, ?, 1.0)", [OLD, to_json({"spec": OLD})])
    facts = to_json({"spec": "dir:/d", "pooling": "cls"})
    db.execute("INSERT INTO encoders VALUES ('dir:/d', ?, 2.0)", [facts])
    db.execute(
        "INSERT INTO results (encoder, fingerprint, dim, task, protocol, seed, data_hash, score,"
        " details, seconds, hint, created)"
        " VALUES (?, 'f', 8, 'A', 'p', 0, 'd', 50.0, ?, 1.0, '', 1.0)",
        [OLD, to_json({"encoder": OLD})],
    )
    db.execute("INSERT INTO vector_users VALUES ('f', ?)", [OLD])
    db.execute("INSERT INTO decoders VALUES ('n', ?, 'f', 'x', '{}', 1.0)", [OLD])
    db.execute("INSERT INTO settings VALUES ('speeds', ?)", [to_json({f"encoding {OLD}": 1.5})])
    _run(db, "evaluate", "evaluate", {"version": 2, "encoders": [OLD]})
    _run(db, "train", "train", TRAIN | {"pooling": "cls"})
    children = [{"label": "pooling=cls", "spec": TRAIN | {"pooling": "cls"}}]
    _run(db, "sweep", "sweep", {"children": children, "version": 1})
    db.conn.commit()
    db.close()

    store = Store.open(folder)
    assert store.encoders.names() == [NEW, "dir:/d"]
    assert [row["info"] for row in store.encoders.list()] == [
        {"spec": NEW},
        {"spec": "dir:/d", "pooling": "pooler_output"},
    ]
    (result,) = store.results.table(encoders=[NEW])
    assert result["fingerprint"] == "f"
    assert store.results.by_id(result["id"])["details"] == {"encoder": NEW}
    assert store.precisions.unsaid(NEW) == [("f", "d")]
    assert store.database.rows("SELECT encoder FROM vector_users") == [{"encoder": NEW}]
    assert [row["encoder"] for row in store.decoders.list()] == [NEW]
    assert store.settings.get("speeds") == {f"encoding {NEW}": 1.5}
    runs = {run["id"]: run for run in store.runs.list()}
    assert runs["evaluate"]["title"] == f"{NEW} on A"
    assert runs["evaluate"]["spec"] == {"version": 2, "encoders": [NEW]}
    trained = TRAIN | {"version": 2, "pooling": "cls_token"}
    assert runs["train"]["spec"] == trained
    assert runs["sweep"]["spec"] == {
        "children": [{"label": "pooling=cls", "spec": trained}],
        "version": 1,
    }
    # Asked again in today's words, each is the run that it was.
    for kind, run in runs.items():
        assert store.runs.create(kind, run["spec"], title="again") == run["id"]
    assert json.loads(to_json(runs["train"]["spec"])) == trained
    store.close()
