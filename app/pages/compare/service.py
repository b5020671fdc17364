"""Significance tests on stored results. Results never change, so their resamples are cached.

A verdict tests an encoder against the baseline, with Holm's correction over the tasks. The letters
of a task test all pairs of encoders on it, with Holm's correction over the pairs.
"""

from __future__ import annotations

import threading
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from theodolite.app.examples import results
from theodolite.app.results import Row, question
from theodolite.engine.stats import significance
from theodolite.engine.stats.bootstrap import Sample, main_sample, resample_all
from theodolite.engine.stats.ranks import RankInterval, rank_intervals
from theodolite.engine.stats.significance import (
    Difference,
    holm,
    mcnemar,
    pairwise,
    pairwise_mcnemar,
    tie_groups,
)
from theodolite.store.errors import StoreError
from theodolite.store.run_rows import LIVE

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace
    from theodolite.engine.stats.bootstrap import Resampled

Key = TypeVar("Key")
ALPHA = 0.05
RESAMPLES = 2000
REMEMBERED = 8192
"""Resampled results kept in memory: 100 encoders on 50 tasks take about 80 MB."""
AHEAD = 5000
"""Most of these resampled ahead of use."""
_LOOK_SECONDS = 2.0
_BUSY = threading.Lock()


@dataclass(frozen=True, eq=False)
class TaskTests:
    """Tests of encoders on one task.

    Attributes:
        differences: encoder -> its score minus the baseline's, and the p-value of McNemar's test
            where there is one; for encoders that share the baseline's `question` and have values.
        groups: encoder -> the letter of its tie group, `a` the best, among those that share the
            most frequent `question`; empty if one of them cannot be tested.
        resampled: encoder -> its score on resamples, where values per example were kept.
        unreadable: encoders whose values per example are lost.
        untested: encoders whose results have not what a test takes.
    """

    differences: Mapping[str, tuple[Difference, float | None]]
    groups: Mapping[str, str]
    resampled: Mapping[str, Resampled]
    unreadable: tuple[str, ...]
    untested: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Measured:
    """Inputs of the tests from one result.

    Attributes:
        resampled: its score on resamples.
        right: bool (n,) if examples are right or wrong.
        clusters: int (n,), as in `engine.stats.bootstrap.Sample`.
    """

    resampled: Resampled
    right: np.ndarray | None
    clusters: np.ndarray | None


@dataclass(frozen=True)
class Verdict:
    """Whether one difference is real, when several are tested at once.

    Attributes:
        p: p-value of the test alone.
        test: McNemar's where examples are right or wrong, else the paired bootstrap.
        adjusted: p after Holm's correction over the tasks of this encoder's column.
        tasks: number of those tasks; with one there is nothing to correct.
        verdict: `a`, the encoder is better, `b`, the baseline is, or `tie`.
    """

    p: float
    test: Literal["McNemar", "bootstrap"]
    adjusted: float
    tasks: int
    verdict: Literal["a", "b", "tie"]

    def words(self, a: str, b: str) -> str:
        """The verdict in words."""
        better = {"a": f"{a} is better", "b": f"{b} is better"}
        return better.get(self.verdict, "no real difference")


def verdicts(
    differences: Mapping[tuple[str, str], tuple[Difference, float | None]],
) -> dict[tuple[str, str], Verdict]:
    """Holm's correction over the tasks of each encoder's column."""
    made = {}
    for name in dict.fromkeys(name for name, _ in differences):
        mine = {pair: found for pair, found in differences.items() if pair[0] == name}
        tests = [found.p if exact is None else exact for found, exact in mine.values()]
        for (pair, (found, exact)), p, adjusted in zip(
            mine.items(), tests, holm(tests).tolist(), strict=True
        ):
            # Not by the interval: where few examples differ, percentiles leave out 0 too soon.
            verdict: Literal["a", "b", "tie"] = "a" if found.delta > 0 else "b"
            if adjusted >= ALPHA:
                verdict = "tie"
            test: Literal["McNemar", "bootstrap"] = "bootstrap" if exact is None else "McNemar"
            made[pair] = Verdict(p, test, adjusted, len(mine), verdict)
    return made


