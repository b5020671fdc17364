"""The fast solver: all fits at once, as columns of one matrix product per batch.

One shuffle is shared. A mask says which rows of a batch each column may see, and a column's loss is
the mean over its own rows; the batch size lets a column see `SolverSetting.batch` rows on average.
After each round every column is scored on its own stopping rows, stopped by its own rule, and
dropped. The classifiers are the reference's with another order of random draws.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch

from theodolite.engine.classifiers.features import Features, batches
from theodolite.engine.classifiers.models import (
    ColumnsLinear,
    ColumnsModel,
    Hidden,
    Scaling,
    TwoClasses,
)
from theodolite.engine.classifiers.optimisers import OPTIMISERS
from theodolite.engine.classifiers.setting import Fit, Fitted, SolverSetting
from theodolite.engine.progress import ProgressCallback

_CHUNK = 2048
"""Rows scored at once."""
_BATCHES = 32
"""Batches whose features are computed at once: one call instead of many."""


@dataclass(frozen=True, eq=False)
class _Group:
    """Fits that share training and stopping rows and differ in their penalty."""

    train: np.ndarray
    stop: np.ndarray


def solve(
    features: Features,
    labels: np.ndarray,
    fits: list[Fit],
    setting: SolverSetting,
    seed: int,
    tick: ProgressCallback,
) -> list[Fitted]:
    """Train every fit, all in one pass. See `engine.classifiers.setting.Solver`."""
    random = np.random.RandomState(seed)
    groups, group_of = _group(fits, random)
    with torch.inference_mode():  # gradients are written out; autograd is not needed
        training = _Training(features, labels, fits, groups, group_of, setting, seed)
        training.normalise()
        while training.alive and training.passes <= setting.max_passes:
            for _ in range(setting.passes):
                tick(training.share)
                training.run_pass(random)
            training.score_round()
    return training.answers()


def _group(fits: list[Fit], random: np.random.RandomState) -> tuple[list[_Group], np.ndarray]:
    """Find which fits share their rows; return the groups and each fit's group.

    Held-out rows are drawn from the same state for each group, as the reference reseeds; later
    draws continue from there, so that a single fit draws as the reference does.
    """
    state = random.get_state()
    groups: list[_Group] = []
    known: dict[tuple[int, int], int] = {}
    group_of = []
    for fit in fits:
        key = (id(fit.train), id(fit.stop))
        if key not in known:
            known[key] = len(groups)
            if fit.stop is None:
                random.set_state(state)
            groups.append(_Group(*fit.split(random)))
        group_of.append(known[key])
    return groups, np.array(group_of)


class _Training:
    """Columns in training: `alive` holds the fits that have not stopped, one per column."""

    def __init__(
        self,
        features: Features,
        labels: np.ndarray,
        fits: list[Fit],
        groups: list[_Group],
        group_of: np.ndarray,
        setting: SolverSetting,
        seed: int,
    ) -> None:
        self.features, self.fits, self.groups, self.setting = features, fits, groups, setting
        self.group_of, self.device = group_of, features.device
        self.labels = labels
        classes = int(labels.max()) + 1
        self.target = torch.from_numpy(np.eye(classes, dtype=np.float32)[labels]).to(self.device)
        self.alive = list(range(len(fits)))
        self.passes = 0
        self.model = _model(features, classes, len(fits), setting, seed)
        self.optimiser = OPTIMISERS[setting.optimiser](
            self.model.parameters, torch.tensor([f.penalty for f in fits], device=self.device)
        )
        self._gradients = [torch.empty_like(p.values) for p in self.model.parameters]
        self.best = np.full(len(fits), -1.0)
        self.misses = np.zeros(len(fits), int)
        self.done = np.zeros(len(fits), int)
        self.predicted = [np.empty(0, np.int64)] * len(fits)
        self._see(len(labels))

    def _see(self, rows: int) -> None:
        """Find the rows that any column learns from, and which columns may see each."""
        visible = np.zeros((rows, len(self.groups)), dtype=bool)
        for g, group in enumerate(self.groups):
            visible[group.train, g] = True
        trained, first = np.unique(
            np.concatenate([group.train for group in self.groups]), return_index=True
        )
        self.pool = trained[np.argsort(first)]  # in the order given, as the reference shuffles it
        share = visible[self.pool].mean()
        self.batch = round(self.setting.batch / share)
        self.visible: torch.Tensor | None = None
        if share < 1:
            self.visible = torch.from_numpy(visible).to(self.device).float()
        self._columns = torch.from_numpy(self.group_of).to(self.device)

    @property
    def share(self) -> float:
        """A lower bound of the progress of all columns, 0 to 1."""
        running = [self.setting.share(self.passes, int(self.misses[fit])) for fit in self.alive]
        return 1 - (len(running) - sum(running)) / len(self.fits)

    def run_pass(self, random: np.random.RandomState) -> None:
        """Make one pass over the rows."""
        order = torch.from_numpy(random.permutation(self.pool)).to(self.device)
        for rows in batches(order, self.batch * _BATCHES):
            x = batches(self.features.rows(rows), self.batch)
            y = batches(self.target.index_select(0, rows), self.batch)
            for x_batch, y_batch, weight in zip(x, y, self._weights(rows), strict=True):
                self.model.gradients(x_batch, y_batch, weight, self._gradients)
                self.optimiser.step(self.model.parameters, self._gradients)
        self.passes += 1

    def _weights(self, rows: torch.Tensor) -> Iterator[torch.Tensor]:
        """Yield (B, C) per batch: 1 over the number of its rows that the column sees, or 0."""
        if self.visible is None:
            for batch in batches(rows, self.batch):
                yield torch.full((1, 1), 1 / len(batch), device=self.device)
            return
        for visible in batches(self.visible.index_select(0, rows), self.batch):
            weight = visible / visible.sum(0).clamp_(min=1)
            yield weight.index_select(1, self._columns)

    def score_round(self) -> None:
        """Score every column on its stopping rows; test improved ones, drop finished ones."""
        accuracy = self._accuracies()
        fits = np.array(self.alive)
        better = accuracy > self.best[fits]
        self.done[fits] = self.passes
        self.best[fits[better]] = accuracy[better]
        self._test(np.flatnonzero(better))
        finished = ~better & (self.misses[fits] >= self.setting.tenacity)
        self.misses[fits[~better]] += 1  # never reset: total misses, not consecutive ones
        if finished.any():
            self._keep(np.flatnonzero(~finished))

    def _keep(self, positions: np.ndarray) -> None:
        self.alive = [self.alive[place] for place in positions]
        rows = torch.from_numpy(positions).to(self.device)
        self._columns = self._columns[rows]
        self.model.parameters = [p.take(rows) for p in self.model.parameters]
        self.optimiser.keep(rows)
        self._gradients = [torch.empty_like(p.values) for p in self.model.parameters]
        if self.model.scaling is not None:
            self.model.scaling = self.model.scaling.take(rows)

    def _accuracies(self) -> np.ndarray:
        """Return the accuracy of each remaining column on its stopping rows."""
        accuracy = np.empty(len(self.alive))
        groups = self.group_of[self.alive]
        for g in np.unique(groups):
            positions, stop = np.flatnonzero(groups == g), self.groups[g].stop
            right = self._predict(stop, positions) == self.labels[stop, None]
            accuracy[positions] = right.mean(0)
        return accuracy

    def _test(self, positions: np.ndarray) -> None:
        """Predict the test rows of columns at their best so far."""
        tests = {
            id(self.fits[self.alive[p]].test): self.fits[self.alive[p]].test for p in positions
        }
        for test in tests.values():
            if test is not None:
                columns = [p for p in positions if self.fits[self.alive[p]].test is test]
                predictions = self._predict(test, np.array(columns))
                for place, predicted in zip(columns, predictions.T, strict=True):
                    self.predicted[self.alive[place]] = predicted

    def _predict(self, rows: np.ndarray, positions: np.ndarray) -> np.ndarray:
        """Return the classes (len(rows), len(positions)) that some columns predict."""
        columns = torch.from_numpy(positions).to(self.device)
        chunks = batches(torch.from_numpy(rows).to(self.device), _CHUNK)
        parts = [self.model.predict(self.features.rows(chunk), columns) for chunk in chunks]
        return torch.cat(parts).cpu().numpy()

    def normalise(self) -> None:
        """Give columns with `znorm` features z-normalised by their own training rows."""
        wanting = np.array([fit.znorm for fit in self.fits])
        if not wanting.any():
            return
        mean = torch.zeros(self.features.width, len(self.fits), device=self.device)
        inverse = torch.ones_like(mean)
        for g in np.unique(self.group_of[wanting]):
            centre, deviation = self.features.moments(self.groups[g].train)
            positions = torch.from_numpy(np.flatnonzero(wanting & (self.group_of == g)))
            mean[:, positions] = centre.float()[:, None]
            inverse[:, positions] = deviation.reciprocal().float()[:, None]
        self.model.scaling = Scaling(mean, inverse)

    def answers(self) -> list[Fitted]:
        """Return the result of every fit."""
        return [
            Fitted(float(best), int(done), predicted)
            for best, done, predicted in zip(self.best, self.done, self.predicted, strict=True)
        ]


def _model(
    features: Features, classes: int, columns: int, setting: SolverSetting, seed: int
) -> ColumnsModel:
    generator = torch.Generator().manual_seed(seed)
    width, device = features.width, features.device
    if setting.hidden:
        return Hidden(width, columns, classes, setting.hidden, setting.dropout, generator, device)
    if classes == 2:
        return TwoClasses(width, columns, generator, device)
    return ColumnsLinear(width, columns, classes, generator, device)
