"""A task, and what tasks of one type share: how they are scored and what that needs.

Knows no task; a type is described at the end of its own module beside this one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.progress import ProgressCallback
from engine.results import Score

if TYPE_CHECKING:
    from engine.datasets.types import Kind
    from engine.encoders.prompts import PromptTask
    from engine.tasks.cost import Work


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
    type: str
    dataset: str
    kind: Kind
    protocol: str
    metric: str
    description: str
    also: tuple[str, ...] = ()

    def type_under(self, types: Sequence[str]) -> str | None:
        """Return how a protocol that covers these types scores the task, or None."""
        return next((t for t in (self.type, *self.also) if t in types), None)


@dataclass(frozen=True, eq=False)
class Measurement:
    """Scores, per-example values and details, as `engine.results.Result` carries them."""

    scores: tuple[Score, ...]
    examples: Mapping[str, np.ndarray]
    details: Mapping[str, Any] = field(default_factory=dict)


ExampleTexts = Sequence[tuple[tuple[str, ...], str]]
"""Of each example of a main score, in the order of its values: its texts, and what is expected."""


@dataclass(frozen=True)
class TaskType:
    """One way to measure.

    Attributes:
        name: as tasks and protocols have it.
        measure: called with (task, data, vectors, protocol, seed, tick). The data are of the
            task's kind, the vectors float32, finite, one of each of `data.sentences` or of its
            `rows`; they may be mapped from a file. The tick is called during training, and what it
            raises stops it.
        work: called with (data, protocol, seed), counts what `measure` will compute.
        rows: called with (data, protocol, seed), the positions in `data.sentences` of what has to
            be encoded; None where that is all of them.
        queries: called with the data, how many of these, the first ones, are queries; None: none.
        tasks: those that come with Theodolite, in the order of lists.
        trains: whether something is trained for minutes.
        draws: whether the main score depends on the seed.
        protocols: the only ones under which it is measured so; empty for all others.
        examples: called with (data, protocol, seed), says which examples the main score is over;
            None where nothing does.
    """

    name: str
    measure: Callable[[Task, Any, np.ndarray, str, int, ProgressCallback], Measurement]
    work: Callable[[Any, str, int], Work]
    rows: Callable[[Any, str, int], np.ndarray] | None = None
    queries: Callable[[Any], int] | None = None
    tasks: tuple[Task, ...] = ()
    trains: bool = False
    draws: bool = True
    protocols: tuple[str, ...] = ()
    examples: Callable[[Any, str, int], ExampleTexts] | None = None


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
"""What mteb calls a type that it has too. Models name prompts by these words."""


def prompt_task(task: Task, kind: TaskType) -> PromptTask:
    """A task as a model knows it that has prompts for tasks and for types."""
    from engine.encoders.prompts import PromptTask

    return PromptTask(task.name, MTEB_TYPES.get(kind.name, ""))
