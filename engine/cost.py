"""What a measurement will cost, before it is begun: work counted, speed probed, the two multiplied.

The work is counted exactly: the plan of a task is followed with a trainer that only notes what it
is asked. Speed is a probe of a second or two on this machine, now. How long a classifier trains is
decided by its own stopping rule, so seconds are an estimate: the right order of magnitude.

Knows neither stores nor pages.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.classifiers.features import KEPT_BYTES
from engine.classifiers.setting import Fit, Fitted, Setting, Tick, nobody

if TYPE_CHECKING:
    from engine.datasets.types import Dataset, LabelledPairs, LabelledSentences
    from engine.encoders.base import Encoder
    from engine.tasks import Task

_SAMPLE = 1024
"""Rows that a timed pass goes through."""
_BLOCK = 64
"""Sentences encoded between two looks at the clock."""
_ROUNDS = 1.65
"""Rounds that a fit takes, in units of those it may miss plus one: a mean over SentEval's tasks, of
9.9 rounds where the sixth miss ends a fit and 6.6 where the fourth does."""
_RELATEDNESS_PASSES = 350
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
        passes: over its rows that a fit is expected to take.
    """

    sentences: list[str]
    rows: int = 0
    width: int = 1
    classes: int = 2
    fits: int = 0
    fit_rows: int = 0
    pairs: int = 0
    passes: float = 0.0
    _setting: Setting | None = None
    _asked: list[Fit] = field(default_factory=list)
    _labels: np.ndarray = field(default_factory=lambda: np.empty(0, np.int64))


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
        n = len(dataset.parts["train"].captions)
        return Work(sentences, rows=n, fits=1, fit_rows=n, classes=1000, passes=_RETRIEVAL_PASSES)
    if isinstance(dataset, ScoredPairs):
        splits = {name: len(part.gold) for name, part in dataset.parts.items()}
        if kind == "relatedness" or (protocol.startswith("pitfalls") and "train" in splits):
            n, every = splits.get("train", 0), sum(splits.values())
            return Work(sentences, rows=every, width=2, classes=5, fits=1, fit_rows=n,
                        passes=_RELATEDNESS_PASSES)  # fmt: skip
        small = dataset.parts_are == "splits" and len(sentences) <= MOST_SENTENCES
        return Work(sentences, pairs=len(sentences) ** 2 if small else len(sentences))
    if kind in ("transfer", "probing") and isinstance(dataset, LabelledSentences | LabelledPairs):
        return _planned(dataset, sentences, SETTINGS[protocol], seed)
    if kind == "classification" and isinstance(dataset, LabelledSentences):
        return _cross_validated(dataset, sentences)
    return Work(sentences, pairs=len(sentences) ** 2)


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
            self.asked: list[Fit] = []
            seen.append(self)

        def solve(self, fits: list[Fit], then: int = 0) -> list[Fitted]:
            self.asked += fits
            nothing = np.empty(0, np.int64)
            return [
                Fitted(0.5, 0, np.zeros_like(nothing if fit.test is None else fit.test))
                for fit in fits
            ]

    vectors = np.zeros((len(sentences), 1), np.float32)
    transfer.measure(data, vectors, setting, seed, nobody, Noting)
    (trainer,) = seen
    return Work(
        sentences,
        rows=len(trainer.labels),
        width=trainer.features.width,
        classes=int(trainer.labels.max()) + 1,
        fits=len(trainer.asked),
        fit_rows=sum(len(fit.train) for fit in trainer.asked),
        _setting=trainer.setting,
        _asked=trainer.asked,
        _labels=trainer.labels,
        passes=_expected_passes(trainer.setting),
    )


