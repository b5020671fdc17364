"""The similarity of data sets to an encoder: means of samples, computed once and stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from theodolite.app.examples import shipped
from theodolite.app.finite import finite
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import queue
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine.encoders import Encoder, parse
from theodolite.engine.errors import UserError
from theodolite.engine.space import dataset_similarity as engine
from theodolite.engine.space.dataset_similarity import (
    SEED,
    SENTENCES,
    Collection,
    by_language,
    families,
    similarity,
)
from theodolite.store.derived import array
from theodolite.store.hashing import hash_of, to_json

KIND, FORMAT = "dataset-similarity", "1"
ALL = "all"
"""Every data set, but only one of a family in several languages."""
EXAMPLE = "starter-topics"
"""The default comparison until others are computed: its topics take no time."""
MIN_SENTENCES, MAX_SENTENCES = 10, 1000
"""Bounds of the number of sentences drawn from each data set."""
MIN_LANGUAGES = 3


@dataclass(frozen=True)
class SimilarityJob(Job):
    """A comparison of data sets; made with `of`.

    Attributes:
        encoder: canonical spec.
        compared: ALL, a family in several languages, or a data set with labels.
        sentences: maximum number of sentences drawn from each data set.
    """

    kind = "dataset-similarity"
    interactive = True

    encoder: str
    compared: str = ALL
    sentences: int = SENTENCES

    @classmethod
    def of(cls, encoder: str, compared: str = ALL, sentences: int = SENTENCES) -> SimilarityJob:
        """Validate the request and normalise it."""
        if not encoder:
            raise UserError("No encoder chosen.", "Choose one.", code="missing")
        if not MIN_SENTENCES <= sentences <= MAX_SENTENCES:
            raise UserError(
                f"{sentences} sentences cannot be drawn.",
                f"Choose from {MIN_SENTENCES} to {MAX_SENTENCES}.",
            )
        return cls(str(parse(encoder)), compared or ALL, int(sentences))

    @property
    def title(self) -> str:
        """`Similarity of data sets by minilm`."""
        of = "data sets" if self.compared == ALL else self.compared
        return f"Similarity of {of} by {self.encoder}"

    def validate(self, workspace: Workspace) -> None:
        """Refuse an unknown family or data set."""
        collections(workspace, self.compared)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether every mean is stored."""
        return not found(workspace, self).missing

    def units(self) -> list[str]:
        """A single unit; stored means are not computed again."""
        return [self.title]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Compute the missing means."""
        rows = collections(workspace, self.compared)
        for done, _ in enumerate(_made(workspace, self, rows)):
            reporter(done, len(rows), f"Encoding {rows[done].name} with {self.encoder}")


@dataclass(frozen=True, eq=False)
class Similarity:
    """A matrix of cosines between collections.

    Attributes:
        job: the comparison.
        rows: the compared collections.
        counts: number of sentences drawn from each.
        cosines: float64 (rows, rows).
        missing: names of collections whose mean is not computed yet.
        shipped: whether some of the means ship with Theodolite.
        problems: name -> why a collection cannot be compared.
    """

    job: SimilarityJob
    rows: tuple[Collection, ...]
    counts: tuple[int, ...]
    cosines: np.ndarray
    missing: tuple[str, ...]
    shipped: bool
    problems: dict[str, str]

    def pairs(self) -> list[dict[str, Any]]:
        """A flat dictionary per pair, the most similar first, as the command prints them."""
        found = [
            {
                "first": one.name,
                "second": other.name,
                "cosine": float(self.cosines[i, j]),
                "sentences": [self.counts[i], self.counts[j]],
            }
            for i, one in enumerate(self.rows)
            for j, other in enumerate(self.rows)
            if i < j
        ]
        return sorted(found, key=lambda pair: -float(str(pair["cosine"])))

    def order(self, by: str) -> list[int]:
        """Positions of the rows, ordered so that similar ones are adjacent."""
        from theodolite.engine.space.dataset_similarity import order

        groups = [row.group for row in self.rows] if by == "group" else []
        return order(self.cosines, groups if len(set(groups)) > 1 else []).tolist()


def offered(workspace: Workspace) -> list[str]:
    """Possible comparisons: all, families in several languages, the starter set's topics."""
    infos = workspace.catalog.list()
    kept = [
        name
        for name, members in families(infos).items()
        if len(by_language(members)) >= MIN_LANGUAGES
    ]
    return [ALL, *kept, EXAMPLE]


def opening(workspace: Workspace, encoder: str) -> str:
    """The initial comparison: ALL once it was computed, until then the quick example."""
    if any(
        row["info"]["encoder"] == encoder and row["info"]["compared"] == ALL
        for row in workspace.store.derived.list(KIND)
    ):
        return ALL
    return EXAMPLE


