"""A training that takes seconds: one narrow layer, a small vocabulary, invented sentences."""

import random
from pathlib import Path

from theodolite.engine.training import TrainSpec

WORDS = (
    "a the man woman cat dog sits runs sleeps eats on under near mat table street red old small "
    "happy nobody sings while rain falls and then they leave quietly before dinner"
).split()


def write_sentences(file: Path, n: int = 400) -> Path:
    """Write so many sentences, one a line; return the file."""
    rng = random.Random(2021)
    file.write_text("".join(" ".join(rng.choices(WORDS, k=7)) + "\n" for _ in range(n)))
    return file


def small(file: Path, out: Path, **changes) -> TrainSpec:
    """Unsupervised, from fresh weights, looking at the starter set's pairs."""
    usual = {
        "objective": "unsup",
        "base": "new:layers=1,hidden=32,heads=2,vocab=80",
        "train": str(file),
        "out": str(out),
        "batch_size": 8,
        "max_length": 16,
        "steps": 30,
        "dev": "starter-pairs",
        "dev_every": 10,
        "learning_rate": 1e-3,
        "device": "cpu",
    }
    return TrainSpec(**usual | changes)
