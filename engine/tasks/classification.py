"""Labelled sentences: can a linear classifier predict the label, has the nearest sentence the same?

Protocols of classification: `starter-1` (five stratified folds of all sentences), `starter-2` (the
data's own train and test splits if it has them) and `starter-3` (as `starter-2`, but the folds are
drawn ten times): standardised features, logistic regression. Search, `starter-1`: each sentence is
a query against all others, by cosine. Knows vectors and labels; neither encoders nor files.
"""

import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from theodolite.engine.datasets.types import LabelledSentences
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.results import Score
from theodolite.engine.search.index import neighbours_of_each
from theodolite.engine.tasks.task import ExampleTexts, Measurement, Task, TaskType, labelled
from theodolite.engine.threads import one_blas_thread

FOLDS = 5
PENALTY = 0.01
"""scikit-learn's C, the inverse strength of the L2 penalty. With hundreds of standardised features
and a hundred sentences per label, the default of 1 hardly penalises, and overfits."""
MAX_ITER = 500
REPEATED = "starter-3"
REPEATS, ROWS = 10, 10_000
"""Draws of the folds, and rows predicted in all of them: more rows need fewer draws, since what
chance adds to a score falls with their number, but at least one."""


def measure(
    data: LabelledSentences, vectors: np.ndarray, seed: int, *, own_splits: bool = False
) -> Measurement:
    """Predict the labels of held-out sentences by a linear classifier.

    Features are standardised with the mean and deviation of the training rows: otherwise the
    penalty would affect short vectors more than long ones and measure length instead of content.

    With `own_splits`, it is fitted on the split `train` and predicts the split `test`, if the data
    has both; otherwise every sentence is predicted once, in five folds drawn by the seed.
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    split = own_splits and has_own_splits(data)
    rows, labels = _enough(data, "train" if split else None)
    features = vectors[rows].astype(np.float64)
    predicted = np.empty_like(labels)
    tested = np.zeros(len(labels), bool)
    unfinished = 0
    for fitted, held_out in _parts(data, rows, labels, seed, split):
        classifier = make_pipeline(
            StandardScaler(), LogisticRegression(C=PENALTY, max_iter=MAX_ITER)
        )
        with one_blas_thread(), warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", ConvergenceWarning)
            classifier.fit(features[fitted], labels[fitted])
        unfinished += any(issubclass(w.category, ConvergenceWarning) for w in caught)
        predicted[held_out] = classifier.predict(features[held_out])
        tested[held_out] = True
    predicted, labels = predicted[tested], labels[tested]
    measured = _score(predicted[:, None], labels, "test" if split else "all")
    left_out = {"left_out": len(data.labels) - len(rows), "fits_not_converged": unfinished}
    return replace(measured, details={**measured.details, **left_out})


def measure_repeatedly(
    data: LabelledSentences, vectors: np.ndarray, seed: int, tick: ProgressCallback
) -> Measurement:
    """Predict every sentence in five folds, drawn ten times; an example is the share of them right.

    One draw of the folds decides by chance: on 300 rows its score has a standard deviation of a
    point. Features are standardised by the mean and deviation of all rows, without their labels, so
    that all fits share them.
    """
    from theodolite.engine.classifiers import folds

    rows, names = _enough(data, None)
    classes, labels = np.unique(names, return_inverse=True)
    features = vectors[rows].astype(np.float64)
    deviation = features.std(axis=0)
    features = (features - features.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    repeats = min(REPEATS, max(1, ROWS // len(rows)))
    parts = list(folds.repeated_folds(labels, FOLDS, repeats, seed))
    visible = np.ones((len(rows), len(parts)), bool)
    for place, (_, held_out) in enumerate(parts):
        visible[held_out, place] = False
    predictions = folds.predictions(features, labels, visible, PENALTY, tick)
    predicted = predictions[~visible].reshape(len(rows), repeats)  # row by row, draw by draw
    measured = _score(classes[predicted], names, "all")
    details = {"left_out": len(data.labels) - len(rows), "repeats": repeats}
    return replace(measured, details={**measured.details, **details})


def _score(predicted: np.ndarray, labels: np.ndarray, name: str) -> Measurement:
    """Score predictions (n, repeats); an example is right or wrong, or how often it is right."""
    from sklearn.metrics import f1_score

    right = predicted == labels[:, None]
    correct = right[:, 0] if right.shape[1] == 1 else right.mean(axis=1)
    f1 = np.mean([f1_score(labels, column, average="macro") for column in predicted.T])
    scores = (
        Score(name, None, "accuracy", 100.0 * float(correct.mean()), len(labels), main=True),
        Score(name, None, "macro_f1", 100.0 * float(f1), len(labels)),
    )
    names, counts = np.unique(labels, return_counts=True)
    details = {
        "labels": {str(y): int(c) for y, c in zip(names, counts, strict=True)},
        "recall": {str(y): 100.0 * float(correct[labels == y].mean()) for y in names},
    }
    return Measurement(scores, {"correct": correct}, details)


def has_own_splits(data: LabelledSentences) -> bool:
    """Whether the data has the splits `train` and `test`."""
    return {"train", "test"} <= set(data.splits)


def _parts(
    data: LabelledSentences, rows: np.ndarray, labels: np.ndarray, seed: int, split: bool
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield positions in `rows` to fit on, and to predict."""
    from sklearn.model_selection import StratifiedKFold

    if split:
        names = np.array(data.splits)[rows]
        yield np.flatnonzero(names == "train"), np.flatnonzero(names == "test")
        return
    yield from StratifiedKFold(FOLDS, shuffle=True, random_state=seed).split(rows, labels)


