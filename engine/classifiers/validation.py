"""Choosing a regulariser and scoring, as SentEval does: nested folds, folds, or a dev split.

The reference's three plans differ in the rows that select the regulariser, the rows that stop a
fit, and the rounding; all of these change the second digit. A fit that selects is stopped on the
same rows that it is scored on, so the dev accuracy is optimistic: that is the protocol.

Source: facebookresearch/SentEval, `senteval/tools/validation.py`. `normalised` is ours.
"""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from theodolite.engine.classifiers import columns, exact
from theodolite.engine.classifiers.features import Features
from theodolite.engine.classifiers.setting import (
    WEIGHT_DECAYS,
    Fit,
    Fitted,
    Solver,
    SolverSetting,
)
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.threads import one_torch_thread

OUTER_SEED = 1111
"""Seed of the nested folds, whatever the seed of the run."""
_ZNORM = (False, True)
_SOLVERS: dict[str, Solver] = {
    "exact": exact.solve,
    "columns": columns.solve,
    "logistic": exact.solve_by_scikit_learn,
}


@dataclass(frozen=True, eq=False)
class Validated:
    """The result of a plan.

    Attributes:
        dev: accuracy in points of 100, rounded to 2 decimals, by which regularisers were chosen.
        test: accuracy of the chosen classifiers, likewise.
        predicted: int64 class of each test row, in the order of the plan's `test` rows (nested:
            all rows, each by the classifier that had not seen it).
        n_dev: rows that `dev` was measured on.
        details: JSON-able: scores by fold and regulariser, number of fits and passes.
        options: name -> (dev, test) of each alternative; empty where only the regulariser was
            chosen.
    """

    dev: float
    test: float
    predicted: np.ndarray
    n_dev: int
    details: dict[str, Any]
    options: dict[str, tuple[float, float]] = field(default_factory=dict)


class FoldTrainer:
    """A solver with the features, labels, setting and seed that all fits of a plan share."""

    def __init__(
        self,
        features: Features,
        labels: np.ndarray,
        setting: SolverSetting,
        seed: int,
        tick: ProgressCallback,
    ) -> None:
        self.features, self.labels, self.setting = features, labels, setting
        self.seed, self._tick = seed, tick
        self.together = setting.solver == "columns"
        """Whether the solver trains all given fits at once."""
        self.fits = self.passes = 0

    def solve(self, fits: list[Fit], then: int = 0) -> list[Fitted]:
        """Train fits, and count them; `then` so many will follow, for the progress."""
        solver, before = _SOLVERS[self.setting.solver], self.fits
        expected = before + len(fits) + then

        def tick(done: float = 0.0, /) -> None:
            self._tick((before + done * len(fits)) / expected)

        with one_torch_thread():
            answers = solver(self.features, self.labels, fits, self.setting, self.seed, tick)
        self.fits += len(fits)
        self.passes += sum(answer.passes for answer in answers)
        return answers

    def counts(self) -> dict[str, int]:
        """Return JSON-able counts."""
        return {"fits": self.fits, "passes": self.passes}

    def accuracy(self, predicted: np.ndarray, rows: np.ndarray) -> float:
        """Points of 100, rounded as the reference rounds a score (not a mean, see `_points`)."""
        return round(100 * (int((predicted == self.labels[rows]).sum()) / len(rows)), 2)


def validate(
    trainer: FoldTrainer, splits: Mapping[str, np.ndarray], penalised: bool = True
) -> Validated:
    """Train, select and score by the plan for a set with these splits, name -> rows.

    Not `penalised`, no regulariser is tried (SNLI).
    """
    if trainer.setting.choose_znorm:
        outer = [(splits["train"], splits["test"])] if splits else outer_folds(trainer)
        return normalised(trainer, outer, splits.get("dev"), penalised)
    if not splits:
        return cross_validate(trainer)
    if "dev" not in splits:
        return folds(trainer, splits["train"], splits["test"])
    return split(trainer, splits["train"], splits["dev"], splits["test"], penalised)


