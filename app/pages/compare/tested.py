"""What the tests say of results. A result never changes, so neither does this: it is remembered."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from store import StoreError

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace
    from engine.stats.bootstrap import Resampled
    from engine.stats.significance import Difference

RESAMPLES = 2000
REMEMBERED = 8192
"""Results kept resampled in memory: 100 encoders on 50 tasks take about 80 MB."""
_TASKS = 1024


@lru_cache(maxsize=_TASKS)
def against(
    workspace: Workspace, task: str, base: int, others: tuple[int, ...]
) -> tuple[tuple[Difference, float | None] | None, ...]:
    """Each of some results minus a base, and the p-value of McNemar's test where there is one.

    Args:
        workspace: whose store holds the results.
        task: that all were measured on, under one protocol, with one seed, on the same data.
        base: id of the result that is taken away.
        others: ids of the results it is taken from.

    Returns:
        In the order of `others`; None where no values per example were kept.
    """
    return tuple(_difference(workspace, task, one, base) for one in others)


def _difference(
    workspace: Workspace, task: str, a: int, b: int
) -> tuple[Difference, float | None] | None:
    from engine.stats.significance import difference, mcnemar

    mine, theirs = _measured(workspace, a, task), _measured(workspace, b, task)
    if mine is None or theirs is None:
        return None
    found = difference([mine.resampled], [theirs.resampled])
    if mine.right is None or theirs.right is None:
        return found, None
    return found, mcnemar(mine.right, theirs.right)


@lru_cache(maxsize=_TASKS)
def letters(
    workspace: Workspace, task: str, results: tuple[int, ...], scores: tuple[float, ...]
) -> tuple[str, ...]:
    """The tie group of each result, `a` the best; nothing when one cannot be tested.

    Args:
        workspace: whose store holds the results.
        task: that all were measured on, as for `against`.
        results: their ids.
        scores: of each, in points.
    """
    import numpy as np

    from engine.stats.significance import pairwise, pairwise_mcnemar

    found = [measured for one in results if (measured := _measured(workspace, one, task))]
    if len(found) < 2 or len(found) < len(results):
        return ()
    right = [measured.right for measured in found if measured.right is not None]
    exact = len(right) == len(found)
    p = pairwise_mcnemar(np.stack(right)) if exact else pairwise([m.resampled for m in found])
    return _letters(scores, p)


def of_means(
    suite: Mapping[str, Sequence[Resampled]],
) -> tuple[dict[str, Difference], dict[str, str]]:
    """Each encoder's mean minus the first one's, and the tie groups of the means.

    Args:
        suite: encoder -> its resampled results, for all the same tasks in the same order.
    """
    import numpy as np

    from engine.stats.bootstrap import Resampled
    from engine.stats.significance import difference, pairwise

    base, *others = suite
    differences = {name: difference(suite[name], suite[base]) for name in others}
    means = [
        Resampled(
            float(np.mean([part.statistic for part in mine])),
            np.mean([part.draws for part in mine], axis=0),
            sum(part.n for part in mine),
        )
        for mine in suite.values()
    ]
    found = _letters([mean.statistic for mean in means], pairwise(means))
    return differences, dict(zip(suite, found, strict=True))


def resampled(workspace: Workspace, rows: Iterable[Mapping[str, Any]]) -> list[Resampled]:
    """The store's rows that keep values per example, on resamples of these."""
    found = [_measured(workspace, row["id"], row["task"]) for row in rows]
    return [measured.resampled for measured in found if measured is not None]


def is_readable(workspace: Workspace, row: Mapping[str, Any]) -> bool:
    """Whether the values per example behind a result can be read, if it keeps any."""
    try:
        _measured(workspace, row["id"], row["task"])
    except StoreError:
        return False
    return True


def _letters(scores: Sequence[float], p: np.ndarray) -> tuple[str, ...]:
    from engine.stats.significance import tie_groups

    names = [str(i) for i in range(len(scores))]
    tests = {(names[a], names[b]): float(p[a, b]) for a, b in combinations(range(len(names)), 2)}
    groups = tie_groups(dict(zip(names, scores, strict=True)), tests)
    found = {name: letter(i) for i, group in enumerate(groups) for name in group}
    return tuple(found[name] for name in names)


def letter(index: int) -> str:
    """A letter for each of the first 26, then two: `a` to `z`, `aa`, `ab`."""
    before, last = divmod(index, 26)
    return (letter(before - 1) if before else "") + chr(ord("a") + last)


@dataclass(frozen=True, eq=False)
class _Measured:
    """What the tests need of one result; `right` is bool (n,) where examples are right or wrong."""

    resampled: Resampled
    right: np.ndarray | None


@lru_cache(maxsize=REMEMBERED)
def _measured(workspace: Workspace, result: int, task: str) -> _Measured | None:
    """Every task is resampled by itself; None for a result that keeps no values per example."""
    from engine.stats.bootstrap import main_sample, resample

    results = workspace.store.results
    examples = results.examples(result)
    try:
        sample = main_sample(examples, results.by_id(result)["details"])
    except ValueError:
        return None
    drawn = resample(sample, RESAMPLES, seed=zlib.crc32(task.encode()))
    return _Measured(drawn, examples.get("correct"))
