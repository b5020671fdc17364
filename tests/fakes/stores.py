"""Stores of their own, and invented results and costs in them as if they had been measured."""

import zlib
from collections.abc import Sequence
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from theodolite.app.pages.board import cost
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import parse
from theodolite.engine.results import Result, Score
from theodolite.store import Store

COST_ROW = {
    "encoder": "random:32",
    "dim": 32,
    "load_seconds": [2.0, 0.5, 0.4],
    "device": "CPU",
    "per_second": {"16": [10.0, 30.0, 20.0, 40.0, 50.0], "64": [8.0] * 5, "256": [2.0] * 5},
    "latency_ms": [float(ms) for ms in range(1, 101)],
    "memory_bytes": 3 * 2**20,
    "vector_bytes": 128,
    "bytes": 2**20,
    "parameters": 30_000_000,
    "embedding_parameters": 10_000_000,
}


def starter_store(folder: Path) -> Workspace:
    """A new one for fixtures that last longer than a test.

    It has the starter set alone, whatever data this machine has.
    """
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("THEODOLITE_DATA", raising=False)
        return Workspace(folder / "store")


def invent(
    workspace: Workspace,
    encoder: str,
    task: str,
    accuracy: float,
    *,
    protocol: str = "senteval",
    seed: int = 1111,
    n: int = 400,
    dim: int = 64,
    right: np.ndarray | None = None,
    clusters: np.ndarray | None = None,
) -> dict:
    """Keep a result whose share of right answers is close to `accuracy`, and return its row.

    Hard examples are hard for every encoder, as in life. The same arguments invent the same.

    Args:
        workspace: whose store keeps it, and lists the encoder.
        encoder: a spec in its canonical writing.
        task: of transfer or probing.
        accuracy: from 0 to 1.
        protocol: its name.
        seed: of the measurement.
        n: examples.
        dim: of the vectors.
        right: bool (n,), which answers are right, instead of a share of them.
        clusters: int (n,), of examples that are not independent.
    """
    workspace.store.encoders.add(encoder, {"dim": dim})
    if right is None:
        ease = np.random.default_rng(zlib.crc32(task.encode())).random(n)
        own = zlib.crc32(f"{encoder} {task} {protocol} {seed}".encode())
        luck = np.random.default_rng(own).normal(0.0, 0.1, n)
        right = ease + luck < np.quantile(ease + luck, accuracy)
    score = 100.0 * float(right.mean())
    scores = [Score("test", None, "accuracy", score, n, main=True)]
    examples = {"correct": right} | ({} if clusters is None else {"cluster": clusters})
    result = Result(
        *(encoder, encoder, dim, task, protocol, seed, f"invented {task}"),
        tuple(scores),
        examples,
        seconds=1.0,
    )
    kept = workspace.store.results.put(vars(result) | {"scores": [*map(vars, scores)]})
    return dict(workspace.store.results.by_id(kept))


def invent_all(
    workspace: Workspace,
    accuracies: dict[str, float],
    tasks: Sequence[str] = ("MR",),
    **how,
) -> None:
    """One of each encoder on each task, otherwise alike."""
    for (name, accuracy), task in product(accuracies.items(), tasks):
        invent(workspace, name, task, accuracy, **how)


def evaluate_all(workspace: Workspace, names: Sequence[str], *tasks: str) -> None:
    """List encoders, and evaluate each on each task."""
    for name in names:
        encoders.add(workspace, name)
        for task in tasks:
            assert evaluate_one(workspace, name, task)["error"] is None


def put(
    store: Store, encoder: str, task: str, score: float, protocol: str = "senteval", **more
) -> int:
    """Keep one accuracy, and whatever `more` names: seed, dim, data_hash, details, numbers.

    `numbers` holds (metric, aggregation, score) of the test split beside the main one.
    """
    metric = more.pop("metric", "accuracy")
    rows = [(metric, None, score), *more.pop("numbers", ())]
    name = str(parse(encoder))
    scores = [
        vars(Score("test", aggregation, measure, value, 100, main=place == 0))
        for place, (measure, aggregation, value) in enumerate(rows)
    ]
    result = Result(name, name, 256, task, protocol, 1111, task, seconds=1.0)
    return store.results.put(vars(result) | {"scores": scores} | more)


def put_trained(store: Store, encoder: str, task: str, plain: float, normed: float, **more) -> int:
    """Keep a result of Pitfalls that chose the better of the two."""
    return put(
        store,
        encoder,
        task,
        max(plain, normed),
        more.pop("protocol", "pitfalls"),
        details={"znorm": normed > plain},
        numbers=[("accuracy", "plain", plain), ("accuracy", "z-normalised", normed)],
        **more,
    )


def put_cost(workspace: Workspace, name: str, **other: object) -> None:
    """Keep the cost of an encoder, measured on this machine."""
    info = COST_ROW | {"encoder": name, "machine": cost.machine()} | other
    workspace.store.derived.put(cost._key(name), cost.KIND, info)
