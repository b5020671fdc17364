"""Whether cut-offs keep what they guarantee, and whether translated ones have the same precision.

    THEODOLITE_DATA=... python -m benchmarks.cutoffs [--splits 200]

Pairs of data sets that played no part in writing the cut-offs are split at random into halves: one
calibrates, the other is looked at. All seeds are fixed.
"""

import argparse
import sys
from collections.abc import Iterator

import numpy as np

from benchmarks.claims import at_most
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders import MemoryCache, load
from theodolite.engine.space.geometry import cosine
from theodolite.engine.stats import cutoffs
from theodolite.engine.stats.thresholds import judge
from theodolite.engine.tasks.pair_classification import labelled_texts

DATA = ("MRPC", "STS13", "SICKRelatedness")
ENCODERS = ("minilm", "wordllama", "random:256")
MAX_PAIRS = 4000
RECALLS, PRECISIONS = (0.9, 0.95), (0.8, 0.9)
QUANTILES = (0.5, 0.7, 0.85)
"""Of the first encoder's cosines: the cut-offs that are translated."""


def cosines(catalog: Catalog, name: str) -> tuple[list[np.ndarray], np.ndarray]:
    """The cosines of some pairs by each of the encoders, and which pairs mean the same."""
    left, right, same = labelled_texts(catalog.load(name))
    some = np.random.default_rng(0).permutation(len(same))[:MAX_PAIRS].tolist()
    texts = [left[i] for i in some] + [right[i] for i in some]
    every = [load(one, cache=MemoryCache()).encode(texts) for one in ENCODERS]
    return [cosine(v[: len(some)], v[len(some) :]) for v in every], same[some]


def halves(n: int, splits: int) -> Iterator[np.ndarray]:
    """Which rows calibrate, split by split: bool (n,)."""
    for seed in range(splits):
        yield np.random.default_rng(seed).permutation(n) < n // 2


def main() -> int:
    """Print what the other halves show; return 1 if a bound is not kept."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--splits", type=int, default=200)
    splits, kept, catalog = parser.parse_args().splits, True, Catalog()
    for name in DATA:
        every, same = cosines(catalog, name)
        print(f"\n{name}: {len(same)} pairs, {same.mean():.0%} of which mean the same")
        for encoder, own in zip(ENCODERS, every, strict=True):
            kept &= guaranteed(encoder, own, same, splits)
        for second in range(1, len(ENCODERS)):
            for a, b in ((0, second), (second, 0)):
                kept &= translations(ENCODERS[a], ENCODERS[b], every[a], every[b], same, splits)
    return 0 if kept else 1


def guaranteed(encoder: str, own: np.ndarray, same: np.ndarray, splits: int) -> bool:
    """Recall is what it should be on average, and precision hardly ever below."""
    kept = True
    for recall in RECALLS:
        shares = []
        for rows in halves(len(own), splits):
            cut = cutoffs.for_recall(own[rows], same[rows], recall)
            shares.append((own[~rows][same[~rows]] >= cut).mean())
        off = 100 * abs(float(np.mean(shares)) - recall)
        kept &= at_most(f"{encoder}: points by which recall is off {recall:.0%}", off, 2.0)
    for precision in PRECISIONS:
        below, found = 0, 0
        for rows in halves(len(own), splits):
            cut = cutoffs.for_precision(own[rows], same[rows], precision)
            found += cut is not None
            if cut is not None:
                above = own[~rows] >= cut
                hits = same[~rows][above].sum()
                # Below by more than what the other half leaves open by chance.
                error = np.sqrt(precision * (1 - precision) / max(above.sum(), 1))
                below += hits / max(above.sum(), 1) < precision - 1.645 * error
        if found:
            what = f"{encoder}: share of {found} cut-offs whose precision is below {precision:.0%}"
            kept &= at_most(what, below / found, 0.05)
    return kept


def translations(
    a: str, b: str, own: np.ndarray, other: np.ndarray, same: np.ndarray, splits: int
) -> bool:
    """The precision of translated cut-offs is that of the given ones, on the other half."""
    kept = True
    for quantile in QUANTILES:
        gaps = []
        for rows in halves(len(own), splits):
            cut = float(np.quantile(own[rows], quantile))
            there = cutoffs.translate(cut, own[rows], other[rows], same[rows])
            if there is not None:
                first = judge(own[~rows], same[~rows], cut).precision
                gaps.append(judge(other[~rows], same[~rows], there).precision - first)
        what = f"{a} to {b}, cut-off at the {quantile:.0%} quantile, {len(gaps)} of {splits} splits"
        if gaps:
            kept &= at_most(f"{what}: points of precision apart", 100 * abs(np.mean(gaps)), 3.0)
            print(
                f"    of single splits: {100 * np.quantile(np.abs(gaps), 0.9):.2f} at most in 90 %"
            )
    return kept


if __name__ == "__main__":
    sys.exit(main())
