"""Quality of smaller vectors: a task scored again on stored vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from theodolite.app.vectors import sources, uncached
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.encoders.steps import Compressed, smaller
from theodolite.engine.encoders.variants import ladder
from theodolite.engine.errors import UserError
from theodolite.engine.evaluate import bind, needed, vectors_for
from theodolite.engine.progress import nobody
from theodolite.engine.tasks import Measurement, available, clusters, get, type_of

MAX_SENTENCES = 40_000
"""Maximum for a task that is scored while the page waits."""


@dataclass(frozen=True)
class Scored:
    """The main score of a task on compressed vectors."""

    how: Compressed
    score: float


def tasks(workspace: Workspace, encoder: str) -> list[str]:
    """Tasks without long training, those on which the encoder was evaluated first."""
    quick = [
        task.name
        for task in available(workspace.catalog)
        if not type_of(task, protocols.get(task.protocol)).trains
    ]
    rows = workspace.store.results.table(encoders=[encoder]) if encoder else []
    done = {row["task"] for row in rows if row["error"] is None}
    return sorted(quick, key=lambda name: name not in done) if done or not encoder else []


def curves(workspace: Workspace, encoder: str, task: str) -> tuple[Scored, ...]:
    """Score a task on fewer dimensions and fewer bits; nothing is encoded."""
    bound = workspace.bound(encoder, get(task, workspace.catalog).dataset)
    return _curves(workspace, encoder, task, bound.fingerprint)


@lru_cache(maxsize=64)
def _curves(workspace: Workspace, encoder: str, task: str, _fingerprint: str) -> tuple[Scored, ...]:
    found = []
    for how, done in _smaller_scored(workspace, encoder, task):
        found.append(Scored(how, next(score.score for score in done.scores if score.main)))
    return tuple(found)


def _smaller_scored(
    workspace: Workspace, encoder: str, task: str
) -> Iterator[tuple[Compressed, Measurement]]:
    """Score a task on ever smaller vectors; nothing is encoded."""
    task_info = get(task, workspace.catalog)
    protocol = protocols.get(task_info.protocol)
    kind = type_of(task_info, protocol)
    data = workspace.catalog.load(task_info.dataset)
    if kind.trains or len(data.sentences) > MAX_SENTENCES:
        raise UserError(
            f"{task} takes too long to be scored repeatedly.", "Choose another.", code="too-large"
        )
    bound = bind(workspace.load(encoder), task_info, protocol, data)
    texts = needed(kind, data, protocol.name, protocol.seed)
    if any(uncached(source, texts) for source in sources(bound)):
        raise UserError(
            f"{encoder} has not encoded {task} yet, and the curves use stored vectors.",
            f"Evaluate it: `theodolite evaluate '{encoder}' --tasks {task}`.",
            code="no-result",
        )
    vectors = vectors_for(kind, data, bound, texts, lambda *_: None)
    for how, made in smaller(vectors, ladder(vectors.shape[1])):
        try:
            done = kind.measure(task_info, data, made, protocol.name, protocol.seed, nobody)
        except UserError:  # such as all cosines alike
            continue
        yield how, clusters.attach(done, kind, data, protocol.name, protocol.seed)
