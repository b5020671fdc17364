"""Detection of texts of a task in an encoder's training data, as far as that is available."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from theodolite.app import formats
from theodolite.app.examples import shipped
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.board import trained
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.datasets.types import (
    LabelledPairs,
    LabelledSentences,
    Retrieval,
    ScoredPairs,
)
from theodolite.engine.encoders import describe, parse
from theodolite.engine.errors import UserError
from theodolite.engine.search.overlap import overlap
from theodolite.engine.tasks import SUITES, available, get, in_order, type_of
from theodolite.engine.tasks.retrieval import judged_queries
from theodolite.store.hashing import hash_of, to_json

Content = Callable[[str], str]
KIND, FORMAT = "leaks", "1"
KEPT = 50
"""Examples of each pair of a task and a training set."""
MAX_NAMED = 3
EXAMPLE, EXAMPLE_SET = "minilm", "flickr30k"
"""The encoder of the shipped example, and a training set of it that is available in full."""
DOCUMENTS = "documents"
"""The documents of a retrieval task, checked beside its queries."""
MAX_CHARACTERS = 20_000_000
"""Up to this many characters of documents, all are checked; else only the relevant ones."""
TRAIN = "train"
"""The training split of a data set, if it has one."""


@dataclass(frozen=True)
class LeakJob(Job):
    """A search for the texts of tasks in training sets; made with `of`.

    Attributes:
        tasks: their names.
        trained_on: data sets of the catalog.
    """

    kind = KIND
    interactive = True

    tasks: tuple[str, ...]
    trained_on: tuple[str, ...]

    @classmethod
    def of(cls, tasks: Sequence[str], trained_on: Sequence[str]) -> LeakJob:
        """Validate the request."""
        if not tasks:
            raise UserError("No task chosen.", "Choose at least one.", code="missing")
        if not trained_on:
            raise UserError(
                "No training set chosen, and none of those the encoder names is available here.",
                "Name the data it was trained on.",
                code="missing",
            )
        return cls(tuple(dict.fromkeys(tasks)), tuple(dict.fromkeys(trained_on)))

    @property
    def title(self) -> str:
        """`Leaks of 12 tasks in nli`."""
        of = self.tasks[0] if len(self.tasks) == 1 else f"{len(self.tasks)} tasks"
        where = self.trained_on[0] if len(self.trained_on) == 1 else f"{len(self.trained_on)} sets"
        return f"Leaks of {of} in {where}"

    def validate(self, workspace: Workspace) -> None:
        """Refuse tasks and data sets that are not available."""
        for task in self.tasks:
            get(task, workspace.catalog)
        for name in self.trained_on:
            workspace.catalog.stamp(name)

    def is_stored(self, workspace: Workspace) -> bool:
        """Whether every pair was compared."""
        return all(leak is not None for leak in found(workspace, self).values())

    def units(self) -> list[str]:
        """One unit per training set."""
        return [f"Searching {name}" for name in self.trained_on]

    def work(self, workspace: Workspace, position: int, reporter: Reporter) -> None:
        """Search one training set for every task."""
        name = self.trained_on[position]
        for done, task in enumerate(self.tasks):
            reporter(done, len(self.tasks), f"Searching for {task} in {name}")
            for part in _parts(workspace, task):
                look(workspace, task, name, part)


@dataclass(frozen=True)
class Leak:
    """The overlap of a task with a training set.

    Attributes:
        task, trained_on: their names.
        tested, trained: number of distinct texts that were compared.
        same, nearly: number of the task's texts with an exact duplicate, and a near-duplicate.
        examples: duplicates, exact ones first: (text of the task, text of the training set,
            resemblance, whether they are the same).
        problem: why nothing could be compared; else empty.
        part: DOCUMENTS, or empty for the examples of the main score.
    """

    task: str
    trained_on: str
    tested: int = 0
    trained: int = 0
    same: int = 0
    nearly: int = 0
    examples: tuple[tuple[str, str, float, bool], ...] = ()
    problem: str = ""
    part: str = ""

    @property
    def label(self) -> str:
        """`cranfield, documents`."""
        return _label(self.task, self.part)

    @property
    def share(self) -> float:
        """Share of the task's texts with a duplicate or near-duplicate."""
        return (self.same + self.nearly) / self.tested if self.tested else 0.0

    def row(self) -> dict[str, Any]:
        """A flat dictionary, as `theodolite encoders leaks --json` prints it."""
        first = self.examples[0] if self.examples else (None, None, None, None)
        return {
            "task": self.task,
            "part": self.part or None,
            "trained_on": self.trained_on,
            "tested": self.tested,
            "trained": self.trained,
            "same": self.same,
            "nearly": self.nearly,
            "share": self.share,
            "example": first[0],
            "twin": first[1],
            "problem": self.problem or None,
        }


