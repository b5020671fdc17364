"""CPU seconds of SentEval's trained tasks: the fast solver against the plain loop, in one run.

    THEODOLITE_DATA=... python -m benchmarks.senteval [--all] [--memory]

The plain loop follows the reference fit by fit. Of nested folds it runs one outer fold (41 of 410
fits), counted ten times; other tasks it runs completely. One thread each; imports and encoding are
not counted. Times of the original on another machine are printed too (recorded, not measured here).
`--all` runs every available task with both, for a quarter of an hour or more, and claims their sum.
`--memory` measures the peak of one epoch over a task of SNLI's official size.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.claims import at_most, claim
from theodolite.engine.classifiers import columns, exact
from theodolite.engine.classifiers.features import Features
from theodolite.engine.classifiers.setting import WEIGHT_DECAYS, Fit, SolverSetting
from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders import load
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.tasks import transfer

TARGETS = {
    "MR at 256": 100.0,
    "MR at 768": 40.0,
    "TREC + SST5": 10.0,
    "WordContent": 10.0,
    "all tasks": 50.0,
}
GIB = 4.0
NESTED = ("MR", "SUBJ", "MPQA")
REST = (
    *("SUBJ", "MPQA", "SST2", "MRPC", "SICKEntailment", "SNLI", "Length", "Depth"),
    *("TopConstituents", "BigramShift", "Tense", "SubjNumber", "ObjNumber"),
)


def nothing(done: float = 0.0, /) -> None:
    """A progress callback that does nothing."""


def cpu(work: Callable[[], Any]) -> float:
    """Run once and return the CPU seconds of this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def whole(encoder: Encoder, catalog: Catalog, task: str, protocol: str) -> float:
    """CPU seconds of a complete task under a protocol."""
    data = catalog.load(task)
    vectors = encoder.encode(data.sentences)
    return cpu(lambda: transfer.measure(data, vectors, transfer.SETTINGS[protocol], 1111, nothing))


def outer_fold(encoder: Encoder, catalog: Catalog, task: str) -> float:
    """CPU seconds of the plain loop on the first outer fold: 40 inner fits and the last."""
    from sklearn.model_selection import StratifiedKFold

    data = catalog.load(task)
    _, labels = np.unique(data.labels, return_inverse=True)
    features = Features(encoder.encode(data.sentences), np.arange(len(labels)))
    folds = StratifiedKFold(10, shuffle=True, random_state=1111)
    seen, test = next(folds.split(labels, labels))
    inner = list(folds.split(seen, labels[seen]))
    fits = [Fit(seen[a], seen[b], decay) for decay in WEIGHT_DECAYS for a, b in inner]
    fits.append(Fit(seen, None, WEIGHT_DECAYS[0], test))
    return cpu(lambda: exact.solve(features, labels, fits, SolverSetting(), 1111, nothing))


def recorded(root: Path) -> dict[str, float]:
    """Recorded CPU seconds of the original by task; empty without the golden folder."""
    file = root.resolve().parent / "golden" / "original_cpu_seconds.json"
    if not file.is_file():
        return {}
    tasks = json.loads(file.read_text("utf-8"))["tasks"]["default"]
    return {name.partition(" ")[0]: row["cpu_seconds"] for name, row in tasks.items()}


def compare(catalog: Catalog, original: dict[str, float], every: bool) -> dict[str, float]:
    """Run both solvers on the tasks with a target, or on all available; return ratios by claim."""
    print(f"{'CPU s':16}{'columns':>9}{'plain':>9}{'ratio':>8}{'original, elsewhere':>21}")

    def tell(name: str, fast: float, plain: float) -> float:
        known = f"{original[name]:.0f}" if name in original else ""
        print(f"{name:16}{fast:9.1f}{plain:9.1f}{plain / fast:7.1f}x{known:>21}", flush=True)
        return plain / fast

    measured = {"MR at 768": tell("MR at 768", *both(load("random:768"), catalog, "MR"))}
    encoder, found = load("wordllama"), {}
    for task in ("MR", "TREC", "SST5", "WordContent", *(REST if every else ())):
        found[task] = both(encoder, catalog, task)
        tell(task, *found[task])
    measured["MR at 256"] = found["MR"][1] / found["MR"][0]
    measured["TREC + SST5"] = tell("TREC + SST5", *(found["TREC"] + found["SST5"]))
    measured["WordContent"] = found["WordContent"][1] / found["WordContent"][0]
    if every:
        measured["all tasks"] = tell("all tasks", *np.sum(list(found.values()), axis=0))
    return measured


def both(encoder: Encoder, catalog: Catalog, task: str) -> np.ndarray:
    """CPU seconds of the fast solver and of the plain loop."""
    fast = whole(encoder, catalog, task, "senteval")
    if task in NESTED:
        return np.array([fast, 10 * outer_fold(encoder, catalog, task)])
    return np.array([fast, whole(encoder, catalog, task, "senteval-exact")])


def snli_sized(pairs: int = 549_367, sentences: int = 640_000, dim: int = 768) -> None:
    """Train one epoch on random vectors of SNLI's official size, and print the peak in GiB."""
    import resource

    random = np.random.default_rng(0)
    vectors = np.empty((sentences, dim), np.float32)
    for start in range(0, sentences, 10_000):
        vectors[start : start + 10_000] = random.random((10_000, dim), np.float32)
    n = pairs + 10_000
    left, right = (random.integers(0, sentences, n, np.int32) for _ in range(2))
    features = Features(vectors, left, right, "u, v, u*v, |u-v|")
    fit = Fit(np.arange(pairs), np.arange(pairs, n), 1e-9, np.arange(pairs, n))
    setting = SolverSetting("columns", passes=1, max_passes=0)
    columns.solve(features, random.integers(0, 3, n), [fit], setting, 1111, nothing)
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)


def peak() -> float:
    """Peak memory of a separate process that runs `snli_sized`, in GiB."""
    code = "from benchmarks.senteval import snli_sized; snli_sized()"
    said = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return float(said.stdout.split()[-1])


def main() -> int:
    """Measure, print a table and a JSON line per claim; return 1 if a target is missed."""
    import torch

    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--memory", action="store_true")
    options = parser.parse_args()
    root = os.environ.get("THEODOLITE_DATA")
    if not root:
        print("THEODOLITE_DATA is not set: nothing to train on.")
        return 0
    torch.set_num_threads(1)
    for module in ("sklearn.model_selection", "sklearn.metrics", "torch.optim.adam"):
        importlib.import_module(module)  # not counted
    catalog, original = Catalog(Path(root)), recorded(Path(root))
    measured = compare(catalog, original, options.all)
    met = [claim(f"senteval.{n}", [value], TARGETS[n], "cpu") for n, value in measured.items()]
    if options.memory:
        met.append(at_most("GiB of a task of SNLI's size", peak(), GIB))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
