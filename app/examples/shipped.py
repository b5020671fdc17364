"""Answers that ship, which a page shows before it is used for the first time.

They are in a store beside this file, which `python -m theodolite.app.examples.make` makes with the
encoders that ship. A page whose answers are stored looks for them there as in any store, see
`Workspace.shipped`. Answers that no page stores are stored there under their question, and read
only with the encoders, the data and the decoders that they were made with.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from theodolite.app.decoders import mark_of
from theodolite.app.workspace import Workspace
from theodolite.engine.errors import UserError
from theodolite.engine.tasks import get
from theodolite.store.hashing import hash_of, to_json


def keep(
    workspace: Workspace,
    kind: str,
    answer: Any,
    question: object = "",
    *,
    encoders: Iterable[str] = (),
    data: Iterable[str] = (),
    decoders: Iterable[str] = (),
) -> None:
    """Store the answer to a question, for `read`; all JSON-able."""
    about = _about(workspace, encoders, data, decoders)
    info = {"answer": answer, "about": about}
    workspace.store.derived.put(hash_of(kind, to_json(question)), kind, info)


def read(workspace: Workspace, kind: str, question: object = "") -> Any:
    """The answer that ships; None without one, or where what it was made with differs here."""
    row = workspace.shipped.store.derived.get(hash_of(kind, to_json(question)))
    if row is None:
        return None
    about = row["info"]["about"]
    try:
        return row["info"]["answer"] if _about(workspace, **about) == about else None
    except UserError:  # not available, or not for visitors
        return None


def _about(
    workspace: Workspace, encoders: Iterable[str], data: Iterable[str], decoders: Iterable[str]
) -> dict[str, Mapping[str, Any]]:
    """Fingerprints, hashes and marks by name."""
    return {
        "encoders": {name: workspace.load(name).fingerprint for name in encoders},
        "data": {name: workspace.catalog.sentences(name)[1] for name in data},
        "decoders": {name: mark_of(workspace, name) for name in decoders},
    }


def scores(workspace: Workspace, encoders: Collection[str]) -> dict[tuple[str, str], float]:
    """(encoder, task) -> main score that ships, where the encoder and the data are the same."""
    table = workspace.shipped.store.results.table
    return {
        (row["encoder"], row["task"]): row["score"]
        for row in (table(encoders=list(encoders)) if encoders else ())
        if _is_same(workspace, row)
    }


def _is_same(workspace: Workspace, row: Mapping[str, Any]) -> bool:
    try:
        data = workspace.catalog.load(get(row["task"], workspace.catalog).dataset)
        fingerprint = workspace.load(row["encoder"]).fingerprint
    except UserError:
        return False
    return (fingerprint, data.hash) == (row["fingerprint"], row["data_hash"])