def known(workspace: Workspace, encoder: str) -> trained.Names | None:
    """Training sets of an encoder -> their source; None if no source names any."""
    name = str(parse(encoder))
    row = workspace.store.encoders.get(name)
    facts = row["info"] if row else {} if workspace.read_only else describe(name)
    return trained.known(workspace, {name: facts}, [name])[name]


def here(workspace: Workspace, names: Mapping[str, str] | None) -> dict[str, list[str]]:
    """The available training sets: name -> data sets with its texts."""
    return trained.here(names or (), workspace.catalog.names())


def summary(encoder: str, names: trained.Names | None, there: Mapping[str, Sequence[str]]) -> str:
    """A summary of an encoder's known training data, and which of it is available."""
    if not names:
        return f"Neither the files of {encoder} nor MTEB name its training data."
    named_by = [
        f"{who} {verb} {formats.listed(some, MAX_NAMED)}"
        for who, verb in ((trained.FILES, "name"), (trained.MTEB, "names"))
        if (some := [name for name, source in names.items() if source == who])
    ]
    which = [f"{name} ({', '.join(those)})" for name, those in there.items()]
    summary = f"Of its training data {' and '.join(named_by)}."
    return (
        f"{summary} Available here: {'; '.join(which)}."
        if which
        else f"{summary} None of it is available here."
    )


def ordered(leaks: Iterable[Leak | None]) -> list[Leak]:
    """Sort the finished comparisons by share, the largest first and failed ones last."""
    there = [leak for leak in leaks if leak is not None]
    return sorted(there, key=lambda leak: (bool(leak.problem), -leak.share, leak.task))


def tasks(workspace: Workspace, encoder: str = "") -> list[str]:
    """Available tasks; only those an encoder was evaluated on, if there are any."""
    rows = workspace.store.results.table(encoders=[encoder]) if encoder else []
    evaluated = {row["task"] for row in rows if row["error"] is None}
    names = {task.name for task in available(workspace.catalog)}
    return in_order(sorted(names & evaluated or names))


def found(workspace: Workspace, job: LeakJob) -> dict[tuple[str, str], Leak | None]:
    """(task and part, training set) -> the stored comparison, or None."""
    with workspace.catalog.snapshot():
        content = cache(workspace.catalog.content)
        return {
            (_label(task, part), name): _kept(workspace, task, name, part, content)
            for name in job.trained_on
            for task in job.tasks
            for part in _parts(workspace, task)
        }


def _parts(workspace: Workspace, task: str) -> tuple[str, ...]:
    """The parts of a task to search for: its examples, and documents of retrieval or reranking."""
    searches = get(task, workspace.catalog).type in ("document-retrieval", "reranking")
    return ("", DOCUMENTS) if searches else ("",)


def _label(task: str, part: str) -> str:
    return f"{task}, {part}" if part else task


def run_look(workspace: Workspace, job: LeakJob) -> str:
    """Queue the search; return the run's id, empty if every pair was compared."""
    workspace.refuse_visitors()
    return "" if job.is_stored(workspace) else queue(workspace, job)


def look(workspace: Workspace, task: str, trained_on: str, part: str = "") -> Leak:
    """Compare the texts of a task with a training set, and store the result.

    The texts of the task are the examples of its main score, or its documents; those of the
    training set are its split `train`, if it has one.
    """
    before = _kept(workspace, task, trained_on, part)
    if before is not None:
        return before
    try:
        new = documents(workspace, task) if part else tested_texts(workspace, task)
        seen = training_texts(workspace, trained_on)
    except UserError as error:
        leak = Leak(task, trained_on, problem=error.message, part=part)
    else:
        same = overlap(new, seen)
        rows = list(zip(same.ids, same.twins, same.resemblance, same.exact, strict=True))[:KEPT]
        exact = int(same.exact.sum())
        leak = Leak(
            task,
            trained_on,
            same.tested,
            same.trained,
            exact,
            len(same.ids) - exact,
            tuple(
                (new[i], seen[j], round(float(alike), 3), bool(is_same))
                for i, j, alike, is_same in rows
            ),
            part=part,
        )
    workspace.store.derived.put(_key(workspace, task, trained_on, part), KIND, vars(leak))
    return leak


