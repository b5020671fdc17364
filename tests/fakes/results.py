"""Invented results, put into a store as if they had been measured."""

import zlib
from collections.abc import Sequence
from itertools import product

import numpy as np

from theodolite.app.workspace import Workspace
from theodolite.engine.encoders import parse
from theodolite.engine.results import Result, Score
from theodolite.store import Store


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
    znorm: float | None = None,
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
        znorm: accuracy with z-normalisation, for protocols that measure both.
    """
    workspace.store.encoders.add(encoder, {"dim": dim})
    if right is None:
        ease = np.random.default_rng(zlib.crc32(task.encode())).random(n)
        own = zlib.crc32(f"{encoder} {task} {protocol} {seed}".encode())
        luck = np.random.default_rng(own).normal(0.0, 0.1, n)
        right = ease + luck < np.quantile(ease + luck, accuracy)
    score = 100.0 * float(right.mean())
    scores = [Score("test", None, "accuracy", score, n, main=True)]
    if znorm is not None:
        for variant, value in (("plain", score), ("z-normalised", 100.0 * znorm)):
            scores.append(Score("test", variant, "accuracy", value, n))
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


def put(
    store: Store, encoder: str, task: str, score: float, protocol: str = "senteval", **more
) -> int:
    """Keep one accuracy, and whatever `more` names: seed, dim, data_hash, details, numbers.

    `numbers` holds (metric, aggregation, score) of the test split beside the main one.
    """
    metric = more.pop("metric", "accuracy")
    rows = [(metric, more.pop("aggregation", None), score), *more.pop("numbers", ())]
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
