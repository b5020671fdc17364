"""Checks of a collection: from a job to a stored table of sentences.

Used by the page Curate and `theodolite curate`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from theodolite.app.examples import shipped
from theodolite.app.jobs.job import Job, Spec
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.curate import checks
from theodolite.app.pages.geometry.service import ALL
from theodolite.engine.errors import UserError
from theodolite.engine.progress import Progress
from theodolite.store.derived import DerivedRow, array
from theodolite.store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.jobs.reporter import Reporter
    from theodolite.app.workspace import Workspace

Check = Literal["exact", "near", "outliers", "typical", "leaks"]

FORMAT = 1
"""Increased whenever the result of the same check would change."""
NAMES = {
    "exact": "Exact duplicates",
    "near": "Near duplicates",
    "outliers": "Outliers",
    "typical": "Typical",
    "leaks": "Leaks",
}
MAX_KEPT = 10_000
"""Most rows of an answer; the rest is left out, with a note."""
MAX_NEIGHBOURS = 100
EXAMPLE = "curate"
"""Name of the shipped answer."""
AT_ONCE = 3000
"""Most sentences that are checked while the page waits, within a second or two."""


@dataclass(frozen=True)
class CurateJob(Job):
    """A check of a collection; create it with `spec`.

    Attributes:
        check: the kind of check.
        dataset, split: the sentences to check.
        encoder: canonical spec; empty for `exact`, which compares words.
        threshold: minimum cosine of near duplicates and leaks.
        neighbours: number of neighbours per sentence, for outliers.
        many: number of outliers, or of typical sentences at either end, to keep.
        against, against_split: for leaks, the training data.
    """

    kind = "curate"
    interactive = True

    check: Check
    dataset: str
    split: str = ALL
    encoder: str = ""
    threshold: float = 0.9
    neighbours: int = 10
    many: int = 100
    against: str = ""
    against_split: str = ALL

    @property
    def title(self) -> str:
        """`Near duplicates in starter-pairs`."""
        return f"{NAMES[self.check]} in {self.dataset}"

    def to_spec(self) -> dict[str, Any]:
        """As `Job.to_spec`, with `check` under its serialised name `job`, which is hashed."""
        facts = super().to_spec()
        return {"job": facts.pop("check"), **facts}

    @classmethod
    def from_spec(cls, spec: Spec) -> CurateJob:
        """Read a stored spec, where `check` is called `job`."""
        return super().from_spec({**spec, "check": spec["job"]})

    def validate(self, workspace: Workspace) -> None:
        """Raise for an unknown data set or split."""
        checks.part(workspace, self.dataset, self.split)
        if self.against:
            checks.part(workspace, self.against, self.against_split)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the answer is stored or ships."""
        return found(workspace, self) is not None

    def units(self) -> list[str]:
        """Encoding, if the check compares vectors, and the check."""
        encoding = [f"Encoding {self.dataset} with {self.encoder}"] if self.encoder else []
        return [*encoding, self.title]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do the unit at a position of `units`."""
        if self.encoder and position == 0:
            checks.encoded(workspace, self, reporter)
        else:
            answer(workspace, self, reporter)


def spec(
    check: str,
    dataset: str,
    *,
    split: str = ALL,
    encoder: str = "",
    threshold: float | None = CurateJob.threshold,
    neighbours: int | None = CurateJob.neighbours,
    many: int | None = CurateJob.many,
    against: str = "",
    against_split: str = ALL,
) -> CurateJob:
    """Validate the arguments, and reset those that do not affect the check to their defaults."""
    from theodolite.engine.encoders import parse

    if check not in get_args(Check):
        raise UserError(
            f"There is no check {check!r}.",
            f"Choose one of {', '.join(get_args(Check))}.",
            code="unknown",
        )
    if threshold is None or neighbours is None or many is None:
        raise UserError("A number is missing.", "Fill in the empty field.", code="missing")
    job = CurateJob(
        check,  # type: ignore[arg-type]
        dataset,
        split,
        encoder,
        float(threshold),
        int(neighbours),
        int(many),
        against,
        against_split,
    )
    if job.encoder:
        job = replace(job, encoder=str(parse(job.encoder)))
    elif check != "exact":
        raise UserError("No encoder chosen.", "Only exact duplicates need none.", code="missing")
    if not -1 <= job.threshold <= 1:
        raise UserError(f"{job.threshold} is not a cosine.", "Choose from −1 to 1; 0.9 is usual.")
    for number, what, most in (
        (job.neighbours, "neighbours", MAX_NEIGHBOURS),
        (job.many, "sentences", MAX_KEPT // 2),
    ):
        if not 1 <= number <= most:
            raise UserError(f"{number:,} {what} cannot be asked for.", f"Choose 1 to {most:,}.")
    if check == "leaks":
        job = replace(job, against=job.against or dataset)
        if (job.dataset, job.split) == (job.against, job.against_split):
            raise UserError(
                "A check for leaks needs two different parts.",
                "Choose another split, or another collection, to compare with.",
                code="conflict",
            )
    return _plain(job)


def _plain(job: CurateJob) -> CurateJob:
    usual = CurateJob(job.check, job.dataset)
    matters = {
        "exact": (),
        "near": ("encoder", "threshold"),
        "outliers": ("encoder", "neighbours", "many"),
        "typical": ("encoder", "many"),
        "leaks": ("encoder", "threshold", "against", "against_split"),
    }[job.check]
    kept = {name: getattr(job, name) for name in ("split", *matters)}
    return replace(usual, **kept)


def _kept(job: CurateJob) -> dict[str, Any]:
    """The spec of a job as it is stored and hashed."""
    return {name: value for name, value in job.to_spec().items() if name != "version"}


@dataclass(frozen=True, eq=False)
class Answer:
    """The stored table of a check.

    Attributes:
        key: its store key.
        job: the request.
        info: `n` sentences checked, `found` in all, `kept` of them, and counts of the check.
        sentences: the distinct sentences of the collection.
        ids: int64 (m,), positions in `sentences` of the rows.
        columns: name -> (m,), attributes of the rows besides their text.
    """

    key: str
    job: CurateJob
    info: dict[str, Any]
    sentences: list[str]
    ids: np.ndarray
    columns: dict[str, Any]


def key(workspace: Workspace, job: CurateJob) -> str:
    """The store key of an answer."""
    facts: dict[str, Any] = _kept(job) | {"format": FORMAT}
    for name in ("dataset", "against"):
        if facts[name]:
            # The hash of the data set, not of its sentences, covers labels and splits.
            facts[name] = workspace.catalog.load(facts[name]).hash
    if job.encoder:
        facts["encoder"] = workspace.bound(job.encoder, job.dataset).fingerprint
    return hash_of(CurateJob.kind, to_json(facts))


def found(workspace: Workspace, job: CurateJob) -> Answer | None:
    """The stored or shipped answer; None for neither."""
    return stored(workspace, key(workspace, job))


def stored(workspace: Workspace, place: str) -> Answer | None:
    """The answer under a key; None if there is none, or its collection is gone or has changed."""
    row = workspace.store.derived.get(place)
    if row is None:
        return _shipped(workspace, place)
    if row["kind"] != CurateJob.kind:
        return None
    job = CurateJob.from_spec(row["info"]["asked"])
    try:
        if key(workspace, job) != place:
            return None
        return _read(workspace, row, job)
    except UserError:
        return None


def _read(workspace: Workspace, row: DerivedRow, job: CurateJob) -> Answer:
    import numpy as np

    sentences, _ = workspace.catalog.sentences(job.dataset)
    columns: dict[str, Any] = {
        name: np.asarray(array(row, name)) for name in row["files"] if name not in ("ids", "twins")
    }
    if "twins" in row["files"]:
        others, _ = workspace.catalog.sentences(job.against)
        columns["twin"] = [others[i] for i in array(row, "twins")]
    ids = np.asarray(array(row, "ids"))
    return Answer(row["key"], job, row["info"], sentences, ids, columns)


def _shipped(workspace: Workspace, place: str) -> Answer | None:
    """The shipped answer, if it has this key."""
    import numpy as np

    example = shipped.read(EXAMPLE)
    if example is None or example.facts["key"] != place:
        return None
    job = CurateJob.from_spec(example.facts["info"]["asked"])
    sentences, _ = workspace.catalog.sentences(job.dataset)
    columns = {name: np.array(values) for name, values in example.facts["columns"].items()}
    ids = np.array(example.facts["ids"], np.int64)
    return Answer(place, job, example.facts["info"], sentences, ids, columns)


def make_example(workspace: Workspace) -> None:
    """Compute the shipped answer, and write it."""
    found = answer(workspace, spec("outliers", "starter-topics", encoder="minilm"))
    columns = {name: values.tolist() for name, values in found.columns.items()}
    facts = {"key": found.key, "info": found.info, "ids": found.ids.tolist(), "columns": columns}
    shipped.write(EXAMPLE, facts)


def answer(workspace: Workspace, job: CurateJob, progress: Progress | None = None) -> Answer:
    """Return the stored answer, or compute and store it."""
    before = found(workspace, job)
    if before is not None:
        return before
    info, arrays = checks.WORK[job.check](workspace, job, progress)
    total = len(arrays["ids"])
    arrays = {name: values[:MAX_KEPT] for name, values in arrays.items()}
    info = {"found": total, "kept": len(arrays["ids"]), **info, "asked": _kept(job)}
    place = key(workspace, job)
    workspace.store.derived.put(place, CurateJob.kind, info, arrays)
    kept = stored(workspace, place)
    if kept is None:
        raise UserError("The collection has changed in the meantime.", "Try again.", code="stale")
    return kept


def run_check(workspace: Workspace, job: CurateJob) -> str:
    """Compute the answer now, or queue a run if that takes long.

    Returns:
        The run's id; empty if the answer is stored.
    """
    workspace.refuse_visitors()
    if found(workspace, job) is None:
        if not _is_small(workspace, job):
            return queue(workspace, job)
        answer(workspace, job)
    return ""


def _is_small(workspace: Workspace, job: CurateJob) -> bool:
    """Whether the check takes no more than a second or two."""
    from theodolite.app import vectors

    for place in {job.dataset, job.against or job.dataset}:
        if len(workspace.catalog.load(place).sentences) > AT_ONCE:
            return False
        if job.encoder and vectors.missing(workspace, job.encoder, place) > vectors.SMALL:
            return False
    return True
