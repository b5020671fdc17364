"""SimCSE on a small BERT trained from scratch: STS before and after, and the paper's ablations.

    THEODOLITE_DATA=... python -m studies.simcse FOLDER [--seeds 3] [--only LABEL ...] [--show]

A BERT of 4 layers x 256 is pretrained by masked language modelling on the unlabelled sentences;
every row of `ROWS` is then trained from it on 20,000 of them (or on the NLI triplets) with three
seeds. Everything is kept in FOLDER, with a file of scores per run: a further call continues, and
calls with different rows in `--only` may run in parallel. The ablations are scored on STS-B alone.
Prints a table and whether each ablation agrees with the paper's direction: the means on dev must
differ by more than their spread, the root of the sum of both variances. The scale is a hundredth of
the paper's, so a row that disagrees is no evidence against it.

Pooling is the average, not [CLS]: masked language modelling alone leaves [CLS] untrained. After 100
steps `unsup` had 22.5 on dev with [CLS] and over 54 with the average, `sup` 57.1 and 68.8.
"""

import argparse
import json
import math
import statistics
import sys
import time
from collections.abc import Sequence
from itertools import count, takewhile
from pathlib import Path
from typing import Any

from theodolite.engine.datasets import Catalog
from theodolite.engine.encoders import load
from theodolite.engine.evaluate import evaluate
from theodolite.engine.tasks import expand
from theodolite.engine.train import train
from theodolite.engine.training import Evaluated, Finished, Noted, Stepped, TrainSpec

BASE = "base: MLM alone"
NEW = "new:layers=4,hidden=256,heads=4,vocab=8000"
SENTENCES = 20_000
PRETRAINING: dict[str, Any] = {
    "objective": "mlm",
    "pooling": "avg",
    "head": "none",
    "batch_size": 64,
    "epochs": 1.0,
    "learning_rate": 5e-4,
    "warmup": 0.05,
    "weight_decay": 0.01,
    "max_length": 48,
    "dev": None,
}
UNSUP: dict[str, Any] = {
    "objective": "unsup",
    "pooling": "avg",
    "limit": SENTENCES,
    "learning_rate": 1e-4,
    "dropout": 0.1,
    "max_length": 24,
    "dev_every": 100,
}
SUP: dict[str, Any] = {
    "objective": "sup",
    "pooling": "avg",
    "head": "mlp",
    "epochs": 2.0,
    "learning_rate": 1e-4,
    "dropout": 0.1,
    "max_length": 24,
    "dev_every": 100,
}
ROWS: dict[str, dict[str, Any]] = {
    "unsup": UNSUP,
    "unsup, dropout 0": UNSUP | {"dropout": 0.0},
    "unsup, same mask": UNSUP | {"fixed_mask": True},
    "unsup, delete one word": UNSUP | {"augmentation": "delete-one"},
    "unsup, two encoders": UNSUP | {"dual": True},
    "unsup, temperature 1": UNSUP | {"temperature": 1.0},
    "sup": SUP,
    "sup, no hard negatives": SUP | {"hard_negatives": False},
}
BETTER = [
    ("unsup", "unsup, dropout 0"),
    ("unsup", "unsup, same mask"),
    ("unsup", "unsup, delete one word"),
    ("unsup", "unsup, two encoders"),
    ("unsup", "unsup, temperature 1"),
    ("sup", "sup, no hard negatives"),
]
"""The paper's directions: the first of each pair scores higher (tables 1 to 3, 5 and D.1)."""

TUNED_ON = "STSBenchmark"
WHOLE = (BASE, "unsup", "sup")
"""Rows scored on all available STS tasks."""


