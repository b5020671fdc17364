"""What a measurement will cost, before it is begun: work counted here, speed by `engine.speed`.

The work is counted exactly: the plan of a task is followed with a trainer that only notes what it
is asked. How long a classifier trains is decided by its own stopping rule, so how often it goes
through its rows is what SentEval's tasks took on average.

Knows neither stores nor pages.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from engine.classifiers.features import KEPT_BYTES
from engine.classifiers.setting import Fit, Fitted, Setting, Tick, nobody

if TYPE_CHECKING:
    from engine.datasets.types import Dataset, LabelledPairs, LabelledSentences
    from engine.encoders.base import Encoder
    from engine.tasks import Task

By = Literal["exact", "columns", "logistic", "standardised", "relatedness", "retrieval",
             "uniformity", "neighbours", "cosines"]  # fmt: skip
"""What takes the time: SentEval's solvers, the regression of `starter-1`, the trained similarities,
or what compares vectors."""
_BLOCK = 64
"""Sentences encoded between two looks at the clock."""
_ROUNDS = 1.65
"""Rounds that a fit takes, in units of those it may miss plus one: a mean over SentEval's tasks, of
9.9 rounds where the sixth miss ends a fit and 6.6 where the fourth does."""
_ITERATIONS, _OF_TWO_CLASSES, _STANDARDISED = 65, 22, 30
"""Of lbfgs: a mean over SentEval's tasks, by far fewer where there are two classes, and where
features are standardised and the penalty is large."""
_RELATEDNESS_PASSES = 300
_RETRIEVAL_PASSES = 12
_KEY_BYTES = 24
"""Kept beside each cached vector: the sentence's key and a checksum."""
_COPIES = 5
"""Of a classifier's weights: themselves, gradient, two moments of Adam, one in passing."""


@dataclass(frozen=True, eq=False)
class Work:
    """What a task asks for, whatever the encoder.

    Attributes:
        sentences: to be encoded, duplicates included.
        rows: examples a classifier sees; 0 where nothing is trained.
        width: features of an example for each dimension of the vectors.
        classes: of the classifier.
        fits: classifiers trained.
        fit_rows: rows that one pass of every fit goes through, summed over fits.
        pairs: pairs of vectors compared, where nothing is trained.
        passes: over its rows that a fit is expected to take; of lbfgs, iterations.
        by: what takes the time.
        image_dim: features of an image, where captions are told from images.
        setting: of SentEval's classifiers.
        asked: every fit, where it is known.
        labels: int64 class of every row, where it is known.
        calls: the same work by call of a solver that trains its fits together.
    """

    sentences: list[str]
    by: By = "cosines"
    rows: int = 0
    width: int = 1
    classes: int = 2
    fits: int = 0
    fit_rows: int = 0
    pairs: int = 0
    passes: float = 0.0
    image_dim: int = 0
    setting: Setting | None = None
    asked: list[Fit] = field(default_factory=list)
    labels: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))
    calls: list[Work] = field(default_factory=list)


def work_of(task: Task, dataset: Dataset, protocol: str, seed: int) -> Work:
    """Count what a task will do with one encoder.

    Args:
        task: what is measured.
        dataset: its data, loaded.
        protocol: a name.
        seed: of the folds.

    Raises:
        UserError: the protocol does not cover the task, or the data cannot be trained on.
    """
    from engine import protocols
    from engine.datasets.types import Captions, LabelledPairs, LabelledSentences, ScoredPairs
    from engine.evaluate import type_under
    from engine.tasks.sts import MOST_SENTENCES
    from engine.tasks.transfer import SETTINGS

    sentences = list(dataset.sentences)
    kind = type_under(protocols.get(protocol), task)
    if isinstance(dataset, Captions):
        train = dataset.parts["train"]
        n = len(train.captions)
        return Work(sentences, "retrieval", rows=n, fits=1, fit_rows=n, classes=1000,
                    image_dim=train.images.shape[1], passes=_RETRIEVAL_PASSES)  # fmt: skip
    if isinstance(dataset, ScoredPairs):
        splits = {name: len(part.gold) for name, part in dataset.parts.items()}
        if kind == "relatedness" or (protocol.startswith("pitfalls") and "train" in splits):
            n, every = splits.get("train", 0), sum(splits.values())
            return Work(sentences, "relatedness", rows=every, width=2, classes=5, fits=1,
                        fit_rows=n, passes=_RELATEDNESS_PASSES)  # fmt: skip
        small = dataset.parts_are == "splits" and len(sentences) <= MOST_SENTENCES
        if small and not protocol.startswith("pitfalls"):
            return Work(sentences, "uniformity", pairs=len(sentences) ** 2)
        return Work(sentences, pairs=len(sentences))
    if kind in ("transfer", "probing") and isinstance(dataset, LabelledSentences | LabelledPairs):
        return _planned(dataset, sentences, SETTINGS[protocol], seed)
    if kind == "classification" and isinstance(dataset, LabelledSentences):
        return _classified(dataset, sentences, own_splits=protocol != "starter-1")
    return Work(sentences, "neighbours", pairs=len(sentences) ** 2)


