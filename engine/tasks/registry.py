"""The tasks by name: one measurement on one data set each.

Any data set can be measured. Scored pairs are a task of their own name (`upload:reviews`); labelled
sentences are three, by an ending: `upload:reviews/classify`, `upload:reviews/search` and, in their
own train, dev and test splits, `upload:reviews/probe`.
Knows neither encoders nor how a task is scored (see the modules beside this one).
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engine.errors import UserError

if TYPE_CHECKING:
    from engine.datasets import Catalog
    from engine.datasets.types import DatasetInfo, Kind

TaskType = Literal[
    "sts", "relatedness", "classification", "search", "transfer", "probing", "retrieval"
]


@dataclass(frozen=True)
class Task:
    """One measurement on one data set.

    Attributes:
        name: as in SentEval where it exists there.
        type: how its default protocol scores it.
        dataset: the data set's name in the catalog.
        kind: the shape that data set must have.
        protocol: the default.
        metric: of the main score under the default protocol; higher is better for all of them.
        description: one sentence for people.
        also: how other protocols score it. STS-B is a cosine under one protocol and a trained
            regressor under another: two measurements, which no table may mix.
    """

    name: str
    type: TaskType
    dataset: str
    kind: Kind
    protocol: str
    metric: str
    description: str
    also: tuple[TaskType, ...] = ()

    def type_under(self, types: Sequence[str]) -> TaskType | None:
        """Return how a protocol that covers these types scores the task, or None."""
        return next((t for t in (self.type, *self.also) if t in types), None)


def _sts(name: str, dataset: str, description: str, *also: TaskType) -> Task:
    return Task(name, "sts", dataset, "pairs", "simcse-2021", "spearman", description, also)


def _classification(name: str, dataset: str, description: str) -> Task:
    return Task(name, "classification", dataset, "labels", "starter-1", "accuracy", description)


def _search(name: str, dataset: str, description: str) -> Task:
    return Task(name, "search", dataset, "labels", "starter-1", "precision_at_10", description)


def _transfer(name: str, description: str, kind: Kind = "labels") -> Task:
    return Task(name, "transfer", name, kind, "senteval", "accuracy", description)


def _probing(name: str, dataset: str, description: str) -> Task:
    return Task(name, "probing", dataset, "labels", "senteval", "accuracy", description)


def _finetune(dataset: str) -> Task:
    name = f"{dataset}-finetune"
    description = f"{dataset} by a trained regressor, chosen by dev Spearman as SimCSE's fork does."
    return Task(name, "relatedness", dataset, "pairs", "senteval", "spearman", description)


STARTER = ("StarterSTS", "StarterTopics", "StarterSearch")
SEVEN = ("STS12", "STS13", "STS14", "STS15", "STS16", "STSBenchmark", "SICKRelatedness")
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")
SENTEVAL = (
    *(*TRANSFER[:5], "SST5", *TRANSFER[5:], "SICKEntailment", "SNLI", *SEVEN[5:]),
    "ImageCaptionRetrieval",
)
PROBING = (
    *("Length", "WordContent", "Depth", "TopConstituents", "BigramShift", "Tense"),
    *("SubjNumber", "ObjNumber", "OddManOut", "CoordinationInversion"),
)
SUITES: dict[str, tuple[str, ...]] = {
    "starter": STARTER,
    "sts": SEVEN,
    "transfer": TRANSFER,
    "senteval": SENTEVAL,
    "probing": PROBING,
}
"""Names that stand for several tasks. `sts` and `transfer` are the sevens of SimCSE's tables, in
their order; `senteval` is every downstream task of SentEval that trains something under its
protocols."""

TASKS: dict[str, Task] = {
    task.name: task
    for task in (
        _sts("StarterSTS", "starter-pairs", "Graded sentence pairs of the starter set."),
        _classification("StarterTopics", "starter-topics", "Tell the starter set's topics apart."),
        _search("StarterSearch", "starter-topics", "Find sentences of the same topic."),
        _sts("STS12", "STS12", "SemEval 2012 similarity, five subsets."),
        _sts("STS13", "STS13", "SemEval 2013 similarity, three subsets (without SMT)."),
        _sts("STS14", "STS14", "SemEval 2014 similarity, six subsets."),
        _sts("STS15", "STS15", "SemEval 2015 similarity, five subsets."),
        _sts("STS16", "STS16", "SemEval 2016 similarity, five subsets."),
        _sts("STSBenchmark", "STSBenchmark", "STS Benchmark, test split.", "relatedness"),
        _sts("SICKRelatedness", "SICKRelatedness", "SICK relatedness, test split.", "relatedness"),
        _finetune("STSBenchmark"),
        _finetune("SICKRelatedness"),
        _transfer("MR", "Movie reviews, positive or negative."),
        _transfer("CR", "Customer reviews, positive or negative."),
        _transfer("SUBJ", "Subjective sentences or plot summaries."),
        _transfer("MPQA", "Opinion phrases, positive or negative."),
        _transfer("SST2", "Stanford sentiment, two classes."),
        _transfer("SST5", "Stanford sentiment, five classes."),
        _transfer("TREC", "Questions by the type of their answer."),
        _transfer("MRPC", "Pairs that paraphrase one another or not.", "labelled-pairs"),
        _transfer("SICKEntailment", "SICK pairs by entailment.", "labelled-pairs"),
        _transfer("SNLI", "Premise and hypothesis by entailment.", "labelled-pairs"),
        Task(
            "ImageCaptionRetrieval",
            "retrieval",
            "COCO",
            "captions",
            "senteval",
            "mean_recall",
            "Find the photograph of a caption and the captions of a photograph.",
        ),
        _probing("Length", "Length", "Probing: how long the sentence is, in six bins."),
        _probing("WordContent", "WordContent", "Probing: which of a thousand words it holds."),
        _probing("Depth", "Depth", "Probing: how deep its parse tree is."),
        _probing("TopConstituents", "TopConstituents", "Probing: its top constituents."),
        _probing("BigramShift", "BigramShift", "Probing: whether two words were swapped."),
        _probing("Tense", "Tense", "Probing: the tense of the main verb."),
        _probing("SubjNumber", "SubjNumber", "Probing: the number of the subject."),
        _probing("ObjNumber", "ObjNumber", "Probing: the number of the object."),
        _probing("OddManOut", "OddManOut", "Probing: whether a word was replaced."),
        _probing(
            "CoordinationInversion", "CoordinationInversion", "Probing: whether clauses swapped."
        ),
    )
}


def get(name: str, catalog: Catalog | None = None) -> Task:
    """Return the task of that name.

    Args:
        name: of a built-in task, or a data set's name with an ending as said above.
        catalog: where to look for data sets other than `upload:` and `hub:`.

    Raises:
        UserError: an unknown name; the hint has the closest ones.
    """
    if name in TASKS:
        return TASKS[name]
    of_labels = _of_labels(name)
    if of_labels and _is_dataset(of_labels.dataset, "labels", catalog):
        return of_labels
    if _is_dataset(name, "pairs", catalog):
        return _of_pairs(name)
    raise _unknown(name, catalog)


def _of_labels(name: str) -> Task | None:
    """Read a task on labelled sentences off its ending; None where there is none."""
    dataset, _, ending = name.rpartition("/")
    if not dataset:
        return None
    match ending:
        case "classify":
            said = f"Tell the labels of {dataset} apart, in its own splits or else in five folds."
            return replace(_classification(name, dataset, said), protocol="starter-2")
        case "search":
            return _search(name, dataset, f"Find sentences of {dataset} with the same label.")
        case "probe":
            return _probing(name, dataset, f"Labels of {dataset}, in its own splits.")
    return None


def _of_pairs(name: str) -> Task:
    return _sts(name, name, f"Scored pairs of {name}.")


def available(catalog: Catalog) -> list[Task]:
    """List the tasks whose data sets are at hand: built-in first, then other scored pairs, uploads.

    Labelled sets of a data folder can be named (`banking77/classify`) but are not offered: most
    have a protocol of their own elsewhere, with which a starter score would be confused.
    """
    infos = catalog.list()
    present = {info.name for info in infos}
    tasks = [task for task in TASKS.values() if task.dataset in present]
    measured = {task.dataset for task in tasks}
    for info in infos:
        if info.name not in measured:
            tasks += _tasks_of(info)
    return tasks


def in_order(tasks: Iterable[str]) -> list[str]:
    """Built-in tasks in the registry's order, SentEval's list first; then the others as given."""
    rank = {name: i for i, name in enumerate(TASKS)}
    return sorted(tasks, key=lambda name: rank.get(name, len(rank)))


def named(name: str) -> Task:
    """Read a task off its name alone: no data set is looked for, so that none need be there."""
    if name in TASKS:
        return TASKS[name]
    return _of_labels(name) or _of_pairs(name)


def seeds_of(name: str, protocol: str | None, seed: int | None, seeds: int = 1) -> list[int | None]:
    """Seeds to measure a task with: consecutive ones, or one where nothing is drawn.

    Similarity by cosine and search draw nothing, whatever the seed.

    Args:
        name: of the task.
        protocol: for all tasks; None is the task's default.
        seed: the first; None is the protocol's own, and stays None when there is only one.
        seeds: how many.
    """
    from engine import protocols

    task = named(name)
    chosen = protocols.get(protocol or task.protocol)
    if seeds == 1 or task.type_under(chosen.types) in (None, "sts", "search"):
        return [seed]
    first = chosen.seed if seed is None else seed
    return [first + i for i in range(seeds)]


def expand(
    names: str | Sequence[str] | None,
    catalog: Catalog,
    protocol: str | None = None,
    measured: Collection[str] = (),
) -> list[str]:
    """Write out suites and commas, check every name, drop repeats.

    A suite keeps only tasks whose data is here, unless none is.

    Args:
        names: tasks and suites. None is every built-in task whose data is here and that the
            protocol covers; without a protocol, those that train nothing large: the suites
            `starter` and `sts`.
        catalog: where data is looked for.
        protocol: for all tasks.
        measured: names that stand for themselves: a diagnosis has no data that could be looked for,
            and other data may be gone since.

    Raises:
        UserError: an unknown name, or no name at all.
    """
    present = {info.name for info in catalog.list()}
    here = [task.name for task in TASKS.values() if task.dataset in present]
    if names is None:
        return [name for name in here if _by_default(TASKS[name], protocol)]
    pieces = names.split(",") if isinstance(names, str) else names
    wanted: list[str] = []
    for name in (piece.strip() for piece in pieces):
        if name in SUITES:
            wanted += [task for task in SUITES[name] if task in here] or SUITES[name]
        elif name in measured:
            wanted.append(name)
        elif name:
            wanted.append(get(name, catalog).name)
    if not wanted:
        raise UserError("No task was named.", f"Name tasks or a suite: {', '.join(SUITES)}.")
    return list(dict.fromkeys(wanted))


def _by_default(task: Task, protocol: str | None) -> bool:
    from engine import protocols

    if protocol is None:
        return task.name in (*STARTER, *SEVEN)
    return task.type_under(protocols.get(protocol).types) is not None


def _tasks_of(info: DatasetInfo) -> list[Task]:
    if info.kind == "pairs":
        return [_of_pairs(info.name)]
    if info.task is not None and info.task.endswith("/probe"):
        return [_probing(info.task, info.name, info.description)]
    if info.kind == "labels" and info.origin in ("upload", "hub"):
        return [
            named(f"{info.name}/classify"),
            _search(f"{info.name}/search", info.name, f"Same label in {info.name}."),
        ]
    return []


def _is_dataset(name: str, kind: Kind, catalog: Catalog | None) -> bool:
    """Whether the name can hold such data; uploads and the hub are looked up when loaded."""
    if catalog is not None:
        kinds = {info.name: info.kind for info in catalog.list()}
        if name in kinds:
            return kinds[name] == kind
    return name.startswith(("upload:", "hub:"))


def _unknown(name: str, catalog: Catalog | None) -> UserError:
    known = [*TASKS, *SUITES]
    if catalog is not None:
        known = list(dict.fromkeys(known + [task.name for task in available(catalog)]))
        if _is_dataset(name, "labels", catalog):
            return UserError(
                f"{name!r} holds labelled sentences and can be measured in several ways.",
                f"Name {name}/classify, {name}/probe (in its own train, dev and test splits, as "
                f"SentEval probes) or {name}/search.",
            )
    folded = {task.casefold(): task for task in known}
    close = [folded[c] for c in difflib.get_close_matches(name.casefold(), folded, n=3)]
    hint = f"Did you mean {' or '.join(close)}?" if close else f"Known are {', '.join(known[:12])}."
    return UserError(f"There is no task named {name!r}.", hint)