class Study:
    """The runs of one folder and their scores."""

    def __init__(self, folder: Path, catalog: Catalog) -> None:
        self.folder, self.catalog = folder, catalog
        self.tasks = expand("sts", catalog)

    def run(self, label: str, seed: int, settings: dict[str, Any], base: str) -> None:
        """Train and evaluate one row with one seed, unless its scores exist."""
        name = f"{label} / {seed}"
        if self._scores(label, seed).exists():
            return
        root = self.catalog.root
        if root is None:
            sys.exit("Set THEODOLITE_DATA to the data folder.")
        source = "nli/triplets/nli_triplets_small.csv.gz"
        if settings["objective"] != "sup":
            source = "unlabelled/sentences_mix.txt.gz"
        given = {"base": base, "train": str(root / source), "seed": seed} | settings
        out = self.folder / ("base" if label == BASE else self._folder_name(label, seed))
        outcome = self._train(name, TrainSpec.from_dict(given | {"out": str(out)}))
        tasks = self.tasks if label in WHOLE else [TUNED_ON]
        self._measure(outcome, tasks, self._scores(label, seed))

    @staticmethod
    def _folder_name(label: str, seed: int) -> str:
        return f"{label} {seed}".replace(", ", "-").replace(": ", "-").replace(" ", "-")

    def _scores(self, label: str, seed: int) -> Path:
        return self.folder / f"{self._folder_name(label, seed)}.json"

    def _train(self, name: str, spec: TrainSpec) -> Finished:
        began, said = time.process_time(), 0.0
        for event in train(spec, self.catalog):
            match event:
                case Evaluated():
                    self._say(name, f"step {event.step}: dev {event.score:.2f}")
                case Stepped() if time.monotonic() - said > 60:
                    said = time.monotonic()
                    left = event.seconds_left / 60
                    self._say(
                        name, f"step {event.step}: loss {event.loss:.3f}, {left:.0f} min left"
                    )
                case Noted():
                    self._say(name, event.message)
                case Finished():
                    self._say(name, f"{time.process_time() - began:.0f} s of the CPU")
                    return event
        raise RuntimeError("training ended without an outcome")

    def _measure(self, outcome: Finished, tasks: Sequence[str], kept: Path) -> None:
        found: dict[str, Any] = {"seconds": outcome.seconds}
        for result in evaluate(load(outcome.encoder), tasks, data=self.catalog):
            if result.error is not None:
                raise RuntimeError(f"{result.task}: {result.error}")
            found[result.task] = result.main.score
            if result.task == TUNED_ON:
                found["dev"] = next(
                    s.score for s in result.scores if (s.split, s.metric) == ("dev", "spearman")
                )
        waiting = kept.with_suffix(".new")
        waiting.write_text(json.dumps(found, indent=1), "utf-8")
        waiting.replace(kept)

    @staticmethod
    def _say(name: str, text: str) -> None:
        print(f"{time.strftime('%H:%M:%S')}  {name}: {text}", file=sys.stderr, flush=True)

    def of(self, label: str, column: str) -> list[float]:
        """The scores of a row in one column, one per seed."""
        kept = takewhile(Path.exists, (self._scores(label, seed) for seed in count(1)))
        scores = [json.loads(file.read_text("utf-8")) for file in kept]
        return [found[column] for found in scores if column in found]


def shown(values: list[float]) -> str:
    """Mean and spread, or a dash."""
    if not values:
        return "-"
    spread = f" ± {statistics.stdev(values):.2f}" if len(values) > 1 else ""
    return f"{statistics.mean(values):.2f}{spread}"


def direction(better: list[float], worse: list[float]) -> str:
    """Whether the paper's direction is reproduced, in words."""
    if min(len(better), len(worse)) < 2:
        return "not measured"
    spread = math.hypot(statistics.stdev(better), statistics.stdev(worse))
    gap = statistics.mean(better) - statistics.mean(worse)
    if abs(gap) <= spread:
        return "within the spread"
    return "agrees" if gap > 0 else "disagrees"


def main() -> None:
    """Run what is missing, and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", nargs="*", default=list(ROWS))
    parser.add_argument("--show", action="store_true", help="train nothing, tell what there is")
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    study = Study(given.folder, Catalog())
    if not given.show:
        study.run(BASE, 1, PRETRAINING, NEW)
        base = f"dir:{given.folder / 'base'}"
        for seed in range(1, given.seeds + 1):
            for label in given.only:
                study.run(label, seed, ROWS[label], base)
    report(study)


def report(study: Study) -> None:
    """Print the table of scores, and the direction of each ablation."""
    columns = ["dev", *study.tasks]
    print("| row | " + " | ".join(columns) + " |\n|---|" + "---:|" * len(columns))
    for label in (BASE, *ROWS):
        print(f"| {label} | " + " | ".join(shown(study.of(label, c)) for c in columns) + " |")
    print("\nThe rows `sup` saw SICK's training part in their triplets.\n")
    said = {f"{a} > {b}": direction(study.of(a, "dev"), study.of(b, "dev")) for a, b in BETTER}
    for claim, verdict in said.items():
        print(f"{claim}: {verdict}")


if __name__ == "__main__":
    main()
