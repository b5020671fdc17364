"""Whether the verdict on an upgrade agrees with a measured re-encoding.

    THEODOLITE_DATA=... python -m benchmarks.upgrade

For pairs of encoders, the verdict comes from one half of the queries of a data set. On the other
half everything is encoded again, and the verdict is right if, of the options, it chose the cheapest
that loses less than `MARGIN` points of recall against the best. All seeds are fixed.

A bridge is right where the old index is good and its queries are not: with a wrong prompt.
"""

import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from urllib.parse import quote

import numpy as np

from benchmarks.claims import at_least
from theodolite.app.pages.spaces.upgrade import qualities, search_of
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.types import Dataset
from theodolite.engine.encoders import bind_task, load, query_side
from theodolite.engine.encoders.cached import MemoryCache
from theodolite.engine.space import bridge

LEAST, MARGIN, SHARE = 1.0, 2.0, 0.9
MISLED = "minilm?query_prompt=" + quote("It rained all day on the green hills of the north. ")
"""MiniLM with a prompt before its queries that has nothing to do with them."""
ROTATED = "minilm | dims:384,random,1"
PAIRS = {
    "starter-topics": (
        ("wordllama", "minilm"),
        ("minilm", "wordllama"),
        ("random:256", "minilm"),
        ("random:256", "wordllama"),
        ("minilm?pooling=max", "minilm"),
        ("minilm", "minilm | dims:64,first"),
        ("minilm | dims:64,first", "minilm"),
        ("minilm | dims:32,first", "minilm"),
        ("minilm", "minilm | whiten:starter-topics"),
        ("minilm", "minilm | quantise:int8,starter-topics"),
        (MISLED, "minilm"),
        (MISLED, ROTATED),
    ),
    "cranfield": (
        ("wordllama", "minilm"),
        ("minilm", "wordllama"),
        ("random:256", "minilm"),
        ("random:256", "wordllama"),
        ("minilm", "minilm | dims:64,first"),
        ("minilm | dims:64,first", "minilm"),
        ("minilm | dims:32,first", "minilm"),
        ("minilm", "minilm | quantise:int8,cranfield"),
        (MISLED, "minilm"),
        (MISLED, ROTATED),
    ),
}
"""Data set -> the old and the new encoder."""


def right(options: dict[str, float], chosen: str) -> bool:
    """Whether the cheapest option that loses less than the margin was chosen."""
    best = max(options.values())
    return chosen == next(name for name, value in options.items() if value > best - MARGIN)


def agree(data: Dataset, catalog: Catalog, pairs: Sequence[tuple[str, str]]) -> int:
    """Print the verdicts beside what was measured; return how many agree."""
    task, caches, agreed = search_of(data), MemoryCache(), 0

    def encoder(spec: str) -> Callable[..., np.ndarray]:
        made = load(spec, cache=caches, datasets=catalog.every_sentence)
        made = bind_task(made, data.sentences, data.hash)
        return lambda texts, queries=False: (query_side(made) if queries else made).encode(texts)

    for old, new in pairs:
        shares, bridges = qualities(task, encoder(old), encoder(new))
        half = np.random.default_rng(0).permutation(len(shares["keep"])) < len(shares["keep"]) // 2
        three = {name: shares[name] for name in ("keep", bridges[0].name, "re-encode")}
        chosen = bridge.verdict(*(values[half] for values in three.values()), LEAST)
        measured = {
            name: 100.0 * float(values[~half].mean())
            for name, values in zip(("keep", "bridge", "re-encode"), three.values(), strict=True)
        }
        good = right(measured, chosen)
        agreed += good
        numbers = ", ".join(f"{name} {value:.1f}" for name, value in measured.items())
        print(f"{old} to {new}: {chosen} ({bridges[0].name}); {numbers}: {'yes' if good else 'NO'}")
    return agreed


def main() -> int:
    """Print the verdicts on each data set; return 1 if fewer than nine in ten agree on one."""
    catalog, fine = Catalog(Path(os.environ["THEODOLITE_DATA"])), True
    for name, pairs in PAIRS.items():
        print(name)
        agreed = agree(catalog.load(name), catalog, pairs)
        claim = f"share of {len(pairs)} verdicts on {name} that agree"
        fine &= at_least(claim, agreed / len(pairs), SHARE)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
