"""A complete search, including encoding and indexing: for the terminal, Python and agents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from theodolite.app.jobs.submit import perform
from theodolite.app.pages.search import job, searchable, service

if TYPE_CHECKING:
    from theodolite.app.components.hit import Hit
    from theodolite.app.jobs.submit import Move
    from theodolite.app.pages.search.service import SearchSpec
    from theodolite.app.workspace import Workspace
    from theodolite.engine.encoders.base import Encoder


def answer(
    workspace: Workspace, spec: SearchSpec, move: Move | None = None
) -> dict[str, list[list[Hit]]]:
    """Search, and return hits by encoder, one list per query; by mode for words and patterns."""
    limits = service.limits_of(workspace, spec)
    if not spec.is_near:
        found = [service.hits_of_text(workspace, spec, query, limits)[0] for query in spec.queries]
        return {spec.mode: found}
    return dict(_by_encoder(workspace, spec, limits, move))


def among(encoder: Encoder, sentences: Sequence[str], spec: SearchSpec) -> list[list[Hit]]:
    """Search distinct sentences that are not a data set; nothing is stored."""
    from theodolite.engine.encoders import PromptTask, bind_task

    distinct = list(dict.fromkeys(sentences))
    bound = bind_task(encoder, distinct, "", PromptTask("", "Retrieval"))
    exact = searchable.Exact(bound, distinct)
    exact.complete()
    opened = searchable.Searchable(exact, distinct, bound)
    return service.hits_in(opened, spec, service.Limits(spec.k, spec.least))


def _by_encoder(
    workspace: Workspace, spec: SearchSpec, limits: service.Limits, move: Move | None
) -> Iterator[tuple[str, list[list[Hit]]]]:
    for name in spec.encoders:
        needed = job.needed(workspace, name, spec.collection)
        if needed is not None and not needed.is_stored(workspace):
            for _ in perform(workspace, needed, move=move):
                pass
        opened = searchable.open_collection(workspace, name, spec.collection)
        yield name, service.hits_in(opened, spec, limits)