def cross_validate(trainer: FoldTrainer) -> Validated:
    """Score a set without splits by nested cross-validation (MR, CR, SUBJ, MPQA)."""
    penalties = _grid(trainer, range(-2, 4))
    outer = outer_folds(trainer)
    inner = [
        Fit(train, stop, penalty)
        for training, _ in outer
        for folds in [_folds(trainer, training, OUTER_SEED)]
        for penalty in penalties
        for train, stop in folds
    ]
    # Columns are cheap together and expensive alone: all final fits are trained along with them.
    last = [Fit(training, None, p, test) for training, test in outer for p in penalties]
    if trainer.together:
        solution = trainer.solve(inner + last)
    else:
        solution = trainer.solve(inner, then=len(outer))
    accuracies = np.array([fit.accuracy for fit in solution[: len(inner)]])
    means = accuracies.reshape(len(outer), len(penalties), -1).mean(axis=2)
    scores, places = _best(means)
    if trainer.together:
        final = [solution[len(inner) + place] for place in places]
    else:
        final = trainer.solve([last[place] for place in places])
    penalty_of = [penalties[place % len(penalties)] for place in places]
    return _combine(trainer, outer, scores, penalty_of, final)


def folds(trainer: FoldTrainer, train: np.ndarray, test: np.ndarray) -> Validated:
    """Score a set with a train and a test split, selecting by folds of train (TREC, MRPC)."""
    penalties = _grid(trainer, range(-1, 6))
    parts = _folds(trainer, train, trainer.seed)
    choosing = [Fit(training, stop, p) for p in penalties for training, stop in parts]
    solution = trainer.solve(choosing, then=1)
    means = np.array([fit.accuracy for fit in solution]).reshape(len(penalties), -1).mean(axis=1)
    scores = [_points(mean) for mean in means]
    best = penalties[int(np.argmax(scores))]
    (final,) = trainer.solve([Fit(train, None, best, test)])
    return _choose(trainer, penalties, scores, final.predicted, test, len(train))


def split(
    trainer: FoldTrainer,
    train: np.ndarray,
    dev: np.ndarray,
    test: np.ndarray,
    penalised: bool = True,
) -> Validated:
    """Score a set with three splits: dev selects, and stops each fit (SST, SICK, SNLI, probing).

    The reference trains the selected classifier once more, from the same seed on the same rows.
    That gives the same classifier, so the fast solver tests the first one instead. Not `penalised`,
    no regulariser is tried (SNLI).
    """
    penalties = _grid(trainer, range(-2, 4), penalised)
    solution = trainer.solve(
        [Fit(train, dev, p, test) for p in penalties], then=not trainer.together
    )
    scores = [_points(fit.accuracy) for fit in solution]
    best = int(np.argmax(scores))
    final = solution[best]
    if not trainer.together:
        (final,) = trainer.solve([Fit(train, dev, penalties[best], test)])
    return _choose(trainer, penalties, scores, final.predicted, test, len(dev))


def normalised(
    trainer: FoldTrainer,
    outer: list[tuple[np.ndarray, np.ndarray]],
    dev: np.ndarray | None = None,
    penalised: bool = True,
) -> Validated:
    """Choose between plain and z-normalised features, each with its regulariser, by dev rows.

    Each outer fold has its own regulariser, as in `cross_validate`; normalisation is one choice for
    the task, by the mean dev accuracy over outer folds; ties go to plain.

    Args:
        trainer: trains the fits.
        outer: (rows to train on, rows to score), no row scored twice.
        dev: rows for selection and stopping, for a set that has them. None takes the first of
            `folds` stratified parts of the training rows; the final fit is on all of them.
        penalised: false tries no regulariser (SNLI).
    """
    penalties = _grid(trainer, range(-2, 4), penalised)
    if dev is None:
        chosen_on = [_folds(trainer, training, OUTER_SEED)[0] for training, _ in outer]
        final = [
            Fit(training, None, p, test, z)
            for z in _ZNORM
            for training, test in outer
            for p in penalties
        ]
    else:  # selecting and final fits are stopped by the same rows: they are the same fits
        chosen_on, final = [(training, dev) for training, _ in outer], []
    choosing = [
        Fit(train, stop, p, None if final else test, z)
        for z in _ZNORM
        for (train, stop), (_, test) in zip(chosen_on, outer, strict=True)
        for p in penalties
    ]
    solution = trainer.solve(choosing + final)
    finals, half = solution[-len(choosing) :], len(choosing) // 2
    options = []
    for at in (0, half):
        accuracies = np.array([fit.accuracy for fit in solution[at : at + half]])
        scores, places = _best(accuracies.reshape(len(outer), len(penalties)))
        penalty_of = [penalties[place % len(penalties)] for place in places]
        fits = [finals[at + place] for place in places]
        options.append(_combine(trainer, outer, scores, penalty_of, fits))
    plain, normal = options
    znorm = normal.dev > plain.dev
    best = normal if znorm else plain
    return replace(
        best,
        n_dev=len(np.unique(np.concatenate([stop for _, stop in chosen_on]))),
        details={"znorm": znorm, **best.details},
        options={"plain": (plain.dev, plain.test), "z-normalised": (normal.dev, normal.test)},
    )


