"""Estimated against actual time of evaluations: `evaluate --estimate` against the run.

    THEODOLITE_DATA=... python -m benchmarks.estimates [--encoder wordllama] [--only TASK ...]

Each case begins with an empty store, so encoding counts. Both are wall seconds on this machine
under its current load. Times below one second count as one.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

from benchmarks.claims import claim
from theodolite.app.pages.evaluate.estimate import estimate
from theodolite.app.pages.evaluate.job import EvaluateJob, evaluate
from theodolite.app.workspace import Workspace

WITHIN = 0.5
"""Least ratio of the smaller to the larger time: within a factor of two."""
CASES = (
    ("simcse-2021", "STSBenchmark"),
    ("simcse-2021", "STS12"),
    ("starter-2", "banking77/classify"),
    ("starter-1", "TREC/classify"),
    ("starter-1", "banking77/search"),
    ("senteval", "TREC"),
    ("senteval", "MR"),
    ("senteval", "MRPC"),
    ("senteval", "SST2"),
    ("senteval", "SICKEntailment"),
    ("senteval", "SNLI"),
    ("senteval", "Length"),
    ("senteval", "SICKRelatedness"),
    ("senteval-exact", "TREC"),
    ("senteval-exact", "MRPC"),
    ("senteval-exact", "SICKEntailment"),
    ("senteval-exact", "Tense"),
    ("senteval-fast", "TREC"),
    ("senteval-fast", "MR"),
    ("senteval-fast", "SST5"),
    ("senteval-sklearn", "TREC"),
    ("senteval-sklearn", "MR"),
    ("senteval-sklearn", "SST5"),
    ("senteval-sklearn", "MRPC"),
    ("senteval-sklearn", "SNLI"),
    ("senteval-mlp", "TREC"),
    ("senteval-mlp", "SST5"),
    ("senteval-mlp", "Tense"),
    ("pitfalls", "MR"),
    ("pitfalls", "STSBenchmark"),
    ("pitfalls-mlp", "MRPC"),
)


def said_and_taken(root: Path, encoder: str, protocol: str, task: str) -> tuple[float, float]:
    """Estimated and actual wall seconds of a task, in a new store."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(Path(folder), root)
        job = EvaluateJob.of(workspace, [encoder], [task], protocol)
        *_, answer = estimate(workspace, job)
        (guess,) = answer.estimates
        start = time.perf_counter()
        (result,) = evaluate(workspace, job)
        taken = time.perf_counter() - start
    for error in (guess.error, result["error"]):
        if error:
            raise RuntimeError(f"{task} under {protocol}: {error}")
    return guess.seconds, taken


def main() -> int:
    """Print a table and a JSON line per protocol; return 1 if an estimate misses by over two."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--encoder", default="wordllama")
    parser.add_argument("--only", nargs="+", default=[], help="these tasks or protocols")
    options = parser.parse_args()
    root = os.environ.get("THEODOLITE_DATA")
    if not root:
        print("THEODOLITE_DATA is not set: nothing to estimate.")
        return 0
    chosen = [case for case in CASES if not options.only or set(case) & set(options.only)]
    ratios: dict[str, list[float]] = defaultdict(list)
    print(f"{'protocol':18}{'task':22}{'said':>8}{'taken':>8}{'ratio':>7}")
    for protocol, task in chosen:
        said, taken = said_and_taken(Path(root), options.encoder, protocol, task)
        print(f"{protocol:18}{task:22}{said:8.1f}{taken:8.1f}{said / taken:7.2f}", flush=True)
        both = max(said, 1.0), max(taken, 1.0)
        ratios[protocol].append(min(both) / max(both))
    met = [
        claim(f"estimates.{protocol}", found, WITHIN, "wall") and min(found) >= WITHIN
        for protocol, found in ratios.items()
    ]
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
