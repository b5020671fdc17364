"""Invented results of classifiers, put into a store as if they had been measured."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from theodolite.app.workspace import Workspace


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
) -> dict[str, Any]:
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
    numbers = [("accuracy", None, score, True)]
    if znorm is not None:
        numbers += [
            ("accuracy", "plain", score, False),
            ("accuracy", "z-normalised", 100.0 * znorm, False),
        ]
    result_id = workspace.store.results.put(
        {
            "encoder": encoder,
            "fingerprint": encoder,
            "dim": dim,
            "task": task,
            "protocol": protocol,
            "seed": seed,
            "data_hash": f"invented {task}",
            "scores": [
                {
                    "split": "test",
                    "aggregation": aggregation,
                    "metric": metric,
                    "score": value,
                    "n": n,
                    "main": main,
                    "unit": "",
                }
                for metric, aggregation, value, main in numbers
            ],
            "examples": {"correct": right} | ({} if clusters is None else {"cluster": clusters}),
            "details": {},
            "seconds": 1.0,
            "error": None,
            "hint": "",
        }
    )
    return dict(workspace.store.results.by_id(result_id))
