"""Checks of a collection: from a request to a stored table of sentences.

The page Curate and `theodolite curate` ask, a job answers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from app.examples import shipped
from app.jobs.job import Job, Spec
from app.jobs.submit import queue
from app.pages.curate import checks
from app.pages.geometry.service import ALL
from engine.errors import UserError
from engine.progress import Progress
from store.derived import DerivedRow, array
from store.hashing import hash_of, to_json

if TYPE_CHECKING:
    import numpy as np

    from app.jobs.reporter import Reporter
    from app.workspace import Workspace

Check = Literal["exact", "near", "outliers", "typical", "leaks"]

FORMAT = 1
"""Raised when the same question would be answered otherwise."""
NAMES = {
    "exact": "Exact duplicates",
    "near": "Near duplicates",
    "outliers": "Outliers",
    "typical": "Typical",
    "leaks": "Leaks",
}
MOST_KEPT = 10_000
"""Sentences of an answer; the farthest down are left out, and it is said."""
MOST_NEIGHBOURS = 100
EXAMPLE = "curate"
"""Name of the answer that ships."""
AT_ONCE = 3000
"""So many sentences are looked over while the page waits, within a second or two."""


@dataclass(frozen=True)
class CurateJob(Job):
    """What is looked for, and where; made with `spec`.

    Attributes:
        check: what is looked for.
        dataset, split: in which sentences.
        encoder: canonical spec; empty for `exact`, which compares words.
        threshold: minimum cosine of near duplicates and leaks.
        neighbours: of each, for outliers.
        many: how many outliers, or typical sentences at either end, are kept.
        against, against_split: what leaks are looked for in: the data trained on.
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
        """There a check is called a job, as it is in what is stored and hashed."""
        facts = super().to_spec()
        return {"job": facts.pop("check"), **facts}

    @classmethod
    def from_spec(cls, spec: Spec) -> CurateJob:
        """What a store or the spec of a run says."""
        return super().from_spec({**spec, "check": spec["job"]})

    def validate(self, workspace: Workspace) -> None:
        """Refuse data sets and splits that are not there."""
        checks.part(workspace, self.dataset, self.split)
        if self.against:
            checks.part(workspace, self.against, self.against_split)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether the question was asked before."""
        return found(workspace, self) is not None

    def units(self) -> list[str]:
        """Encoding, where vectors are compared, and looking."""
        encoding = [f"Encoding {self.dataset} with {self.encoder}"] if self.encoder else []
        return [*encoding, self.title]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Do one of `units`."""
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
    """Check a question and leave out what does not decide its answer.

    Raises:
        UserError: a check, encoder or number that cannot be used, or none.
    """
    from engine.encoders import parse

    if check not in get_args(Check):
        raise UserError(
            f"There is no check {check!r}.", f"Choose one of {', '.join(get_args(Check))}."
        )
    if threshold is None or neighbours is None or many is None:
        raise UserError("A number is missing.", "Fill in the empty field.")
    job = CurateJob(
        check, dataset, split, encoder, float(threshold), int(neighbours), int(many),  # type: ignore[arg-type]
        against, against_split,
    )  # fmt: skip
    if job.encoder:
        job = replace(job, encoder=str(parse(job.encoder)))
    elif check != "exact":
        raise UserError("No encoder chosen.", "Only exact duplicates need none.")
    if not -1 <= job.threshold <= 1:
        raise UserError(f"{job.threshold} is not a cosine.", "Choose from −1 to 1; 0.9 is usual.")
    if not 1 <= job.neighbours <= MOST_NEIGHBOURS or not 1 <= job.many <= MOST_KEPT // 2:
        raise UserError("Too few or too many sentences.", f"Choose from 1 to {MOST_KEPT // 2}.")
    if check == "leaks":
        job = replace(job, against=job.against or dataset)
        if (job.dataset, job.split) == (job.against, job.against_split):
            raise UserError(
                "A check for leaks needs two different parts.",
                "Choose another split, or another collection, to compare with.",
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
    """As it is stored and hashed."""
    return {name: value for name, value in job.to_spec().items() if name != "version"}


@dataclass(frozen=True, eq=False)
class Answer:
    """A kept table.

    Attributes:
        key: under which it is kept.
        asked: the question.
        info: `n` sentences looked at, `found` in all, `kept` of them, and what the check counts.
        sentences: the collection's, distinct; `ids` point at them.
        ids: int64 (m,), the rows.
        columns: name -> (m,), what is known of each row beside its text.
    """

    key: str
    asked: CurateJob
    info: dict[str, Any]
    sentences: list[str]
    ids: np.ndarray
    columns: dict[str, Any]


def key(workspace: Workspace, job: CurateJob) -> str:
    """Under which an answer is kept.

    Raises:
        UserError: an encoder or data set that cannot be used.
    """
    facts: dict[str, Any] = _kept(job) | {"format": FORMAT}
    for name in ("dataset", "against"):
        if facts[name]:
            # Labels and splits are part of the content: the hash of the whole, not of sentences.
            facts[name] = workspace.catalog.load(facts[name]).hash
    if job.encoder:
        facts["encoder"] = workspace.bound(job.encoder, job.dataset).fingerprint
    return hash_of(CurateJob.kind, to_json(facts))


def found(workspace: Workspace, job: CurateJob) -> Answer | None:
    """The answer if the question was asked before."""
    return stored(workspace, key(workspace, job))


def stored(workspace: Workspace, place: str) -> Answer | None:
    """The answer under a key; None when there is none, or its collection is gone or has changed."""
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
    """The example that ships, where it answers this very question: a key says all that decides."""
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
    """Work the example out and write it to where it ships from."""
    found = answer(workspace, spec("outliers", "starter-topics", encoder="minilm"))
    columns = {name: values.tolist() for name, values in found.columns.items()}
    facts = {"key": found.key, "info": found.info, "ids": found.ids.tolist(), "columns": columns}
    shipped.write(EXAMPLE, facts)


def answer(workspace: Workspace, job: CurateJob, progress: Progress | None = None) -> Answer:
    """The answer, from the store or worked out now and kept there.

    Raises:
        UserError: an encoder, data set or split that cannot be used.
    """
    before = found(workspace, job)
    if before is not None:
        return before
    info, arrays = checks.WORK[job.check](workspace, job, progress)
    total = len(arrays["ids"])
    arrays = {name: values[:MOST_KEPT] for name, values in arrays.items()}
    info = {"found": total, "kept": len(arrays["ids"]), **info, "asked": _kept(job)}
    place = key(workspace, job)
    workspace.store.derived.put(place, CurateJob.kind, info, arrays)
    kept = stored(workspace, place)
    if kept is None:
        raise UserError("The collection has changed in the meantime.", "Try again.")
    return kept


def run_check(workspace: Workspace, job: CurateJob) -> str:
    """Have the answer worked out: now, or by a run where that takes long.

    Returns:
        The run's id; empty when the answer is there.

    Raises:
        UserError: for visitors, or what cannot be used.
    """
    workspace.refuse_visitors()
    if found(workspace, job) is None:
        if not _is_small(workspace, job):
            return queue(workspace, job)
        answer(workspace, job)
    return ""


def _is_small(workspace: Workspace, job: CurateJob) -> bool:
    """Whether the answer takes no more than a second or two."""
    from app import vectors

    for place in {job.dataset, job.against or job.dataset}:
        if len(workspace.catalog.load(place).sentences) > AT_ONCE:
            return False
        if job.encoder and vectors.missing(workspace, job.encoder, place) > vectors.SMALL:
            return False
    return True
