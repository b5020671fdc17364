"""Pair classification: are pairs with the same meaning more similar than the others?

Protocols `mteb-v2` (the best of several similarities) and `mteb-v1` (the cosine). Knows vectors and
labels; neither encoders nor files.
"""

import numpy as np

from theodolite.engine.datasets.types import Dataset, LabelledPairs, Retrieval, ScoredPairs
from theodolite.engine.errors import UserError
from theodolite.engine.results import Score
from theodolite.engine.stats.thresholds import sweep
from theodolite.engine.tasks.task import (
    ExampleTexts,
    Measurement,
    TaskType,
    labelled,
    scored_split,
)

_SAME = ("1", "1.0", "true", "yes", "entailment", "entailed", "duplicate", "paraphrase", "same")
_OTHER = (
    "0",
    "0.0",
    "false",
    "no",
    "contradiction",
    "contradictory",
    "not_entailment",
    "not_duplicate",
    "not_paraphrase",
    "different",
)
_MARKS = dict.fromkeys(_SAME, "1") | dict.fromkeys(_OTHER, "0") | {"neutral": ""}
SAME = 0.8
"""Share of the scale from which scored pairs mean the same."""
SIMILARITIES = ("similarity", "cosine", "manhattan", "euclidean", "dot")
METRICS = ("ap", "f1", "accuracy", "precision", "recall")


def measure(data: LabelledPairs, vectors: np.ndarray, *, by_cosine: bool = False) -> Measurement:
    """Rank pairs by several similarities.

    The examples `similarity` and `label` are in the order of the data; the similarity is the one of
    the main score, `details["by"]`. Distances are negated.

    The main score is the best average precision, or with `by_cosine` that of the cosine.
    """
    split, pairs, labels = scored_part(data)
    used = rows(data)
    left, right = (np.searchsorted(used, side[pairs]) for side in (data.left, data.right))
    similarities = pair_similarities(vectors, left, right)
    values = {
        f"{name}_{metric}": value
        for name, similar in similarities.items()
        for metric, value in zip(METRICS, binary(similar, labels), strict=True)
    }
    # Cosine first, so that it is named in a tie with `similarity`, equal but for rounding.
    best = max(("cosine", *SIMILARITIES), key=lambda name: values[f"{name}_ap"])
    highest = {
        f"max_{metric}": max(values[f"{name}_{metric}"] for name in SIMILARITIES)
        for metric in METRICS
    }
    main = "cosine_ap" if by_cosine else "max_ap"
    values = {main: (values | highest)[main]} | values | highest
    n = len(labels)
    scores = tuple(
        Score(split, None, name, 100.0 * value, n, main=name == main)
        for name, value in values.items()
        if not name.startswith("similarity_")
    )
    by = "cosine" if by_cosine else best
    details = {
        "by": by,
        "same": int(labels.sum()),
        "notes": _notes(data, split, n),
    }
    examples = {"similarity": similarities[by].astype(np.float64), "label": labels.astype(bool)}
    return Measurement(scores, examples, details)


def pair_similarities(
    vectors: np.ndarray, left: np.ndarray, right: np.ndarray
) -> dict[str, np.ndarray]:
    """Return each of `SIMILARITIES` of each pair, float32; higher is more similar.

    Computed by scikit-learn and torch to match them to the last digit, which can decide the order
    of neighbours in a ranking.
    """
    import torch
    from sklearn.metrics.pairwise import (
        paired_cosine_distances,
        paired_euclidean_distances,
        paired_manhattan_distances,
    )

    from theodolite.engine.search.ranked import unit

    a, b = vectors[left], vectors[right]
    return {
        "similarity": torch.sum(unit(a) * unit(b), dim=-1).numpy(),
        "cosine": 1 - paired_cosine_distances(a, b),
        "manhattan": -paired_manhattan_distances(a, b),
        "euclidean": -paired_euclidean_distances(a, b),
        "dot": np.array([x @ y for x, y in zip(a, b, strict=True)]),
    }


def binary(similar: np.ndarray, labels: np.ndarray) -> tuple[float, ...]:
    """Return `METRICS` in order; all but average precision are at the best threshold.

    No threshold splits a tie, and one that accepts every pair is not tried.
    """
    from sklearn.metrics import average_precision_score

    swept = sweep(similar, labels)
    f1, accuracy = swept.f1[1:-1], swept.accuracy[1:-1]  # the ends accept no pair, or every one
    best = 1 + int(np.argmax(f1)) if f1.max(initial=0.0) > 0 else None
    at_best = (0.0, 0.0, 0.0)
    if best is not None:
        at_best = (swept.f1[best], swept.precision[best], swept.recall[best])
    ap = average_precision_score(labels, similar)
    scores = ap, at_best[0], accuracy.max(initial=0.0), at_best[1], at_best[2]
    return tuple(float(value) for value in scores)


