"""Logistic regression on many folds of the same rows, starting from the fit on all of them.

The classifiers of 50 folds differ little from that of all rows, so each is a few Newton steps away
from it. The steps of all folds are solved together, by conjugate gradients: two matrix products an
iteration. Fifty folds take about as long as scikit-learn takes for five.
"""

from collections.abc import Iterator

import numpy as np

from theodolite.engine.progress import ProgressCallback
from theodolite.engine.threads import one_blas_thread

_MAX_CELLS = 4_000_000
"""Rows times folds times classes solved at once, 16 MB an array."""
_STEPS, _ITERATIONS = 20, 50
"""Most Newton steps, and most iterations for each."""
_STEP, _RESIDUAL = 0.1, 0.1
"""The last step changes no logit by more, and each is solved to this share of its gradient: steps
converge quadratically, so that what is left after the last is below 0.01."""


def predictions(
    features: np.ndarray, labels: np.ndarray, visible: np.ndarray, c: float, tick: ProgressCallback
) -> np.ndarray:
    """Fit one L2-penalised logistic regression a fold, and predict every row by each.

    Args:
        features: float (n, d), standardised.
        labels: int64 (n,), classes from 0, at least two.
        visible: bool (n, folds), the rows that each is fitted on; each has every class.
        c: inverse strength of the penalty, as scikit-learn's `C`; the intercept is not penalised.
        tick: called with the share done.

    Returns:
        int64 (n, folds).
    """
    from sklearn.linear_model import LogisticRegression

    with one_blas_thread():
        x = _rotated(features)
        fitted = LogisticRegression(C=c, max_iter=500).fit(x, labels)
        start = np.concatenate([fitted.coef_.T, fitted.intercept_[None]]).astype(np.float32)
        x = np.concatenate([x, np.ones((len(x), 1), np.float32)], axis=1)
        target = np.eye(len(fitted.classes_), dtype=np.float32)[labels]
        if target.shape[1] == 2:  # one logit, that of the second class
            target = target[:, 1:]
        penalty = np.full((x.shape[1], 1), 1 / c, np.float32)
        penalty[-1] = 0.0
        size = max(1, _MAX_CELLS // target.size)
        predicted = np.empty(visible.shape, np.int64)
        for at in range(0, visible.shape[1], size):
            tick(at / visible.shape[1])
            some = slice(at, at + size)
            logits = _Folds(x, target, visible[:, some], penalty, start).logits()
            one = logits.shape[2] == 1
            predicted[:, some] = logits[:, :, 0] > 0 if one else logits.argmax(axis=2)
    return predicted


def _rotated(features: np.ndarray) -> np.ndarray:
    """Turn rows into as few columns as they span, orthogonal to each other: float32 (n, rank).

    The penalty is the same in any rotation, and orthogonal columns are quick to solve for.
    """
    wide = features.shape[0] <= features.shape[1]
    values, vectors = np.linalg.eigh(features @ features.T if wide else features.T @ features)
    significant = values > values[-1] * 1e-10
    turned = (
        vectors[:, significant] * np.sqrt(values[significant])
        if wide
        else features @ vectors[:, significant]
    )
    return np.asarray(turned, np.float32)


class _Folds:
    """Newton's method for several folds at once: weights are (columns of x, folds * classes)."""

    def __init__(
        self,
        x: np.ndarray,
        target: np.ndarray,
        visible: np.ndarray,
        penalty: np.ndarray,
        start: np.ndarray,
    ) -> None:
        self.x, self.target, self.penalty = x, target, penalty
        self.shape = (len(x), visible.shape[1], target.shape[1])
        self.mask = visible.astype(np.float32)[:, :, None]
        self.weights = np.tile(start, (1, visible.shape[1]))
        p = _softmax((x @ start)[:, None])[:, 0]
        curvature = penalty + (p * (1 - p)).mean(axis=0) * (x * x).sum(axis=0)[:, None]
        self.scale = np.tile(np.float32(1) / curvature, (1, visible.shape[1]))

    def logits(self) -> np.ndarray:
        """Solve: float32 (n, folds, classes), or one logit of two classes."""
        logits = self.x @ self.weights
        for _ in range(_STEPS):
            p = _softmax(logits.reshape(self.shape))
            step, change = self._step(p, self._back(p - self.target[:, None], self.weights))
            self.weights -= step
            logits -= change
            if np.abs(change).max() < _STEP:
                break
        return logits.reshape(self.shape)

    def _step(self, p: np.ndarray, gradient: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Solve Hessian x step = gradient; return the step, and what it changes of the logits."""
        step, left = np.zeros_like(gradient), gradient
        change = np.zeros((len(p), gradient.shape[1]), np.float32)
        direction = scaled = self.scale * left
        length = self._dot(left, scaled)
        goal = length * _RESIDUAL**2
        for _ in range(_ITERATIONS):
            ahead = self.x @ direction
            u = ahead.reshape(self.shape)
            curved = p * (u - (p * u).sum(axis=2, keepdims=True))
            product = self._back(p * (1 - p) * u if self.shape[2] == 1 else curved, direction)
            far = self._each(length / np.maximum(self._dot(direction, product), 1e-30))
            step += far * direction
            change += far * ahead
            left = left - far * product
            scaled = self.scale * left
            before, length = length, self._dot(left, scaled)
            if (length <= goal).all():
                break
            direction = scaled + self._each(length / np.maximum(before, 1e-30)) * direction
        return step, change

    def _back(self, of_rows: np.ndarray, weights: np.ndarray) -> np.ndarray:
        """Gather what the seen rows say of each weight, and what the penalty says."""
        masked = (of_rows * self.mask).reshape(len(of_rows), -1)
        return np.asarray(self.x.T @ masked + self.penalty * weights)

    def _dot(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the inner product of each fold: float32 (folds,)."""
        return (a * b).sum(axis=0).reshape(self.shape[1:]).sum(axis=1)

    def _each(self, of_folds: np.ndarray) -> np.ndarray:
        return np.repeat(of_folds, self.shape[2])


def _softmax(logits: np.ndarray) -> np.ndarray:
    """Probabilities along the last axis; of a single logit, that of the second of two classes."""
    if logits.shape[-1] == 1:
        return np.asarray(1 / (1 + np.exp(-logits)))
    p = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(p / p.sum(axis=-1, keepdims=True))


def repeated_folds(
    labels: np.ndarray, folds: int, repeats: int, seed: int
) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield (rows to fit on, rows to predict) of stratified folds, drawn several times."""
    from sklearn.model_selection import RepeatedStratifiedKFold

    splitter = RepeatedStratifiedKFold(n_splits=folds, n_repeats=repeats, random_state=seed)
    yield from splitter.split(labels, labels)
