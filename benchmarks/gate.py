"""How often a gate finds a planted drop, and how often it raises a false alarm.

    python -m benchmarks.gate [--runs 1000]

A run draws 200 of the examples that `minilm` has on the starter tasks, and the values of the same
examples under a near relative of it: the same model in int8 where the machine can, or cut to fewer
dimensions. For each example a coin says which of the two counts as the baseline, so that without a
planted drop there is none, and both are as correlated as real ones. Then the score of one is
lowered by five points: of right examples some become wrong at random, precisions become 0, and to
cosines noise is added. All seeds are fixed.

The theoretical power for drops of five points on average is printed beside the share found, which
is more, as the drop is exact in the examples drawn. Where that power is below 95 %, the bound is a
little less than it, and the verdict on the rest has to be 'unclear'.
"""

import argparse
import sys
from dataclasses import replace
from statistics import NormalDist

import numpy as np

from benchmarks.claims import at_least, at_most
from theodolite.engine import evaluate, load
from theodolite.engine.stats.bootstrap import Sample, main_sample
from theodolite.engine.stats.gate import Gated, gate

TASKS = ("StarterTopics", "StarterSearch", "StarterSTS")
RELATIVES = ("minilm?dtype=int8", "minilm | dims:376,first", "minilm | dims:192,first")
N, DROP, LEAST, FOUND = 200, 5.0, 1.0, 0.95
CHANCE = 0.02
"""What a share of 1,000 runs differs by."""
CRITICAL = NormalDist().inv_cdf(0.95)


def samples(encoder: str, tasks: tuple[str, ...] = TASKS) -> dict[str, Sample]:
    """The examples behind an encoder's scores, each as if it were independent."""
    results = [one for one in evaluate(load(encoder), list(tasks)) if one.error is None]
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


def verdicts(a: Sample, b: Sample, points: float, runs: int) -> list[tuple[Gated, float]]:
    """The verdict of each run, and the probability with which a test can find the drop.

    Args:
        a: all examples of an encoder.
        b: those of a relative.
        points: of the drop; 0 for none.
        runs: how many.
    """
    rng, found = np.random.default_rng(0), []
    for run in range(runs):
        coin = rng.random(len(a.values)) < 0.5
        then = replace(a, values=np.where(coin, a.values, b.values))
        now = replace(a, values=np.where(coin, b.values, a.values))
        drawn = rng.choice(len(coin), N, replace=False)
        then, now = _some(then, drawn), _some(now, drawn)
        if points:
            now = lowered(now, points, rng)
        (verdict,) = gate([(then, now)], LEAST, seed=run)
        low, high = verdict.change.low, verdict.change.high
        error = max((high - low) / 2 / CRITICAL, 1e-9)
        found.append((verdict, NormalDist().cdf(points / error - CRITICAL)))
    return found


def share(found: list[tuple[Gated, float]], verdict: str) -> float:
    """The share of a verdict."""
    return sum(one.verdict == verdict for one, _ in found) / len(found)


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
            found, none = (verdicts(mine, other, points, runs) for points in (DROP, 0.0))
            power = float(np.mean([one for _, one in found]))
            bound = FOUND if power >= FOUND else power - CHANCE
            print(f"power in theory: {power:.3f}")
            kept &= at_least(f"share of {runs} drops found", share(found, "worse"), bound)
            kept &= at_most("share of them said to be fine", share(found, "fine"), 0.05)
            kept &= at_most("share of false alarms", share(none, "worse"), 0.05 + CHANCE)
            more = [one.more for one, _ in found if one.verdict == "unclear" and one.more]
            if more:
                print(f"further examples that are asked for: {np.median(more):.0f} (median)")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