def scored_part(data: LabelledPairs) -> tuple[str, np.ndarray, np.ndarray]:
    """Return the split, the positions of its scored pairs, and their labels: 1 for same meaning."""
    split = scored_split(list(dict.fromkeys(data.splits))) if any(data.splits) else ""
    mine = [i for i, name in enumerate(data.splits) if name == split]
    marks = [mark(data.labels[i]) for i in mine]
    if None in marks or not {"0", "1"} <= set(marks):
        kinds = sorted({_fold(data.labels[i]) for i in mine})
        raise UserError(
            f"Pairs of {data.name} are labelled {', '.join(kinds[:6]) or 'nowhere'}; "
            "which of them mean the same is not clear, or all do.",
            "Label pairs that mean the same 1 and the others 0 (also known: yes and no, "
            "entailment, neutral and contradiction).",
        )
    unknown = [i for i, one in enumerate(marks) if one]
    labels = np.array([marks[i] == "1" for i in unknown], np.int64)
    return split or "all", np.array(mine)[unknown], labels


def mark(label: str) -> str | None:
    """`1` for the same meaning, `0` for another, empty for neither; None for an unknown label.

    >>> [mark(label) for label in ("Not duplicate", "neutral", "maybe")]
    ['0', '', None]
    """
    return _MARKS.get(_fold(label))


def _fold(label: str) -> str:
    return label.strip().casefold().replace(" ", "_")


def labelled_texts(data: Dataset) -> tuple[list[str], list[str], np.ndarray]:
    """Both sides of the pairs of a data set, and whether they mean the same: bool (n,).

    Scored pairs do from four fifths of the scale on: 4 of 5, "the same message". Of a retrieval
    set they are each query and each of its judged documents, and what is relevant counts.
    """
    if isinstance(data, Retrieval) and any(data.judgements.values()):
        judged = [
            (data.queries[query], data.documents[document], grade > 0)
            for of_split in data.judgements.values()
            for query, grades in of_split.items()
            for document, grade in grades.items()
            if document in data.documents
        ]
        return [q for q, *_ in judged], [d for _, d, _ in judged], np.array([r for *_, r in judged])
    if isinstance(data, LabelledPairs):
        _, pairs, labels = scored_part(data)
        left, right = (
            [data.sentences[i] for i in side[pairs].tolist()] for side in (data.left, data.right)
        )
        return left, right, labels.astype(bool)
    if not isinstance(data, ScoredPairs):
        raise UserError(
            f"{data.name} holds no pairs ({data.kind}).",
            "Choose labelled or scored pairs, or queries with judged documents; `theodolite data "
            "list` names the kinds.",
            code="wrong-kind",
        )
    parts, (low, high) = data.parts.values(), data.scale
    gold = np.concatenate([part.gold for part in parts])
    left, right = ([t for part in parts for t in getattr(part, side)] for side in ("left", "right"))
    return left, right, gold >= low + SAME * (high - low)


def _notes(data: LabelledPairs, split: str, used: int) -> list[str]:
    rows = sum(name == (split if any(data.splits) else "") for name in data.splits)
    if rows == used:
        return []
    return [
        f"{rows - used:,} of {rows:,} pairs are labelled neutral and left out, as mteb leaves "
        "them out."
    ]


def rows(data: LabelledPairs, protocol: str = "", seed: int = 0) -> np.ndarray:
    """Return the positions in `data.sentences` of the scored pairs' sentences."""
    _, pairs, _ = scored_part(data)
    return np.unique(np.concatenate([data.left[pairs], data.right[pairs]]))


def examples(data: LabelledPairs, protocol: str = "", seed: int = 0) -> ExampleTexts:
    """Return the scored pairs with their labels."""
    return labelled(data, scored_part(data)[1])


TYPE = TaskType(
    "pair-classification",
    kind="labelled-pairs",
    protocol="mteb-v2",
    metric="max_ap",
    about="Which pairs of {} mean the same.",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(
        data, vectors, by_cosine=protocol == "mteb-v1"
    ),
    rows=rows,
    examples=examples,
    draws=False,
)
