"""Transfer and probing: what a classifier trained on the vectors can predict (SentEval).

A data set's splits decide the plan: nested folds without splits; folds of train to choose with
train and test; dev to choose with train, dev and test. Knows vectors and labels; neither encoders
nor files.

Source: Conneau and Kiela 2018; facebookresearch/SentEval.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from theodolite.engine.classifiers.setting import HOLD_OUT, SolverSetting
from theodolite.engine.datasets.types import LabelledPairs, LabelledSentences
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.results import Score
from theodolite.engine.tasks.task import ExampleTexts, Measurement, TaskType, labelled

if TYPE_CHECKING:
    from theodolite.engine.classifiers.features import Combination, Features
    from theodolite.engine.classifiers.validation import Validated

SETTINGS: dict[str, SolverSetting] = {
    "senteval": SolverSetting("columns"),
    "senteval-exact": SolverSetting("exact"),
    "senteval-fast": SolverSetting(
        "exact", folds=5, optimiser="rmsprop", batch=128, tenacity=3, passes=2
    ),
    "senteval-sklearn": SolverSetting("logistic"),
    "senteval-mlp": SolverSetting("columns", hidden=50),
    "pitfalls": SolverSetting("columns", folds=5, choose_znorm=True),
    "pitfalls-mlp": SolverSetting("columns", folds=5, hidden=50, choose_znorm=True),
}
"""Protocol -> settings of the classifiers and of their selection."""

_CLASSES: dict[str, tuple[str, ...]] = {
    "SUBJ": ("subjective", "objective"),
    "SICKEntailment": ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
    "SNLI": ("entailment", "neutral", "contradiction"),
}
"""Data sets whose classes the reference does not number alphabetically. The number of a class
decides its initial random weights."""
_SPLITS = {"tr": "train", "va": "dev", "te": "test", "val": "dev", "valid": "dev"}
_SPLITS |= {"validation": "dev", "training": "train", "trial": "dev"}


@dataclass(frozen=True, eq=False)
class _Ordered:
    """A data set in the reference's order.

    Attributes:
        order: each row's position in the data set.
        labels: int64 class of each row.
        classes: class names by number.
        splits: name -> rows; empty if the data set has none.
    """

    order: np.ndarray
    labels: np.ndarray
    classes: tuple[str, ...]
    splits: dict[str, np.ndarray]


def measure(
    data: LabelledSentences | LabelledPairs,
    vectors: np.ndarray,
    setting: SolverSetting,
    seed: int,
    tick: ProgressCallback,
) -> Measurement:
    """Train, select and test classifiers on the vectors of `data.sentences`.

    The main score is the test accuracy; the example values `correct` are in the order of the data
    set.

    The seed is that of the classifiers, and of the folds of data sets with a test split.
    """
    from theodolite.engine.classifiers.features import accelerator
    from theodolite.engine.classifiers.validation import FoldTrainer, validate

    rows = _in_order(data)
    _check_trainable(data, rows, setting.folds)
    if data.name == "WordContent":  # always linear: it has a thousand classes
        setting = replace(setting, hidden=0, dropout=0.0)
    # One plain step is too small for a GPU to help; all columns together are not.
    device = accelerator() if setting.solver == "columns" else "cpu"
    features = _features(data, rows, vectors, device)
    trainer = FoldTrainer(features, rows.labels, setting, seed, tick)
    penalised = data.name != "SNLI"
    if not penalised:
        trainer.setting = replace(setting, passes=1, max_passes=15)
    return _measurement(data, rows, validate(trainer, rows.splits, penalised))


def _measurement(
    data: LabelledSentences | LabelledPairs, rows: _Ordered, validated: Validated
) -> Measurement:
    tested = rows.splits.get("test", np.arange(len(rows.labels)))
    gold, n_dev = rows.labels[tested], validated.n_dev
    where = "test" if rows.splits else "all"
    scores = [
        Score(where, None, "accuracy", validated.test, len(gold), main=True),
        Score("dev", None, "accuracy", validated.dev, n_dev),
    ]
    for option, (dev, test) in validated.options.items():
        scores.append(Score(where, option, "accuracy", test, len(gold)))
        scores.append(Score("dev", option, "accuracy", dev, n_dev))
    if data.name == "MRPC":
        from sklearn.metrics import f1_score

        f1 = round(100 * float(f1_score(gold, validated.predicted)), 2)
        scores.insert(1, Score(where, None, "f1", f1, len(gold)))
    correct = (validated.predicted == gold)[np.argsort(rows.order[tested])]
    counts = np.bincount(gold, minlength=len(rows.classes))
    details = {"labels": dict(zip(rows.classes, counts.tolist(), strict=True)), **validated.details}
    if len(rows.classes) > 100:
        details["labels"] = {"classes": len(rows.classes)}
    return Measurement(tuple(scores), {"correct": correct}, details)


def _in_order(data: LabelledSentences | LabelledPairs) -> _Ordered:
    """Sort by number of tokens, then label: the reference's folds and batches depend on it."""
    names = np.array([_SPLITS.get(name.lower(), name.lower()) for name in data.splits])
    present = list(dict.fromkeys(names.tolist()))
    _check_splits(data, present)
    labels = np.array(data.labels)
    learnt = labels[names == "train"] if len(names) else labels
    classes = _CLASSES.get(data.name) or tuple(np.unique(learnt).tolist())
    number = {label: i for i, label in enumerate(classes)}
    unknown = next((row for row, y in enumerate(data.labels) if y not in number), None)
    if unknown is not None:
        raise UserError(
            f"{data.place(unknown)} has the label {data.labels[unknown]!r}, which the training "
            f"split of {data.name} does not have.",
            "Every label must occur among the training sentences.",
            code="mismatch",
        )
    labels = np.array([number[label] for label in data.labels])
    tokens = np.array([s.count(" ") + 1 if s else 0 for s in data.sentences])
    keys: tuple[np.ndarray, ...] = (labels, tokens)
    if isinstance(data, LabelledPairs):
        keys = (labels, tokens[data.right], tokens[data.left])
        if data.name == "SNLI":  # the second sentence first, and labels by their names
            keys = (np.array(data.labels), tokens[data.left], tokens[data.right])
    order = np.lexsort(keys)  # stable, by the last key first
    splits = {name: np.flatnonzero(names[order] == name) for name in present}
    return _Ordered(order, labels[order], classes, splits)


