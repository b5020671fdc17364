"""The listed encoders: adding and removing them."""

import contextlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from theodolite.app import endpoints
from theodolite.app.names import labelled
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine.encoders.facts import LATER, RANKER_KIND, describe
from theodolite.engine.encoders.spec import check_name
from theodolite.engine.errors import UserError
from theodolite.engine.rankers.spec import parse
from theodolite.store import StoreError
from theodolite.store.nouns import EncoderRow

STARTERS = STARTER_ENCODERS[::-1]
"""Encoders that ship, the best first; a page starts with them, if they are listed."""


def shown_first(workspace: Workspace, default: Sequence[str] = STARTERS) -> list[str]:
    """The encoders that a page of several starts with if none is named."""
    ordered = names(workspace)
    first = [name for name in default if name in ordered]
    return first if len(first) > 1 else list(dict.fromkeys([*first, *ordered]))[:3]


def list_facts(workspace: Workspace) -> list[dict[str, Any]]:
    """The facts of every listed encoder, in the order they were added."""
    list_shipped(workspace)
    labels = workspace.store.encoders.labels()
    rows = map(_flat, workspace.store.encoders.list())
    return [row | {"label": labels.get(row["name"])} | _gone(row["name"]) for row in rows]


def names(workspace: Workspace, *, rankers: bool = False) -> list[str]:
    """The listed encoders in the order they were added; also the rankers, which have no vectors."""
    return [
        row["name"] for row in list_facts(workspace) if rankers or row.get("kind") != RANKER_KIND
    ]


def list_shipped(workspace: Workspace) -> None:
    """List the encoders that ship, once per store: one that is removed later stays so."""
    settings = workspace.store.settings
    if workspace.store.reading or settings.get("shipped"):
        return
    with contextlib.suppress(StoreError):  # a full disk: what is listed is shown
        ensure_listed(workspace, STARTERS)
        settings.set("shipped", True)


def add(workspace: Workspace, spec: str, *, send_texts: bool = False) -> dict[str, Any]:
    """Try an encoder out, list it, and return its facts.

    A model that is on this machine is read, and encodes, and so are files of vectors and of word
    vectors; a model of the hub is tried when it is first used.
    """
    workspace.refuse_visitors()
    if send_texts:
        endpoints.allow(workspace.store, spec)
    facts = _usable(describe(spec, read=True))
    if facts["kind"] == RANKER_KIND and facts["available"]:
        workspace.ranker(facts["spec"])  # its words may ask for a language that is not there
    return _flat(_row(workspace, facts))


def would_send_to(workspace: Workspace, spec: str) -> list[str]:
    """Hosts that would get texts but are not allowed to; empty for an invalid spec."""
    try:
        return [address.host for address in endpoints.unallowed(workspace.store, spec)]
    except UserError:
        return []


def refresh(workspace: Workspace, spec: str) -> None:
    """List an encoder that was trained, with its facts if there are any."""
    try:
        _row(workspace, describe(spec))
    except UserError:  # cannot be described: its use reports why
        workspace.store.encoders.add(spec)


def ensure_listed(workspace: Workspace, specs: Iterable[str]) -> None:
    """List the encoders that are not in the list yet, but none of which there are no facts."""
    for spec in specs:
        if workspace.store.encoders.get(spec) is None:
            with contextlib.suppress(UserError):  # its use reports why
                _row(workspace, _usable(describe(spec)))


def _usable(facts: dict[str, Any]) -> dict[str, Any]:
    """The facts of an encoder that is here, or may be on the hub."""
    if facts["problem"] not in (None, LATER):
        raise UserError(facts["problem"])
    return facts


def _row(workspace: Workspace, facts: dict[str, Any]) -> EncoderRow:
    name = facts["spec"]
    if facts["dim"] is None and facts["available"] and facts["kind"] != RANKER_KIND:
        facts["dim"] = workspace.load(name).dim  # its server, or the loaded model, alone knows it
    return workspace.store.encoders.add(name, facts)


def remove(workspace: Workspace, spec: str) -> str:
    """Remove an encoder, and the permission to send texts to its endpoint. Its results stay.

    Returns:
        How it was called.
    """
    name = _of_list(workspace, spec)
    called = labelled(name)
    workspace.store.encoders.remove(name)
    endpoints.forbid_unlisted(workspace.store)
    return called


def rename(workspace: Workspace, old: str, new: str) -> None:
    """Give an encoder of the list another name, by its name or spec."""
    spec = _of_list(workspace, old)
    if not can_be_named(spec):
        raise UserError(
            f"{spec} is named by its spec.",
            "Names are for encoders in folders; write options and steps behind them.",
            code="wrong-kind",
        )
    check_name(new)
    workspace.store.encoders.label(spec, new)


def can_be_named(spec: str) -> bool:
    """Whether it is a folder, with or without options, and nothing else."""
    return [str(source) for source in parse(spec).sources if source.kind == "dir"] == [spec]


def _of_list(workspace: Workspace, spec: str) -> str:
    """The canonical spec of an encoder of the list, which is about to be changed."""
    workspace.refuse_visitors()
    list_shipped(workspace)
    name = str(parse(spec))
    if workspace.store.encoders.get(name) is None:
        raise UserError(
            f"{spec!r} is not in the list.", "`theodolite encoders list` shows it.", code="unknown"
        )
    return name


def _gone(spec: str) -> dict[str, Any]:
    """What there is to say of an encoder whose folder or file was removed."""
    gone = [path for path in parse(spec).paths if not Path(path).exists()]
    return {"problem": f"There is no {gone[0]}.", "warnings": []} if gone else {}


def _flat(row: Any) -> dict[str, Any]:
    return {**row["info"], **{key: value for key, value in row.items() if key != "info"}}
