"""MTEB's predictions as values per example, named as in our own tasks, and their texts.

Most types write their predictions to a folder. For retrieval, the values per query are captured
where MTEB passes them to `task_specific_scores`; for clustering, the random draws are repeated. For
a task with several subsets or splits the values are concatenated in the order of
`details["parts"]`; where MTEB gives no values, the notes say so.
"""

import json
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from theodolite.engine.errors import UserError
from theodolite.engine.mteb import own_tasks, suites
from theodolite.engine.mteb.own_tasks import Part, parts_of, rows_of
from theodolite.engine.stats.v_measure import v_measure_parts
from theodolite.engine.tasks import clusters
from theodolite.engine.tasks.task import ExampleTexts, Measurement

Values = dict[str, np.ndarray]
Queries = dict[Part, dict[str, dict[str, float]]]
"""Part -> query -> metric -> score, in trec_eval's names."""
_UNTESTED = "differences cannot be tested."
NONE = f"MTEB keeps no values per example of this type of task: {_UNTESTED}"
_WITHOUT_FILE = ("Retrieval", "Reranking", "InstructionRetrieval", "InstructionReranking")


def writes(task: Any) -> bool:
    """Whether MTEB writes the predictions of a task to a file."""
    return task.metadata.type not in _WITHOUT_FILE


def record_queries(task: Any) -> Queries:
    """Return what will have the scores of each query once MTEB has evaluated the task."""
    queries: Queries = {}
    own = task.task_specific_scores

    def recorded(scores: Any, *args: Any, hf_split: str, hf_subset: str) -> Any:
        queries[hf_subset, hf_split] = scores
        return own(scores, *args, hf_split=hf_split, hf_subset=hf_subset)

    task.task_specific_scores = recorded
    return queries


def values_of(
    task: Any, folder: Path, queries: Queries, main: str
) -> tuple[Values, dict[str, Any]]:
    """Return the values per example and the details of an evaluation.

    Args:
        task: an MTEB task, not an aggregate.
        folder: the folder of the written predictions.
        queries: as recorded.
        main: MTEB's name of the main metric.
    """
    parts, kind = parts_of(task), _KINDS.get(task.metadata.type)
    if not writes(task):
        values = [_of_queries(queries[part], main) for part in parts if part in queries]
        return _join(values, parts, {"mean_of": main.partition("_at_")[0]})
    file = folder / task.prediction_file_name
    if kind is None or not file.is_file():
        return {}, {"notes": [NONE]}
    predictions = json.loads(file.read_text("utf-8"))
    try:
        rows = [(_rows_of(task, part), predictions[part[0]][part[1]]) for part in parts]
    except KeyError:
        return {}, {"notes": [NONE]}
    details = {"mean_of": main} if kind.by_metric else kind.details
    labels = [] if task.metadata.type == "Clustering" else parts
    return _join([kind.values(task, *row) for row in rows], labels, details)


def _rows_of(task: Any, part: Part) -> Any:
    """Return the scored rows of a part; mteb's v1 layout has all pairs in a single row."""
    rows = rows_of(task, part)
    return rows[0] if task.metadata.type == "PairClassification" and len(rows) == 1 else rows


def _sample_of(task: Any, number: int) -> tuple[list[int], random.Random]:
    """Return the rows of a clustering that MTEB encodes, out of `number`, and its generator."""
    draw = random.Random(task.seed)
    share, most = task.max_fraction_of_documents_to_embed, task.max_document_to_embed
    if share is None and most is None:
        return list(range(number)), draw
    size = min(number, int(share * number) if share is not None else most)
    return draw.sample(range(number), k=size), draw


def _clusters(task: Any, rows: Any, levels: Any) -> Values:
    """Return each sentence's contribution to the V-measure, for labels of a single level."""
    if len(parts_of(task)) > 1 or not isinstance(levels, dict) or len(levels) > 1:
        return {}
    labels = list(rows[task.label_column_name])
    places, draw = _sample_of(task, len(labels))
    used = [labels[i] for i in places]
    flat = [one[0] if isinstance(one, list) and len(one) == 1 else one for one in used]
    if any(isinstance(one, list) for one in flat):
        return {}
    _, numbers = np.unique([str(one) for one in flat], return_inverse=True)
    parts = []
    for assigned in next(iter(levels.values())):
        at = np.array(draw.choices(range(len(used)), k=len(assigned)))
        clusters = np.zeros(len(used), np.int64)
        clusters[at] = assigned
        times = np.bincount(at, minlength=len(used))
        parts.append(v_measure_parts(numbers, clusters, times))
    return {"v_measure": np.array(parts)}