def tested_texts(workspace: Workspace, task: str) -> list[str]:
    """The distinct texts of the examples of a task's main score."""
    task_info = get(task, workspace.catalog)
    protocol = protocols.get(task_info.protocol)
    kind = type_of(task_info, protocol)
    if kind.examples is None:
        raise UserError(
            f"The texts of {task} are not known here.", "Leave it out.", code="unsupported"
        )
    rows = kind.examples(workspace.catalog.load(task_info.dataset), protocol.name, protocol.seed)
    return list(dict.fromkeys(text for texts, _ in rows for text in texts))


def documents(workspace: Workspace, task: str) -> list[str]:
    """The distinct documents of a retrieval task; of very many, only the relevant ones."""
    data = workspace.catalog.load(get(task, workspace.catalog).dataset)
    if not isinstance(data, Retrieval):
        raise UserError(f"{task} has no documents.", "Leave it out.", code="wrong-kind")
    if sum(map(len, data.documents.values())) <= MAX_CHARACTERS:
        return list(dict.fromkeys(data.documents.values()))
    _, judged = judged_queries(data)
    answers = (key for of in judged.values() for key, grade in of.items() if grade > 0)
    return list(dict.fromkeys(data.documents[key] for key in answers if key in data.documents))


def training_texts(workspace: Workspace, name: str) -> list[str]:
    """The distinct texts of a training set, of its split `train` if it has one."""
    data = workspace.catalog.load(name)
    if isinstance(data, ScoredPairs) and TRAIN in data.parts:
        part = data.parts[TRAIN]
        return list(dict.fromkeys([*part.left, *part.right]))
    if isinstance(data, LabelledSentences | LabelledPairs) and TRAIN in data.splits:
        rows = [row for row, split in enumerate(data.splits) if split == TRAIN]
        if isinstance(data, LabelledPairs):
            places = np.unique(np.concatenate([data.left[rows], data.right[rows]])).tolist()
            return [data.sentences[i] for i in places]
        return list(dict.fromkeys(data.sentences[row] for row in rows))
    return workspace.catalog.sentences(name)[0]


def make_example(workspace: Workspace) -> None:
    """Compare the STS tasks with a training set, and write the counts. Needs the data.

    The texts are left out, since they are not ours.
    """
    rows = [
        vars(look(workspace, task, EXAMPLE_SET)) | {"examples": ()}
        for task in tasks(workspace)
        if task in SUITES["sts"]
    ]
    shipped.write_answer(workspace, KIND, rows, [EXAMPLE])


def example(workspace: Workspace, encoder: str) -> list[Leak]:
    """The shipped comparisons of the example's encoder; empty for any other."""
    kept = shipped.read(KIND)
    if kept is None or encoder not in kept.facts["encoders"] or not kept.is_of(workspace, encoder):
        return []
    return ordered(Leak(**row | {"examples": ()}) for row in kept.answer)


def _kept(
    workspace: Workspace, task: str, trained_on: str, part: str, content: Content | None = None
) -> Leak | None:
    row = workspace.store.derived.get(_key(workspace, task, trained_on, part, content))
    if row is None:
        return None
    info = row["info"]
    return Leak(**info | {"examples": tuple((a, b, c, d) for a, b, c, d in info["examples"])})


def _key(
    workspace: Workspace, task: str, trained_on: str, part: str, content: Content | None = None
) -> str:
    """Key of a stored comparison; `content` is a cached `catalog.content`, for many pairs."""
    names = (get(task, workspace.catalog).dataset, trained_on)
    stamps = [(content or workspace.catalog.content)(name) for name in names]
    return hash_of(KIND, FORMAT, task, trained_on, to_json(stamps), *([part] if part else ()))
