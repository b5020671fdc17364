"""MTEB's predictions as values per example, named as in our own tasks, and their texts.

Most types write their predictions to a folder. For retrieval, the values per query are captured
where MTEB passes them to `task_specific_scores`; for clustering, the random draws are recorded. For
a task with several subsets or splits the values are concatenated in the order of
`details["parts"]`; where MTEB gives no values, the notes say so.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.engine.errors import UserError
from theodolite.engine.mteb import own_tasks, suites
from theodolite.engine.stats.v_measure import v_measure_parts
from theodolite.engine.tasks import clusters
from theodolite.engine.tasks.task import ExampleTexts, Measurement

Values = dict[str, np.ndarray]
Part = tuple[str, str]
"""Subset and split."""
_UNTESTED = "differences cannot be tested."
NONE = f"MTEB keeps no values per example of this type of task: {_UNTESTED}"
_WITHOUT_FILE = ("Retrieval", "Reranking", "InstructionRetrieval", "InstructionReranking")


class _Recorder:
    """Wrap a random generator and record what `choices` draws."""

    def __init__(self, draw: random.Random) -> None:
        self._draw = draw
        self.chosen: list[np.ndarray] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._draw, name)

    def choices(self, *args: Any, **options: Any) -> list[Any]:
        drawn = self._draw.choices(*args, **options)
        self.chosen.append(np.array(drawn))
        return drawn


@dataclass
class Watch:
    """Records values per example while an MTEB task is evaluated.

    Attributes:
        task: an MTEB task, not an aggregate.
        queries: part -> query -> metric -> score, in trec_eval's names.
    """

    task: Any
    queries: dict[Part, dict[str, dict[str, float]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        kind = self.task.metadata.type
        self.writes = kind not in _WITHOUT_FILE
        if not self.writes:
            self._record()
        if kind == "Clustering":
            self.task.rng_state = _Recorder(self.task.rng_state)

    def _record(self) -> None:
        own = self.task.task_specific_scores

        def recorded(scores: Any, *args: Any, hf_split: str, hf_subset: str) -> Any:
            self.queries[hf_subset, hf_split] = scores
            return own(scores, *args, hf_split=hf_split, hf_subset=hf_subset)

        self.task.task_specific_scores = recorded

    def values(self, folder: Path, main: str) -> tuple[Values, dict[str, Any]]:
        """Return the values per example and the details of the evaluation.

        Args:
            folder: the folder of the written predictions.
            main: MTEB's name of the main metric.
        """
        parts = parts_of(self.task)
        kind, read = self.task.metadata.type, _READERS.get(self.task.metadata.type)
        if not self.writes:
            scored = [self.queries[part] for part in parts if part in self.queries]
            found = [_of_queries(queries, main) for queries in scored]
            return _joined(found, parts, {"mean_of": main.partition("_at_")[0]})
        file = folder / self.task.prediction_file_name
        if read is None or not file.is_file():
            return {}, {"notes": [NONE]}
        predictions = json.loads(file.read_text("utf-8"))
        try:
            rows = [(rows_of(self.task, part), predictions[part[0]][part[1]]) for part in parts]
        except KeyError:
            return {}, {"notes": [NONE]}
        if kind == "Clustering":
            return self._clusters(rows)
        details = {"mean_of": main} if kind in _BY_METRIC else _DETAILS.get(kind, {})
        return _joined([read(self.task, *row) for row in rows], parts, details)

    def _clusters(self, rows: list[tuple[Any, Any]]) -> tuple[Values, dict[str, Any]]:
        """Return each sentence's contribution to the V-measure, for labels of a single level."""
        drawn = getattr(self.task.rng_state, "chosen", [])
        levels = rows[0][1]
        if len(rows) > 1 or not isinstance(levels, dict) or len(levels) > 1:
            return {}, {"notes": [NONE]}
        (assigned,) = levels.values()
        used = _one_level(self.task, rows[0][0])
        if len(drawn) != len(assigned) or used is None:
            return {}, {"notes": [NONE]}
        _, labels = np.unique(used, return_inverse=True)
        parts = []
        for at, found in zip(drawn, assigned, strict=True):
            clusters = np.zeros(len(used), np.int64)
            clusters[at] = found
            times = np.bincount(at, minlength=len(used))
            parts.append(v_measure_parts(labels, clusters, times))
        return _joined([{"v_measure": np.array(parts)}], [], {"mean_of": "v_measure"})


