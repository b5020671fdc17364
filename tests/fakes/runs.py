"""Small training runs: a BERT of two layers, sentences of a few words, six graded pairs."""

import random
from pathlib import Path

import numpy as np

from theodolite.engine.datasets import Catalog, Dataset, PairPart, ScoredPairs
from theodolite.engine.train import EncoderTrainer, train
from theodolite.engine.training.dev import DevSet
from theodolite.engine.training.devices import Precision, Ranks
from theodolite.engine.training.examples import examples_of
from theodolite.engine.training.model import open_model
from theodolite.engine.training.spec import TrainSpec

BASE = "new:layers=2,hidden=32,heads=2,vocab=120,positions=32"
WORDS = "man woman cat dog sits runs sleeps eats on under near mat table street red old".split()
PAIRS = (
    ("a man sits", "a man sits down", 5.0),
    ("a cat sleeps", "the cat sleeps", 4.5),
    ("a dog runs", "an old dog runs near the street", 3.0),
    ("the woman eats", "a man eats", 2.0),
    ("a red table", "an old mat", 1.0),
    ("a dog runs", "the woman sleeps", 0.0),
)


class TinyCatalog(Catalog):
    """A catalog with one more data set: `graded`, whose dev split has six pairs."""

    def load(self, name: str) -> Dataset:
        """`graded`, or what is in the catalog."""
        if name != "graded":
            return super().load(name)
        left, right, gold = zip(*PAIRS, strict=True)
        return ScoredPairs("graded", {"dev": PairPart(left, right, np.array(gold))}, "splits")


def sentences(folder: Path, count: int = 60) -> Path:
    """A file of different sentences."""
    file = folder / "sentences.txt"
    file.write_text("\n".join(distinct(5, count)), "utf-8")
    return file


def triplets(folder: Path) -> Path:
    """A file with the columns sent0, sent1, hard_neg."""
    made = distinct(6, 180)
    rows = [",".join(made[i : i + 3]) for i in range(0, len(made), 3)]
    file = folder / "triplets.csv"
    file.write_text("\n".join(["sent0,sent1,hard_neg", *rows]), "utf-8")
    return file


def tiny_spec(folder: Path, objective="unsup", **changes) -> TrainSpec:
    """A run of twelve updates on a CPU, evaluated at every fourth."""
    train = triplets(folder) if objective == "sup" else sentences(folder)
    settings = {
        "base": BASE,
        "train": str(train),
        "out": str(folder / "encoder"),
        "batch_size": 8,
        "steps": 12,
        "learning_rate": 1e-3,
        "max_length": 16,
        "dev": "graded",
        "dev_every": 4,
        "device": "cpu",
    }
    return TrainSpec(objective, **(settings | changes))


def tiny_base(folder: Path) -> str:
    """The spec of an encoder that was trained a little."""
    out = folder / "base"
    list(train(tiny_spec(folder, "mlm", out=str(out), steps=2, dev=None), TinyCatalog()))
    return f"dir:{out}"


def tiny_run(spec: TrainSpec, ranks: Ranks | None = None) -> EncoderTrainer:
    """What `engine.train.train` opens, for tests that need to reach into it."""
    catalog = TinyCatalog()
    examples = examples_of(spec, catalog, spec.working_folder)
    dev = None if spec.dev is None else DevSet.open(spec.dev, catalog)
    model = open_model(spec, examples)
    return EncoderTrainer(spec, model, examples, dev, Precision.of(spec), ranks)


def distinct(seed: int, count: int) -> list[str]:
    rng = random.Random(seed)
    drawn = [" ".join(rng.choices(WORDS, k=rng.randint(3, 9))) for _ in range(2 * count)]
    return list(dict.fromkeys(drawn))[:count]
