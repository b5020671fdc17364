"""The tasks by name, each one measurement on one data set.

Any data set can be measured. Scored or labelled pairs, queries with documents, parallel sentences
and rated summaries are a task named like the data set (`upload:reviews`). Labelled sentences are
several tasks, by an ending: `upload:reviews/classify`, `/search`, `/few-shot`, `/cluster` and, in
their own train, dev and test splits, `/probe`.
Knows no encoder; the other modules of this package score the tasks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from theodolite.engine import protocols
from theodolite.engine.datasets import Catalog, by_rule, chunks, held_out
from theodolite.engine.datasets.types import ENDINGS, HOLDS, TYPES, DatasetInfo, Kind
from theodolite.engine.errors import UserError, did_you_mean
from theodolite.engine.given import names_in, texts
from theodolite.engine.mteb import own_tasks, suites
from theodolite.engine.mteb.own_tasks import PREFIX
from theodolite.engine.protocols import Protocol, package
from theodolite.engine.tasks import (
    bitext,
    captions,
    classification,
    clustering,
    few_shot,
    pair_classification,
    relatedness,
    retrieval,
    sts,
    summarization,
    transfer,
)
from theodolite.engine.tasks.task import ExampleTexts, Measurement, Task, TaskType


def _refuse(task: Task, *_: object) -> Measurement:
    raise UserError(
        f"{task.name} is scored by the package mteb alone.",
        "Use --protocol mteb.",
        code="unsupported",
    )


def _examples_of_mteb(data: Any, protocol: str, seed: int) -> ExampleTexts:
    from theodolite.engine.mteb.examples import texts_of_task

    return texts_of_task(data.name, seed)


_MTEB = TaskType(
    package.TASK,
    kind="mteb",
    metric="main_score",
    measure=_refuse,
    examples=_examples_of_mteb,
)
"""MTEB's own tasks, `mteb:Banking77Classification`: mteb scores them, see `engine.mteb`. Only their
names are handled here, without mteb, so that results can be listed without it."""

_TYPES = (
    *(
        sts.TYPE,
        sts.PITFALLS,
        sts.MTEB,
        relatedness.TYPE,
        classification.TYPE,
        classification.SEARCH,
    ),
    *(transfer.TYPE, captions.TYPE, transfer.PROBING, few_shot.TYPE, clustering.TYPE),
    *(pair_classification.TYPE, retrieval.TYPE, retrieval.RERANKING, bitext.TYPE),
    *(summarization.TYPE, _MTEB),
)

_SIMILARITY = {
    "STS12": "SemEval 2012 similarity, five subsets.",
    "STS13": "SemEval 2013 similarity, three subsets (without SMT).",
    "STS14": "SemEval 2014 similarity, six subsets.",
    "STS15": "SemEval 2015 similarity, five subsets.",
    "STS16": "SemEval 2016 similarity, five subsets.",
}
_SENTENCES = {
    "MR": "Movie reviews, positive or negative.",
    "CR": "Customer reviews, positive or negative.",
    "SUBJ": "Subjective sentences or plot summaries.",
    "MPQA": "Opinion phrases, positive or negative.",
    "SST2": "Stanford sentiment, two classes.",
    "SST5": "Stanford sentiment, five classes.",
    "TREC": "Questions by the type of their answer.",
}
_PAIRS = {
    "MRPC": "Pairs that paraphrase one another or not.",
    "SICKEntailment": "SICK pairs by entailment.",
    "SNLI": "Premise and hypothesis by entailment.",
}
_PROPERTIES = {
    "Length": "how long the sentence is, in six bins.",
    "WordContent": "which of a thousand words it holds.",
    "Depth": "how deep its parse tree is.",
    "TopConstituents": "its top constituents.",
    "BigramShift": "whether two words were swapped.",
    "Tense": "the tense of the main verb.",
    "SubjNumber": "the number of the subject.",
    "ObjNumber": "the number of the object.",
    "OddManOut": "whether a word was replaced.",
    "CoordinationInversion": "whether clauses swapped.",
}
_ALSO_LEARNED = {
    "STSBenchmark": "STS Benchmark, test split.",
    "SICKRelatedness": "SICK relatedness, test split.",
}
_TOPICS = "starter-topics"


def _on_topics(kind: TaskType, name: str, about: str) -> Task:
    return replace(kind.on(_TOPICS, name, about), protocol="starter-1")


TASKS = {
    task.name: task
    for task in (
        sts.TYPE.on("starter-pairs", "StarterSTS", "Graded sentence pairs of the starter set."),
        _on_topics(classification.TYPE, "StarterTopics", "Tell the starter set's topics apart."),
        _on_topics(classification.SEARCH, "StarterSearch", "Find sentences of the same topic."),
        *(sts.TYPE.on(name, about=about) for name, about in _SIMILARITY.items()),
        *(
            replace(sts.TYPE.on(name, about=about), also=("relatedness",))
            for name, about in _ALSO_LEARNED.items()
        ),
        *(relatedness.TYPE.on(name, name + relatedness.FINETUNE) for name in _ALSO_LEARNED),
        *(transfer.TYPE.on(name, about=about) for name, about in _SENTENCES.items()),
        *(
            replace(transfer.TYPE.on(name, about=about), kind="labelled-pairs")
            for name, about in _PAIRS.items()
        ),
        captions.TYPE.on(
            "COCO",
            "ImageCaptionRetrieval",
            "Find the photograph of a caption and the captions of a photograph.",
        ),
        *(
            transfer.PROBING.on(name, about=f"Probing: {about}")
            for name, about in _PROPERTIES.items()
        ),
    )
}
"""The built-in tasks by name, in the order of lists."""

STARTER = ("StarterSTS", "StarterTopics", "StarterSearch")
SEVEN = (*_SIMILARITY, *_ALSO_LEARNED)
TRANSFER = ("MR", "CR", "SUBJ", "MPQA", "SST2", "TREC", "MRPC")
SENTEVAL = (*_SENTENCES, *_PAIRS, *_ALSO_LEARNED, "ImageCaptionRetrieval")
PROBING = tuple(_PROPERTIES)
SUITES: dict[str, tuple[str, ...]] = {
    "starter": STARTER,
    "sts": SEVEN,
    "transfer": TRANSFER,
    "senteval": SENTEVAL,
    "probing": PROBING,
}
"""Suite -> its tasks. `sts` and `transfer` are the seven tasks each of SimCSE's tables, in their
order; `senteval` is all downstream tasks of SentEval that train something under its protocols."""

MTEB_HERE = "mteb-here"
"""The suite of the data folder's tasks of MTEB's types, other than scored pairs."""

_OWN = ("upload:", "hub:")
"""How the names of one's own data sets begin."""

