"""The plain loop: one classifier after the other, with the reference's order of random draws.

Slow, and equal to the reference to the last digit: the oracle for the fast solver, and the solver
for numbers that must be exactly comparable with published tables.

Source: facebookresearch/SentEval, `senteval/tools/classifier.py`.
"""

import copy
import warnings

import numpy as np
import torch
from torch import nn, optim

from theodolite.engine.classifiers.features import Features
from theodolite.engine.classifiers.optimisers import BY_TORCH
from theodolite.engine.classifiers.setting import Fit, Fitted, SolverSetting
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.threads import one_blas_thread

_CHUNK = 4096
"""Rows scored at once."""


def solve(
    features: Features,
    labels: np.ndarray,
    fits: list[Fit],
    setting: SolverSetting,
    seed: int,
    tick: ProgressCallback,
) -> list[Fitted]:
    """Train every fit from scratch, each reseeded. See `engine.classifiers.setting.Solver`."""
    target = torch.from_numpy(labels.astype(np.int64)).to(features.device)
    classes = int(labels.max()) + 1
    with torch.random.fork_rng():  # the reference seeds torch globally; restore the state
        return [
            _fit(features, target, classes, fit, setting, seed, _part_of(tick, i, len(fits)))
            for i, fit in enumerate(fits)
        ]


def _part_of(tick: ProgressCallback, place: int, of: int) -> ProgressCallback:
    """Scale the progress of one fit to that of all."""
    return lambda done: tick((place + done) / of)


def _fit(
    features: Features,
    target: torch.Tensor,
    classes: int,
    fit: Fit,
    setting: SolverSetting,
    seed: int,
    tick: ProgressCallback,
) -> Fitted:
    random = np.random.RandomState(seed)  # the stream of the reference's np.random.seed
    torch.manual_seed(seed)
    model = _model(features.width, classes, setting).to(features.device)
    optimiser = _optimiser(model, setting, fit.penalty)
    train, stop = fit.split(random)
    if fit.znorm:
        features = features.standardised(train)
    train_rows = torch.from_numpy(train).to(features.device)
    best, best_state = -1.0, model.state_dict()
    misses, done, stopped = 0, 0, False
    while not stopped and done <= setting.max_passes:
        tick(setting.share(done, misses))
        model.train()
        for _ in range(setting.passes):
            order = torch.from_numpy(random.permutation(len(train))).to(features.device)
            for start in range(0, len(train), setting.batch):
                rows = train_rows[order[start : start + setting.batch]]
                loss = torch.nn.functional.cross_entropy(model(features.rows(rows)), target[rows])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
        done += setting.passes
        right = _predict(model, features, stop) == target.cpu().numpy()[stop]
        if right.mean() > best:
            best, best_state = float(right.mean()), copy.deepcopy(model.state_dict())
        else:
            stopped = misses >= setting.tenacity  # never reset: total misses, not consecutive ones
            misses += 1
    model.load_state_dict(best_state)
    tested = np.empty(0, np.int64) if fit.test is None else _predict(model, features, fit.test)
    return Fitted(best, done, tested)


def _model(width: int, classes: int, setting: SolverSetting) -> torch.nn.Module:
    if not setting.hidden:
        return nn.Linear(width, classes)
    return nn.Sequential(
        nn.Linear(width, setting.hidden),
        nn.Dropout(setting.dropout),
        nn.Sigmoid(),
        nn.Linear(setting.hidden, classes),
    )


def _optimiser(
    model: torch.nn.Module, setting: SolverSetting, penalty: float
) -> torch.optim.Optimizer:
    kind = getattr(optim, BY_TORCH[setting.optimiser])
    optimiser: torch.optim.Optimizer = kind(model.parameters(), **dict(setting.options))
    optimiser.param_groups[0]["weight_decay"] = penalty  # overrides the options
    return optimiser


def _predict(model: torch.nn.Module, features: Features, rows: np.ndarray) -> np.ndarray:
    model.eval()
    with torch.no_grad():
        predictions = [
            model(features.rows(torch.from_numpy(part).to(features.device))).argmax(1).cpu().numpy()
            for part in np.array_split(rows, max(1, len(rows) // _CHUNK))
        ]
    return np.concatenate(predictions)


def solve_by_scikit_learn(
    features: Features,
    labels: np.ndarray,
    fits: list[Fit],
    setting: SolverSetting,
    seed: int,
    tick: ProgressCallback,
) -> list[Fitted]:
    """Fit scikit-learn's logistic regression, with the defaults of the version installed.

    The reference's other branch: on all training rows, without early stopping. The defaults have
    changed: before 0.22 the solver was liblinear, one class against the rest.
    """
    import sklearn.linear_model  # noqa: F401  # only libraries that are loaded can be limited

    answers = []
    with one_blas_thread():
        for done, fit in enumerate(fits):
            tick(done / len(fits))
            answers.append(_regression(features, labels, fit, seed))
    return answers


def _regression(features: Features, labels: np.ndarray, fit: Fit, seed: int) -> Fitted:
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    if fit.znorm:
        features = features.standardised(fit.train)

    def of(rows: np.ndarray) -> np.ndarray:
        return features.rows(torch.from_numpy(rows).to(features.device)).cpu().numpy()

    classifier = LogisticRegression(C=fit.penalty, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the protocol keeps the last iterate
        classifier.fit(of(fit.train), labels[fit.train])
    accuracy = 0.0 if fit.stop is None else classifier.score(of(fit.stop), labels[fit.stop])
    tested = np.empty(0, np.int64) if fit.test is None else classifier.predict(of(fit.test))
    return Fitted(float(accuracy), 0, tested)
