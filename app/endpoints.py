"""The endpoints to which the user has allowed texts to be sent, and previews of what is sent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.encoders.base import Encoder
    from theodolite.engine.encoders.endpoint import Sending
    from theodolite.engine.endpoints import Address
    from theodolite.store import Store

_ALLOWED = "send_texts"


def addresses(spec: str) -> list[Address]:
    """The endpoints of a spec."""
    from theodolite.engine.encoders import parse
    from theodolite.engine.endpoints import Address

    return [Address.parse(one.value) for one in parse(spec).sources if one.kind == "api"]


def allowed(store: Store) -> list[str]:
    """URLs of the endpoints to which texts may be sent."""
    found: list[str] = store.settings.get(_ALLOWED, [])
    return found


def unallowed(store: Store, spec: str) -> list[Address]:
    """The endpoints of a spec on other machines to which sending texts is not allowed."""
    known = allowed(store)
    return [one for one in addresses(spec) if not one.is_here and one.url not in known]


def allow(workspace: Workspace, spec: str) -> None:
    """Allow texts to be sent to the endpoints of a spec."""
    workspace.refuse_visitors()
    more = {one.url for one in unallowed(workspace.store, spec)}
    if more:
        workspace.store.settings.set(_ALLOWED, sorted({*allowed(workspace.store), *more}))


def forbid_unlisted(store: Store) -> None:
    """Revoke the permission of endpoints that no listed encoder and no judging session uses."""
    specs = store.encoders.names()
    judges = [row["spec"].get("second", "") for row in store.judgements.list()]
    listed = {one.url for spec in [*specs, *filter(None, judges)] for one in addresses(spec)}
    known = allowed(store)
    if not listed.issuperset(known):
        store.settings.set(_ALLOWED, sorted(listed.intersection(known)))


def sendings(encoder: Encoder, sentences: Sequence[str]) -> list[Sending]:
    """The sentences that encoding would send to endpoints: those in no cache."""
    from theodolite.app.vectors import sources, uncached
    from theodolite.engine.encoders.endpoint import EndpointSource, Sending

    found = []
    for model in sources(encoder):
        if isinstance(model.source, EndpointSource):
            new = uncached(model, sentences)
            found += [Sending.of(model.source, new)] if new else []
    return found


def in_words(sendings: Sequence[Sending], price: float | None = None) -> list[str]:
    """A sentence on each sending, with its cost at a price per million tokens."""
    return [
        f"{one}{'' if price is None else f': about {price * one.tokens / 1e6:,.4f} at that price'}"
        for one in sendings
    ]


def announced(
    workspace: Workspace, encoders: Sequence[str], dataset: str
) -> Iterator[tuple[str, str]]:
    """Each encoder behind an endpoint, with a sentence on what encoding a collection sends."""
    from theodolite.engine.errors import UserError

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
