"""How fast texts become vectors, against sentence-transformers on the same model in the same run.

    THEODOLITE_DATA=... python -m benchmarks.encode [--sentences N] [--rounds N]

The texts are the distinct sentences of STS-B, SICK-R and MR: what our de-duplication saves on top
is not counted. Each round runs every contestant once, in turn, so that a busy machine slows all of
them; ratios are of one round, and the median over rounds is reported with the lowest and highest.
On a CPU the clock is CPU seconds, which other programs disturb least; wall seconds stand beside.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.claims import at_least, claim
from engine.encoders import MemoryCache, load
from engine.encoders.cached import CachedEncoder
from engine.encoders.packaged import MINILM, MINILM_FILES, verified_folder

DEFAULT_BATCH = 32  # of sentence-transformers
BATCHES = {"cpu": (64, 128), "cuda": (128, 512, 2048)}
SENTENCES = {"cpu": 1200, "cuda": 32_000}
TARGETS = {"default": 1.5, "best": 1.15}
CACHED, COSINE = 50.0, 0.9999

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
    """Run once with both clocks."""
    wall, cpu = time.perf_counter(), time.process_time()
    vectors = encode()
    return time.perf_counter() - wall, time.process_time() - cpu, vectors


def contestants(device: str, texts: list[str]) -> dict[str, Callable[[], np.ndarray]]:
    """Name -> what encodes the texts."""
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
    ours = load("minilm", device=device)
    assert isinstance(ours, CachedEncoder)  # noqa: S101 - for the type checker
    runs["ours"] = lambda: ours.source.encode(texts)
    return runs


def second_pass(device: str, texts: list[str]) -> tuple[Measurement, Measurement]:
    """The first pass through a new cache, and the second."""
    encoder = load("minilm", cache=MemoryCache(), device=device)
    encoder.encode(texts[:8])  # weights are read at the first call
    return measure(lambda: encoder.encode(texts)), measure(lambda: encoder.encode(texts))


def main() -> int:
    """Measure, print a table, then a JSON line a claim; 1 when a target is missed."""
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
    """Print what was measured; 1 when a target is missed."""

    def median(name: str, which: int) -> float:
        return statistics.median(r[name][which] for r in rounds)

    print(f"{len(texts)} distinct sentences, all-MiniLM-L6-v2, {device}, {len(rounds)} rounds")
    print(f"{'':24}{'wall s':>9}{'CPU s':>9}{'texts/s':>9}")
    for name in rounds[0]:
        wall, cpu = median(name, 0), median(name, 1)
        print(f"{name:24}{wall:9.2f}{cpu:9.2f}{len(texts) / wall:9.0f}")
    peers = [name for name in rounds[0] if name != "ours"]
    best = min(peers, key=lambda name: median(name, clock))
    worst_cosine = float((rounds[0]["default"][2] * rounds[0]["ours"][2]).sum(1).min())
    print(f"best of the peer: {best}; lowest cosine to its float32 vectors: {worst_cosine:.7f}")

    ratios = {
        target: [r[peer][clock] / r["ours"][clock] for r in rounds]
        for target, peer in (("default", "default"), ("best", best))
    }
    met = [at_least("lowest cosine", worst_cosine, COSINE)]
    for name, values in ratios.items():
        met.append(claim(f"encode.{name}", values, TARGETS[name], "cpu" if clock else "wall"))
    met.append(claim("encode.cache", [cache], CACHED, "wall"))
    return 0 if all(met) else 1


if __name__ == "__main__":
    sys.exit(main())