def _join(values: list[Values], parts: list[Part], details: dict[str, Any]) -> tuple[Values, Any]:
    """Concatenate parts; values of a mean are weighted so that each part counts the same.

    Of values of each draw, (draws, n), the means are kept, and the scores of the draws in points.
    """
    mean_of = details.get("mean_of")
    if not values or not all(values) or (len(values) > 1 and mean_of is None):
        return {}, {"notes": [NONE]}
    if mean_of is not None and mean_of not in values[0]:
        return {}, {"notes": [f"MTEB gives {mean_of} of all examples at once: {_UNTESTED}"]}
    joined = {}
    if mean_of is not None and values[0][mean_of].ndim == 2:
        joined["draws"] = 100.0 * np.mean([value[mean_of].mean(axis=1) for value in values], axis=0)
        values = [
            {name: np.atleast_2d(value[name]).mean(axis=0) for name in value} for value in values
        ]
    joined |= {name: np.concatenate([value[name] for value in values]) for name in values[0]}
    if "cosine" in joined:
        joined["part"] = np.zeros(len(joined["cosine"]), np.int16)
        details = {**details, "main_parts": [0]}
    if mean_of is not None:
        sizes = np.array([len(value[mean_of]) for value in values])
        weights = sizes.sum() / len(sizes) / sizes
        joined[mean_of] = joined[mean_of] * np.repeat(weights, sizes)
    names = {"parts": ["/".join(part) for part in parts]} if parts else {}
    return joined, details | names


