"""A score from pair features by softmax regression on soft labels (Tai, Socher, Manning 2015).

A score y between k and k + 1 is the distribution with y - k at k + 1 and the rest at k; the
prediction is the mean of the predicted distribution. Random draws are in the reference's order; the
gradient is written out because autograd would take most of the time.

Source: facebookresearch/SentEval, `senteval/tools/relatedness.py` and `senteval/sick.py`.
"""

from collections.abc import Callable

import numpy as np
import torch

from theodolite.engine.classifiers.features import Features, batches
from theodolite.engine.classifiers.models import Parameter, linear_start
from theodolite.engine.classifiers.optimisers import Adam
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.threads import one_torch_thread

BINS = 5
"""Scores 1 to 5. The reference has the same bins for STS-B, whose scores begin at 0."""
_BATCH = 64
_PASSES = 50
"""Passes of a round, after which the dev split is scored."""
_MAX_PASSES = 1000
_TENACITY = 3

Correlation = Callable[[np.ndarray, np.ndarray], float]


def soft_labels(gold: np.ndarray) -> np.ndarray:
    """Return float32 (n, 5) distributions whose mean is the score; 0 to 1 lacks its lower bin."""
    low = np.floor(gold)
    bins = np.arange(1, BINS + 1)
    upper = (gold - low)[:, None] * (bins == low[:, None] + 1)
    lower = (low - gold + 1)[:, None] * (bins == low[:, None])
    return (upper + lower).astype(np.float32)


@one_torch_thread()
def fit(
    features: Features,
    gold: np.ndarray,
    splits: dict[str, np.ndarray],
    correlation: Correlation,
    seed: int,
    tick: ProgressCallback,
) -> tuple[float, np.ndarray, int]:
    """Train on `train`, keep the round with the best correlation on `dev`, predict `test`.

    Args:
        features: of pairs.
        gold: float64 (n,).
        splits: rows of `train`, `dev` and `test`.
        correlation: of two float64 arrays, -1 to 1.
        seed: of weights and shuffles.
        tick: called before each pass.

    Returns:
        The best correlation on dev (NaN if it was never defined), float64 predictions of the test
        rows, and the number of passes.
    """
    random = np.random.RandomState(seed)
    start = linear_start(features.width, BINS, torch.Generator().manual_seed(seed))
    weights = Parameter(start.to(features.device), 1)
    optimiser = Adam([weights], torch.zeros(BINS, device=features.device))
    target = torch.from_numpy(soft_labels(gold[splits["train"]])).to(features.device)
    train = features.rows(torch.from_numpy(splits["train"]).to(features.device))
    best, predicted, misses, passes = np.nan, np.zeros(len(splits["test"])), 0, 0
    while misses <= _TENACITY and passes <= _MAX_PASSES:
        for _ in range(_PASSES):
            tick(min(1.0, max(passes / _MAX_PASSES, misses / (_TENACITY + 1))))
            order = torch.from_numpy(random.permutation(len(train))).to(features.device)
            x, y = train.index_select(0, order), target.index_select(0, order)
            for x_batch, y_batch in zip(batches(x, _BATCH), batches(y, _BATCH), strict=True):
                optimiser.step([weights], [_gradient(weights.values, x_batch, y_batch)])
        passes += _PASSES
        score = correlation(_predict(weights.values, features, splits["dev"]), gold[splits["dev"]])
        if score > best or (np.isnan(best) and score > -1):
            best, predicted = score, _predict(weights.values, features, splits["test"])
        else:
            misses += 1
    return best, predicted, passes


def _gradient(w: torch.Tensor, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return the gradient (F + 1, 5) of the mean squared error of the softmax."""
    p = torch.softmax(torch.addmm(w[-1], x, w[:-1]), dim=1)
    by_p = (p - y).mul_(2 / p.numel())
    by_z = (by_p - (by_p * p).sum(1, keepdim=True)).mul_(p)
    gradient = torch.empty_like(w)
    torch.mm(x.T, by_z, out=gradient[:-1])
    torch.sum(by_z, 0, out=gradient[-1])
    return gradient


def _predict(w: torch.Tensor, features: Features, rows: np.ndarray) -> np.ndarray:
    x = features.rows(torch.from_numpy(rows).to(features.device))
    p = torch.softmax(torch.addmm(w[-1], x, w[:-1]), dim=1).cpu().numpy()
    return p @ np.arange(1.0, BINS + 1)