_OF_KIND: dict[Kind, TaskType] = {
    kind.kind: kind
    for kind in (
        sts.TYPE,
        pair_classification.TYPE,
        retrieval.TYPE,
        bitext.TYPE,
        summarization.TYPE,
    )
}
"""Kinds of data set that are a single task, named like the data set."""


def type_of(task: Task, protocol: Protocol) -> TaskType:
    """Return the task type by which the protocol scores the task."""
    name = task.type_under(protocol.types)
    if name is None:
        fitting = [p.name for p in protocols.PROTOCOLS.values() if task.type_under(p.types)]
        raise UserError(
            f"Protocol {protocol.name} does not say how to score {task.name}, "
            f"a task of type {task.type}.",
            f"Leave the protocol out or use {' or '.join(fitting)}.",
            code="mismatch",
        )
    types = [kind for kind in _TYPES if kind.name == name]
    # Under mteb's own protocols, tasks have the types of mteb-v2.
    under = "mteb-v2" if protocols.is_package(protocol.name) else protocol.name
    own = [kind for kind in types if under in kind.protocols]
    return own[0] if own else next(kind for kind in types if not kind.protocols)


def get(name: str, catalog: Catalog | None = None) -> Task:
    """Return a task by name.

    Args:
        name: a built-in task, or a data set's name with an ending as above.
        catalog: the catalog of data sets other than `upload:` and `hub:`.
    """
    whole, splitter = chunks.split_name(name)
    if splitter is not None:
        task = get(whole, catalog)
        return replace(
            task,
            name=chunks.join(task.name, splitter),
            dataset=chunks.join(task.dataset, splitter),
            description=f"{task.description.rstrip('.')}, cut into chunks ({splitter}).",
        )
    whole, seed = held_out.split_name(name)
    if seed is not None:
        task = get(whole, catalog)
        return replace(task, name=name, dataset=held_out.join(task.dataset, seed))
    if by_rule.split_name(name)[1]:
        return retrieval.TYPE.on(name)
    definition = _of_name(name)
    if definition and (name in TASKS or definition.kind == "mteb"):
        return definition
    infos = {} if catalog is None else {info.name: info for info in catalog.list()}
    if definition is None or not _may_be(definition.dataset, "labels", infos):
        # Uploads and hub files that are not listed count as pairs.
        own = sts.TYPE.on(name) if name.startswith(_OWN) else None
        definition = _of_info(infos[name]) if name in infos else own
    if definition is None:
        raise _unknown(name, infos, catalog)
    return definition