def _features(
    data: LabelledSentences | LabelledPairs, rows: _Ordered, vectors: np.ndarray, device: str
) -> Features:
    from theodolite.engine.classifiers.features import Features

    if isinstance(data, LabelledSentences):
        return Features(vectors, rows.order, device=device)
    combination: Combination = "u, v, u*v, |u-v|" if data.name == "SNLI" else "|u-v|, u*v"
    return Features(vectors, data.left[rows.order], data.right[rows.order], combination, device)


def _check_trainable(data: LabelledSentences | LabelledPairs, rows: _Ordered, folds: int) -> None:
    """Raise UserError for data on which no classifier can be trained or tested."""
    name = data.title
    if len(rows.classes) < 2:
        raise UserError(
            f"{name} has a single label, {rows.classes[0]!r}; there is nothing to tell apart.",
            "Check which column was taken for the label.",
            code="too-few",
        )
    learnt = rows.splits.get("train", np.arange(len(rows.labels)))
    counts = Counter(rows.labels[learnt].tolist())
    if len(counts) < len(rows.classes):
        missing = next(c for i, c in enumerate(rows.classes) if i not in counts)
        raise UserError(
            f"No training example of {name} has the label {missing!r}.",
            "Every label must occur among the training sentences.",
            code="mismatch",
        )
    fewest = min(counts, key=lambda label: counts[label])
    if "dev" not in rows.splits and counts[fewest] < folds:
        first = data.place(int(rows.order[learnt][rows.labels[learnt] == fewest].min()))
        raise UserError(
            f"{name} has {counts[fewest]} training examples of {rows.classes[fewest]!r}, fewer "
            f"than the {folds} folds of the protocol; the first is at {first}.",
            "Add examples, leave that label out, or use a protocol with fewer folds.",
            code="too-few",
        )
    if "dev" not in rows.splits:
        _check_folds(name, len(learnt), max(counts.values()), folds, not rows.splits)


def _check_folds(name: str, examples: int, most: int, folds: int, outer: bool) -> None:
    """Raise UserError if folds leave too few examples for selection or early stopping.

    With `outer`, one fold is held out for scoring; `most` counts the most frequent label.
    """
    if outer:
        examples, most = (n - math.ceil(n / folds) for n in (examples, most))
    if most < folds or int(HOLD_OUT * examples) < 1:
        raise UserError(
            f"{name} leaves {examples} examples to learn from, {most} of the most frequent label; "
            f"expected at least {math.ceil(1 / HOLD_OUT)}, and {folds} of a label: the protocol "
            f"cuts them into {folds} folds and sets 5 % aside.",
            "Add examples, or use a protocol with fewer folds.",
            code="too-few",
        )


def _check_splits(data: LabelledSentences | LabelledPairs, names: list[str]) -> None:
    if set(names) not in ({"train", "dev", "test"}, {"train", "test"}, set()):
        raise UserError(
            f"{data.title} has the splits {', '.join(names)}.",
            "A classifier needs train, dev and test, or train and test, or no splits at all.",
        )


def examples(
    data: LabelledSentences | LabelledPairs, protocol: str = "", seed: int = 0
) -> ExampleTexts:
    """Return the examples of the split `test`, or all, in the order of the data set."""
    names = [_SPLITS.get(name.lower(), name.lower()) for name in data.splits]
    return labelled(
        data, [row for row in range(len(data.labels)) if not names or names[row] == "test"]
    )


def _type(name: str, about: str) -> TaskType:
    return TaskType(
        name,
        protocol="senteval",
        metric="accuracy",
        about=about,
        measure=lambda task, data, vectors, protocol, seed, tick: measure(
            data, vectors, SETTINGS[protocol], seed, tick
        ),
        trains=True,
        examples=examples,
    )


TYPE = _type("transfer", "{}.")
PROBING = _type("probing", "Labels of {}, in its own splits.")
"""Surface, syntactic and semantic properties: the ten tasks of Conneau et al. 2018 (SentEval), and
labelled sentences with their own train, dev and test splits."""