def frequent(data: LabelledSentences, split: str | None) -> tuple[set[str], Counter[str]]:
    """Return the labels with at least `FOLDS` sentences, and all counts, in a split or overall."""
    every = data.splits or [""] * len(data.labels)
    counts = Counter(y for y, name in zip(data.labels, every, strict=True) if split in (None, name))
    return {label for label, count in counts.items() if count >= FOLDS}, counts


def _enough(data: LabelledSentences, split: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return positions and labels of the sentences whose label is frequent in the split."""
    labels, _ = frequent(data, split)
    if len(labels) < 2:
        raise UserError(
            f"{data.name} has {'only one' if labels else 'no'} label with at least {FOLDS} "
            "sentences; telling labels apart needs two.",
            "Check which column was taken for the label.",
            code="too-few",
        )
    rows = np.array([i for i, label in enumerate(data.labels) if label in labels])
    return rows, np.array(data.labels)[rows]


def _examples(data: LabelledSentences, protocol: str, seed: int) -> ExampleTexts:
    """Return the predicted sentences: those of frequent labels, in `test` or everywhere."""
    split = _own_splits(protocol) and has_own_splits(data)
    rows, _ = _enough(data, "train" if split else None)
    return labelled(data, [row for row in rows if not split or data.splits[row] == "test"])


def _own_splits(protocol: str) -> bool:
    return protocol != "starter-1"


def _measure_faults(
    task: Task,
    data: LabelledSentences,
    vectors: np.ndarray,
    protocol: str,
    seed: int,
    tick: ProgressCallback,
) -> Measurement:
    if protocol == REPEATED and not has_own_splits(data):
        return measure_repeatedly(data, vectors, seed, tick)
    return measure(data, vectors, seed, own_splits=_own_splits(protocol))


TYPE = TaskType(
    "classification",
    protocol="starter-2",
    metric="accuracy",
    about="Tell the labels of {} apart, in its own splits or else in five folds.",
    measure=_measure_faults,
    examples=_examples,
)

NEAREST = 10


def measure_search(data: LabelledSentences, vectors: np.ndarray) -> Measurement:
    """Compute precision at 10: the share of the ten nearest sentences with the query's label.

    Each sentence is a query and a neighbour of others. The example values are its `precision` as a
    query, and `as_neighbour`, by how much it raises the precision of the others: their sum is its
    influence on the score, to first order, and the precision alone would give intervals that are
    too narrow.
    """
    n = len(data.labels)
    if n <= NEAREST or len(set(data.labels)) < 2:
        raise UserError(
            f"{data.name} has {n} sentences{', all of the same label' * (n > NEAREST)}; precision "
            f"at {NEAREST} needs more than {NEAREST} sentences and at least two labels.",
            "Choose a larger set of labelled sentences.",
            code="too-few",
        )
    _, labels = np.unique(np.array(data.labels), return_inverse=True)
    _, ids = neighbours_of_each(vectors, NEAREST)
    same = labels[ids] == labels[:, None]
    precision = same.mean(axis=1)
    raised = (same - precision[:, None]) / NEAREST  # against another neighbour in its place
    as_neighbour = np.bincount(ids.ravel(), weights=raised.ravel(), minlength=n)
    counts = Counter(data.labels)
    short = sum(count for count in counts.values() if count <= NEAREST)
    chance = sum(count * (count - 1) for count in counts.values()) / (n * (n - 1))
    details = {"chance": 100.0 * chance, "queries_with_fewer_than_10_of_their_label": short}
    scores = (Score("all", None, "precision_at_10", 100.0 * float(precision.mean()), n, main=True),)
    examples = {"precision": precision, "as_neighbour": as_neighbour}
    return Measurement(scores, examples, details)


SEARCH = TaskType(
    "search",
    protocol="starter-1",
    metric="precision_at_10",
    about="Find sentences of {} with the same label.",
    measure=lambda task, data, vectors, protocol, seed, tick: measure_search(data, vectors),
    draws=False,
    examples=lambda data, protocol, seed: labelled(data, range(len(data.labels))),
)
