"""Texts of tasks in an encoder's training data, as far as that is known and available."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, ClassVar

from theodolite.app import formats
from theodolite.app.blocks import Block, Cell, Finding, Nothing, Problem, Table
from theodolite.app.examples import shipped
from theodolite.app.jobs.job import Job
from theodolite.app.jobs.reporter import Reporter
from theodolite.app.pages.board import training_data
from theodolite.app.pages.geometry.service import splits, take
from theodolite.app.question import Answer, Do, Question
from theodolite.app.spec import Field, Spec
from theodolite.app.workspace import Workspace
from theodolite.engine import protocols
from theodolite.engine.datasets.types import Retrieval
from theodolite.engine.encoders import describe, parse
from theodolite.engine.errors import UserError
from theodolite.engine.given import names_in
from theodolite.engine.search.overlap import overlap
from theodolite.engine.tasks import available, get, in_order, type_of
from theodolite.engine.tasks.retrieval import judged_queries
from theodolite.store.hashing import hash_of, to_json

TITLE, PATH, BUTTON = "Leaks", "leaks", "Search"
KIND, FORMAT = "leaks", "1"
MAX_EXAMPLES, MAX_SHOWN = 50, 12
"""Examples of each pair of a task and a training set that are stored, and of all that are shown."""
MAX_NAMED = 3
EXAMPLE, EXAMPLE_SET = "minilm", "flickr30k"
"""The encoder of the shipped example, and a training set of it that is available in full."""
DOCUMENTS = "documents"
"""The documents of a retrieval task, checked beside its queries."""
MAX_CHARACTERS = 20_000_000
"""Up to this many characters of documents, all are checked; else only the relevant ones."""
TRAIN = "train"
"""The training split of a data set, if it has one."""
READING = (
    "We search for the scored texts; for retrieval and reranking, the queries, and the documents "
    "on a separate line (of more than 20 million characters, those that answer a query). "
    "Identical: word for word, ignoring case, spaces and final punctuation. Near: the Jaccard "
    "index of the character 5-grams of both is at least 0.8 (Broder 1997); no such pair is "
    "missed. A sentence inside a longer text is not found."
)
NOT_SHIPPED = "This search ships with Theodolite; the texts themselves do not."


def _available_tasks(workspace: Workspace) -> dict[str, str]:
    """The available tasks."""
    return {name: name for name in tasks(workspace)}


@dataclass(frozen=True)
class LeaksSpec(Spec, Job):
    """Search the training data of an encoder for the texts of tasks, exact or nearly so.

    The training data are those that its files and MTEB name, as far as they are installed. Two
    texts are nearly the same when the Jaccard index of their character 5-grams is at least 0.8
    (Broder 1997). The search is for the examples of a task's main score, and for the documents of
    a retrieval task; it goes through the split train of a training set that has one. A score on
    texts that were seen says little about unseen ones.
    """

    kind = KIND
    interactive = True

    encoder: Annotated[
        str, Field("Encoder", "The encoder whose training data are searched.", names="encoder")
    ]
    tasks: Annotated[
        Sequence[str],
        Field(
            "Tasks",
            "With commas; default: those it was evaluated on, or all.",
            names="task",
            offers=_available_tasks,
            key="task",
        ),
    ] = ()
    trained_on: Annotated[
        Sequence[str],
        Field(
            "Trained on",
            "Data sets, with commas; default: the known training data.",
            names="dataset",
            key="in",
            flags=("--in",),
        ),
    ] = ()

    def check(self) -> None:
        """Split what is given with commas."""
        for name in ("tasks", "trained_on"):
            vars(self)[name] = names_in(*getattr(self, name))

    def resolve(self, workspace: Workspace) -> LeaksSpec:
        """The search with the tasks and the training sets that are meant if none are named."""
        there = here(workspace, known(workspace, self.encoder))
        every = [name for names in there.values() for name in names]
        return replace(
            self,
            tasks=self.tasks or tasks(workspace, self.encoder),
            trained_on=self.trained_on or every,
        )

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
        return None not in stored(workspace, self)

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
        return f"{self.task}, {self.part}" if self.part else self.task

    @property
    def share(self) -> float:
        """Share of the task's texts with a duplicate or near-duplicate."""
        return (self.same + self.nearly) / self.tested if self.tested else 0.0

    def row(self) -> dict[str, Any]:
        """A flat dictionary with the first example."""
        text, twin, *_ = self.examples[0] if self.examples else (None, None)
        row = {**vars(self), "share": self.share, "example": text, "twin": twin}
        row |= {name: row[name] or None for name in ("part", "problem")}
        return {name: row[name] for name in Leaks.columns}


