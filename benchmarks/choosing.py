"""How often the promise of a decision sheet, '80 % with n more examples', holds.

    python -m benchmarks.choosing [--data ~/data] [--sheets 400] [--seed 2026]

Populations come from real encoders on real data: whether the nearest other sentence has the same
label, for every sentence of the test sets, by each encoder at several sizes. A sheet sees a random
sample of a population; if two encoders tie on it and it names a number of further examples, these
are drawn and the pair is tested again. Both draws are with replacement. The seed was fixed before
the first run. Nothing here is a claim about speed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from benchmarks.claims import at_least
from engine.datasets import Catalog
from engine.datasets.types import LabelledSentences
from engine.encoders import load
from engine.search.index import neighbours_of_each
from engine.stats.bootstrap import Sample, resample_all
from engine.stats.power import POWER, more_examples
from engine.stats.significance import LEVEL, mcnemar

SETS = ("banking77", "emotion", "tweeteval_emotion")
SIZES = {"minilm": (64, 128, 192, 384), "wordllama": (64, 128, 256), "random:256": (256,)}
SEEN = (100, 300, 1000)
RESAMPLES = 1000
LEAST = 0.7
"""Least share of sheets whose promise must hold; they promise 0.8."""


@dataclass
class Count:
    """Counts of sheets: with a tie; those of them that name a number; those that were right."""

    ties: int = 0
    named: int = 0
    held: int = 0


def populations(root: Path | None) -> Iterator[tuple[str, np.ndarray]]:
    """Yield, for each set, whether each encoder is right on each sentence: bool (encoders, n)."""
    catalog = Catalog(root)
    for name in SETS:
        data = catalog.load(name)
        assert isinstance(data, LabelledSentences)  # noqa: S101
        rows = [i for i, split in enumerate(data.splits) if split == "test"]
        texts, labels = [data.sentences[i] for i in rows], np.array([data.labels[i] for i in rows])
        right = []
        for encoder, sizes in SIZES.items():
            vectors = load(encoder).encode(texts)
            for size in sizes:
                _, nearest = neighbours_of_each(vectors[:, :size], 1)
                right.append(labels[nearest[:, 0]] == labels)
        yield name, np.stack(right)


def sheet(a: np.ndarray, b: np.ndarray, seen: int, rng: np.random.Generator, count: Count) -> None:
    """Play one sheet: test two encoders on some examples, and again with those it asks for."""
    first = rng.integers(0, len(a), seen)
    if mcnemar(a[first], b[first]) < 1 - LEVEL:
        return
    count.ties += 1
    samples = [Sample(side[first].astype(np.float64)) for side in (a, b)]
    more = more_examples(*resample_all(samples, RESAMPLES, 0))
    if more.n is None:
        return
    whole = np.r_[first, rng.integers(0, len(a), more.n)]
    count.named += 1
    count.held += bool(mcnemar(a[whole], b[whole]) < 1 - LEVEL)


def main() -> int:
    """Print promised and actual power; return 1 if too few promises hold."""
    given = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    given.add_argument("--data", type=Path, help="default: THEODOLITE_DATA")
    given.add_argument("--sheets", type=int, default=400, help="of each set and size")
    given.add_argument("--seed", type=int, default=2026)
    asked = given.parse_args()
    rng = np.random.default_rng(asked.seed)
    counts = {seen: Count() for seen in SEEN}
    for name, right in populations(asked.data):
        print(f"{name}: {', '.join(f'{100 * share:.1f}' for share in right.mean(axis=1))} % right")
        pairs = list(combinations(right, 2))
        for seen in SEEN:
            for _ in range(asked.sheets):
                sheet(*pairs[rng.integers(len(pairs))], seen, rng, counts[seen])
    print(f"{'examples':>8} {'ties':>6} {'named':>6} {'came out':>9}")
    for seen, count in counts.items():
        share = count.held / count.named if count.named else float("nan")
        print(f"{seen:8} {count.ties:6} {count.named:6} {share:9.1%}")
    named, held = (sum(getattr(c, word) for c in counts.values()) for word in ("named", "held"))
    what = f"of {named} sheets that promise {POWER:.0%}, share that came out so"
    return 0 if at_least(what, held / max(named, 1), LEAST) else 1


if __name__ == "__main__":
    sys.exit(main())