def parts_of(task: Any) -> list[Part]:
    """Return the parts of a task, in the order of their values."""
    return [(subset, split) for split in task.eval_splits for subset in task.hf_subsets]


def rows_of(task: Any, part: Part) -> Any:
    """Return the scored rows of a part, in MTEB's layout."""
    subset, split = part
    of_subset = task.dataset[subset] if subset in task.dataset else task.dataset
    rows = of_subset[split]
    # mteb's v1 layout has all pairs in a single row.
    return rows[0] if task.metadata.type == "PairClassification" and len(rows) == 1 else rows


def embedded(task: Any, number: int) -> list[int]:
    """Return the rows of a clustering that MTEB encodes, out of `number`, in its order."""
    share, most = task.max_fraction_of_documents_to_embed, task.max_document_to_embed
    if share is None and most is None:
        return list(range(number))
    wanted = min(number, int(share * number) if share is not None else most)
    return random.Random(task.seed).sample(range(number), k=wanted)


def _one_level(task: Any, rows: Any) -> list[str] | None:
    """Return the labels of the encoded sentences in order; None if any has several levels."""
    labels = list(rows[task.label_column_name])
    used = [labels[i] for i in embedded(task, len(labels))]
    flat = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in used]
    return None if any(isinstance(one, list) for one in flat) else [str(one) for one in flat]


def _joined(found: list[Values], parts: list[Part], details: dict[str, Any]) -> tuple[Values, Any]:
    """Concatenate parts; values of a mean are weighted so that each part counts the same.

    Of values of each draw, (draws, n), the means are kept, and the scores of the draws in points.
    """
    mean_of = details.get("mean_of")
    if not found or not all(found) or (len(found) > 1 and mean_of is None):
        return {}, {"notes": [NONE]}
    if mean_of is not None and mean_of not in found[0]:
        return {}, {"notes": [f"MTEB gives {mean_of} of all examples at once: {_UNTESTED}"]}
    joined = {}
    if mean_of is not None and found[0][mean_of].ndim == 2:
        joined["draws"] = 100.0 * np.mean([one[mean_of].mean(axis=1) for one in found], axis=0)
        found = [{name: np.atleast_2d(one[name]).mean(axis=0) for name in one} for one in found]
    joined |= {name: np.concatenate([one[name] for one in found]) for name in found[0]}
    if "cosine" in joined:
        joined["part"] = np.zeros(len(joined["cosine"]), np.int16)
        details = {**details, "main_parts": [0]}
    if mean_of is not None:
        sizes = np.array([len(one[mean_of]) for one in found])
        weights = sizes.sum() / len(sizes) / sizes
        joined[mean_of] = joined[mean_of] * np.repeat(weights, sizes)
    return joined, {**details, "parts": ["/".join(part) for part in parts]} if parts else details


def _of_queries(scores: dict[str, dict[str, float]], main: str) -> Values:
    """Return the values per query of the main metric and of those that our own tasks keep."""
    wanted = {"ndcg": "ndcg_cut_10", "map": "map_cut_1000", "recall": "recall_100"}
    name, _, at = main.partition("_at_")
    wanted[name] = {"ndcg": "ndcg_cut_", "map": "map_cut_"}.get(name, f"{name}_") + at
    first: dict[str, float] = next(iter(scores.values()), {})
    return {
        short: np.array([of_query[long] for of_query in scores.values()])
        for short, long in wanted.items()
        if long in first
    }


def _similarity(task: Any, rows: Any, predictions: Any) -> Values:
    return {
        "cosine": np.array(predictions["cosine_scores"], np.float64),
        "gold": np.array(rows["score"], np.float64),
    }


def _pairs(task: Any, rows: Any, predictions: Any) -> Values:
    """Return the similarity that the main score uses; distances are negated."""
    from sklearn.metrics import average_precision_score

    label = np.array(rows[task.label_column_name], np.int64).ravel()
    found = {
        name.partition("_")[0]: (-1.0 if name.endswith("distances") else 1.0) * np.array(values)
        for name, values in predictions.items()
    }
    by = task.metadata.main_score.partition("_")[0]
    if by not in found:
        by = max(found, key=lambda name: average_precision_score(label, found[name]))
    return {"similarity": found[by].astype(np.float64), "label": label.astype(bool)}


