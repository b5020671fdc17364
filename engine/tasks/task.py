"""Tasks and task types: how tasks of a type are scored, and what that needs.

Knows no particular task; each type is defined at the end of its module.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from theodolite.engine.datasets.types import Kind, LabelledPairs, LabelledSentences
from theodolite.engine.encoders.prompts import PromptTask
from theodolite.engine.results import Score


@dataclass(frozen=True)
class Task:
    """One measurement on one data set.

    Attributes:
        name: the name, as in SentEval if the task exists there.
        type: the task type under its default protocol.
        dataset: the data set's name in the catalog.
        kind: the kind of data set it needs.
        protocol: the default protocol.
        metric: the main metric under the default protocol; higher is always better.
        description: one sentence for people.
        also: task types under other protocols. STS-B is a cosine under one protocol and a trained
            regressor under another: two measurements, which no table may mix.
    """

    name: str
    type: str
    dataset: str
    kind: Kind
    protocol: str
    metric: str
    description: str
    also: tuple[str, ...] = ()

    def type_under(self, types: Sequence[str]) -> str | None:
        """Return the task type used by a protocol that covers these types; None if not scored."""
        return next((t for t in (self.type, *self.also) if t in types), None)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Scores, per-example values and details, as in `engine.results.Result`."""

    scores: tuple[Score, ...]
    examples: Mapping[str, np.ndarray]
    details: Mapping[str, Any] = field(default_factory=dict)


ExampleTexts = Sequence[tuple[tuple[str, ...], str]]
"""For each example of the main score, in the order of its values: texts and expected answer."""


@dataclass(frozen=True)
class TaskType:
    """A way to score tasks.

    Attributes:
        name: the name in tasks and protocols.
        measure: called with (task, data, vectors, protocol, seed, tick). The data are of the
            task's kind; the vectors are float32 and finite, one for each of `data.sentences` or of
            its `rows`, and may be memory-mapped. `tick` is a progress callback; an exception from
            it stops the measurement. Where there are queries, `similarity` may be given, by
            which a model compares its vectors.
        rows: called with (data, protocol, seed); returns the positions in `data.sentences` to
            encode. None for all.
        ranked: called with (data, ranker, progress, tick), where rankers can be measured;
            `progress` is of indexing the documents.
        queries: called with the data; returns how many of these, the first ones, are queries.
            None for none.
        kind: the kind of data set its tasks need.
        protocol: their default protocol.
        metric: the main metric under it.
        about: their description, with a place for the data set's name.
        trains: whether scoring trains something for minutes.
        draws: whether the main score depends on the seed.
        protocols: the only protocols that score by this type; empty for all others.
        examples: called with (data, protocol, seed); returns the examples of the main score. None
            if unknown.
    """

    name: str
    measure: Callable[..., Measurement]
    rows: Callable[[Any, str, int], np.ndarray] | None = None
    queries: Callable[[Any], int] | None = None
    ranked: Callable[..., Measurement] | None = None
    kind: Kind = "labels"
    protocol: str = ""
    metric: str = ""
    about: str = ""
    trains: bool = False
    draws: bool = True
    protocols: tuple[str, ...] = ()
    examples: Callable[[Any, str, int], ExampleTexts] | None = None

    def on(self, dataset: str, name: str = "", about: str = "") -> Task:
        """Build the task of this type on a data set; by default it has the data set's name."""
        about = about or self.about.format(dataset)
        return Task(
            name or dataset, self.name, dataset, self.kind, self.protocol, self.metric, about
        )


def labelled(
    data: LabelledSentences | LabelledPairs, rows: Sequence[int] | np.ndarray
) -> ExampleTexts:
    """Return the sentences or pairs at these positions with their labels, as examples."""
    if isinstance(data, LabelledPairs):
        sides = [(data.sentences[data.left[i]], data.sentences[data.right[i]]) for i in rows]
        return [(pair, data.labels[i]) for pair, i in zip(sides, rows, strict=True)]
    return [((data.sentences[i],), data.labels[i]) for i in rows]


def scored_split(names: Collection[str]) -> str:
    """Return `test`; failing that, a name that starts with it, `dev` by any name, or the first.

    Raises:
        ValueError: no names.
    """
    if not names:
        raise ValueError("a data set without splits has none to score")
    if "test" in names:
        return "test"
    tests = (name for name in names if name.startswith("test"))
    return next(tests, next((name for name in _DEV if name in names), next(iter(names))))


_DEV = ("dev", "validation", "val")
MTEB_TYPES = {
    "sts": "STS",
    "relatedness": "STS",
    "classification": "Classification",
    "transfer": "Classification",
    "probing": "Classification",
    "few-shot": "Classification",
    "clustering": "Clustering",
    "pair-classification": "PairClassification",
    "document-retrieval": "Retrieval",
    "reranking": "Reranking",
    "bitext": "BitextMining",
    "summarization": "Summarization",
}
"""Our task type -> mteb's task type, by which models name prompts."""


def prompt_task(task: Task, kind: TaskType) -> PromptTask:
    """Return a task as models with prompts per task or type know it."""
    return PromptTask(task.name, MTEB_TYPES.get(kind.name, ""))