def collections(workspace: Workspace, compared: str) -> list[Collection]:
    """The collections of a comparison."""
    infos = workspace.catalog.list()
    if compared == ALL:
        return engine.everything(infos)
    members = engine.families(infos).get(compared)
    if members is not None:
        return engine.by_language(members)
    return engine.by_label(workspace.catalog.load(compared))


def found(workspace: Workspace, job: SimilarityJob) -> Similarity:
    """The stored part of a comparison."""
    rows, encoder = collections(workspace, job.compared), _encoder(workspace, job)
    kept = [_kept(workspace, _key(workspace, job, encoder, row)) for row in rows]
    return _similarity(job, rows, kept)


def measure(workspace: Workspace, job: SimilarityJob) -> Similarity:
    """Compute the missing means, and return the full comparison."""
    for _ in _made(workspace, job, collections(workspace, job.compared)):
        pass
    return found(workspace, job)


def quick(workspace: Workspace, job: SimilarityJob) -> bool:
    """Whether a comparison takes only a second or two, as that of the starter set."""
    return not workspace.demo and job.compared == EXAMPLE and job.sentences <= SENTENCES


def queue_similarity(workspace: Workspace, job: SimilarityJob) -> str:
    """Queue a comparison; return the run's id, empty if no mean is missing."""
    workspace.refuse_visitors()
    return queue(workspace, job) if found(workspace, job).missing else ""


def make_example(workspace: Workspace) -> None:
    """Compute the means of the topics for the shipped encoders, and write them as an example."""
    facts, arrays = {}, {}
    for job in (SimilarityJob.of(name, EXAMPLE) for name in STARTER_ENCODERS):
        encoder, rows = _encoder(workspace, job), collections(workspace, EXAMPLE)
        for _ in _made(workspace, job, rows):
            pass
        for key in (_key(workspace, job, encoder, row) for row in rows):
            kept = _kept(workspace, key)
            if kept is not None and kept.mean is not None:
                facts[key], arrays[key] = kept.sentences, kept.mean
    shipped.write("similarity", facts, arrays)


@dataclass(frozen=True, eq=False)
class _Kept:
    """The mean of a collection or why it has none, and whether it ships with Theodolite."""

    sentences: int = 0
    mean: np.ndarray | None = None
    problem: str = ""
    shipped: bool = False


def _kept(workspace: Workspace, key: str) -> _Kept | None:
    row = workspace.store.derived.get(key)
    if row is not None:
        mean = array(row, "mean") if row["files"] else None
        return _Kept(row["info"].get("sentences", 0), mean, row["info"].get("problem", ""))
    example = shipped.read("similarity")
    if example is None or key not in example.facts:
        return None
    return _Kept(example.facts[key], example.arrays[key], shipped=True)


def _similarity(
    job: SimilarityJob, rows: Sequence[Collection], kept: Sequence[_Kept | None]
) -> Similarity:
    found = list(zip(rows, kept, strict=True))
    there = [(row, one) for row, one in found if one and one.mean is not None]
    means = [one.mean for _, one in there if one.mean is not None]
    return Similarity(
        job,
        tuple(row for row, _ in there),
        tuple(one.sentences for _, one in there),
        similarity(np.stack(means)) if means else np.empty((0, 0)),
        tuple(row.name for row, one in found if one is None),
        any(one.shipped for _, one in there),
        {row.name: one.problem for row, one in found if one and one.mean is None},
    )


def _made(workspace: Workspace, job: SimilarityJob, rows: Sequence[Collection]) -> Iterator[None]:
    """Compute the missing means one after another, yielding before each collection."""
    from theodolite.engine.space.dataset_similarity import mean

    encoder, derived = _encoder(workspace, job), workspace.store.derived
    for row in rows:
        yield
        key = _key(workspace, job, encoder, row)
        if _kept(workspace, key) is not None:
            continue
        facts = {"encoder": job.encoder, "compared": job.compared, "collection": row.name}
        try:
            texts = row.sample(workspace.catalog.load(row.dataset), job.sentences)
            vectors = finite(encoder.encode(texts), texts)
        except UserError as error:
            derived.put(key, KIND, facts | {"problem": error.message})
        else:
            derived.put(key, KIND, facts | {"sentences": len(texts)}, {"mean": mean(vectors)})


def _encoder(workspace: Workspace, job: SimilarityJob) -> Encoder:
    encoder = workspace.load(job.encoder)
    if getattr(encoder, "needs_task", False):
        raise UserError(
            f"{job.encoder} is a different encoder on every task.",
            "Name the data its steps are fitted on, so that it is the same encoder for every "
            "data set.",
            code="unsupported",
        )
    return encoder


def _key(workspace: Workspace, job: SimilarityJob, encoder: Encoder, row: Collection) -> str:
    facts = [job.sentences, SEED, row.dataset, row.part, workspace.catalog.content(row.dataset)]
    return hash_of(KIND, FORMAT, encoder.fingerprint, to_json(facts))
