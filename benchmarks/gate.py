"""How often a gate finds a planted drop, and how often it raises a false alarm.

    python -m benchmarks.gate [--runs 1000]

A run draws 200 of the examples that `minilm` has on the starter tasks, and the values of the same
examples under a near relative of it: the same model in int8, or cut to half its dimensions. For
each example a coin says which of the two counts as the baseline, so that without a planted drop
there is none, and both are as correlated as real ones. Then the score of one is lowered by five
points: of right examples some become wrong at random, precisions become 0, and to cosines noise is
added. All seeds are fixed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace

import numpy as np

from benchmarks.claims import at_least, at_most
from theodolite.engine import evaluate, load
from theodolite.engine.stats.bootstrap import Sample, main_sample
from theodolite.engine.stats.gate import gate

TASKS = ("StarterTopics", "StarterSearch", "StarterSTS")
RELATIVES = ("minilm?dtype=int8", "minilm | dims:192,first")
N, DROP, LEAST = 200, 5.0, 1.0


def samples(encoder: str, tasks: tuple[str, ...] = TASKS) -> dict[str, Sample]:
    """The examples behind an encoder's scores, each as if it were independent."""
    results = evaluate(load(encoder), list(tasks))
    every = {one.task: main_sample(one.examples, one.details) for one in results}
    return {task: replace(one, clusters=None, beside=None) for task, one in every.items()}


def lowered(sample: Sample, points: float, rng: np.random.Generator) -> Sample:
    """The examples with a score that is lower by so many points."""
    values, n = sample.values, len(sample.values)
    if sample.gold is None:
        order = rng.permutation(n)
        lost = np.cumsum(values[order]) <= points / 100.0 * n + 1e-9
        return replace(sample, values=np.where(lost[np.argsort(order)], 0.0, values))
    noise, low, high = rng.standard_normal(n), 0.0, 1.0
    for _ in range(12):  # the deviation of the noise, by bisection
        middle = (low + high) / 2
        worse = replace(sample, values=values + middle * noise)
        too_much = sample.statistic - worse.statistic > points
        low, high = (low, middle) if too_much else (middle, high)
    return worse


def alarms(a: Sample, b: Sample, points: float, runs: int, *, exactly: bool = True) -> float:
    """The share of runs in which a drop of so many points is said to be worse.

    Args:
        a: all examples of an encoder.
        b: those of a relative.
        points: of the drop; 0 for none.
        runs: how many.
        exactly: whether the drop is planted in the examples that are drawn; else in all, so that
            those that are drawn have it on average only.
    """
    rng, found = np.random.default_rng(0), 0
    for run in range(runs):
        coin = rng.random(len(a.values)) < 0.5
        then = replace(a, values=np.where(coin, a.values, b.values))
        now = replace(a, values=np.where(coin, b.values, a.values))
        drawn = rng.choice(len(coin), N, replace=False)
        if not exactly:
            now = lowered(now, points, rng)
        then, now = _some(then, drawn), _some(now, drawn)
        if exactly and points:
            now = lowered(now, points, rng)
        (verdict,) = gate([(then, now)], LEAST, seed=run)
        found += verdict.verdict == "worse"
    return found / runs


def _some(sample: Sample, drawn: np.ndarray) -> Sample:
    gold = None if sample.gold is None else sample.gold[drawn]
    return replace(sample, values=sample.values[drawn], gold=gold)


def main() -> int:
    """Print both rates for each task and relative; return 1 if a bound is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=1000)
    runs, own, kept = parser.parse_args().runs, samples("minilm"), True
    for relative in RELATIVES:
        for task, other in samples(relative).items():
            mine = own[task]
            r = np.corrcoef(mine.values, other.values)[0, 1]
            print(f"\n{task}, {N} examples, minilm and {relative} (correlation {r:.3f})")
            found, false = (alarms(mine, other, points, runs) for points in (DROP, 0.0))
            kept &= at_least(f"share of {runs} drops of {DROP:g} points found", found, 0.95)
            kept &= at_most(f"share of {runs} false alarms", false, 0.05)
            average = alarms(mine, other, DROP, runs, exactly=False)
            print(f"the same, where {DROP:g} points is the average of the drops: {average:.3f}")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
