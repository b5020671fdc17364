"""Runs tasks on an encoder under a protocol and yields results.

Knows neither where results are kept nor who waits for them.
"""

from __future__ import annotations

import logging
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from theodolite.engine import protocols
from theodolite.engine.datasets import Catalog, Dataset
from theodolite.engine.datasets.types import HOLDS, MtebTask
from theodolite.engine.encoders import (
    Encoder,
    PromptTask,
    bind_task,
    prompts_of,
    query_side,
    similarity_of,
    with_checks,
)
from theodolite.engine.encoders.base import rows_of
from theodolite.engine.encoders.finite import finite
from theodolite.engine.errors import UserError, first_line
from theodolite.engine.progress import Progress
from theodolite.engine.protocols import Protocol
from theodolite.engine.rankers.base import Ranker
from theodolite.engine.results import Result

if TYPE_CHECKING:
    from theodolite.engine.tasks import Measurement, Task, TaskType

_MAX_BYTES = 2**29
"""Most bytes of vectors kept in memory; more go to a file."""
_PIECE = 65_536
"""Sentences encoded at a time where the vectors go to a file."""

_ON_DISK = "/var/tmp"  # noqa: S108 - for files without a name

log = logging.getLogger(__name__)

E = TypeVar("E")


def evaluate(
    encoder: Encoder | Ranker,
    tasks: str | Sequence[str] | None = None,
    *,
    protocol: str | None = None,
    seed: int | None = None,
    data: Catalog | Path | str | None = None,
    progress: Progress | None = None,
) -> Iterator[Result]:
    """Measure an encoder, one result a task, in the order given.

    Names are checked before anything is computed. After that an error in a task is a `Result` with
    `error` and `hint`, and the other tasks still run.

        for result in evaluate(load("wordllama"), "starter"):
            print(result.task, result.error or result.main.score)

    Args:
        encoder: from `engine.load`, or anything with the attributes of `Encoder`; or a ranker, from
            `engine.rankers.load`, on retrieval and reranking.
        tasks: names or suites (`starter`, `sts`, `transfer`, `probing`, …), as a list or
            comma-separated; None as for `engine.tasks.expand`.
        protocol: for all tasks; None is each task's default.
        seed: None is the protocol's.
        data: a `Catalog`, or the data folder; None takes THEODOLITE_DATA. The starter set is always
            available.
        progress: called with (done, total) of each task, counted in sentences, twice where a
            classifier is trained on them. An exception it raises stops the evaluation and
            propagates.
    """
    from theodolite.engine import tasks as registry

    protocols.check_seed(seed)
    catalog = Catalog.of(data)
    names = registry.expand(tasks, catalog, protocol)
    rules = None if protocol is None else protocols.get(protocol)
    encoder = with_checks(encoder)
    return (
        _one(encoder, registry.get(name, catalog), rules, seed, catalog, progress) for name in names
    )


def _one(
    encoder: Encoder | Ranker,
    task: Task,
    rules: Protocol | None,
    seed: int | None,
    catalog: Catalog,
    progress: Progress | None,
) -> Result:
    """Run one task. Only exceptions raised by `progress` propagate."""
    from theodolite.engine.tasks import clusters, type_of

    protocol = rules or protocols.get(task.protocol)
    watched = _ProgressWatch(progress)
    result = Result(
        encoder=encoder.name,
        fingerprint="",
        dim=0,
        task=task.name,
        protocol=protocol.name,
        seed=protocol.seed if seed is None else seed,
        data_hash="",
    )
    start = time.perf_counter()
    try:
        # Pairs of functions encode some sentences to tell, which may fail.
        result = replace(result, fingerprint=encoder.fingerprint, dim=encoder.dim)
        kind = type_of(task, protocol)
        dataset = _load(task, catalog)
        result = replace(result, data_hash=dataset.hash)
        bound = bind(encoder, task, protocol, dataset)
        result = replace(result, fingerprint=bound.fingerprint, dim=bound.dim)
        if isinstance(bound, Ranker):
            measured = _by_ranking(kind, task, dataset, bound, protocol.name, watched)
        else:
            measure = _by_mteb if protocols.is_package(protocol.name) else _by_us
            measured = measure(kind, task, dataset, bound, protocol.name, result.seed, watched)
        measured = clusters.attach(measured, kind, dataset, protocol.name, result.seed)
        watched.trained(1.0)
    except Exception as error:
        if watched.stop is not None:
            raise watched.stop from None
        return _failure(result, error, time.perf_counter() - start - watched.seconds)
    choice = "default of the task" if rules is None else "asked for"
    return replace(
        result,
        scores=measured.scores,
        examples=measured.examples,
        details={
            **measured.details,
            **_prompts(bound, dataset),
            "protocol_choice": choice,
            "protocol_hash": protocol.hash,
        },
        seconds=time.perf_counter() - start - watched.seconds,
    )