def _of_queries(scores: dict[str, dict[str, float]], main: str) -> Values:
    """Return the values per query of the main metric and of those that our own tasks keep."""
    metrics = {"ndcg": "ndcg_cut_10", "map": "map_cut_1000", "recall": "recall_100"}
    name, _, at = main.partition("_at_")
    metrics[name] = {"ndcg": "ndcg_cut_", "map": "map_cut_"}.get(name, f"{name}_") + at
    first: dict[str, float] = next(iter(scores.values()), {})
    return {
        short: np.array([of_query[long] for of_query in scores.values()])
        for short, long in metrics.items()
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
    scores = {
        name.partition("_")[0]: (-1.0 if name.endswith("distances") else 1.0) * np.array(values)
        for name, values in predictions.items()
    }
    by = task.metadata.main_score.partition("_")[0]
    if by not in scores:
        by = max(scores, key=lambda name: average_precision_score(label, scores[name]))
    return {"similarity": scores[by].astype(np.float64), "label": label.astype(bool)}


def _labels(task: Any, rows: Any, predictions: Any) -> Values:
    """Return whether each sentence is classified correctly in each draw."""
    if task.is_cross_validation:
        return {}
    gold = np.array(rows[task.label_column_name])
    return {"share_right": np.array([np.array(prediction) == gold for prediction in predictions])}


def _label_sets(task: Any, rows: Any, predictions: Any) -> Values:
    """Return each sentence's exact match and label ranking average precision in each draw."""
    from sklearn.preprocessing import MultiLabelBinarizer

    gold = MultiLabelBinarizer().fit_transform(rows[task.label_column_name]).astype(bool)
    predicted = np.array(predictions, bool)
    if predicted.shape[1:] != gold.shape:  # MTEB scores a sample of a larger set
        return {}
    relevant, returned = gold.sum(1), predicted.sum(2)
    hits = (predicted & gold).sum(2)
    # Predictions are binary: positive labels tie at rank `chosen`, all others at the last rank.
    scores = hits * hits / np.maximum(returned, 1) + (relevant - hits) * relevant / gold.shape[1]
    every = (relevant == 0) | (relevant == gold.shape[1])
    precision = np.where(every, 1.0, scores / np.maximum(relevant, 1))
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
    (labels,) = predictions.values()
    nearest = np.array([label["corpus_id"] for label in labels], np.int64)
    gold = np.arange(len(nearest))
    if isinstance(rows, dict) and "gold" in rows:
        gold = np.array([pair[1] for pair in rows["gold"]], np.int64)
    return {"f1": shares(nearest, gold), "right": nearest == gold, "nearest": nearest}


def _correlations(task: Any, rows: Any, predictions: Any) -> Values:
    from scipy.stats import spearmanr

    pairs = zip(predictions["human_scores"], predictions["cosine_scores"], strict=True)
    return {"correlation": np.array([spearmanr(a, b).statistic for a, b in pairs])}


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
    kind = _KINDS.get(task.metadata.type)
    if kind is None:
        raise UserError(f"{task.metadata.type} is a type without examples.", "", code="unsupported")
    if hasattr(task, "corpus"):  # mteb's v1 data layout
        task.convert_v1_dataset_format_to_v2(num_proc=None)
    return [text for part in parts_of(task) for text in kind.texts(task, _rows_of(task, part))]


def with_clusters(measured: Measurement, task: Any) -> Measurement:
    """Add which examples are not independent to a measurement of a task whose data are loaded."""
    if task.metadata.type not in _KINDS:
        return measured
    return clusters.of_examples(measured, texts_of(task), documents=not writes(task))


def _scored_pairs(task: Any, rows: Any) -> ExampleTexts:
    left, right = task.column_names
    return [
        ((a, b), f"{score:g}")
        for a, b, score in zip(rows[left], rows[right], rows["score"], strict=True)
    ]


def _labelled_pairs(task: Any, rows: Any) -> ExampleTexts:
    labels = _names(rows, task.label_column_name)
    left, right = rows[task.input1_column_name], rows[task.input2_column_name]
    return [((a, b), label) for a, b, label in zip(left, right, labels, strict=True)]


def _labelled_texts(task: Any, rows: Any) -> ExampleTexts:
    labels = _names(rows, task.label_column_name)
    return [((a,), label) for a, label in zip(rows[task.input_column_name], labels, strict=True)]


def _clustered_texts(task: Any, rows: Any) -> ExampleTexts:
    every = _labelled_texts(task, rows)
    return [every[i] for i in _sample_of(task, len(every))[0]]


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
    names = set(best.values())
    documents = {name: i for i, name in enumerate(corpus["id"]) if name in names}
    queries = rows["queries"]
    return [
        ((_query(one),), corpus[documents[best[key]]]["text"] if best[key] in documents else "")
        for key, one in zip(queries["id"], queries, strict=True)
        if key in best
    ]


def _query(row: Mapping[str, Any]) -> str:
    return " ".join(filter(None, (str(row["text"]), row.get("instruction"))))


@dataclass(frozen=True)
class _Kind:
    """A type of MTEB's tasks.

    Attributes:
        texts: called with the task and the rows of a part.
        values: called with the task, the rows and the predictions of a part; returns none where
            there are none. Those of queries are recorded instead.
        details: how a test of differences aggregates the values.
        by_metric: whether there are values for more than one possible main metric.
    """

    texts: Callable[[Any, Any], ExampleTexts]
    values: Callable[[Any, Any, Any], Values] = lambda task, rows, predictions: {}
    details: dict[str, Any] = field(default_factory=dict)
    by_metric: bool = False


_KINDS = {
    "STS": _Kind(_scored_pairs, _similarity),
    "PairClassification": _Kind(_labelled_pairs, _pairs, {"statistic": "average_precision"}),
    "Classification": _Kind(_labelled_texts, _labels, {"mean_of": "share_right"}),
    "MultilabelClassification": _Kind(_labelled_texts, _label_sets, by_metric=True),
    "Regression": _Kind(_labelled_texts, _numbers, by_metric=True),
    "Clustering": _Kind(_clustered_texts, _clusters, {"mean_of": "v_measure"}),
    "BitextMining": _Kind(_translations, _nearest, {"mean_of": "f1"}),
    "Summarization": _Kind(_summaries, _correlations, {"mean_of": "correlation"}),
    **{name: _Kind(_retrieval) for name in _WITHOUT_FILE},
}
