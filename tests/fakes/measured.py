"""Results that nobody measured, as the store keeps them: for views of many of them."""

from typing import Any

from theodolite.engine.encoders import parse
from theodolite.engine.results import Result, Score
from theodolite.store import Store


def put(
    store: Store, encoder: str, task: str, score: float, protocol: str = "senteval", **more: Any
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