@dataclass(frozen=True, eq=False, repr=False)
class Leaks(Answer):
    """The comparisons of tasks with training sets.

    Attributes:
        spec: the search.
        summary: what is known of the training data, in words.
        leaks: what was compared, the largest share first and failures last.
        missing: pairs that were not compared yet; None if there is no training set to search.
        shipped: whether it ships with Theodolite.
    """

    columns: ClassVar[Mapping[str, Any]] = {
        "task": str,
        "part": str | None,
        "trained_on": str,
        "tested": int,
        "trained": int,
        "same": int,
        "nearly": int,
        "share": float,
        "example": str | None,
        "twin": str | None,
        "problem": str | None,
    }
    in_terminal: ClassVar = (
        "task",
        "part",
        "trained_on",
        "same",
        "nearly",
        "tested",
        "share",
        "problem",
    )

    spec: LeaksSpec
    summary: str
    leaks: Sequence[Leak]
    missing: int | None
    shipped: bool = False

    def rows(self) -> list[dict[str, Any]]:
        """A row per task, or part of one, and training set."""
        return [leak.row() for leak in self.leaks]

    def notes(self) -> list[str]:
        """Where the training data come from."""
        return [] if self.spec.trained_on else [self.summary]

    def problems(self) -> list[Problem]:
        """That there is nothing to search."""
        if self.missing is not None or self.leaks:
            return []
        message = "No training set is given, and none of those the encoder names is available here."
        return [Problem(UserError(message, "Name the data it was trained on.", code="missing"))]

    def blocks(self) -> list[Block]:
        """The worst leak, all of them, and some of the texts."""
        if not self.leaks:
            title, hint = "Not checked for leaks yet", "A search takes minutes and is stored."
            if self.missing is None:
                title, hint = "None of its training data is here", "Name some in Trained on."
            return [Nothing(title, f"{self.summary} {hint}")]
        lead = f"{NOT_SHIPPED} {self.summary}" if self.shipped else self.summary
        if self.missing and not self.shipped:
            lead += f" {formats.plural(self.missing, 'pair')} not compared yet."
        every = [(at, leak, one) for leak in self.leaks for at, one in enumerate(leak.examples)]
        pairs = [  # the first of each, then the second of each, and so on
            (leak.label, text, leak.trained_on, twin, "identical" if same else alike)
            for _, leak, (text, twin, alike, same) in sorted(every, key=lambda one: one[0])
        ]
        heads = ("Task", "Sentence", "Found in", "Also found as", "Resemblance")
        return [
            Finding(self._headline(), lead, self.shipped),
            self._table(),
            Table("theodolite-leaked-texts", heads, pairs, MAX_SHOWN),
        ]

    def _headline(self) -> str:
        compared = [leak for leak in self.leaks if not leak.problem]
        leaky = {leak.task for leak in compared if leak.share}
        of = formats.plural(len({leak.task for leak in compared}), "task")
        if not leaky:
            return f"No text of {of} occurs in the training data searched"
        worst = compared[0]
        return (
            f"{len(leaky)} of {of} {'shares' if len(leaky) == 1 else 'share'} texts with training "
            f"data of {self.spec.encoder}: {formats.percent(worst.share, 1)} of {worst.label} also "
            f"{'occurs' if worst.same else 'nearly occurs'} in {worst.trained_on}"
        )

    def _table(self) -> Table:
        rows = [
            (leak.label, leak.trained_on, None, None, None, leak.problem)
            if leak.problem
            else (
                *(leak.label, leak.trained_on, leak.same, leak.nearly, leak.tested),
                Cell(leak.share, formats.percent(leak.share, 1)),
            )
            for leak in self.leaks
            if leak.share or leak.problem
        ]
        heads = ("Task", "Found in", "Identical", "Near", "Texts checked", "Share")
        rest = formats.plural(len(self.leaks) - len(rows), "pair")
        note = f"No text in common: {rest} of a task and a training set. {READING}"
        return Table("theodolite-leaks", heads, rows, note=note)


def answer(workspace: Workspace, spec: LeaksSpec, do: Do) -> Iterator[Leaks]:
    """Yield what is stored of the search in the training data that the files and MTEB name."""
    spec.validate(workspace)  # before what takes seconds
    training_data.look_up(workspace, [spec.encoder])
    job, names = spec.resolve(workspace), known(workspace, spec.encoder)
    if job.trained_on and not job.is_stored(workspace):
        do(job)
    pairs = stored(workspace, job)
    leaks = _sort(leak for leak in pairs if leak is not None)
    examples = [] if leaks or spec.tasks or spec.trained_on else example(workspace, spec.encoder)
    summary = _summary(spec.encoder, names, here(workspace, names))
    missing = pairs.count(None) if job.trained_on else None
    yield Leaks(spec, summary, leaks or examples, missing, bool(examples))


QUESTION = Question(
    "leaks",
    LeaksSpec,
    answer,
    Leaks,
    ("encoders leaks minilm", "encoders leaks minilm --tasks STSBenchmark --in SNLI,nli --json"),
    group="encoders",
    queues=True,
)


def known(workspace: Workspace, encoder: str) -> training_data.Names | None:
    """Training sets of an encoder -> their source; None if no source names any."""
    name = str(parse(encoder))
    row = workspace.store.encoders.get(name)
    facts = row["info"] if row else {} if workspace.read_only else describe(name)
    return training_data.known(workspace, {name: facts}, [name])[name]


