"""Results that nobody measured, as the store keeps them: for views of many of them."""

from __future__ import annotations

from typing import Any

from theodolite.engine.encoders import parse
from theodolite.store import Store


def put(
    store: Store, encoder: str, task: str, score: float, protocol: str = "senteval", **more: Any
) -> int:
    """Keep one accuracy, and whatever `more` names: seed, dim, data_hash, details, numbers.

    `numbers` holds (metric, aggregation, score) of the test split beside the main one.
    """
    metric = more.pop("metric", "accuracy")
    beside = more.pop("numbers", ())
    rows = [(metric, more.pop("aggregation", None), score), *beside]
    name = str(parse(encoder))
    given = {
        "encoder": name,
        "fingerprint": name,
        "dim": 256,
        "task": task,
        "protocol": protocol,
        "seed": 1111,
        "data_hash": task,
        "scores": [
            {
                "split": "test",
                "aggregation": aggregation,
                "metric": measure,
                "score": value,
                "n": 100,
                "main": place == 0,
                "unit": "",
            }
            for place, (measure, aggregation, value) in enumerate(rows)
        ],
        "details": {},
        "seconds": 1.0,
        "error": None,
        "hint": "",
    }
    return store.results.put(given | more)


def put_trained(
    store: Store, encoder: str, task: str, plain: float, normed: float, **more: Any
) -> int:
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