def _of_name(name: str) -> Task | None:
    """Return the task that a name tells by itself: built in, MTEB's own, or on labelled data."""
    if name in TASKS:
        return TASKS[name]
    if name.startswith(PREFIX):
        own = replace(_MTEB, protocol=package.installed_protocol() or package.SHORT)
        return own.on(name, about=f"MTEB's {name.partition(':')[2]}, by its own code.")
    dataset, _, ending = name.rpartition("/")
    kind = _OF_ENDING.get(ending)
    if not dataset or kind is None:
        return None
    return kind.on(dataset, name, few_shot.about(dataset) if kind is few_shot.TYPE else "")


def _of_info(info: DatasetInfo) -> Task | None:
    kind = retrieval.RERANKING if info.type == "Reranking" else _OF_KIND.get(info.kind or "mteb")
    return kind.on(info.name) if kind else None


_OF_ENDING = {
    "classify": classification.TYPE,
    "search": classification.SEARCH,
    "few-shot": few_shot.TYPE,
    "cluster": clustering.TYPE,
    "probe": transfer.PROBING,
}


def available(catalog: Catalog) -> list[Task]:
    """List the tasks whose data sets are available: built-in first, then those of other data.

    A labelled set of a data folder is listed only as the MTEB task it was made for. Others that can
    be named (`banking77/classify`) are not: their starter scores would be mistaken for MTEB's.
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
    """Sort tasks: one's own uploads, built-in ones by the registry's order, others as given."""
    rank = {name: i for i, name in enumerate(TASKS)}
    return sorted(tasks, key=lambda n: -1 if n.startswith("upload:") else rank.get(n, len(rank)))


def by_name(name: str) -> Task:
    """Return a task by its name alone, without looking for its data set."""
    return _of_name(name) or sts.TYPE.on(name)


def defaults(name: str) -> tuple[str, ...]:
    """Return the protocols that may be a task's default, by its name alone, likeliest first.

    A task named like its data set may be of any type until the data are looked up.
    """
    task = _of_name(name)
    return (task.protocol,) if task and task.kind != "mteb" else ("simcse-2021", "mteb-v2")


def seeds_of(name: str, protocol: str | None, seed: int | None, seeds: int = 1) -> list[int | None]:
    """Return the seeds to measure a task with: consecutive ones, or one if nothing is random.

    Similarity by cosine and search do not depend on the seed.

    Args:
        name: the task's name.
        protocol: the protocol; None for the task's default.
        seed: the first seed; None for the protocol's default, and stays None for a single seed.
        seeds: number of seeds.
    """
    task = by_name(name)
    rules = protocols.get(protocol or task.protocol)
    if seeds == 1 or not task.type_under(rules.types) or not type_of(task, rules).draws:
        return [seed]
    first = rules.seed if seed is None else seed
    return [first + i for i in range(seeds)]


def expand(
    names: str | Sequence[str] | None,
    catalog: Catalog,
    protocol: str | None = None,
    measured: Collection[str] = (),
) -> list[str]:
    """Expand suites and comma-separated lists, check every name, drop duplicates.

    A suite keeps only tasks whose data is available, unless none is.

    Args:
        names: tasks and suites. None for all built-in tasks whose data is available and that the
            protocol covers; without a protocol, only those of the suites `starter` and `sts`, which
            train nothing large.
        catalog: the catalog of data sets.
        protocol: the protocol of all tasks.
        measured: names accepted without a check: a diagnosis has no data set, and the data of
            others may have been removed since.
    """
    present = {info.name for info in catalog.list()}
    here = [task.name for task in TASKS.values() if task.dataset in present]
    if names is None:
        types = protocols.get(protocol).types if protocol else ()
        usual = (*STARTER, *SEVEN)
        return [n for n in here if (TASKS[n].type_under(types) if protocol else n in usual)]
    pieces = names_in(names) if isinstance(names, str) else texts(names, "tasks")
    wanted: list[str] = []
    for name in map(str.strip, pieces):
        if name in SUITES:
            wanted += [task for task in SUITES[name] if task in here] or SUITES[name]
        elif name == MTEB_HERE:
            wanted += _mteb_here(catalog)
        elif name in measured:
            wanted.append(name)
        elif suites.is_suite(name):
            wanted += suites.tasks_of(name)
        elif name.startswith(PREFIX):
            wanted.append(own_tasks.name_of(own_tasks.make(name)))
        elif name:
            wanted.append(get(name, catalog).name)
    if not wanted:
        known = ", ".join((*SUITES, MTEB_HERE))
        raise UserError("No task given.", f"Name tasks or a suite: {known}.", code="missing")
    return list(dict.fromkeys(wanted))


def _mteb_here(catalog: Catalog) -> list[str]:
    names = [
        task.name
        for task in available(catalog)
        if task.protocol == "mteb-v2" and not task.dataset.startswith(_OWN)
    ]
    if not names:
        raise UserError(
            "No data here is measured by MTEB's types of task.",
            "Name a data folder (THEODOLITE_DATA) that has a folder `mteb`.",
            code="missing",
        )
    return names


def _tasks_of(info: DatasetInfo) -> list[Task]:
    own = _of_info(info)
    if own and not info.no_task:
        return [own]
    if info.task is not None and info.task.endswith("/probe"):
        return [transfer.PROBING.on(info.name, info.task, info.description)]
    if info.kind != "labels" or info.no_task:
        return []
    if info.origin in ("upload", "hub"):
        endings: Sequence[str] = ENDINGS
    else:
        made_for = {"Classification": ("few-shot",), "Clustering": ("cluster",)}
        endings = made_for.get(info.type or "", ())
    return [by_name(f"{info.name}/{ending}") for ending in endings]


def _may_be(name: str, kind: Kind, infos: Mapping[str, DatasetInfo]) -> bool:
    """Whether a data set may be of that kind; uploads and hub data are checked when loaded."""
    return infos[name].kind == kind if name in infos else name.startswith(_OWN)


def _unknown(name: str, infos: Mapping[str, DatasetInfo], catalog: Catalog | None) -> UserError:
    info = infos.get(name)
    if info and info.kind and not info.problem and (info.no_task or info.kind not in TYPES):
        own = ", each with a label of its own" if info.kind == "labels" else ""
        return UserError(
            f"{name} holds {HOLDS[info.kind]}{own}: no task can be measured on it.",
            "`theodolite data list` shows the tasks of each data set.",
            code="wrong-kind",
        )
    if catalog is not None and _may_be(name, "labels", infos):
        return UserError(
            f"{name!r} holds labelled sentences and can be measured in several ways.",
            f"Name {name}/classify, {name}/probe (in its own train, dev and test splits, as "
            f"SentEval probes), {name}/few-shot, {name}/cluster or {name}/search.",
            code="ambiguous",
        )
    names = available(catalog) if catalog is not None else ()
    known = list(dict.fromkeys([*TASKS, *SUITES, MTEB_HERE, *(task.name for task in names)]))
    hint = did_you_mean(name, known, f"Available: {', '.join(known[:12])}.")
    return UserError(f"There is no task named {name!r}.", hint, code="unknown")
