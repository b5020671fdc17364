"""How fast vectors become a map, against umap-learn called plainly on the same vectors.

    THEODOLITE_DATA=... python -m benchmarks.projection [--points N] [--encoder SPEC] [--rounds N]

The sentences are the distinct lines of the unlabelled collection `sentences_mix`. Each round runs
both once, in turn, so that a busy machine slows both; ratios are of the CPU seconds of one round,
which depend less on other load than wall seconds; both are printed, and with them what share of
the true neighbours each starts from. Both are warm: umap-learn, which is in the extra `bench`, has
compiled on some thousands of the same vectors before, once unseeded and once seeded; the time of
that first call has its own column. The first principal components are timed from vectors in memory
to points and density, as the page draws them.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.claims import at_most, claim, within
from theodolite.app.pages.map.job import density
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders import MemoryCache, load
from theodolite.engine.search.index import approximate_index, neighbours_of_each, unit_rows
from theodolite.engine.space import projection
from theodolite.engine.space.trust import trust

POINTS, PCA_POINTS = 20_000, 100_000
WARMING = 5000  # above 4,096 points umap-learn takes another path, which is compiled too
FASTER, TRUST_LOST, PCA_SECONDS = 1 / 0.6, 0.01, 3.0
SEEDS: dict[str, int | None] = {"unseeded": None, "seeded": 0}


def vectors(root: Path, spec: str, n: int) -> np.ndarray:
    """Vectors of the first n distinct sentences, cached in the temporary folder between runs."""
    kept = Path(tempfile.gettempdir()) / f"theodolite-bench-{abs(hash_of(spec)):x}-{n}.npy"
    if kept.exists():
        return np.load(kept, allow_pickle=False)
    sentences, _ = Catalog(root).sentences("unlabelled/sentences_mix")
    found = load(spec, cache=MemoryCache()).encode(sentences[:n])
    np.save(kept, found, allow_pickle=False)
    return found


def hash_of(text: str) -> int:
    """A hash that is the same in every process."""
    return int.from_bytes(text.encode(), "little") % (1 << 64)


def plain(rows: np.ndarray, seed: int | None) -> np.ndarray:
    """Project with umap-learn as in its documentation, with the same parameters."""
    from umap import UMAP

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return UMAP(n_neighbors=15, min_dist=0.1, metric="cosine", random_state=seed).fit_transform(
            rows
        )


def ours(rows: np.ndarray, seed: int | None) -> np.ndarray:
    """Project with the engine."""
    return projection.umap(rows, seed=seed).points


def true_neighbours(rows: np.ndarray, k: int) -> tuple[float, float]:
    """Share of each row's k nearest other rows that we find, and that umap-learn finds."""
    from umap.umap_ import nearest_neighbors

    unit = unit_rows(rows)
    _, truth = neighbours_of_each(unit, k)
    _, mine = neighbours_of_each(unit, k, approximate_index(unit))
    random = np.random.RandomState(0)
    # One more than k, as it counts the row itself.
    theirs, _, _ = nearest_neighbors(rows, k + 1, "cosine", {}, angular=True, random_state=random)
    shares = [
        np.mean([len(np.intersect1d(*pair)) / k for pair in zip(truth, ids, strict=True)])
        for ids in (mine, theirs)
    ]
    return float(shares[0]), float(shares[1])


def timed(work: Callable[[], np.ndarray]) -> tuple[float, float, np.ndarray]:
    """Run a function; return wall seconds, CPU seconds and its result."""
    wall, cpu = time.perf_counter(), time.process_time()
    out = work()
    return time.perf_counter() - wall, time.process_time() - cpu, out


def main() -> int:
    """Measure, print a table and a JSON line per claim; return 1 if a target is missed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--points", type=int, default=POINTS)
    parser.add_argument("--pca-points", type=int, default=PCA_POINTS)
    parser.add_argument("--encoder", default="minilm", help="random:384 where encoding is slow")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    root = os.environ.get("THEODOLITE_DATA")
    if not root:
        print("THEODOLITE_DATA is not set: no sentences to measure on.")
        return 0
    rows = vectors(Path(root), options.encoder, options.points)
    compiling = {
        f"{name} {kind}": timed(lambda run=run, seed=seed: run(rows[:WARMING], seed))[0]
        for kind, seed in SEEDS.items()
        for name, run in (("ours", ours), ("plain", plain))
    }
    print(f"{len(rows)} x {rows.shape[1]} of {options.encoder}, {options.rounds} rounds")
    print("true among 14 neighbours: {:.1%}, umap-learn {:.1%}".format(*true_neighbours(rows, 14)))
    print(f"{'':16}{'first call s':>14}{'wall s':>9}{'CPU s':>9}{'trust':>9}")
    ratios: dict[str, list[float]] = {}
    losses: list[float] = []
    for kind, seed in SEEDS.items():
        pairs = [
            (timed(lambda seed=seed: ours(rows, seed)), timed(lambda seed=seed: plain(rows, seed)))
            for _ in range(options.rounds)
        ]
        trusts = []
        for name, which in (("ours", 0), ("plain", 1)):
            runs = [pair[which] for pair in pairs]
            truth = [float(trust(rows, r[2]).trustworthiness.mean()) for r in runs]
            trusts.append(truth)
            wall, cpu = (statistics.median(run[clock] for run in runs) for clock in (0, 1))
            first = compiling[f"{name} {kind}"]
            label = f"{name} {kind}"
            print(f"{label:16}{first:14.1f}{wall:9.1f}{cpu:9.1f}{statistics.median(truth):9.4f}")
        ratios[kind] = [theirs[1] / mine[1] for mine, theirs in pairs]
        losses += [mine - theirs for mine, theirs in zip(*trusts, strict=True)]
    many = vectors(Path(root), "random:384", options.pca_points)
    seconds = [timed(lambda: density(projection.pca(many).points))[0] for _ in range(5)]
    print(f"first principal components of {len(many)} x {many.shape[1]}: {min(seconds):.2f} s")
    met = [at_most("trustworthiness lost", -statistics.median(losses), TRUST_LOST)]
    for kind, values in ratios.items():
        met.append(claim(f"projection.{kind}", values, FASTER, "cpu"))
    met.append(within("projection.pca", PCA_SECONDS, seconds))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
