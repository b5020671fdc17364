"""Significance tests on stored results. Results never change, so their resamples are cached.

A verdict tests an encoder against the baseline, with Holm's correction over the tasks. The letters
of a task test all pairs of encoders on it, with Holm's correction over the pairs.
"""

import threading
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np

from theodolite.app.results import Row, question
from theodolite.app.workspace import Workspace
from theodolite.engine.stats import significance
from theodolite.engine.stats.bootstrap import Resampled, Sample, main_sample, resample_all
from theodolite.engine.stats.ranks import RankInterval, rank_intervals
from theodolite.engine.stats.significance import Difference, holm, pairwise, tie_groups
from theodolite.store.errors import StoreError
from theodolite.store.run_rows import LIVE

Key = TypeVar("Key")
Tested = tuple[Difference, float | None]
"""A difference, and the p-value of McNemar's test where there is one."""
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
        differences: encoder -> its score minus the baseline's; for encoders that share the
            baseline's `question` and have values.
        groups: encoder -> the letter of its tie group, `a` the best, among those that share the
            most frequent `question`; empty if one of them cannot be tested.
        resampled: encoder -> its score on resamples, where values per example were kept.
        unreadable: encoders whose values per example are lost.
        untested: encoders whose results have not what a test takes.
    """

    differences: Mapping[str, Tested]
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
        difference: with its interval, by itself.
        p: p-value of the test alone.
        test: McNemar's where examples are right or wrong, else the paired bootstrap.
        adjusted: p after Holm's correction over the tasks of this encoder's column.
        tasks: number of those tasks; with one there is nothing to correct.
        verdict: `a`, the encoder is better, `b`, the baseline is, or `tie`.
    """

    difference: Difference
    p: float
    test: Literal["McNemar", "bootstrap"]
    adjusted: float
    tasks: int
    verdict: Literal["a", "b", "tie"]


def verdicts(
    differences: Mapping[tuple[str, str], Tested],
) -> dict[tuple[str, str], Verdict]:
    """Holm's correction over the tasks of each encoder's column."""
    verdicts = {}
    for name in dict.fromkeys(name for name, _ in differences):
        mine = {pair: tested for pair, tested in differences.items() if pair[0] == name}
        tests = [one.p if exact is None else exact for one, exact in mine.values()]
        for (pair, (one, exact)), p, adjusted in zip(
            mine.items(), tests, holm(tests).tolist(), strict=True
        ):
            # Not by the interval: where few examples differ, percentiles leave out 0 too soon.
            verdicts[pair] = Verdict(
                one,
                p,
                "bootstrap" if exact is None else "McNemar",
                adjusted,
                len(mine),
                "tie" if adjusted >= ALPHA else "a" if one.delta > 0 else "b",
            )
    return verdicts


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
    measured = _load_inputs(workspace, task, [row["id"] for row in scored.values()])
    readable = {name: row for name, row in scored.items() if row["id"] in measured}
    tested = {name: measured[row["id"]] for name, row in readable.items()}
    known = {name: one for name, one in tested.items() if one is not None}
    most = Counter(map(question, readable.values())).most_common(1)
    alike = [name for name, row in readable.items() if question(row) == most[0][0]]
    compared = [n for n in known if base in known and question(rows[n]) == question(rows[base])]
    return TaskTests(
        differences(known, base, [name for name in compared if name != base]),
        groups({name: known[name] for name in alike}, [scored[name]["score"] for name in alike])
        if len(alike) > 1 and known.keys() >= set(alike)
        else {},
        {name: one.resampled for name, one in known.items()},
        tuple(name for name in scored if name not in readable),
        tuple(name for name, one in tested.items() if one is None),
    )


@dataclass(frozen=True, eq=False)
class Ranking:
    """The ranking of several encoders by their mean, with its uncertainty.

    Attributes:
        task_groups: task -> encoder -> the letter of its tie group.
        drawn: encoder -> its resampled results on `tasks`.
        tasks: those of the mean, on which all encoders can be resampled together.
        groups: encoder -> letter, `a` for the best and all that tie with it by their means.
        differences: encoder -> its mean minus the first one's; empty below two tasks.
        ranks: best first, examples resampled.
    """

    task_groups: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    drawn: Mapping[str, Sequence[Resampled]] = field(default_factory=dict)
    tasks: tuple[str, ...] = ()
    groups: Mapping[str, str] = field(default_factory=dict)
    differences: Mapping[str, Difference] = field(default_factory=dict)
    ranks: Sequence[RankInterval] = ()

    @cached_property
    def ranks_over_tasks(self) -> list[RankInterval]:
        """The same with the tasks drawn too; empty below two tasks."""
        return rank_intervals(self.drawn, over_tasks=True) if self.differences else []