def _best(shares: np.ndarray) -> tuple[list[list[float]], list[int]]:
    """Return points of (folds, regularisers), and where each fold's first best one is in a row."""
    scores = [[_points(share) for share in fold] for fold in shares]
    best = [int(np.argmax(fold)) for fold in scores]
    return scores, [fold * len(scores[0]) + place for fold, place in enumerate(best)]


def _combine(
    trainer: FoldTrainer,
    outer: list[tuple[np.ndarray, np.ndarray]],
    scores: list[list[float]],
    penalties: list[float],
    final: list[Fitted],
) -> Validated:
    """Combine the outer folds, each with its chosen regulariser and final fit."""
    dev, test = [max(fold) for fold in scores], []
    predicted = np.empty_like(trainer.labels)
    for (_, rows), fit in zip(outer, final, strict=True):
        predicted[rows] = fit.predicted
        test.append(trainer.accuracy(fit.predicted, rows))
    details = {"fold_dev": dev, "fold_test": test, "fold_penalty": penalties, **trainer.counts()}
    tested = np.sort(np.concatenate([rows for _, rows in outer]))
    means = _rounded(np.mean(dev)), _rounded(np.mean(test))
    return Validated(*means, predicted[tested], len(tested), details)


def outer_folds(trainer: FoldTrainer) -> list[tuple[np.ndarray, np.ndarray]]:
    """Folds of a set without splits, as (rows to train on, rows to score)."""
    return _folds(trainer, np.arange(len(trainer.labels)), OUTER_SEED)


def _choose(
    trainer: FoldTrainer,
    penalties: list[float],
    scores: list[float],
    predicted: np.ndarray,
    test: np.ndarray,
    n_dev: int,
) -> Validated:
    by_penalty = {f"{p:g}": score for p, score in zip(penalties, scores, strict=True)}
    best = penalties[int(np.argmax(scores))]  # the first of ties
    details = {"penalty_dev": by_penalty, "penalty": best, **trainer.counts()}
    return Validated(max(scores), trainer.accuracy(predicted, test), predicted, n_dev, details)


def _grid(trainer: FoldTrainer, powers: range, penalised: bool = True) -> list[float]:
    """Weight decays, or scikit-learn's C as powers of two; next to no penalty if not penalised."""
    if trainer.setting.solver == "logistic":
        return [2.0**t for t in powers] if penalised else [1e9]
    if not penalised:
        return [1e-9]
    return list(WEIGHT_DECAYS)


def _folds(
    trainer: FoldTrainer, rows: np.ndarray, seed: int
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Stratified folds of some rows, as (rows to train on, rows left out)."""
    from sklearn.model_selection import StratifiedKFold

    splitter = StratifiedKFold(trainer.setting.folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a class smaller than the folds is checked
        parts = splitter.split(np.zeros(len(rows)), trainer.labels[rows])
        return [(rows[train], rows[test]) for train, test in parts]


def _points(share: Any) -> float:
    return _rounded(100 * share)


def _rounded(value: Any) -> float:
    """Round a mean as NumPy does: ties are common in means of ten, and Python's differ."""
    return float(np.round(value, 2))