def _labels(task: Any, rows: Any, predictions: Any) -> Values:
    """Return whether each sentence is classified correctly in each draw."""
    if task.is_cross_validation:
        return {}
    gold = np.array(rows[task.label_column_name])
    return {"share_right": np.array([np.array(one) == gold for one in predictions])}


def _label_sets(task: Any, rows: Any, predictions: Any) -> Values:
    """Return each sentence's exact match and label ranking average precision in each draw."""
    from sklearn.preprocessing import MultiLabelBinarizer

    gold = MultiLabelBinarizer().fit_transform(rows[task.label_column_name]).astype(bool)
    predicted = np.array(predictions, bool)
    if predicted.shape[1:] != gold.shape:  # MTEB scores a sample of a larger set
        return {}
    wanted, chosen = gold.sum(1), predicted.sum(2)
    hits = (predicted & gold).sum(2)
    # Predictions are binary: positive labels tie at rank `chosen`, all others at the last rank.
    found = hits * hits / np.maximum(chosen, 1) + (wanted - hits) * wanted / gold.shape[1]
    every = (wanted == 0) | (wanted == gold.shape[1])
    precision = np.where(every, 1.0, found / np.maximum(wanted, 1))
    return {"accuracy": (predicted == gold).all(2), "lrap": precision}


def _numbers(task: Any, rows: Any, predictions: Any) -> Values:
    """Return predictions and each sentence's contribution to Kendall's tau, to first order."""
    gold = np.array(rows[task.label_column_name], np.float64)
    predicted = np.array(predictions, np.float64)
    parts = np.array([_tau_parts(one, gold) for one in predicted])
    return {"kendalltau": parts, "estimate": predicted.mean(0), "gold": gold}


