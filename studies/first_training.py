"""What a first training does to an encoder that is good already: `minilm`, a few updates.

    THEODOLITE_DATA=... python -m studies.first_training FOLDER [--steps 60] [--seeds 2]

Every row of `ROWS` is trained with the same seeds, updates and batches; scored is STS-B's dev split
before and after. Each run is an encoder in FOLDER, and a further call continues. Prints a table.
"""

import argparse
import statistics
from pathlib import Path
from typing import Any, cast

from theodolite.engine.train import train
from theodolite.engine.training import TrainSpec
from theodolite.engine.training.events import Finished

BATCH, SEEDS, STEPS = 16, 2, 60
UNSUP: dict[str, Any] = {"objective": "unsup", "train": "unlabelled/abc", "learning_rate": 3e-5}
SUP: dict[str, Any] = {
    "objective": "sup",
    "train": "nli/nli_triplets_small",
    "learning_rate": 5e-5,
}
ROWS: dict[str, dict[str, Any]] = {
    "unsup, head in training only": UNSUP | {"head": "mlp-train-only"},
    "unsup, no head": UNSUP | {"head": "none"},
    "sup, head kept": SUP | {"head": "mlp"},
    "sup, no head": SUP | {"head": "none"},
}


def trained(changes: dict[str, Any], out: Path, steps: int, seed: int) -> Finished:
    """The last event of a run; one that ended before is only read."""
    spec = TrainSpec(
        base="minilm",
        out=str(out),
        batch_size=BATCH,
        steps=steps,
        seed=seed,
        dev_every=steps,
        **changes,
    )
    *_, last = train(spec)
    return cast("Finished", last)


def main() -> None:
    """Train what is missing, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    given = parser.parse_args()
    given.folder.mkdir(parents=True, exist_ok=True)
    scores: dict[str, list[tuple[float, float]]] = {label: [] for label in ROWS}
    for seed in range(42, 42 + given.seeds):
        for place, (label, changes) in enumerate(ROWS.items()):
            out = given.folder / f"{place}-{given.steps}-{seed}"
            last = trained(changes, out, given.steps, seed)
            scores[label].append((last.base_score or 0.0, last.best_score or 0.0))
            print(f"seed {seed}, {label}: {last.base_score:.2f} -> {last.best_score:.2f}")
    print("\n| row | base | after | difference |\n|---|---:|---:|---:|")
    for label, pairs in scores.items():
        base, after = (statistics.mean(side) for side in zip(*pairs, strict=True))
        each = ", ".join(f"{b - a:+.2f}" for a, b in pairs)
        print(f"| {label} | {base:.2f} | {after:.2f} | {each} |")


if __name__ == "__main__":
    main()
