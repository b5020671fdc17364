"""The listed encoders: adding and removing them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from theodolite.app import endpoints
from theodolite.app.workspace import STARTER_ENCODERS
from theodolite.engine.encoders.facts import LATER, RANKER_KIND, describe
from theodolite.engine.errors import UserError
from theodolite.store import StoreError

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.store.nouns import EncoderRow

STARTERS = STARTER_ENCODERS[::-1]
"""Encoders that ship, the best first; a page starts with them, if they are listed."""


def shown_first(workspace: Workspace, default: Sequence[str] = STARTERS) -> list[str]:
    """The encoders that a page of several starts with if none is named."""
    kept = names(workspace)
    first = [name for name in default if name in kept]
    return first if len(first) > 1 else list(dict.fromkeys([*first, *kept]))[:3]


def listed(workspace: Workspace) -> list[dict[str, Any]]:
    """The facts of every listed encoder, in the order they were added."""
    list_shipped(workspace)
    return [_flat(row) for row in workspace.store.encoders.list()]


def names(workspace: Workspace, *, rankers: bool = False) -> list[str]:
    """The listed encoders in the order they were added; also the rankers, which have no vectors."""
    return [row["name"] for row in listed(workspace) if rankers or row.get("kind") != RANKER_KIND]


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
    facts = describe(spec, read=True)
    if facts["problem"] not in (None, LATER):
        raise UserError(facts["problem"])
    return _flat(_listed(workspace, facts))


def would_send_to(workspace: Workspace, spec: str) -> list[str]:
    """Hosts that would get texts but are not allowed to; empty for an invalid spec."""
    try:
        return [address.host for address in endpoints.unallowed(workspace.store, spec)]
    except UserError:
        return []


def refresh(workspace: Workspace, spec: str) -> None:
    """List an encoder that was trained or is in use, with its facts if there are any."""
    try:
        _listed(workspace, describe(spec))
    except UserError:  # cannot be described: its use reports why
        workspace.store.encoders.add(spec)


def ensure_listed(workspace: Workspace, specs: Iterable[str]) -> None:
    """List the encoders that are not in the list yet."""
    for spec in specs:
        if workspace.store.encoders.get(spec) is None:
            refresh(workspace, spec)


def _listed(workspace: Workspace, facts: dict[str, Any]) -> EncoderRow:
    name = facts["spec"]
    if facts["dim"] is None and facts["available"]:
        facts["dim"] = workspace.load(name).dim  # its server, or the loaded model, alone knows it
    return workspace.store.encoders.add(name, facts)


def remove(workspace: Workspace, spec: str) -> None:
    """Remove an encoder, and the permission to send texts to its endpoint. Its results stay."""
    workspace.refuse_visitors()
    list_shipped(workspace)
    if not workspace.store.encoders.remove(spec):
        raise UserError(
            f"{spec!r} is not in the list.", "`theodolite encoders list` shows it.", code="unknown"
        )
    endpoints.forbid_unlisted(workspace.store)


def _flat(row: Any) -> dict[str, Any]:
    return {**row["info"], **{key: value for key, value in row.items() if key != "info"}}