def _tau_parts(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return values whose mean is Kendall's tau-b and whose spread is that of tau in resamples."""
    signs = [_signs(a[i] - a, b[i] - b) for i in range(len(a))]
    agreed, apart_a, apart_b = np.array(signs).T
    pairs = np.sqrt(apart_a.sum() * apart_b.sum())
    return (2.0 * len(a) * agreed - agreed.sum()) / max(pairs, 1.0)


def _signs(a: np.ndarray, b: np.ndarray) -> tuple[float, float, float]:
    """Return agreeing minus disagreeing signs, and the number of nonzero differences in a and b."""
    left, right = np.sign(a), np.sign(b)
    return float(left @ right), float(np.abs(left).sum()), float(np.abs(right).sum())


def _nearest(task: Any, rows: Any, predictions: Any) -> Values:
    """Return each sentence's contribution to the F1; nothing for several pairs of columns."""
    from theodolite.engine.tasks.bitext import shares

    if list(predictions) != ["sentence1-sentence2"]:
        return {}
    (found,) = predictions.values()
    nearest = np.array([one["corpus_id"] for one in found], np.int64)
    gold = np.arange(len(nearest))
    if isinstance(rows, dict) and "gold" in rows:
        gold = np.array([pair[1] for pair in rows["gold"]], np.int64)
    return {"f1": shares(nearest, gold), "right": nearest == gold, "nearest": nearest}


def _correlations(task: Any, rows: Any, predictions: Any) -> Values:
    from scipy.stats import spearmanr

    pairs = zip(predictions["human_scores"], predictions["cosine_scores"], strict=True)
    return {"correlation": np.array([spearmanr(a, b).statistic for a, b in pairs])}


_READERS: dict[str, Callable[[Any, Any, Any], Values]] = {
    "STS": _similarity,
    "PairClassification": _pairs,
    "Classification": _labels,
    "MultilabelClassification": _label_sets,
    "Regression": _numbers,
    "BitextMining": _nearest,
    "Summarization": _correlations,
    "Clustering": lambda task, rows, predictions: {},
}
_BY_METRIC = ("MultilabelClassification", "Regression")
"""Types with values for more than one possible main metric."""
_DETAILS: dict[str, dict[str, Any]] = {
    "PairClassification": {"statistic": "average_precision"},
    "Classification": {"mean_of": "share_right"},
    "BitextMining": {"mean_of": "f1"},
    "Summarization": {"mean_of": "correlation"},
}
"""Type -> how a test of differences aggregates the values."""


_Read = Callable[[Any, Any], ExampleTexts]


def texts_of_task(name: str, seed: int) -> ExampleTexts:
    """Return each example's texts and expected answer, without downloads.

    The seed selects the sentences of a clustering.
    """
    task = own_tasks.make(name, seed)
    if task.is_aggregate or not suites.is_here(name):
        raise UserError(
            f"The texts of {name} are not on this machine.", "Evaluate it again.", code="no-file"
        )
    own_tasks.read(task)
    return texts_of(task)


def texts_of(task: Any) -> ExampleTexts:
    """Return the example texts, as `texts_of_task`, of a task whose data are loaded."""
    read = _TEXTS.get(task.metadata.type)
    if read is None:
        raise UserError(f"{task.metadata.type} is a type without examples.", "", code="unsupported")
    if hasattr(task, "corpus"):  # mteb's v1 data layout
        task.convert_v1_dataset_format_to_v2(num_proc=None)
    return [one for part in parts_of(task) for one in read(task, rows_of(task, part))]


def with_clusters(measured: Measurement, task: Any) -> Measurement:
    """Add which examples are not independent to a measurement of a task whose data are loaded."""
    read = _TEXTS.get(task.metadata.type)
    if read is None:
        return measured
    return clusters.of_examples(measured, texts_of(task), documents=read is _retrieval)


def _scored(task: Any, rows: Any) -> ExampleTexts:
    left, right = task.column_names
    return [
        ((a, b), f"{score:g}")
        for a, b, score in zip(rows[left], rows[right], rows["score"], strict=True)
    ]


def _labelled_pairs(task: Any, rows: Any) -> ExampleTexts:
    labels = _names(rows, task.label_column_name)
    left, right = rows[task.input1_column_name], rows[task.input2_column_name]
    return [((a, b), label) for a, b, label in zip(left, right, labels, strict=True)]


def _labelled(task: Any, rows: Any) -> ExampleTexts:
    labels = _names(rows, task.label_column_name)
    return [((a,), label) for a, label in zip(rows[task.input_column_name], labels, strict=True)]


def _clustered(task: Any, rows: Any) -> ExampleTexts:
    every = _labelled(task, rows)
    return [every[i] for i in embedded(task, len(every))]


def _names(rows: Any, column: str) -> list[str]:
    """Return labels as strings, by name where the table names its class numbers."""
    features = getattr(rows, "features", None) or {}
    feature = features.get(column)
    names = getattr(feature, "names", None) or getattr(
        getattr(feature, "feature", None), "names", None
    )

    def named(label: Any) -> str:
        if isinstance(label, Sequence) and not isinstance(label, str):
            return ", ".join(map(named, label))
        return names[label] if names and isinstance(label, int) and label >= 0 else str(label)

    return [named(label) for label in rows[column]]


def _translations(task: Any, rows: Any) -> ExampleTexts:
    left, right = list(rows["sentence1"]), list(rows["sentence2"])
    gold_rows = rows["gold"] if isinstance(rows, Mapping) and "gold" in rows else None
    gold = [pair[1] for pair in gold_rows] if gold_rows is not None else range(len(left))
    return [((text,), right[at]) for text, at in zip(left, gold, strict=True)]


def _summaries(task: Any, rows: Any) -> ExampleTexts:
    texts, machine = rows[task.text_column_name], rows[task.machine_summaries_column_name]
    rated = rows[task.relevancy_column_name]
    return [
        ((text,), some[int(np.argmax(by))])
        for text, some, by in zip(texts, machine, rated, strict=True)
    ]


def _retrieval(task: Any, rows: Any) -> ExampleTexts:
    """Return each judged query and its first document of the highest grade."""
    judged, corpus = rows["relevant_docs"], rows["corpus"]
    best = {key: max(grades, key=grades.get) for key, grades in judged.items() if grades}
    wanted = set(best.values())
    documents = {name: i for i, name in enumerate(corpus["id"]) if name in wanted}
    queries = rows["queries"]
    return [
        ((_query(one),), corpus[documents[best[key]]]["text"] if best[key] in documents else "")
        for key, one in zip(queries["id"], queries, strict=True)
        if key in best
    ]


def _query(row: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (str(row["text"]), row.get("instruction"))))


_TEXTS: dict[str, _Read] = {
    "STS": _scored,
    "PairClassification": _labelled_pairs,
    "Classification": _labelled,
    "MultilabelClassification": _labelled,
    "Clustering": _clustered,
    "BitextMining": _translations,
    "Summarization": _summaries,
    **dict.fromkeys(
        ("Retrieval", "Reranking", "InstructionRetrieval", "InstructionReranking"), _retrieval
    ),
    "Regression": _labelled,
}
