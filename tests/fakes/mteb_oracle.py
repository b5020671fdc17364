"""Scores of mteb's own tasks on data in memory, given the vectors: what ours are compared with."""

from collections.abc import Mapping, Sequence
from typing import Any

import mteb
import numpy as np
import torch
from datasets import Dataset, DatasetDict
from mteb import TaskMetadata
from mteb.abstasks import AbsTask
from mteb.models.model_meta import ModelMeta
from mteb.similarity_functions import cos_sim, pairwise_cos_sim


class Given:
    """A model whose vectors are known."""

    def __init__(self, sentences: Sequence[str], vectors: np.ndarray) -> None:
        self.known = dict(zip(sentences, vectors, strict=True))
        self.mteb_model_meta = ModelMeta.create_empty({"name": "tests/given", "revision": "1"})

    def encode(self, inputs: Any, **kwargs: Any) -> np.ndarray:
        """Look up every text."""
        return np.stack([self.known[text] for batch in inputs for text in batch["text"]])

    def similarity(self, a: Any, b: Any) -> torch.Tensor:
        """Cosines of all with all."""
        return cos_sim(a, b)

    def similarity_pairwise(self, a: Any, b: Any) -> Any:
        """Cosines of rows."""
        return pairwise_cos_sim(a, b)


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
    metadata = TaskMetadata(
        name="Mine",
        description="Mine.",
        reference=None,
        type=type_,
        category="t2t",
        modalities=["text"],
        eval_splits=["test"],
        eval_langs=["eng-Latn"],
        main_score=main,
        dataset={"path": "mine/mine", "revision": "1"},
        date=None,
        domains=None,
        task_subtypes=None,
        license=None,
        annotations_creators=None,
        dialect=None,
        sample_creation=None,
        bibtex_citation=None,
    )
    made = type("Mine", (kind,), {"metadata": metadata, **attributes})()
    made.dataset, made.data_loaded = dataset, True
    return made.evaluate(model, "test", encode_kwargs={"batch_size": 64})["default"]


def table(**columns: Sequence[Any]) -> DatasetDict:
    """A data set with one split."""
    return DatasetDict({"test": Dataset.from_dict(columns)})


__all__ = ["Given", "mteb", "scores", "table"]