UNTESTABLE = (
    "that takes the values of each example, and several trainings where a regressor or a ranker is "
    "trained on the vectors."
)
_MEASURED: dict[tuple[Workspace, int], Measured | None] = {}
"""By workspace and id of the result, oldest first; None where no values are kept."""


def on_task(workspace: Workspace, task: str, base: str, rows: Mapping[str, Row]) -> TaskTests:
    """Test the scores of encoders on a task against those of `base`.

    `rows` has the store's row of each encoder that has one.
    """
    scored = {name: row for name, row in rows.items() if row["error"] is None}
    found = _measured(workspace, task, [row["id"] for row in scored.values()])
    readable = {name: row for name, row in scored.items() if row["id"] in found}
    kept = {name: found[row["id"]] for name, row in readable.items()}
    known = {name: one for name, one in kept.items() if one is not None}
    answered = Counter(map(question, readable.values()))
    most = answered.most_common(1)[0][0] if answered else None
    alike = {name: row["score"] for name, row in readable.items() if question(row) == most}
    theirs = question(rows[base]) if base in known else None
    compared = [name for name in known if name != base and question(rows[name]) == theirs]
    return TaskTests(
        differences(known, base, compared) if compared else {},
        groups({name: known[name] for name in alike}, list(alike.values()))
        if len(alike) > 1 and alike.keys() <= known.keys()
        else {},
        {name: kept.resampled for name, kept in known.items()},
        tuple(name for name in scored if name not in readable),
        tuple(name for name, one in kept.items() if one is None),
    )


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ranking of several encoders by their mean, with its uncertainty.

    Attributes:
        tasks: tasks of the mean: those on which all encoders can be resampled together.
        groups: encoder -> letter, `a` for the best and all that tie with it by their means.
        task_groups: task -> the same on it alone.
        ranks: best first, examples resampled.
    """

    tasks: tuple[str, ...]
    groups: Mapping[str, str]
    task_groups: Mapping[str, Mapping[str, str]]
    ranks: tuple[RankInterval, ...]


def ranking(
    workspace: Workspace,
    names: Sequence[str],
    tasks: Sequence[str],
    cells: Mapping[tuple[str, str], Row],
) -> Ranking:
    """Resample the ranks of encoders that all have a result on each task."""
    tests = {
        task: on_task(workspace, task, names[0], {n: cells[n, task] for n in names})
        for task in tasks
    }
    groups = {task: found.groups for task, found in tests.items()}
    common = tuple(t for t, found in tests.items() if found.groups.keys() >= set(names))
    if not common:
        return Ranking((), {}, groups, ())
    drawn = {name: [tests[task].resampled[name] for task in common] for name in names}
    means = of_means(drawn)[1] if len(common) > 1 else groups[common[0]]
    return Ranking(common, means, groups, tuple(rank_intervals(drawn, over_tasks=False)))


def of_means(
    suite: Mapping[str, Sequence[Resampled]],
) -> tuple[dict[str, Difference], dict[str, str]]:
    """Each encoder's mean minus the first one's, and the tie groups of the means.

    Args:
        suite: encoder -> its resampled results, for all the same tasks in the same order.
    """
    (_, base), *others = suite.items()
    found = significance.differences([mine for _, mine in others], base)
    means = np.array([np.mean([part.statistic for part in mine]) for mine in suite.values()])
    return (
        {name: one for (name, _), one in zip(others, found, strict=True)},
        dict(zip(suite, _letters(means, pairwise(list(suite.values()))), strict=True)),
    )


def differences(
    known: Mapping[str, Measured], base: str, names: Sequence[str]
) -> dict[str, tuple[Difference, float | None]]:
    """Each encoder's score minus the base's, and McNemar's p-value where there is one."""
    found = significance.differences(
        [[known[name].resampled] for name in names], [known[base].resampled]
    )
    exact: dict[str, float] = {}
    right = {name: r for name in names if (r := known[name].right) is not None}
    if (theirs := known[base].right) is not None and right:
        p = mcnemar(np.stack(list(right.values())), theirs, known[base].clusters)
        exact = dict(zip(right, p.tolist(), strict=True))
    return {name: (one, exact.get(name)) for name, one in zip(names, found, strict=True)}


