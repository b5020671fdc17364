"""How fast texts become vectors, against sentence-transformers on the same model in the same run.

    THEODOLITE_DATA=... python -m benchmarks.encode [--sentences N] [--rounds N]

The texts are the distinct sentences of STS-B, SICK-R and MR, so savings by de-duplication are not
counted. Each round runs every contestant once, in turn, so that a busy machine slows all of them;
ratios are of one round, and the median over rounds is reported with the lowest and highest. On a
CPU the clock is CPU seconds, which other programs disturb least; wall seconds are printed too.
There `dtype=int8` is measured as well, on the same texts and on a few one by one: its speed-up over
our float32, and its loss on STS-B and SICK-R.
"""

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.claims import at_least, at_most, claim
from theodolite.engine import evaluate
from theodolite.engine.encoders import MemoryCache, int8, load
from theodolite.engine.encoders.cached import CachedEncoder
from theodolite.engine.encoders.packaged import MINILM, MINILM_FILES, verified_folder
from theodolite.engine.encoders.source import Source

DEFAULT_BATCH = 32  # of sentence-transformers
BATCHES = {"cpu": (64, 128), "cuda": (128, 512, 2048)}
SENTENCES = {"cpu": 1200, "cuda": 32_000}
TARGETS = {"default": 1.5, "best": 1.15}
CACHED, COSINE = 50.0, 0.9999
INT8, INT8_ALONE, LOST = 2.0, 1.3, 0.3
"""Least speed-up over float32, in batches and one by one, and most points lost."""
OURS, IN_INT8 = "ours", "ours int8"
ALONE = 50
"""Number of texts that are encoded one by one."""
TASKS = ("STSBenchmark", "SICKRelatedness")

Measurement = tuple[float, float, np.ndarray]  # wall seconds, CPU seconds, vectors


def sentences(root: Path) -> list[str]:
    """Distinct sentences of the three data sets, in the order of the files."""
    down = next(d for d in (root / "senteval" / "downstream", root / "downstream") if d.is_dir())
    texts: list[str] = []
    for split in ("train", "dev", "test"):
        texts += _columns(down / "STS" / "STSBenchmark" / f"sts-{split}.csv", (5, 6))
    for split in ("train", "trial", "test_annotated"):
        texts += _columns(down / "SICK" / f"SICK_{split}.txt", (1, 2), skip=1)
    for sign in ("pos", "neg"):
        texts += _columns(down / "MR" / f"rt-polarity.{sign}", (0,))
    return list(dict.fromkeys(texts))


def _columns(file: Path, columns: tuple[int, ...], skip: int = 0) -> list[str]:
    rows = [line.split("\t") for line in file.read_text("latin-1").splitlines()[skip:]]
    return [row[c].strip() for row in rows for c in columns]


def measure(encode: Callable[[], np.ndarray]) -> Measurement:
    """Run once; return the seconds on both clocks, and the vectors."""
    wall, cpu = time.perf_counter(), time.process_time()
    vectors = encode()
    return time.perf_counter() - wall, time.process_time() - cpu, vectors


def contestants(device: str, texts: list[str]) -> dict[str, Callable[[], np.ndarray]]:
    """Name -> function that encodes the texts."""
    from sentence_transformers import SentenceTransformer

    folder = str(verified_folder(MINILM, MINILM_FILES))
    runs: dict[str, Callable[[], np.ndarray]] = {}

    def peer(name: str, batch: int, **kwargs: object) -> None:
        key = str(kwargs)
        if key not in models:
            models[key] = SentenceTransformer(folder, device=device, **kwargs)
        runs[name] = lambda: models[key].encode(texts, batch_size=batch)

    models: dict[str, SentenceTransformer] = {}
    peer("default", DEFAULT_BATCH)
    for batch in BATCHES[device]:
        peer(f"batch {batch}", batch)
        if device == "cuda":
            for dtype in ("float16", "bfloat16"):
                peer(f"batch {batch} {dtype}", batch, model_kwargs={"dtype": dtype})
    specs = {OURS: "minilm"}
    if device == "cpu" and int8.available():
        specs[IN_INT8] = "minilm?dtype=int8"
    for name, spec in specs.items():
        encode = _source(spec, device).encode
        runs[name] = partial(encode, texts)
        if len(specs) > 1:
            runs[alone(name)] = partial(_each, encode, texts[:ALONE])
    return runs


