"""The endpoints to which the user has allowed texts to be sent."""

from theodolite.engine.endpoints import Address
from theodolite.store import Store

_ALLOWED = "send_texts"


def addresses(spec: str) -> list[Address]:
    """The endpoints of a spec."""
    from theodolite.engine.rankers.spec import parse

    return [Address.parse(source.value) for source in parse(spec).sources if source.kind == "api"]


def allowed_urls(store: Store) -> list[str]:
    """URLs of the endpoints to which texts may be sent."""
    servers: list[str] = store.settings.get(_ALLOWED, [])
    return servers


def unallowed(store: Store, spec: str) -> list[Address]:
    """The endpoints of a spec on other machines to which sending texts is not allowed."""
    known = allowed_urls(store)
    return [
        address for address in addresses(spec) if not address.is_here and address.url not in known
    ]


def allow(store: Store, spec: str) -> None:
    """Allow texts to be sent to the endpoints of a spec."""
    more = {one.url for one in unallowed(store, spec)}
    if more:
        store.settings.set(_ALLOWED, sorted({*allowed_urls(store), *more}))


def forbid_unlisted(store: Store) -> None:
    """Revoke the permission of endpoints that no listed encoder and no judging session uses."""
    specs = store.encoders.names()
    judges = [row["spec"].get("second", "") for row in store.judgements.list()]
    listed = {
        address.url for spec in [*specs, *filter(None, judges)] for address in addresses(spec)
    }
    known = allowed_urls(store)
    if not listed.issuperset(known):
        store.settings.set(_ALLOWED, sorted(listed.intersection(known)))