def ranking(names: Sequence[str], tests: Mapping[str, TaskTests]) -> Ranking:
    """Resample the ranks of encoders on the tasks on which all can be compared."""
    groups = {task: one.groups for task, one in tests.items()}
    common = tuple(task for task, letters in groups.items() if letters.keys() >= set(names))
    if not common:
        return Ranking(groups)
    resampled = {name: [tests[task].resampled[name] for task in common] for name in names}
    ranks = rank_intervals(resampled, over_tasks=False)
    if len(common) == 1:
        return Ranking(groups, resampled, common, groups[common[0]], {}, ranks)
    base, *others = suites = [*resampled.values()]
    apart = dict(zip(names[1:], significance.differences(others, base), strict=True))
    means = [float(np.mean([part.statistic for part in mine])) for mine in suites]
    return Ranking(groups, resampled, common, letters(names, means, pairwise(suites)), apart, ranks)


def differences(
    known: Mapping[str, Measured], base: str, names: Sequence[str]
) -> dict[str, Tested]:
    """Each encoder's score minus the base's, and McNemar's p-value where there is one."""
    if not names:
        return {}
    apart = significance.differences(
        [[known[name].resampled] for name in names], [known[base].resampled]
    )
    exact: dict[str, float] = {}
    right = {name: r for name in names if (r := known[name].right) is not None}
    if (theirs := known[base].right) is not None and right:
        p = significance.mcnemar(np.stack(list(right.values())), theirs, known[base].clusters)
        exact = dict(zip(right, p.tolist(), strict=True))
    return {name: (one, exact.get(name)) for name, one in zip(names, apart, strict=True)}


def groups(known: Mapping[str, Measured], scores: Sequence[float]) -> dict[str, str]:
    """The letter of each encoder's tie group, from its inputs of the tests and its score."""
    right = [one.right for one in known.values() if one.right is not None]
    if len(right) == len(known):
        p = significance.pairwise_mcnemar(np.stack(right), next(iter(known.values())).clusters)
    else:
        p = pairwise([[one.resampled] for one in known.values()])
    return letters(list(known), scores, p)


def letters(names: Sequence[str], scores: Sequence[float], p: np.ndarray) -> dict[str, str]:
    """The letter of each encoder's tie group, in the order of the names."""
    of = {
        names[place]: letter(i) for i, group in enumerate(tie_groups(scores, p)) for place in group
    }
    return {name: of[name] for name in names}


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
                is_new = edition == (0, 0)
                if edition != known and (is_new or not workspace.store.runs.list(LIVE)):
                    known = edition
                    resample_ahead(workspace.shipped if is_new else workspace, ending)

    thread = threading.Thread(target=work, name="resampling", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ending.set()
        thread.join()


def is_measuring(workspace: Workspace) -> bool:
    """Whether an evaluation is queued or running."""
    return bool(workspace.store.runs.list(LIVE, kinds=["evaluate"]))


def resample_ahead(workspace: Workspace, ending: threading.Event) -> None:
    """Resample the newest results task by task, until `ending` is set."""
    by_task: dict[str, list[int]] = {}
    for row in workspace.store.results.table()[-AHEAD:]:
        if row["error"] is None:
            by_task.setdefault(row["task"], []).append(row["id"])
    for task, ids in by_task.items():
        if not ending.is_set():
            _load_inputs(workspace, task, ids)


def _load_inputs(workspace: Workspace, task: str, ids: Sequence[int]) -> dict[int, Measured | None]:
    """Inputs of the tests by id, without results whose values cannot be read."""
    with _BUSY:  # a request for results being resampled waits for them
        known = {one: _MEASURED[workspace, one] for one in ids if (workspace, one) in _MEASURED}
        rows = workspace.store.results.with_examples([one for one in ids if one not in known])
        readable = {one: (details, values) for one, details, values in rows if values is not None}
        new = of_results(task, readable)
        _MEASURED.update({(workspace, one): measured for one, measured in new.items()})
        for old in list(_MEASURED)[: max(0, len(_MEASURED) - REMEMBERED)]:
            del _MEASURED[old]
    return known | new


def of_results(
    task: str, results: Mapping[Key, tuple[Mapping[str, Any], Mapping[str, np.ndarray]]]
) -> dict[Key, Measured | None]:
    """Inputs of the tests from details and values per example; None without what they take."""
    measured: dict[Key, Measured | None] = {}
    alike: dict[tuple[int, bytes | None], dict[Key, Sample]] = {}
    for one, (details, values) in results.items():
        sample = None
        with suppress(ValueError):
            sample = main_sample(values, details)
        if sample is None or sample.trained_once:
            measured[one] = None
        else:
            alike.setdefault((len(sample.values), sample.cluster_key), {})[one] = sample
    seed = zlib.crc32(task.encode())
    for samples in alike.values():
        clusters = next(iter(samples.values())).clusters
        resampled = resample_all(list(samples.values()), RESAMPLES, seed)
        for one, draws in zip(samples, resampled, strict=True):
            right = results[one][1].get("correct")
            if right is not None and right.dtype != bool:  # how often, of several draws
                right = None
            measured[one] = Measured(draws, right, clusters)
    return measured
