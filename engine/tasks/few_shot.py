"""Few-shot classification: how well does a linear classifier learn from few sentences per label?

MTEB's classification, protocols `mteb-v1` and `mteb-v2`, which agree here. Knows vectors and
labels; neither encoders nor files.
"""

import warnings
from collections import Counter
from collections.abc import Iterator

import numpy as np

from theodolite.engine.datasets.types import LabelledSentences
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.protocols.mteb_tasks import USUAL_SHOTS, shots
from theodolite.engine.results import Score
from theodolite.engine.tasks.task import (
    ExampleTexts,
    Measurement,
    TaskType,
    labelled,
    scored_split,
)
from theodolite.engine.threads import one_blas_thread

DRAWS, FOLDS, MAX_ITER = 10, 5, 100
METRICS = (
    "accuracy",
    "f1",
    "f1_weighted",
    "precision",
    "precision_weighted",
    "recall",
    "recall_weighted",
    "ap",
    "ap_weighted",
)
"""Unweighted ones are macro averages; average precision is for two labels only."""


Parts = list[tuple[np.ndarray, np.ndarray]]
"""Positions in the data that each classifier is fitted on, and that it predicts."""


def measure(
    data: LabelledSentences, vectors: np.ndarray, seed: int, tick: ProgressCallback
) -> Measurement:
    """Fit on a few sentences per label and predict the scored split, ten times.

    The example values `share_right`, whose mean is the main score, are the share of draws in which
    a sentence is predicted correctly; with folds, 1 or 0, weighted so that folds count equally.
    `draws` are the accuracies of the draws or folds, in points.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    split, parts = _draws(data, seed)
    used = _rows(parts)
    _, labels = np.unique(np.array(data.labels), return_inverse=True)
    predicted = np.unique(np.concatenate([held_out for _, held_out in parts]))
    share, metrics, unfinished = np.zeros(len(data.labels)), [], 0
    for done, (learnt, held_out) in enumerate(parts):
        tick(done / len(parts))
        classifier = LogisticRegression(max_iter=MAX_ITER, random_state=seed)
        with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            classifier.fit(vectors[np.searchsorted(used, learnt)], labels[learnt])
            predictions = classifier.predict(vectors[np.searchsorted(used, held_out)])
        unfinished += any(issubclass(w.category, ConvergenceWarning) for w in caught)
        metrics.append(_metrics(labels[held_out], predictions))
        share[held_out] += (predictions == labels[held_out]) * (
            len(predicted) / len(held_out) / len(parts)
        )
    means = np.mean(metrics, axis=0)
    scores = tuple(
        Score(split, None, name, 100.0 * float(mean), len(predicted), main=not i)
        for i, (name, mean) in enumerate(zip(METRICS, means, strict=True))
        if np.isfinite(mean)
    )
    accuracies = [100.0 * one[0] for one in metrics]
    details = {
        "mean_of": "share_right",
        "accuracies": accuracies,
        "accuracy_std": float(np.std(accuracies)),
        "learnt_from": [len(learnt) for learnt, _ in parts],
        "fits_not_converged": unfinished,
        "notes": _notes(data, labels, parts),
    }
    examples = {"share_right": share[predicted], "draws": np.array(accuracies)}
    return Measurement(scores, examples, details)


def _metrics(labels: np.ndarray, predicted: np.ndarray) -> list[float]:
    """Return `METRICS` in order; NaN where undefined."""
    from sklearn.metrics import (
        accuracy_score,
        average_precision_score,
        precision_recall_fscore_support,
    )

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # labels that are never predicted
        macro, weighted = (
            precision_recall_fscore_support(labels, predicted, average=average)
            for average in ("macro", "weighted")
        )
    both = [value for i in (2, 0, 1) for value in (macro[i], weighted[i])]
    names = np.unique(labels)
    ap = [np.nan, np.nan]
    if len(names) == 2:
        ap = [average_precision_score(labels == names[1], predicted)] * 2
    return [accuracy_score(labels, predicted), *both, *ap]


def scored_part(data: LabelledSentences) -> str:
    """Return the split to predict; `all` if there is no train split, or no other one."""
    if "train" not in data.splits or set(data.splits) == {"train"}:
        return "all"
    return scored_split([name for name in dict.fromkeys(data.splits) if name != "train"])


def _draws(data: LabelledSentences, seed: int) -> tuple[str, Parts]:
    """Return the split to predict, and ten draws from the split `train`, or five folds."""
    names = np.array(data.splits)
    split = scored_part(data)
    if split == "all":
        return split, list(_folds(data, seed))
    train, held_out = np.flatnonzero(names == "train"), np.flatnonzero(names == split)
    labels = [data.labels[i] for i in train]
    _check(data, labels)
    order, parts = np.arange(len(train)), []
    for _ in range(DRAWS):
        # The same shuffle, applied each time to the previous order, as in mteb.
        np.random.RandomState(seed).shuffle(order)
        parts.append((train[_first_of_each(labels, order, shots(data.name))], held_out))
    return split, parts


def _rows(parts: Parts) -> np.ndarray:
    """Return all positions, each once, sorted."""
    return np.unique(np.concatenate([side for part in parts for side in part]))


def _folds(data: LabelledSentences, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    from sklearn.model_selection import KFold

    _check(data, data.labels)
    if len(data.labels) < FOLDS:
        raise UserError(
            f"{data.name} has {len(data.labels)} sentences, fewer than {FOLDS} folds.",
            "Add sentences to it, or a split to learn from and one to predict.",
            code="too-few",
        )
    order = None
    for learnt, held_out in KFold(FOLDS, shuffle=True, random_state=seed).split(data.labels):
        order = np.arange(len(learnt)) if order is None else order
        np.random.RandomState(seed).shuffle(order)
        of_learnt = [data.labels[i] for i in learnt]
        yield learnt[_first_of_each(of_learnt, order, shots(data.name))], held_out


def _first_of_each(labels: list[str], order: np.ndarray, most: int) -> list[int]:
    """Return the first positions of every label, at most so many, in the given order."""
    met: Counter[str] = Counter()
    positions = []
    for i in order.tolist():
        if met[labels[i]] < most:
            met[labels[i]] += 1
            positions.append(i)
    return positions


def _check(data: LabelledSentences, labels: list[str]) -> None:
    if len(set(labels)) < 2:
        raise UserError(
            f"{data.name} has {len(set(labels))} labels to learn from; telling labels apart needs "
            "two.",
            "Check which column was taken for the label.",
            code="too-few",
        )


def _notes(data: LabelledSentences, labels: np.ndarray, parts: Parts) -> list[str]:
    learnt, predicted = (
        set(np.concatenate([part[side] for part in parts]).tolist()) for side in (0, 1)
    )
    known = {labels[i] for i in learnt}
    unknown = sum(labels[i] not in known for i in predicted)
    notes = []
    if unknown:
        notes.append(
            f"{unknown:,} of {len(predicted):,} sentences have a label that is not in train."
        )
    few = Counter(labels[i] for i in parts[0][0])
    most = shots(data.name)
    if most != USUAL_SHOTS:
        notes.append(f"{most} sentences a label are known, as in MTEB's own task on {data.name}.")
    short = sum(count < most for count in few.values())
    if short:
        notes.append(
            f"{short:,} of {len(few):,} labels have fewer than {most} sentences to learn from."
        )
    return notes


def examples(data: LabelledSentences, protocol: str = "", seed: int = 0) -> ExampleTexts:
    """Return the predicted sentences: those of the split, or all."""
    split = scored_part(data)
    names = data.splits if split != "all" else [split] * len(data.labels)
    return labelled(data, [i for i, name in enumerate(names) if name == split])


def about(dataset: str) -> str:
    """Describe the task on a data set."""
    return (
        f"Tell the labels of {dataset} apart, of which {shots(dataset)} sentences each are known."
    )


TYPE = TaskType(
    "few-shot",
    protocol="mteb-v2",
    metric="accuracy",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(data, vectors, seed, tick),
    rows=lambda data, protocol, seed: _rows(_draws(data, seed)[1]),
    examples=examples,
)