def here(workspace: Workspace, names: Mapping[str, str] | None) -> dict[str, list[str]]:
    """The available training sets: name -> data sets with its texts."""
    return training_data.here(names or (), workspace.catalog.names())


def _summary(
    encoder: str, names: training_data.Names | None, there: Mapping[str, Sequence[str]]
) -> str:
    """What is known of an encoder's training data, and which of it is available."""
    if not names:
        return f"Neither the files of {encoder} nor MTEB name its training data."
    sources = [
        f"{who} {formats.listed(some, MAX_NAMED)} as training data"
        for source, who in (
            (training_data.FILES, "its files list"),
            (training_data.MTEB, "MTEB lists"),
        )
        if (some := [name for name, by in names.items() if by == source])
    ]
    text = " and ".join(sources)
    which = "; ".join(f"{name} ({', '.join(those)})" for name, those in there.items())
    available = f"Available here: {which}." if which else "None of it is available here."
    return f"{text[0].upper()}{text[1:]}. {available}"


def _sort(leaks: Iterable[Leak]) -> list[Leak]:
    """The largest share first, failures last."""
    return sorted(leaks, key=lambda leak: (bool(leak.problem), -leak.share, leak.task))


def tasks(workspace: Workspace, encoder: str = "") -> list[str]:
    """Available tasks; only those an encoder was evaluated on, if there are any."""
    rows = workspace.store.results.table(encoders=[encoder]) if encoder else []
    evaluated = {row["task"] for row in rows if row["error"] is None}
    names = {task.name for task in available(workspace.catalog)}
    return in_order(sorted(names & evaluated or names))


def stored(workspace: Workspace, job: LeaksSpec) -> list[Leak | None]:
    """The comparison of each task, or part of one, with each training set; None if not done."""
    with workspace.catalog.snapshot():
        content = cache(workspace.catalog.content)
        return [
            _load_leak(workspace, _key(workspace, task, name, part, content))
            for name in job.trained_on
            for task in job.tasks
            for part in _parts(workspace, task)
        ]


def _parts(workspace: Workspace, task: str) -> tuple[str, ...]:
    """The parts of a task to search for: its examples, and documents of retrieval or reranking."""
    searches = get(task, workspace.catalog).type in ("document-retrieval", "reranking")
    return ("", DOCUMENTS) if searches else ("",)


def look(workspace: Workspace, task: str, trained_on: str, part: str = "") -> Leak:
    """Compare the texts of a task with a training set, and store the result.

    The texts of the task are the examples of its main score, or its documents; those of the
    training set are its split `train`, if it has one.
    """
    key = _key(workspace, task, trained_on, part, workspace.catalog.content)
    before = _load_leak(workspace, key)
    if before is not None:
        return before
    try:
        new = documents(workspace, task) if part else _tested_texts(workspace, task)
        sentences = workspace.catalog.sentences(trained_on)[0]
        if TRAIN in splits(workspace, trained_on):
            sentences = take(workspace.catalog.load(trained_on), TRAIN, most=None).sentences
    except UserError as error:
        leak = Leak(task, trained_on, problem=error.message, part=part)
    else:
        same = overlap(new, sentences)
        exact = int(same.exact.sum())
        rows = zip(same.ids, same.twins, same.resemblance, same.exact, strict=True)
        examples = [
            (new[i], sentences[j], round(float(alike), 3), bool(is_same))
            for i, j, alike, is_same in rows
        ]
        counts = (same.tested, same.trained, exact, len(same.ids) - exact)
        leak = Leak(task, trained_on, *counts, tuple(examples[:MAX_EXAMPLES]), part=part)
    workspace.store.derived.put(key, KIND, vars(leak))
    return leak


def _tested_texts(workspace: Workspace, task: str) -> list[str]:
    """The distinct texts of the examples of a task's main score."""
    info = get(task, workspace.catalog)
    protocol = protocols.get(info.protocol)
    examples = type_of(info, protocol).examples
    if examples is None:
        raise UserError(
            f"The texts of {task} are not known here.", "Leave it out.", code="unsupported"
        )
    rows = examples(workspace.catalog.load(info.dataset), protocol.name, protocol.seed)
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


def example(workspace: Workspace, encoder: str) -> list[Leak]:
    """The comparisons of an encoder that ship; empty if none do."""
    rows = shipped.read(workspace, KIND, encoder) or []
    return _sort(Leak(**row | {"examples": ()}) for row in rows)


def _load_leak(workspace: Workspace, key: str) -> Leak | None:
    row = workspace.store.derived.get(key)
    if row is None:
        return None
    examples: Any = tuple(map(tuple, row["info"]["examples"]))
    return Leak(**row["info"] | {"examples": examples})


def _key(
    workspace: Workspace, task: str, trained_on: str, part: str, content: Callable[[str], str]
) -> str:
    """Key of a stored comparison; `content` is `catalog.content`, cached for many pairs."""
    names = (get(task, workspace.catalog).dataset, trained_on)
    stamps = to_json([content(name) for name in names])
    return hash_of(KIND, FORMAT, task, trained_on, stamps, *([part] if part else ()))
