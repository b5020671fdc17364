"""What an evaluation would cost: its time by earlier ones here, disk, texts sent to endpoints."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import median
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
from theodolite.engine.encoders.endpoint import Sending
from theodolite.engine.errors import UserError
from theodolite.engine.evaluate import needed_sentences
from theodolite.engine.tasks import get, seeds_of, type_of

_KEY_BYTES = 24
"""Of a cached vector on disk: the sentence's key and a checksum."""


@dataclass(frozen=True)
class Estimate:
    """The estimated cost of one encoder.

    Attributes:
        encoder: spec.
        results: number of results still to compute.
        new: number of distinct sentences still to encode.
        seconds: of the results whose tasks were evaluated here before; None if none was.
        unknown: number of the other results.
        disk: bytes by which the store will grow.
        sending: requests to endpoints.
        error: why there is no estimate, or None.
    """

    encoder: str
    results: int = 0
    new: int = 0
    seconds: float | None = None
    unknown: int = 0
    disk: int = 0
    sending: tuple[Sending, ...] = ()
    error: str | None = None


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
        "time": str,
        "disk": str,
        "error": str | None,
    }

    estimates: Sequence[Estimate]
    price: float | None = None

    def rows(self) -> list[dict[str, Any]]:
        """A row per encoder."""
        return [{**asdict(estimate), "estimate": True} for estimate in self.estimates]

    def table_rows(self) -> list[dict[str, Any]]:
        """Rounded to their precision."""
        return [
            {
                "encoder": estimate.encoder,
                "results": estimate.results,
                "new_sentences": estimate.new,
                "time": _time(estimate.seconds, estimate.unknown),
                "disk": formats.size(estimate.disk) if estimate.disk else formats.MISSING,
                "error": estimate.error,
            }
            for estimate in self.estimates
        ]

    def blocks(self) -> list[Block]:
        """The table, and what to know of it."""
        columns = self.table_columns()
        rows = [[row.get(name) for name in columns] for row in self.table_rows()]
        return [Table("estimate", columns, rows), Text("", " ".join(self.notes()))]

    def table_columns(self) -> list[str]:
        """All; that of errors only if there are any."""
        errors = any(estimate.error for estimate in self.estimates)
        return [name for name in self.columns if errors or name != "error"]

    def notes(self) -> list[str]:
        """What is sent to endpoints, and where the times come from."""
        sent = [
            f"{estimate.encoder} would send {text}."
            for estimate in self.estimates
            for text in in_words(estimate.sending, self.price)
        ]
        return [
            *sent,
            "Times are those of earlier evaluations here, the encoder's own if there are any. "
            "What was never evaluated here is unknown until it runs; stored results cost nothing.",
        ]


def estimate(
    workspace: Workspace, job: EvaluateJob, price: float | None = None
) -> Iterator[Answer]:
    """Yield the task that is being read, then the estimates."""
    workspace.refuse_visitors()
    sentences: dict[str, list[str]] = {}
    for i, task in enumerate(job.tasks):
        yield Working(f"Inspecting {task}", 0.5 * i / len(job.tasks))
        try:
            sentences[task] = _sentences(workspace, job, task)
        except UserError:  # it will fail, which costs nothing
            continue
    estimates = []
    for i, name in enumerate(job.encoders):
        yield Working(f"Estimating {name}", 0.5 + 0.5 * i / len(job.encoders))
        try:
            estimates.append(_estimate(workspace, job, name, sentences))
        except UserError as error:
            estimates.append(Estimate(name, error=error.message))
    yield Estimates(estimates, price)


def _sentences(workspace: Workspace, job: EvaluateJob, task: str) -> list[str]:
    """What a task has encoded."""
    known_task = get(task, workspace.catalog)
    protocol = protocols.get(job.protocol or known_task.protocol)
    data = workspace.catalog.load(known_task.dataset)
    seed = protocol.seed if job.seed is None else job.seed
    return needed_sentences(type_of(known_task, protocol), data, protocol.name, seed)


def _estimate(
    workspace: Workspace, job: EvaluateJob, name: str, sentences: Mapping[str, list[str]]
) -> Estimate:
    encoder = workspace.ranker(name)
    missing = {
        task: sum(
            known(workspace, encoder, task, job.protocol, seed) is None
            for seed in seeds_of(task, job.protocol, job.seed, job.seeds)
        )
        for task in sentences
    }
    names = [task for task, count in missing.items() if count]
    distinct = list(dict.fromkeys(text for task in names for text in sentences[task]))
    new = [(len(uncached(source, distinct)), source.dim) for source in sources(encoder)]
    earlier = _earlier(workspace, name, names, job.protocol)
    return Estimate(
        name,
        sum(missing.values()),
        max((count for count, _ in new), default=0),
        sum(missing[task] * seconds for task, seconds in earlier.items()) if earlier else None,
        sum(missing[task] for task in names if task not in earlier),
        sum(count * (4 * dim + _KEY_BYTES) for count, dim in new),
        tuple(sendings(encoder, distinct)),
    )


def _earlier(
    workspace: Workspace, encoder: str, tasks: Sequence[str], protocol: str | None
) -> dict[str, float]:
    """Median seconds of each task that was evaluated before, of the encoder itself if it was."""
    seconds: dict[str, dict[bool, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in workspace.store.results.table(tasks=tasks) if tasks else ():
        if row["error"] is None and protocol in (None, row["protocol"]):
            seconds[row["task"]][row["encoder"] == encoder].append(row["seconds"])
    return {task: median(own.get(True) or own[False]) for task, own in seconds.items()}


def _time(seconds: float | None, unknown: int) -> str:
    """`about 3 min`, `about 20 s and 2 unknown`, `unknown`."""
    if seconds is None:
        return "unknown" if unknown else formats.MISSING
    return roughly(seconds) + (f" and {unknown} unknown" if unknown else "")


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
