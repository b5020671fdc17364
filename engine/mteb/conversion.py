"""Our data sets as mteb tasks: in memory, scored by mteb's code with the settings of `mteb-v2`.

The split, the rows and the meaning of labels are those of the native tasks, so that the two differ
only in whose code computes the score.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from theodolite.engine.datasets.types import (
    Dataset,
    LabelledPairs,
    LabelledSentences,
    Parallel,
    Retrieval,
    ScoredPairs,
    Summaries,
)
from theodolite.engine.mteb.own_tasks import UNKNOWN_LANGUAGE
from theodolite.engine.mteb.package import lazy_import
from theodolite.engine.protocols.mteb_tasks import shots
from theodolite.engine.tasks import (
    bitext,
    clustering,
    few_shot,
    pair_classification,
    retrieval,
    sts,
    summarization as summaries,
)
from theodolite.engine.tasks.task import MTEB_TYPES, Task, scored_split

_Made = tuple[str, Any, dict[str, Any]]
"""The scored split, the data by split, and attributes for the task's class."""


def make(task: Task, data: Dataset, seed: int) -> Any:
    """Build an MTEB task on one of our data sets."""
    base, main, fill = TYPES[task.type]
    split, dataset, attributes = fill(data)
    metadata = lazy_import("abstasks.task_metadata.TaskMetadata")(
        name=re.sub(r"[^\w.\-]", "_", task.name),
        description=task.description,
        type=MTEB_TYPES[task.type],
        dataset={"path": f"theodolite/{task.dataset}", "revision": data.hash},
        eval_splits=[split],
        eval_langs=[UNKNOWN_LANGUAGE],
        main_score=main,
    )
    base = lazy_import(f"abstasks.{base}")
    instance = type(base.__name__, (base,), {"metadata": metadata, **attributes})(seed=seed)
    instance.dataset, instance.data_loaded = dataset, True
    return instance


def _table(columns: Mapping[str, Sequence[Any]]) -> Any:
    from datasets import Dataset

    return Dataset.from_dict({name: list(values) for name, values in columns.items()})


def _splits(tables: Mapping[str, Any]) -> Any:
    from datasets import DatasetDict

    return DatasetDict(tables)


def _similarity(data: ScoredPairs) -> _Made:
    (left, right), gold = sts.main_rows(data)
    texts = data.sentences
    table = {
        "sentence1": [texts[i] for i in left],
        "sentence2": [texts[i] for i in right],
        "score": gold.tolist(),
    }
    low, high = data.scale
    split = "test" if sts.is_scored_by_test(data) else "all"
    return split, _splits({split: _table(table)}), {"min_score": low, "max_score": high}


def _few_shot(data: LabelledSentences) -> _Made:
    _, labels = np.unique(np.array(data.labels), return_inverse=True)
    names = np.array(data.splits or ["all"] * len(labels))
    split = few_shot.scored_part(data)
    tables = {}
    for name in (split,) if split == "all" else ("train", split):
        rows = range(len(labels)) if split == "all" else np.flatnonzero(names == name)
        tables[name] = _table(
            {"text": [data.sentences[i] for i in rows], "label": [int(labels[i]) for i in rows]}
        )
    how: dict[str, Any] = {"samples_per_label": shots(data.name), "n_experiments": few_shot.DRAWS}
    if split == "all":
        how |= {"is_cross_validation": True, "n_splits": few_shot.FOLDS, "train_split": "all"}
    return split, _splits(tables), how


def _convert_clustering(data: LabelledSentences) -> _Made:
    split, rows = clustering.scored_part(data)
    table = {
        "sentences": [data.sentences[i] for i in rows],
        "labels": [data.labels[i] for i in rows],
    }
    how = {
        "max_fraction_of_documents_to_embed": None,
        "max_document_to_embed": clustering.EMBEDDED,
        "max_documents_per_cluster": clustering.DRAWN,
        "n_clusters": clustering.DRAWS,
    }
    return split, _splits({split: _table(table)}), how


def _pairs(data: LabelledPairs) -> _Made:
    split, pairs, labels = pair_classification.scored_part(data)
    table = {
        "sentence1": [data.sentences[i] for i in data.left[pairs]],
        "sentence2": [data.sentences[i] for i in data.right[pairs]],
        "labels": labels.tolist(),
    }
    return split, _splits({split: _table(table)}), {}


def _retrieval(data: Retrieval) -> _Made:
    split, judged = retrieval.judged_queries(data)

    documents = data.documents
    if data.candidates is not None:
        among = {name for key in judged for name in data.candidates.get(key, ())}
        documents = {key: text for key, text in data.documents.items() if key in among}

    def side(texts: Mapping[str, str]) -> Any:
        return _table({"id": list(texts), "text": list(texts.values())})

    part_of = {
        "corpus": side(documents),
        "queries": side({key: data.queries[key] for key in judged}),
        "relevant_docs": {key: dict(grades) for key, grades in judged.items()},
        "top_ranked": None
        if data.candidates is None
        else {key: list(dict.fromkeys(data.candidates.get(key, ()))) for key in judged},
    }
    own = retrieval.own_documents(data, judged)
    return split, {"default": {split: part_of}}, {"ignore_identical_ids": bool(own)}


def _bitext(data: Parallel) -> _Made:
    split = scored_split(data.parts)
    part_of = data.parts[split]
    _, (left, _), gold = bitext.scored_part(data)
    columns: dict[str, Any] = {
        "sentence1": [part_of.left[i] for i in left],
        "sentence2": list(part_of.right),
    }
    aligned = len(left) == len(part_of.right) and (gold == np.arange(len(gold))).all()
    table = _table(columns) if aligned else columns | {"gold": list(enumerate(gold.tolist()))}
    return split, {split: table}, {}


def _summaries(data: Summaries) -> _Made:
    columns = {
        "text": data.documents,
        "human_summaries": [list(some) for some in data.human],
        "machine_summaries": [list(some) for some in data.machine],
        "relevance": [one.tolist() for one in data.ratings[summaries.rating_of(data)]],
    }
    low, high = data.scale
    return "test", _splits({"test": _table(columns)}), {"min_score": low, "max_score": high}


TYPES: dict[str, tuple[str, str, Callable[[Any], _Made]]] = {
    "sts": ("AbsTaskSTS", "cosine_spearman", _similarity),
    "few-shot": ("AbsTaskClassification", "accuracy", _few_shot),
    "clustering": ("AbsTaskClustering", "v_measure", _convert_clustering),
    "pair-classification": ("AbsTaskPairClassification", "max_ap", _pairs),
    "document-retrieval": ("AbsTaskRetrieval", "ndcg_at_10", _retrieval),
    "reranking": ("AbsTaskRetrieval", "map_at_1000", _retrieval),
    "bitext": ("AbsTaskBitextMining", "f1", _bitext),
    "summarization": ("AbsTaskSummarization", "cosine_spearman", _summaries),
}
"""Our task type -> MTEB's class, the main score, and the function that converts the data."""
