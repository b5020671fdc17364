"""BM25 against bm25s used directly, what a fusion adds to its parts, and a grid of set-ups.

    THEODOLITE_DATA=... python -m benchmarks.rankers [--passages 100000] [--rounds 3] [--pages 2000]

Passages are three neighbouring sentences of the unlabelled files; 1,000 queries are a sentence
each, of other places. In each round both index the passages and find the first 1,000 of every
query, in turn: bm25s by its own `tokenize`, `index` and `retrieve`. The fusion is of two such
rankings, which are there already: the share that it takes of the time of one. CPU seconds.

The grid is Choose on pages of 3,000 characters, a file each, with queries by rule: six sizes of
chunks for BM25 and three encoders, in a new store, and again with another margin. Wall seconds.
"""

import argparse
import gzip
import os
import sys
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import bm25s

import theodolite
from benchmarks.claims import claim, within
from theodolite.app.workspace import Workspace
from theodolite.engine import rankers
from theodolite.engine.rankers.fusion import fuse

DEPTH, QUERIES, EACH = 1000, 1000, 3
AS_FAST, SHARE = 0.9, 0.1
PAGE = 3000
"""Characters of a page."""
SIZES = ", ".join(f"recursive,{size}" for size in (200, 400, 800, 1200, 1600, 2400))
RANKERS = "bm25, wordllama, random:256, random:64"
COLD, CACHED = 20 * 60, 10
"""Most seconds of the grid."""


def sentences(root: Path) -> Iterator[str]:
    """The sentences of all files, those of more than 20 characters."""
    for file in sorted((root / "unlabelled").glob("*.txt.gz")):
        with gzip.open(file, "rt", encoding="utf-8", errors="replace") as lines:
            yield from (line.strip()[:300] for line in lines if len(line) > 20)


def directly(passages: list[str], queries: list[str]) -> Any:
    """What a person writes with bm25s."""
    quiet = {"show_progress": False}
    index = bm25s.BM25()
    index.index(bm25s.tokenize(passages, **quiet), **quiet)
    return index.retrieve(bm25s.tokenize(queries, **quiet), k=DEPTH, **quiet)


def pages(root: Path, many: int, folder: Path) -> None:
    """Write pages of consecutive sentences."""
    several, folder = sentences(root), folder / "pages"
    folder.mkdir()
    for page in range(many):
        text = ""
        while len(text) < PAGE:
            text += next(several) + " "
        (folder / f"{page}.md").write_text(text, encoding="utf-8")


def grid(root: Path, many: int) -> bool:
    """Choose among all set-ups, cold and cached."""
    with TemporaryDirectory() as folder:
        pages(root, many, Path(folder))
        workspace, seconds = Workspace(Path(folder) / "store"), []
        data: Path | str = Path(folder) / "pages"
        for margin in (2.0, 3.0):
            began = time.perf_counter()
            chosen = theodolite.choose(
                data, rankers=RANKERS, chunks=SIZES, margin=margin, workspace=workspace
            )
            seconds.append(time.perf_counter() - began)
            data = chosen.sheet["data"]
        workspace.close()
    print(f"{len(chosen.rows())} set-ups: {seconds[0]:.0f} s cold, {seconds[1]:.1f} s cached")
    cold = within("rankers.grid cold", COLD, seconds[:1])
    return within("rankers.grid cached", CACHED, seconds[1:]) and cold


def timed(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    """CPU seconds, and what was made."""
    began = time.process_time()
    made = work(*given)
    return time.process_time() - began, made


def main() -> None:
    """Measure, print, and exit with 1 if a target is missed."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--passages", type=int, default=100_000)
    arguments.add_argument("--rounds", type=int, default=3)
    arguments.add_argument("--pages", type=int, default=2000)
    given = arguments.parse_args()
    root = Path(os.environ["THEODOLITE_DATA"])
    several = sentences(root)
    queries = list(islice(several, QUERIES))
    passages = [" ".join(islice(several, EACH)) for _ in range(given.passages)]
    ranker = rankers.of(rankers.load("bm25"))
    ours, shares = [], []
    for _ in range(given.rounds):
        theirs, _ = timed(directly, passages, queries)
        indexed, index = timed(ranker.index, passages)
        found, ranked = timed(index.search, queries, DEPTH)
        other = [((at + 1) % len(passages), scores) for at, scores in ranked]  # the next passages
        fused, _ = timed(fuse, [ranked, other], DEPTH)
        print(f"bm25s {theirs:.1f} s, bm25 {indexed:.1f} + {found:.1f} s, fusion {fused:.2f} s")
        ours.append(theirs / (indexed + found))
        shares.append(SHARE * (indexed + found) / fused)
    met = [
        claim("rankers.bm25", ours, AS_FAST, "cpu"),
        claim("rankers.fusion within a tenth", shares, 1.0, "cpu"),
        grid(root, given.pages),
    ]
    sys.exit(not all(met))


if __name__ == "__main__":
    main()
