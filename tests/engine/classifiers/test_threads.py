"""Regressions by scikit-learn on one thread: two took up to ten times the CPU time of one."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

from theodolite.engine.classifiers import exact
from theodolite.engine.classifiers.features import Features
from theodolite.engine.classifiers.setting import Fit, SolverSetting
from theodolite.engine.datasets.types import LabelledSentences
from theodolite.engine.progress import nobody
from theodolite.engine.tasks import classification
from theodolite.engine.threads import one_blas_thread, one_torch_thread

LABELS = np.arange(60) % 2
VECTORS = np.random.default_rng(0).normal(size=(60, 4)).astype(np.float32)


def by_solver() -> None:
    """The solver of `senteval-sklearn`."""
    features, fits = Features(VECTORS, np.arange(60)), [Fit(np.arange(60), None, 1.0)]
    exact.solve_by_scikit_learn(features, LABELS, fits, SolverSetting("logistic"), 1, nobody)


def by_task() -> None:
    """The classification of `starter-1`."""
    names = [f"label {label}" for label in LABELS]
    data = LabelledSentences("clouds", [f"sentence {i}" for i in range(60)], names)
    classification.measure(data, VECTORS, seed=1)


def blas_threads() -> list[int]:
    """Of every library of linear algebra that is loaded."""
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.parametrize("run", [by_solver, by_task])
def test_threads_do_not_fight(run: Callable[[], None], monkeypatch: pytest.MonkeyPatch) -> None:
    """Each fit sees one thread, and afterwards there are as many as before."""
    seen: list[int] = []
    fit = LogisticRegression.fit

    def watched(self: LogisticRegression, *given: Any) -> LogisticRegression:
        seen.extend(blas_threads())
        return fit(self, *given)

    monkeypatch.setattr(LogisticRegression, "fit", watched)
    with threadpool_limits(2):
        run()
        assert (set(seen), set(blas_threads())) == ({1}, {2})


def test_who_ends_first_does_not_matter() -> None:
    """Two that overlap see one thread, and when both are over there are as many as before."""
    with threadpool_limits(2):
        one, other = one_blas_thread(), one_blas_thread()
        one.__enter__()
        other.__enter__()
        one.__exit__(None, None, None)
        assert set(blas_threads()) == {1}
        other.__exit__(None, None, None)
        assert set(blas_threads()) == {2}
    before = torch.get_num_threads()
    with pytest.raises(KeyError), one_torch_thread():
        assert torch.get_num_threads() == 1
        raise KeyError
    assert torch.get_num_threads() == before