def _planned(
    data: LabelledSentences | LabelledPairs, sentences: list[str], setting: Setting, seed: int
) -> Work:
    """Follow the plan of a task with vectors of one dimension and a trainer that trains nothing."""
    from engine.classifiers.validation import Trainer
    from engine.tasks import transfer

    seen: list[Noting] = []

    class Noting(Trainer):
        """Notes what it is asked to train."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            self.asked: list[list[Fit]] = []
            seen.append(self)

        def solve(self, fits: list[Fit], then: int = 0) -> list[Fitted]:
            self.asked.append(fits)
            nothing = np.empty(0, np.int64)
            return [
                Fitted(0.5, 0, np.zeros_like(nothing if fit.test is None else fit.test))
                for fit in fits
            ]

    vectors = np.zeros((len(sentences), 1), np.float32)
    transfer.measure(data, vectors, setting, seed, nobody, Noting)
    (trainer,) = seen
    classes = int(trainer.labels.max()) + 1
    asked = [fit for fits in trainer.asked for fit in fits]
    whole = Work(
        sentences,
        trainer.setting.solver,
        rows=len(trainer.labels),
        width=trainer.features.width,
        classes=classes,
        fits=len(asked),
        fit_rows=_rows(asked),
        setting=trainer.setting,
        asked=asked,
        labels=trainer.labels,
        passes=_expected_passes(trainer.setting, classes),
    )
    if not trainer.together:
        return whole
    calls = [replace(whole, fits=len(f), fit_rows=_rows(f), asked=f) for f in trainer.asked]
    return replace(whole, calls=calls)


def _rows(fits: list[Fit]) -> int:
    return sum(len(fit.train) for fit in fits)


def _expected_passes(setting: Setting, classes: int) -> float:
    if setting.solver == "logistic":
        return _OF_TWO_CLASSES if classes == 2 else _ITERATIONS
    rounds = min(_ROUNDS * (setting.tenacity + 1), setting.max_passes // setting.passes + 1)
    return rounds * setting.passes


def _classified(data: LabelledSentences, sentences: list[str], own_splits: bool) -> Work:
    """One fit on the data's own split, or five folds, as `engine.tasks.classification` has them."""
    from engine.tasks.classification import FOLDS, PENALTY, has_own_splits

    _, labels = np.unique(np.array(data.labels), return_inverse=True)
    n = len(labels)
    if own_splits and has_own_splits(data):
        names = np.array(data.splits)
        parts = [(np.flatnonzero(names == "train"), np.flatnonzero(names == "test"))]
    else:
        parts = [(np.flatnonzero(np.arange(n) % FOLDS != k), np.arange(k, n, FOLDS))
                 for k in range(FOLDS)]  # fmt: skip
    fits = [Fit(fitted, predicted, PENALTY) for fitted, predicted in parts]
    return Work(
        sentences, "standardised", rows=n, classes=int(labels.max()) + 1, fits=len(fits),
        fit_rows=_rows(fits), setting=Setting("logistic"), asked=fits,
        labels=labels, passes=_STANDARDISED,
    )  # fmt: skip


def sentences_per_second(
    encoder: Encoder, sentences: Sequence[str], seconds: float, tick: Tick = nobody
) -> float:
    """Encode sentences until the time is over or there are no more; return the speed.

    Args:
        encoder: whose cache keeps what is encoded, so that nothing is lost.
        sentences: a fair sample of those to come, none of them cached.
        seconds: about how long.
        tick: called after each block; what it raises stops the probe.
    """
    if len(sentences) > _BLOCK:  # the first call also warms up
        encoder.encode(sentences[:8])
        sentences = sentences[8:]
    start, done = time.perf_counter(), 0
    while done < len(sentences) and (done == 0 or time.perf_counter() - start < seconds):
        done += len(encoder.encode(sentences[done : done + _BLOCK]))
        tick(min(1.0, (time.perf_counter() - start) / seconds))
    return done / max(time.perf_counter() - start, 1e-6)


def memory_bytes(work: Work, dim: int) -> int:
    """Estimate the peak, beside the program and the model: vectors, kept features, classifiers."""
    vectors = 4 * dim * len(work.sentences)
    if not work.fits:
        return vectors
    features = 4 * work.width * dim * work.rows
    features = features if features <= KEPT_BYTES else 0
    columns = work.fits if work.setting and work.setting.solver == "columns" else 1
    hidden = work.setting.hidden if work.setting else 0
    outputs = hidden or work.classes
    weights = 4 * _COPIES * columns * (work.width * dim + 1) * outputs
    groups = len({id(fit.train) for fit in work.asked}) if columns > 1 else 0
    return vectors + features + weights + 5 * groups * work.rows


def disk_bytes(new: int, dim: int) -> int:
    """Bytes that the cache grows by for so many new vectors, each kept with its key."""
    return new * (4 * dim + _KEY_BYTES)