def _by_us(
    kind: TaskType,
    task: Task,
    dataset: Dataset,
    encoder: Encoder,
    protocol: str,
    seed: int,
    watched: _ProgressWatch,
) -> Measurement:
    """Encode the sentences needed, and score them with our own code."""
    sentences = needed_sentences(kind, dataset, protocol, seed)
    watched.expect(len(sentences), kind.trains)
    vectors = vectors_for(kind, dataset, encoder, sentences, watched.encoded)
    by = similarity_of(encoder) if kind.queries else "cosine"
    own = {} if by == "cosine" else {"similarity": by}
    measured = kind.measure(task, dataset, vectors, protocol, seed, watched.trained, **own)
    notes = [*_notes(sentences, vectors), *measured.details.get("notes", ())]
    return replace(measured, details={**measured.details, **own, "notes": notes})


def _by_ranking(
    kind: TaskType,
    task: Task,
    dataset: Dataset,
    ranker: Ranker,
    protocol: str,
    watched: _ProgressWatch,
) -> Measurement:
    """Have a ranker order the documents, and score that with our own code."""
    if kind.ranked is None or protocols.is_package(protocol):
        why = f"{task.name} is a task of type {kind.name}, which needs vectors"
        raise UserError(
            f"{ranker.name} orders documents for a query, and "
            + (f"{why}." if kind.ranked is None else f"{protocol} takes encoders."),
            "Evaluate it on retrieval or reranking, under mteb-v2.",
            code="wrong-kind",
        )
    watched.expect(len(dataset.sentences), training=True)
    return kind.ranked(dataset, ranker, watched.encoded, watched.trained)


def _by_mteb(
    kind: TaskType,
    task: Task,
    dataset: Dataset,
    encoder: Encoder,
    protocol: str,
    seed: int,
    watched: _ProgressWatch,
) -> Measurement:
    """Have mteb's code encode and score."""
    from theodolite.engine.mteb import run

    if getattr(dataset, "places", None):
        raise UserError(
            f"{task.name} is cut into chunks, which mteb would take for documents.",
            "Leave the protocol out: mteb-v2 scores it here.",
            code="mismatch",
        )
    if isinstance(dataset, MtebTask):
        total = dataset.texts
    else:
        total = len(needed_sentences(kind, dataset, protocol, seed))
    watched.expect(max(total, 1), False)

    def hear(done: int) -> None:
        watched.encoded(min(done, total), total)

    return run.measure(task, dataset, encoder, protocol, seed, hear)


class _ProgressWatch:
    """Forwards progress, never backwards, and keeps what the callback raised to stop the task.

    Where a classifier is trained, encoding is the first half. `seconds` is the time that the
    callback took, which is no part of the task: it may pause.
    """

    def __init__(self, progress: Progress | None) -> None:
        self._progress = progress
        self._sentences = self._total = self._done = 0
        self.stop: BaseException | None = None
        self.seconds = 0.0

    def expect(self, sentences: int, training: bool) -> None:
        """Set the amount of work."""
        self._sentences, self._total = sentences, sentences * (1 + training)

    def encoded(self, done: int, total: int) -> None:
        """Report sentences encoded."""
        self._tell(round(self._sentences * done / max(total, 1)))

    def trained(self, done: float = 0.0, /) -> None:
        """Report the share of the training done, see `engine.progress.ProgressCallback`."""
        self._tell(self._sentences + int(done * (self._total - self._sentences)))

    def _tell(self, done: int) -> None:
        if self._progress is None:
            return
        self._done = max(done, self._done)
        began = time.perf_counter()
        try:
            self._progress(self._done, self._total)
        except BaseException as error:
            self.stop = error
            raise
        finally:
            self.seconds += time.perf_counter() - began


def _load(task: Task, catalog: Catalog) -> Dataset:
    dataset = catalog.load(task.dataset)
    if dataset.kind != task.kind:
        raise UserError(
            f"{task.name} needs a data set of {HOLDS[task.kind]}; {task.dataset} holds "
            f"{HOLDS[dataset.kind]}.",
            f"Name {task.dataset}/classify, /search or /probe for labelled sentences."
            if dataset.kind == "labels"
            else "Choose another data set, or map its columns anew.",
            code="wrong-kind",
        )
    return dataset


def bind(encoder: E, task: Task, protocol: Protocol, dataset: Dataset) -> E:
    """Return the encoder or ranker bound to a task, whose sentences and prompts replace `@task`."""
    from theodolite.engine.rankers.late import late
    from theodolite.engine.tasks import prompt_task, type_of

    known_as = prompt_task(task, type_of(task, protocol))
    if isinstance(dataset, MtebTask):
        known_as = PromptTask(dataset.task, dataset.type)
    return late(bind_task(encoder, dataset.sentences, dataset.hash, known_as), dataset)


