"""The endpoints to which the user has allowed texts to be sent, and what would be sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from app.workspace import Workspace
    from engine.encoders.base import Encoder
    from engine.encoders.endpoint import Sending
    from engine.endpoints import Address
    from store import Store

_ALLOWED = "send_texts"


def addresses(spec: str) -> list[Address]:
    """The endpoints of a spec.

    Raises:
        UserError: the spec cannot be read.
    """
    from engine.encoders import parse
    from engine.endpoints import Address

    return [Address.parse(one.value) for one in parse(spec).sources if one.kind == "api"]


def allowed(store: Store) -> list[str]:
    """URLs of endpoints that texts may be sent to."""
    found: list[str] = store.settings.get(_ALLOWED, [])
    return found


def unallowed(store: Store, spec: str) -> list[Address]:
    """The endpoints of a spec on other machines that nobody has allowed texts to be sent to.

    Raises:
        UserError: the spec cannot be read.
    """
    known = allowed(store)
    return [one for one in addresses(spec) if not one.is_here and one.url not in known]


def allow(workspace: Workspace, spec: str) -> None:
    """Allow texts to be sent to the endpoints of a spec from now on.

    Raises:
        UserError: for visitors, or a spec that cannot be read.
    """
    workspace.refuse_visitors()
    more = {one.url for one in unallowed(workspace.store, spec)}
    if more:
        workspace.store.settings.set(_ALLOWED, sorted({*allowed(workspace.store), *more}))


def forbid_unlisted(store: Store) -> None:
    """Take back what was allowed for endpoints that no encoder listed and no session names."""
    specs = store.encoders.names()
    judges = [row["spec"].get("second", "") for row in store.judgements.list()]
    listed = {one.url for spec in [*specs, *filter(None, judges)] for one in addresses(spec)}
    known = allowed(store)
    if not listed.issuperset(known):
        store.settings.set(_ALLOWED, sorted(listed.intersection(known)))


def sendings(encoder: Encoder, sentences: Sequence[str]) -> list[Sending]:
    """What encoding would send to endpoints: sentences that no cache has."""
    from app.vectors import sources, uncached
    from engine.encoders.endpoint import EndpointSource, Sending

    found = []
    for model in sources(encoder):
        if isinstance(model.source, EndpointSource):
            new = uncached(model, sentences)
            found += [Sending.of(model.source, new)] if new else []
    return found


def in_words(sendings: Sequence[Sending], price: float | None = None) -> list[str]:
    """What is sent, a sentence each; and what that costs where a million tokens have a price."""
    return [
        f"{one}{'' if price is None else f': about {price * one.tokens / 1e6:,.4f} at that price'}"
        for one in sendings
    ]


def announced(
    workspace: Workspace, encoders: Sequence[str], dataset: str
) -> Iterator[tuple[str, str]]:
    """Each encoder behind an endpoint, and what a collection would send there, in a sentence."""
    from engine.errors import UserError

    for name in encoders:
        if not addresses(name):
            continue
        texts, _ = workspace.catalog.sentences(dataset)
        try:
            found = sendings(workspace.load(name), texts)
        except UserError as error:
            yield name, f"{name}: {error.message} {error.hint}"
        else:
            yield from ((name, f"Sends up to {line}.") for line in in_words(found))
