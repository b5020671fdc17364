"""Scores of mteb's own tasks on data in memory, given the vectors: what ours are compared with."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from datasets import DatasetDict
from mteb.abstasks import AbsTask

from tests.fakes.mteb_tasks import Plain, loaded, retrieval_data, split, task_class
from theodolite.engine.datasets import Retrieval


class Given(Plain):
    """A model whose vectors are known."""

    def __init__(self, sentences: Sequence[str], vectors: np.ndarray) -> None:
        super().__init__(self)  # type: ignore[arg-type]
        self.known = dict(zip(sentences, vectors, strict=True))

    def encode(self, inputs: Any, **options: Any) -> np.ndarray:
        """Look up every text."""
        return np.stack([self.known[text] for batch in inputs for text in batch["text"]])


def scores(
    kind: type[AbsTask], type_: str, main: str, dataset: Any, model: Given, **attributes: Any
) -> Mapping[str, Any]:
    """Run a task of mteb's and return what it scores on `test`.

    Args:
        kind: the class of mteb's tasks.
        type_: as mteb spells it.
        main: name of the main score.
        dataset: what the class expects as `dataset`.
        model: gives the vectors.
        attributes: of the task, such as its number of samples.
    """
    task = loaded(task_class(kind, type_, main, lambda: dataset, **attributes))
    return task.evaluate(model, "test", encode_kwargs={"batch_size": 64})["default"]


def retrieval_of(data: Retrieval) -> Any:
    """One of our data sets, as mteb holds it."""
    judged = {key: dict(of) for key, of in data.judgements["test"].items()}
    top = data.candidates and {key: list(of) for key, of in data.candidates.items()}
    return retrieval_data(dict(data.documents), dict(data.queries), judged, top)


def table(**columns: Sequence[Any]) -> DatasetDict:
    """A data set with one split."""
    return split(columns)