def groups(known: Mapping[str, Measured], scores: Sequence[float]) -> dict[str, str]:
    """The letter of each encoder's tie group, from its inputs of the tests and its score."""
    right = [kept.right for kept in known.values() if kept.right is not None]
    if len(right) == len(known):
        p = pairwise_mcnemar(np.stack(right), next(iter(known.values())).clusters)
    else:
        p = pairwise([[kept.resampled] for kept in known.values()])
    return dict(zip(known, _letters(scores, p), strict=True))


def _letters(scores: Sequence[float] | np.ndarray, p: np.ndarray) -> tuple[str, ...]:
    groups = tie_groups(scores, p)
    found = {place: letter(i) for i, group in enumerate(groups) for place in group}
    return tuple(found[place] for place in range(len(scores)))


def letter(index: int) -> str:
    """One letter for each of the first 26, then two: `a` to `z`, `aa`, `ab`."""
    before, last = divmod(index, 26)
    return (letter(before - 1) if before else "") + chr(ord("a") + last)


@contextmanager
def ahead(workspace: Workspace) -> Iterator[None]:
    """Resample stored results in the background, ahead of use and while no run is live.

    For a new store, the shipped results are resampled instead.
    """
    ending = threading.Event()

    def work() -> None:
        known = None
        with suppress(StoreError):  # the store is gone: pages report it
            while not ending.wait(_LOOK_SECONDS):
                edition = workspace.store.results.edition()
                if edition == known:
                    continue
                if edition == (0, 0):
                    known = edition
                    resample_ahead(results.standing_in(workspace), ending)
                elif not workspace.store.runs.list(LIVE):
                    known = edition
                    resample_ahead(workspace, ending)

    thread = threading.Thread(target=work, name="resampling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def measuring(workspace: Workspace) -> bool:
    """Whether an evaluation is queued or running."""
    return bool(workspace.store.runs.list(LIVE, kinds=["evaluate"]))


def resample_ahead(workspace: Workspace, ending: threading.Event) -> None:
    """Resample the newest results task by task, until `ending` is set."""
    scored = [row for row in workspace.store.results.table() if row["error"] is None]
    by_task: dict[str, list[int]] = {}
    for row in scored[-AHEAD:]:
        by_task.setdefault(row["task"], []).append(row["id"])
    for task, ids in by_task.items():
        if ending.is_set():
            return
        _measured(workspace, task, ids)


def _measured(workspace: Workspace, task: str, ids: Sequence[int]) -> dict[int, Measured | None]:
    """Inputs of the tests by id, without results whose values cannot be read."""
    with _BUSY:  # a request for results being resampled waits for them
        new = [one for one in ids if (workspace, one) not in _MEASURED]
        found = {one: _MEASURED[workspace, one] for one in ids if one not in new}
        found |= _resampled(workspace, task, new)
        for one in new:
            if one in found:
                _MEASURED[workspace, one] = found[one]
        while len(_MEASURED) > REMEMBERED:
            _MEASURED.pop(next(iter(_MEASURED)), None)
    return found


def _resampled(workspace: Workspace, task: str, ids: Sequence[int]) -> dict[int, Measured | None]:
    kept = workspace.store.results.with_examples(ids)
    return of_results(
        task, {one: (details, examples) for one, details, examples in kept if examples is not None}
    )


def of_results(
    task: str, results: Mapping[Key, tuple[Mapping[str, Any], Mapping[str, np.ndarray]]]
) -> dict[Key, Measured | None]:
    """Inputs of the tests from details and values per example; None without what they take."""
    found: dict[Key, Measured | None] = {}
    alike: dict[tuple[int, bytes | None], dict[Key, tuple[Sample, np.ndarray | None]]] = {}
    for one, (details, examples) in results.items():
        try:
            sample = main_sample(examples, details)
        except ValueError:
            sample = None
        if sample is None or sample.trained_once:
            found[one] = None
            continue
        key = len(sample.values), sample.cluster_key
        right = examples.get("correct")
        if right is not None and right.dtype != bool:  # how often, of several draws
            right = None
        alike.setdefault(key, {})[one] = sample, right
    for kept in alike.values():
        clusters = next(iter(kept.values()))[0].clusters
        drawn = resample_all(
            [sample for sample, _ in kept.values()], RESAMPLES, zlib.crc32(task.encode())
        )
        for (one, (_, right)), resampled in zip(kept.items(), drawn, strict=True):
            found[one] = Measured(resampled, right, clusters)
    return found
