"""Learned relatedness: how well can a regressor on the vectors predict the score of a pair?

SICK-R and STS-B as in SentEval: a separate measurement, not to be mixed with the cosine of
`engine.tasks.sts`. Knows vectors and gold scores; neither encoders nor files.

Source: facebookresearch/SentEval, `senteval/sick.py`; the copy in princeton-nlp/SimCSE selects by
Spearman.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from theodolite.engine.datasets.types import PairPart, ScoredPairs
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.results import Score
from theodolite.engine.stats.bootstrap import pearson, spearman
from theodolite.engine.tasks.task import ExampleTexts, Measurement, TaskType

if TYPE_CHECKING:
    from theodolite.engine.classifiers.features import Features

Select = Literal["pearson", "spearman"]
_SPLITS = ("train", "dev", "test")
_CORRELATIONS = {"pearson": pearson, "spearman": spearman}
FINETUNE = "-finetune"
"""Suffix of tasks whose round is selected by dev Spearman."""


def measure(
    data: ScoredPairs,
    vectors: np.ndarray,
    select: Select,
    seed: int,
    tick: ProgressCallback,
) -> Measurement:
    """Train on `train`, select the round on `dev`, score `test`.

    The main score is the test correlation of the selecting kind; the examples `predicted` and
    `gold` are the test pairs in the order of the data set.
    """
    from theodolite.engine.classifiers import relatedness

    missing = [name for name in _SPLITS if name not in data.parts]
    if missing or data.parts_are != "splits":
        raise UserError(
            f"{data.name} has no {' and no '.join(missing) or 'splits'}.",
            "A trained regressor needs train, dev and test splits.",
            code="missing",
        )
    features, gold, splits = _features_in_order(data, vectors)
    dev, predicted, passes = relatedness.fit(
        features, gold, splits, _CORRELATIONS[select], seed, tick
    )
    if np.isnan(dev):
        raise UserError(
            f"The regressor gives every dev pair of {data.name} the same score.",
            "Are the vectors all the same? Look at the encoder's distributions.",
            code="failed",
        )
    tested, n = gold[splits["test"]], len(splits["test"])
    scores = [
        Score("test", None, name, 100 * correlate(predicted, tested), n, main=name == select)
        for name, correlate in _CORRELATIONS.items()
    ]
    error = float(np.mean((predicted - tested) ** 2))
    scores.append(Score("test", None, "mse", error, n, unit="squared points"))
    scores.append(Score("dev", None, select, 100 * dev, len(splits["dev"])))
    examples = {"predicted": np.empty(n), "gold": data.parts["test"].gold}
    examples["predicted"][reference_order(data.parts["test"])] = predicted
    return Measurement(tuple(scores), examples, {"selected_by": select, "passes": passes})


def reference_order(part: PairPart) -> np.ndarray:
    """Return the order by tokens of the first, of the second, then score: batches depend on it."""
    left, right = (np.array([len(s.split()) for s in side]) for side in (part.left, part.right))
    return np.lexsort((part.gold, right, left))


def _features_in_order(
    data: ScoredPairs, vectors: np.ndarray
) -> tuple[Features, np.ndarray, dict[str, np.ndarray]]:
    """Return features and gold scores in the reference's order, and the rows of each split."""
    from theodolite.engine.classifiers.features import Features

    left, right, gold = [], [], []
    splits: dict[str, np.ndarray] = {}
    sentence = row = 0
    for name, part in data.parts.items():
        n = len(part.gold)
        order = reference_order(part)
        left.append(sentence + order)
        right.append(sentence + n + order)
        gold.append(part.gold[order])
        splits[name] = np.arange(row, row + n)
        sentence, row = sentence + 2 * n, row + n
    features = Features(vectors, np.concatenate(left), np.concatenate(right), "|u-v|, u*v")
    return features, np.concatenate(gold), splits


def _examples(data: ScoredPairs, protocol: str, seed: int) -> ExampleTexts:
    part = data.parts["test"]
    rows = zip(part.left, part.right, part.gold, strict=True)
    return [((a, b), f"{grade:g}") for a, b, grade in rows]


TYPE = TaskType(
    "relatedness",
    kind="pairs",
    protocol="senteval",
    metric="spearman",
    about="{} by a trained regressor, chosen by dev Spearman as SimCSE's fork does.",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(
        data, vectors, "spearman" if task.name.endswith(FINETUNE) else "pearson", seed, tick
    ),
    trains=True,
    examples=_examples,
)