def _prompts(encoder: Encoder | Ranker, dataset: Dataset) -> dict[str, dict[str, str]]:
    """The prompts that were put before the sentences, if any: scores depend on them."""
    prompts = prompts_of(encoder)
    if dataset.kind != "retrieval":
        prompts.pop("query_prompt", None)
    return {"prompts": prompts} if prompts else {}


def needed_sentences(kind: TaskType, dataset: Dataset, protocol: str, seed: int) -> list[str]:
    """Return the sentences to encode, in the order of their vectors."""
    sentences = dataset.sentences
    if kind.rows is None:
        return sentences
    return [sentences[i] for i in kind.rows(dataset, protocol, seed).tolist()]


def vectors_for(
    kind: TaskType,
    dataset: Dataset,
    encoder: Encoder,
    sentences: list[str],
    progress: Progress,
) -> np.ndarray:
    """Encode the sentences from `needed_sentences` for `kind.measure`, the first as its queries.

    In one call where possible, so that the encoder can sort, batch and cache them. Vectors too
    large for memory are written to a temporary file without a name.
    """
    n, dim = len(sentences), encoder.dim
    pieces = list(_pieces(encoder, n, kind.queries(dataset) if kind.queries else 0))
    vectors = np.empty((n, dim), np.float32) if 4 * n * dim <= _MAX_BYTES else _map_memory((n, dim))
    for side, start, stop in pieces:
        of_all = _part_of(progress, start, n)
        some = rows_of(side.encode(sentences[start:stop], of_all), stop - start, dim)
        if len(pieces) == 1:
            vectors = some
        else:
            vectors[start:stop] = some
    _check_values(vectors, sentences)
    return vectors


def _pieces(encoder: Encoder, n: int, queries: int) -> Iterator[tuple[Encoder, int, int]]:
    """Yield (encoder, start, stop) for each call, the side of the queries first."""
    sides = [(query_side(encoder), 0, queries), (encoder, queries, n)]
    if sides[0][0] is encoder:
        sides = [(encoder, 0, n)]
    most = n if 4 * n * encoder.dim <= _MAX_BYTES else _PIECE
    for side, first, last in sides:
        for start in range(first, last, max(most, 1)):
            yield side, start, min(start + most, last)


def _map_memory(shape: tuple[int, int]) -> np.ndarray:
    # The default would be /tmp, which many systems keep in memory.
    on_disk = "TMPDIR" not in os.environ and os.access(_ON_DISK, os.W_OK)
    # The file exists for as long as it is mapped.
    with tempfile.TemporaryFile(dir=_ON_DISK if on_disk else None) as file:
        return np.memmap(file, np.float32, "w+", shape=shape)


def _part_of(progress: Progress, start: int, total: int) -> Progress:
    """Return a callback that reports the progress of one call as part of the total."""
    return lambda done, _: progress(start + done, total)


def _check_values(vectors: np.ndarray, sentences: list[str]) -> None:
    hint = "No score is computed from such vectors. Try dtype float32, and check the weights."
    finite(vectors, sentences, hint=hint)
    if len(vectors) and not vectors.any():
        raise UserError(
            f"The encoder gave a zero vector for every one of {len(vectors):,} sentences.",
            "Nothing can be told from zeros. Does the encoder know any word of this language?",
            code="failed",
        )


def _notes(sentences: list[str], vectors: np.ndarray) -> list[str]:
    """Note how many sentences have a zero vector."""
    zero = np.flatnonzero(~vectors.any(axis=1))
    if not len(zero):
        return []
    return [
        f"{len(zero):,} of {len(sentences):,} sentences have a zero vector, the first being "
        f"{sentences[zero[0]][:80]!r}."
    ]


def _failure(result: Result, error: Exception, seconds: float) -> Result:
    """Turn an exception into a result that says what went wrong; the log keeps the traceback."""
    hint = getattr(error, "hint", None)
    if hint is not None:  # meant for people: a UserError, or an error of a durable cache
        message = getattr(error, "message", str(error))
        return replace(result, error=message, hint=hint, seconds=seconds)
    log.exception("%s on %s failed", result.task, result.encoder, exc_info=error)
    message, hint = f"{type(error).__name__}: {first_line(error)}", "The log has the details."
    if isinstance(error, MemoryError):
        message = "Memory ran out."
        hint = "Close other programs, or choose a smaller encoder or data set."
    return replace(result, error=message, hint=hint, seconds=seconds)
