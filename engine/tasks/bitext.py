"""Bitext mining: is the translation of a sentence the most similar sentence of the other language?

Protocols `mteb-v1` and `mteb-v2`, which agree here. Knows vectors and which sentences translate one
another; neither encoders nor files.
"""

import warnings

import numpy as np

from theodolite.engine.datasets.types import Parallel
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.results import Score
from theodolite.engine.tasks.task import (
    ExampleTexts,
    Measurement,
    TaskType,
    scored_split,
)

_QUERIES, _DOCUMENTS = 100, 500_000
"""Chunk sizes of the comparison, as in mteb: they decide which of tied sentences is found."""


def measure(data: Parallel, vectors: np.ndarray, tick: ProgressCallback) -> Measurement:
    """Look up the nearest right sentence of each left one that has a translation.

    The example values `f1`, whose mean is the main score, are for each left sentence the F1 of its
    translation as a class, which drops if that translation is also found for other sentences.
    """
    from sklearn.metrics import precision_recall_fscore_support

    split, (left, right), gold = scored_part(data)
    nearest = _nearest(vectors[: len(left)], vectors[len(left) :], tick)
    correct = nearest == gold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # classes that are never predicted
        precision, recall, f1, _ = precision_recall_fscore_support(
            gold, nearest, average="weighted", zero_division=0
        )
    n = len(gold)
    values = {"f1": f1, "precision": precision, "recall": recall, "accuracy": correct.mean()}
    scores = tuple(
        Score(split, None, name, 100.0 * float(value), n, main=name == "f1")
        for name, value in values.items()
    )
    details = {
        "mean_of": "f1",
        "candidates": len(right),
        "notes": list(data.notes) + _notes(data, split),
    }
    examples = {"f1": shares(nearest, gold), "right": correct, "nearest": nearest}
    return Measurement(scores, examples, details)


def scored_part(data: Parallel) -> tuple[str, tuple[np.ndarray, np.ndarray], np.ndarray]:
    """Return the split, positions of its left sentences with a translation and of all right ones.

    The third value has the position of each translation among the right sentences.
    """
    split = scored_split(data.parts)
    part = data.parts[split]
    if not len(part.gold) or len(part.right) < 2:
        raise UserError(
            f"{data.name} has {len(part.gold)} translations among {len(part.right)} sentences; "
            "mining needs at least one, and another sentence to confuse it with.",
            "Add rows to it.",
            code="too-few",
        )
    return split, (part.gold[:, 0], np.arange(len(part.right))), part.gold[:, 1]


def _nearest(left: np.ndarray, right: np.ndarray, tick: ProgressCallback) -> np.ndarray:
    import torch

    from theodolite.engine.search.ranked import unit

    queries = unit(left)
    best = torch.full((len(left),), -torch.inf)
    nearest = torch.zeros(len(left), dtype=torch.int64)
    for first in range(0, len(right), _DOCUMENTS):
        some = unit(right[first : first + _DOCUMENTS])
        for start in range(0, len(left), _QUERIES):
            block = slice(start, start + _QUERIES)
            scores, at = torch.topk(queries[block] @ some.T, 1, dim=1, sorted=False)
            better = scores[:, 0] > best[block]
            best[block] = torch.where(better, scores[:, 0], best[block])
            nearest[block] = torch.where(better, at[:, 0] + first, nearest[block])
            tick((first + len(some) * min(1.0, (start + _QUERIES) / len(left))) / len(right))
    return nearest.numpy()


def shares(nearest: np.ndarray, gold: np.ndarray) -> np.ndarray:
    """Return, for each left sentence, the F1 of its translation as a class."""
    size = int(max(nearest.max(), gold.max())) + 1
    predicted, actual, right = (
        np.bincount(which, minlength=size) for which in (nearest, gold, gold[nearest == gold])
    )
    return np.asarray(2.0 * right[gold] / (predicted[gold] + actual[gold]))


def _notes(data: Parallel, split: str) -> list[str]:
    right = data.parts[split].right
    twice = len(right) - len(set(right))
    if not twice:
        return []
    return [
        f"{twice:,} of {len(right):,} right sentences are there before, word for word: which of "
        "them is nearest is chance."
    ]


def rows(data: Parallel, protocol: str = "", seed: int = 0) -> np.ndarray:
    """Return positions in `data.sentences`: left sentences with a translation, then all right."""
    split, (left, right), _ = scored_part(data)
    start = 0
    for name, part in data.parts.items():
        if name == split:
            break
        start += len(part.left) + len(part.right)
    return np.concatenate([start + left, start + len(data.parts[split].left) + right])


def examples(data: Parallel, protocol: str = "", seed: int = 0) -> ExampleTexts:
    """Return each left sentence that has a translation, with its translation."""
    split, (left, _), gold = scored_part(data)
    part = data.parts[split]
    return [((part.left[a],), part.right[b]) for a, b in zip(left, gold, strict=True)]


TYPE = TaskType(
    "bitext",
    kind="parallel",
    protocol="mteb-v2",
    metric="f1",
    about="Find the translations of {}.",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(data, vectors, tick),
    rows=rows,
    examples=examples,
    draws=False,
)