def _source(spec: str, device: str) -> Source:
    encoder = load(spec, device=device)
    assert isinstance(encoder, CachedEncoder)  # noqa: S101 - for the type checker
    encoder.source.encode(["a dog"])  # weights are read at the first call
    return encoder.source


def _each(encode: Callable[[Sequence[str]], np.ndarray], texts: list[str]) -> np.ndarray:
    return np.concatenate([encode([text]) for text in texts])


def alone(name: str) -> str:
    """The name of a contestant that encodes texts one by one."""
    return f"{name}, {ALONE} alone"


def second_pass(device: str, texts: list[str]) -> tuple[Measurement, Measurement]:
    """Measure the first and the second pass with a new cache."""
    encoder = load("minilm", cache=MemoryCache(), device=device)
    encoder.encode(texts[:8])  # weights are read at the first call
    return measure(lambda: encoder.encode(texts)), measure(lambda: encoder.encode(texts))


def main() -> int:
    """Measure, print a table and a JSON line per claim; return 1 if a target is missed."""
    import torch

    device = "cuda" if torch.cuda.is_available() else "cpu"
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sentences", type=int, default=SENTENCES[device], help="0 for all")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    root = os.environ.get("THEODOLITE_DATA")
    if not root:
        print("THEODOLITE_DATA is not set: no sentences to measure on.")
        return 0
    texts = sentences(Path(root))
    if 0 < options.sentences < len(texts):
        texts = random.Random(0).sample(texts, options.sentences)

    runs = contestants(device, texts)
    clock = 1 if device == "cpu" else 0
    rounds: list[dict[str, Measurement]] = []
    for run in runs.values():
        run() if device == "cuda" else None  # kernels are chosen at the first call
    for number in range(options.rounds):
        rounds.append({name: measure(run) for name, run in runs.items()})
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    first, second = second_pass(device, texts)
    return report(device, texts, rounds, clock, first[0] / max(second[0], 1e-9))


def report(
    device: str, texts: list[str], rounds: list[dict[str, Measurement]], clock: int, cache: float
) -> int:
    """Print the measurements; return 1 if a target is missed."""

    def median(name: str, which: int) -> float:
        return statistics.median(r[name][which] for r in rounds)

    print(f"{len(texts)} distinct sentences, all-MiniLM-L6-v2, {device}, {len(rounds)} rounds")
    print(f"{'':24}{'wall s':>9}{'CPU s':>9}{'texts/s':>9}")
    for name in rounds[0]:
        wall, cpu = median(name, 0), median(name, 1)
        print(f"{name:24}{wall:9.2f}{cpu:9.2f}{len(rounds[0][name][2]) / wall:9.0f}")
    peers = [name for name in rounds[0] if not name.startswith(OURS)]
    best = min(peers, key=lambda name: median(name, clock))
    worst_cosine = float((rounds[0]["default"][2] * rounds[0][OURS][2]).sum(1).min())
    print(f"best of the peer: {best}; lowest cosine to its float32 vectors: {worst_cosine:.7f}")

    ratios = {
        target: [r[peer][clock] / r[OURS][clock] for r in rounds]
        for target, peer in (("default", "default"), ("best", best))
    }
    met = [at_least("lowest cosine", worst_cosine, COSINE)]
    for name, values in ratios.items():
        met.append(claim(f"encode.{name}", values, TARGETS[name], "cpu" if clock else "wall"))
    met.append(claim("encode.cache", [cache], CACHED, "wall"))
    if IN_INT8 in rounds[0]:
        met += in_int8(rounds, clock)
    return 0 if all(met) else 1


def in_int8(rounds: list[dict[str, Measurement]], clock: int) -> list[bool]:
    """Check the claims about `dtype=int8`: its speed-up and its loss."""
    met = []
    for name, target in ((OURS, INT8), (alone(OURS), INT8_ALONE)):
        other = name.replace(OURS, IN_INT8)
        ratios = [r[name][clock] / r[other][clock] for r in rounds]
        what = "encode.int8" if name == OURS else "encode.int8.alone"
        met.append(claim(what, ratios, target, "cpu"))
    plain, quick = (
        {row.task: row.main.score for row in evaluate(load(spec), list(TASKS))}
        for spec in ("minilm", "minilm?dtype=int8")
    )
    for task in TASKS:
        what = f"points lost on {task}, {plain[task]:.2f} in float32"
        met.append(at_most(what, plain[task] - quick[task], LOST))
    return met


if __name__ == "__main__":
    sys.exit(main())
