"""What encoding would send to endpoints, before it is sent."""

from collections.abc import Iterator, Sequence

from theodolite.app.endpoints import addresses
from theodolite.app.vectors import sources, uncached
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.endpoint import EndpointSource, Sending
from theodolite.engine.errors import UserError
from theodolite.engine.rankers import Ranker


def sendings(encoder: Encoder | Ranker, sentences: Sequence[str]) -> list[Sending]:
    """The sentences that encoding would send to endpoints: those in no cache."""
    every = []
    for model in sources(encoder):
        if isinstance(model.source, EndpointSource):
            new = uncached(model, sentences)
            every += [Sending.of(model.source, new)] if new else []
    return every


def in_words(sendings: Sequence[Sending], price: float | None = None) -> list[str]:
    """A sentence on each sending, with its cost at a price per million tokens."""
    return [
        f"{sending}"
        + ("" if price is None else f": about {price * sending.tokens / 1e6:,.4f} at that price")
        for sending in sendings
    ]


def announcements(
    workspace: Workspace, encoders: Sequence[str], dataset: str
) -> Iterator[tuple[str, str]]:
    """Each encoder behind an endpoint, with a sentence on what encoding a collection sends."""
    for name in encoders:
        if not addresses(name):
            continue
        texts, _ = workspace.catalog.sentences(dataset)
        try:
            every = sendings(workspace.ranker(name), texts)
        except UserError as error:
            yield name, f"{name}: {error.message} {error.hint}"
        else:
            yield from ((name, f"Sends up to {line}.") for line in in_words(every))
