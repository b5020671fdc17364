"""Whether the verdict on an upgrade agrees with a measured re-encoding.

    THEODOLITE_DATA=... python -m benchmarks.upgrade

For ten pairs of encoders, the verdict comes from one half of the queries of a data set. On the
other half everything is encoded again, and the verdict is right if, of the options, it chose the
cheapest that loses less than `MARGIN` points of recall against the best. All seeds are fixed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from benchmarks.claims import at_least
from theodolite.app.pages.spaces.upgrade import qualities, search_of
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders import bind_task, load
from theodolite.engine.encoders.cached import MemoryCache
from theodolite.engine.space import bridge

DATA = "starter-topics"
LEAST, MARGIN = 1.0, 2.0
PAIRS = (
    ("wordllama", "minilm"),
    ("minilm", "wordllama"),
    ("random:256", "minilm"),
    ("random:256", "wordllama"),
    ("minilm?pooling=max", "minilm"),
    ("minilm", "minilm | dims:64,first"),
    ("minilm | dims:64,first", "minilm"),
    ("minilm | dims:32,first", "minilm"),
    ("minilm", "minilm | whiten:starter-topics"),
    ("minilm", "minilm?dtype=int8"),
)


def right(options: dict[str, float], chosen: str) -> bool:
    """Whether the cheapest option that loses less than the margin was chosen."""
    best = max(options.values())
    return chosen == next(name for name, value in options.items() if value > best - MARGIN)


def main() -> int:
    """Print the verdicts beside what was measured; return 1 if fewer than 9 of 10 agree."""
    catalog, caches = Catalog(), MemoryCache()
    data = catalog.load(DATA)
    task, agree = search_of(data), 0

    def encoder(spec: str) -> Callable[..., np.ndarray]:
        made = load(spec, cache=caches, datasets=catalog.every_sentence)
        made = bind_task(made, data.sentences, data.hash)
        return lambda texts, queries=False: made.encode(texts)

    for old, new in PAIRS:
        shares, bridges = qualities(task, encoder(old), encoder(new))
        half = np.random.default_rng(0).permutation(len(shares["keep"])) < len(shares["keep"]) // 2
        three = {name: shares[name] for name in ("keep", bridges[0].name, "re-encode")}
        chosen = bridge.verdict(*(values[half] for values in three.values()), LEAST)
        measured = {
            name: 100.0 * float(values[~half].mean())
            for name, values in zip(("keep", "bridge", "re-encode"), three.values(), strict=True)
        }
        good = right(measured, chosen)
        agree += good
        numbers = ", ".join(f"{name} {value:.1f}" for name, value in measured.items())
        print(f"{old} to {new}: {chosen} ({bridges[0].name}); {numbers}: {'yes' if good else 'NO'}")
    return 0 if at_least(f"verdicts of {len(PAIRS)} that agree", agree, 9) else 1


if __name__ == "__main__":
    sys.exit(main())
