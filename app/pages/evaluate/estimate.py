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
from theodolite.app.question import Answer, Working
from theodolite.app.sending import in_words, sendings
from theodolite.app.vectors import sources, uncached
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.cost.classifiers import training_seconds
from theodolite.engine.cost.speed import Speed, encoding_speed
from theodolite.engine.encoders.endpoint import EndpointSource, Sending
from theodolite.engine.errors import UserError
from theodolite.engine.tasks import get, seeds_of, type_of
from theodolite.engine.tasks.cost import Work, disk_bytes, memory_bytes

PROBE_SECONDS = 2.0
_SAMPLE = 4096


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
        return [{**asdict(e), "seconds": e.seconds, "estimate": True} for e in self.estimates]

    def table_rows(self) -> list[dict[str, Any]]:
        """Rounded to their precision."""
        return [
            {
                "encoder": one.encoder,
                "results": one.results,
                "new_sentences": one.new,
                "encoding": roughly(one.encoding),
                "training": roughly(one.training),
                "in_all": roughly(one.seconds),
                "memory": rough_size(one.memory),
                "disk": rough_size(one.disk),
                "error": one.error,
            }
            for one in self.estimates
        ]

    def table_columns(self) -> list[str]:
        """All; that of errors only if there are any."""
        errors = any(one.error for one in self.estimates)
        return [name for name in self.columns if errors or name != "error"]

    def blocks(self) -> list[Block]:
        """The table, and what to know of it."""
        columns = self.table_columns()
        rows = [[row[name] for name in columns] for row in self.table_rows()]
        return [Table("estimate", columns, rows), Text("", " ".join(self.notes()))]

    def notes(self) -> list[str]:
        """Their sum, what is sent to endpoints, and how far to trust them."""
        seconds, disk = (
            sum(getattr(e, name) for e in self.estimates) for name in ("seconds", "disk")
        )
        return [
            *(
                f"{one.encoder} would send {text}."
                for one in self.estimates
                for text in in_words(one.sending, self.price)
            ),
            f"All, one after the other: {roughly(seconds)}, {rough_size(disk)} on disk.",
            "Estimated from short runs on this machine, as busy as it is now: mostly within a "
            "factor of two. Memory comes on top of the program and the model. What is in the store "
            "already costs nothing.",
        ]


def estimate(
    workspace: Workspace, job: EvaluateJob, price: float | None = None
) -> Iterator[Answer]:
    """Yield what is being looked at, then the estimates, from short timed runs.

    Stored results cost nothing. Sentences encoded by the timed runs stay in the cache.
    """
    workspace.refuse_visitors()
    works: dict[str, Work] = {}
    for i, task in enumerate(job.tasks):
        yield Working(f"Inspecting {task}", 0.3 * i / len(job.tasks))
        try:
            known_task = get(task, workspace.catalog)
            protocol = protocols.get(job.protocol or known_task.protocol)
            data = workspace.catalog.load(known_task.dataset)
            seed = protocol.seed if job.seed is None else job.seed
            works[task] = type_of(known_task, protocol).work(data, protocol.name, seed)
        except UserError:  # it will fail, which costs nothing
            continue
    estimates = []
    for i, name in enumerate(job.encoders):
        yield Working(f"Estimating {name}", 0.3 + 0.7 * i / len(job.encoders))
        try:
            estimates.append(_estimate(workspace, job, name, works))
        except UserError as error:
            estimates.append(Estimate(name, error=error.message))
    yield Estimates(estimates, price)


def _estimate(
    workspace: Workspace, job: EvaluateJob, name: str, works: Mapping[str, Work]
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
    most, encoding, disk = 0, 0.0, 0
    for source in sources(encoder):
        new = uncached(source, sentences)
        most, disk = max(most, len(new)), disk + disk_bytes(len(new), source.dim)
        if new and not isinstance(source.source, EndpointSource):
            sample = random.Random(1111).sample(new, min(len(new), _SAMPLE))
            encoding += encoding_speed(source, sample, PROBE_SECONDS / 2).seconds(len(new))
    probed: dict[object, Speed] = {}  # tasks with the same kind of classifier share a timed run
    return Estimate(
        name,
        sum(lacking.values()),
        most,
        encoding,
        sum(training_seconds(w, encoder.dim, probed) * lacking[task] for task, w in wanted.items()),
        max((memory_bytes(work, encoder.dim) for work in wanted.values()), default=0),
        disk,
        tuple(sendings(encoder, sentences)),
    )


def roughly(seconds: float) -> str:
    """Estimated seconds, rounded: `under 1 s`, `about 20 s`, `about 3 min`, `about 2 h`.

    To one figure, or to two if the first is 1: 1.4 -> 1, 14 -> 14, 27 -> 30.
    """
    if seconds < 1:
        return "under 1 s" if seconds > 0 else formats.MISSING
    units = ((3600.0, "h"), (60.0, "min"), (1.0, "s"))
    size, unit = next((one for one in units if seconds >= 1.5 * one[0]), units[-1])
    value = seconds / size
    figures = 2 if f"{value:.2g}".startswith("1") and value >= 10 else 1
    return f"about {float(f'{value:.{figures}g}'):,.0f} {unit}"


def rough_size(size: int) -> str:
    """Bytes to two figures."""
    return formats.size(int(float(f"{size:.2g}"))) if size else formats.MISSING
