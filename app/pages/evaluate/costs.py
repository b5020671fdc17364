"""The estimated cost of an evaluation, by encoder: seconds, memory and disk."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Table, Text
from theodolite.app.pages.evaluate.job import EvaluateJob
from theodolite.app.pages.evaluate.results import known
from theodolite.app.question import Answer
from theodolite.app.sending import in_words, sendings
from theodolite.app.vectors import sources, uncached
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.cost.classifiers import training_seconds
from theodolite.engine.cost.speed import Speed, encoding_speed
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.encoders.endpoint import EndpointSource, Sending
from theodolite.engine.errors import UserError
from theodolite.engine.tasks import get, seeds_of, type_of
from theodolite.engine.tasks.cost import Work, disk_bytes, memory_bytes

PROBE_SECONDS = 2.0
_SAMPLE = 4096
Step = tuple[float, str, "Estimate | None"]
"""Share done, name of the next item, and the finished estimate, if any."""


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of one encoder. All but `results`, `new` and `disk` is a rough guess.

    Attributes:
        encoder: spec.
        results: number of results still to compute.
        new: number of distinct sentences still to encode.
        encoding: seconds.
        training: seconds of training classifiers and comparing vectors.
        memory: peak bytes, beside program and model.
        disk: bytes by which the store will grow.
        sending: requests to endpoints, whose time depends on the network and is not in `encoding`.
        error: why there is no estimate, or None.
    """

    encoder: str
    results: int = 0
    new: int = 0
    encoding: float = 0.0
    training: float = 0.0
    memory: int = 0
    disk: int = 0
    sending: tuple[Sending, ...] = ()
    error: str | None = None

    @property
    def seconds(self) -> float:
        """Seconds in all."""
        return self.encoding + self.training

    def row(self) -> dict[str, Any]:
        """A JSON-serialisable dictionary."""
        return {**asdict(self), "seconds": self.seconds, "estimate": True}