def _expected_passes(setting: Setting) -> float:
    if setting.solver == "logistic":
        return 1.0
    rounds = min(_ROUNDS * (setting.tenacity + 1), setting.max_passes // setting.passes + 1)
    return rounds * setting.passes


def _cross_validated(data: LabelledSentences, sentences: list[str]) -> Work:
    """Five folds of logistic regression, as `starter-1` has them."""
    _, labels = np.unique(np.array(data.labels), return_inverse=True)
    n = len(labels)
    fits = [Fit(np.flatnonzero(np.arange(n) % 5 != k), np.arange(k, n, 5), 0.01) for k in range(5)]
    return Work(
        sentences, rows=n, classes=int(labels.max()) + 1, fits=5,
        fit_rows=sum(len(fit.train) for fit in fits), _setting=Setting("logistic"), _asked=fits,
        _labels=labels, passes=1.0,
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


def training_seconds(work: Work, dim: int, probed: dict[object, float] | None = None) -> float:
    """Estimate how long a task trains and compares, from a timed pass over a sample of its rows.

    Args:
        work: of the task.
        dim: of the vectors; they are drawn at random here.
        probed: keeps probes for tasks whose classifiers are alike.
    """
    known = {} if probed is None else probed
    alike = (bool(work.pairs), work._setting, work.width * dim, work.classes, work.fits)
    if alike not in known:
        known[alike] = _seconds_each(work, dim)
    return known[alike] * (work.pairs or work.fit_rows * work.passes)


def _seconds_each(work: Work, dim: int) -> float:
    """Seconds for a pair compared, or for a row in one pass of one fit."""
    if work.pairs:
        return dim / _products_per_second(dim)
    if work._setting is None:
        return _seconds_a_row(work, dim)
    fits, used = _sampled(work)
    setting = replace(work._setting, max_passes=0)
    passes = 1 if setting.solver == "logistic" else setting.passes
    return _solved(work, fits, used, dim, setting) / (passes * sum(len(f.train) for f in fits))


def _sampled(work: Work) -> tuple[list[Fit], np.ndarray]:
    """The fits of a plan on a sample of its rows; one of them where they are trained in turn."""
    together = work._setting is not None and work._setting.solver == "columns"
    fits = work._asked if together else work._asked[:1]
    random = np.random.default_rng(1111)
    first = [a[0] for fit in fits for a in (fit.train, fit.stop, fit.test) if a is not None]
    sample = random.choice(work.rows, min(_SAMPLE, work.rows), replace=False)
    used = np.unique(np.concatenate([sample, first]))
    place = np.full(work.rows, -1)
    place[used] = np.arange(len(used))
    known: dict[int, np.ndarray] = {}

    def part(rows: np.ndarray) -> np.ndarray:
        # The same array again where it was the same: the solver shares what fits share.
        if id(rows) not in known:
            found = place[rows]
            known[id(rows)] = found[found >= 0]
        return known[id(rows)]

    return [
        replace(
            fit,
            train=part(fit.train),
            stop=None if fit.stop is None else part(fit.stop),
            test=None if fit.test is None else part(fit.test),
        )
        for fit in fits
    ], used


def _solved(work: Work, fits: list[Fit], used: np.ndarray, dim: int, setting: Setting) -> float:
    """Seconds that one round takes over sampled rows, with random vectors."""
    from engine.classifiers import columns, exact, logistic
    from engine.classifiers.features import Features, accelerator

    solver = {"exact": exact.solve, "columns": columns.solve, "logistic": logistic.solve}
    labels = work._labels[used].copy()
    labels[0] = work.classes - 1  # a sample may lack the last class, and with it its weights
    shape = (len(used), work.width * dim)
    vectors = np.random.default_rng(1111).standard_normal(shape, np.float32)
    device = accelerator() if setting.solver == "columns" else "cpu"
    features = Features(vectors, np.arange(len(used)), device=device)
    seconds: list[float] = []
    while len(seconds) < 2 and sum(seconds) < 1:  # the first run also warms up
        start = time.perf_counter()
        solver[setting.solver](features, labels, fits, setting, 1111, nobody)
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def _seconds_a_row(work: Work, dim: int) -> float:
    """Seconds a row takes in one pass of a single small network: forward, backward, Adam."""
    import torch

    width, outputs = work.width * dim, work.classes
    x = torch.randn(64, width)
    layer = torch.nn.Linear(width, outputs)
    optimiser = torch.optim.Adam(layer.parameters())
    # Retrieval draws 30 captions and 30 images beside each caption, and projects them all.
    times = 60 if outputs == 1000 else 1
    seconds: list[float] = []
    for _ in range(12):
        start = time.perf_counter()
        layer(x).square().mean().backward()
        optimiser.step()
        seconds.append(time.perf_counter() - start)
    return times * float(np.median(seconds)) / len(x)


def _products_per_second(dim: int) -> float:
    """Multiplications a second of the large products that compare vectors with one another."""
    x = np.random.default_rng(1111).standard_normal((_SAMPLE, dim), np.float32)
    seconds: list[float] = []
    for _ in range(3):
        start = time.perf_counter()
        np.exp(x.astype(np.float64) @ x.T)
        seconds.append(time.perf_counter() - start)
    return _SAMPLE**2 * dim / max(min(seconds), 1e-6)


def memory_bytes(work: Work, dim: int) -> int:
    """Estimate the peak, beside the program and the model: vectors, kept features, classifiers."""
    vectors = 4 * dim * len(work.sentences)
    if not work.fits:
        return vectors
    features = 4 * work.width * dim * work.rows
    features = features if features <= KEPT_BYTES else 0
    columns = work.fits if work._setting and work._setting.solver == "columns" else 1
    hidden = work._setting.hidden if work._setting else 0
    outputs = hidden or work.classes
    weights = 4 * _COPIES * columns * (work.width * dim + 1) * outputs
    groups = len({id(fit.train) for fit in work._asked}) if columns > 1 else 0
    return vectors + features + weights + 5 * groups * work.rows


def disk_bytes(new: int, dim: int) -> int:
    """Bytes that the cache grows by for so many new vectors, each kept with its key."""
    return new * (4 * dim + _KEY_BYTES)