@dataclass(frozen=True, eq=False, repr=False)
class Estimates(Answer):
    """What an evaluation would cost.

    Attributes:
        estimates: one for each encoder.
        price: of a million tokens at an endpoint; None if it is not known.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "encoder": str,
        "results": int,
        "new_sentences": int,
        "encoding": str,
        "training": str,
        "in_all": str,
        "memory": str,
        "disk": str,
        "error": str | None,
    }

    estimates: Sequence[Estimate]
    price: float | None = None

    def rows(self) -> list[dict[str, Any]]:
        """A row per encoder."""
        return [estimate.row() for estimate in self.estimates]

    def table_rows(self) -> list[dict[str, Any]]:
        """Rounded to their precision."""
        return [_in_words(estimate) for estimate in self.estimates]

    def table_columns(self) -> list[str]:
        """All that are not empty."""
        rows = self.table_rows()
        return [name for name in self.columns if any(row[name] is not None for row in rows)]

    def blocks(self) -> list[Block]:
        """The table, and what to know of it."""
        if not self.estimates:
            return []
        columns = self.table_columns()
        rows = [[row[name] for name in columns] for row in self.table_rows()]
        return [Table("estimate", columns, rows), Text("", " ".join(self.notes()))]

    def notes(self) -> list[str]:
        """Their sum, what is sent to endpoints, and how far to trust them."""
        notes = [
            f"{estimate.encoder} would send {text}."
            for estimate in self.estimates
            for text in in_words(estimate.sending, self.price)
        ]
        if len(self.estimates) > 1:
            seconds = sum(estimate.seconds for estimate in self.estimates)
            disk = sum(estimate.disk for estimate in self.estimates)
            notes.append(
                f"All, one after the other: {roughly(seconds)}, {rough_size(disk)} on disk."
            )
        return [
            *notes,
            "Estimated from short runs on this machine, as busy as it is now: mostly within a "
            "factor of two. Memory comes on top of the program and the model. What is in the store "
            "already costs nothing.",
        ]


def estimates(workspace: Workspace, job: EvaluateJob) -> Iterator[Step]:
    """Yield an estimate per encoder, from short timed runs, with progress steps between.

    Stored results cost nothing. Sentences encoded by the timed runs stay in the cache.
    """
    workspace.refuse_visitors()
    works: dict[str, Work] = {}
    for i, task in enumerate(job.tasks):
        yield 0.3 * i / len(job.tasks), task, None
        work = _work(workspace, job, task)
        if work is not None:
            works[task] = work
    for i, name in enumerate(job.encoders):
        yield 0.3 + 0.7 * i / len(job.encoders), name, None
        try:
            made = _estimate(workspace, job, name, works)
        except UserError as error:
            made = Estimate(name, error=error.message)
        yield 0.3 + 0.7 * (i + 1) / len(job.encoders), "", made


def _work(workspace: Workspace, job: EvaluateJob, task: str) -> Work | None:
    """The work of a task; None for one that will fail, which costs nothing."""
    try:
        found = get(task, workspace.catalog)
        chosen = protocols.get(job.protocol or found.protocol)
        data = workspace.catalog.load(found.dataset)
        number = chosen.seed if job.seed is None else job.seed
        return type_of(found, chosen).work(data, chosen.name, number)
    except UserError:
        return None


def _estimate(
    workspace: Workspace, job: EvaluateJob, name: str, works: dict[str, Work]
) -> Estimate:
    encoder = workspace.load(name)
    lacking = {
        task: sum(
            known(workspace, encoder, task, job.protocol, seed) is None
            for seed in seeds_of(task, job.protocol, job.seed, job.seeds)
        )
        for task in works
    }
    wanted = {task: work for task, work in works.items() if lacking[task]}
    sentences = list(dict.fromkeys(s for work in wanted.values() for s in work.sentences))
    new, encoding, disk = _encoding(encoder, sentences)
    sending = sendings(encoder, sentences)
    return Estimate(
        name,
        results=sum(lacking.values()),
        new=new,
        encoding=encoding,
        training=_training(wanted, lacking, encoder.dim),
        memory=max((memory_bytes(work, encoder.dim) for work in wanted.values()), default=0),
        disk=disk,
        sending=tuple(sending),
    )


def _encoding(encoder: Encoder, sentences: list[str]) -> tuple[int, float, int]:
    """Number of sentences to encode, seconds, and bytes in the cache."""
    most, seconds, disk = 0, 0.0, 0
    for source in sources(encoder):
        new = uncached(source, sentences)
        most, disk = max(most, len(new)), disk + disk_bytes(len(new), source.dim)
        if new and not isinstance(source.source, EndpointSource):
            sample = random.Random(1111).sample(new, min(len(new), _SAMPLE))
            seconds += encoding_speed(source, sample, PROBE_SECONDS / 2).seconds(len(new))
    return most, seconds, disk


def _training(works: dict[str, Work], times: dict[str, int], dim: int) -> float:
    """Seconds for all tasks; tasks with the same kind of classifier share a timed run."""
    probed: dict[object, Speed] = {}
    return sum(training_seconds(work, dim, probed) * times[task] for task, work in works.items())


def _in_words(estimate: Estimate) -> dict[str, Any]:
    """One estimate for display, rounded to its precision."""
    return {
        "encoder": estimate.encoder,
        "results": estimate.results,
        "new_sentences": estimate.new,
        "encoding": roughly(estimate.encoding),
        "training": roughly(estimate.training),
        "in_all": roughly(estimate.seconds),
        "memory": rough_size(estimate.memory),
        "disk": rough_size(estimate.disk),
        "error": estimate.error,
    }


def roughly(seconds: float) -> str:
    """Estimated seconds, rounded: `under 1 s`, `about 20 s`, `about 3 min`, `about 2 h`."""
    if seconds <= 0:
        return formats.MISSING
    if seconds < 1:
        return "under 1 s"
    units = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))
    size, unit = next((one for one in units if seconds >= 1.5 * one[0]), units[-1])
    return f"about {_one_figure(seconds / size)} {unit}"


def _one_figure(value: float) -> str:
    """Round to one figure, or to two if the first is 1: 1.4 -> 1, 14 -> 14, 27 -> 30."""
    figures = 2 if f"{value:.2g}".startswith("1") and value >= 10 else 1
    return f"{float(f'{value:.{figures}g}'):,.0f}"


def rough_size(size: int) -> str:
    """Bytes to two figures."""
    return formats.size(int(float(f"{size:.2g}"))) if size else formats.MISSING
