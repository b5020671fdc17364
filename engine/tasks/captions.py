"""Caption-image retrieval: can the vectors match captions to their images?

Knows caption vectors and image features; neither encoders nor files.

Source: facebookresearch/SentEval, `senteval/rank.py`.
"""

import numpy as np

from theodolite.engine.datasets.types import CAPTIONS, Captions
from theodolite.engine.errors import UserError
from theodolite.engine.progress import ProgressCallback
from theodolite.engine.results import Score
from theodolite.engine.tasks.task import ExampleTexts, Measurement, TaskType

_SPLITS = ("train", "dev", "test")
_DIRECTIONS = ("image_to_text", "text_to_image")


def measure(data: Captions, vectors: np.ndarray, seed: int, tick: ProgressCallback) -> Measurement:
    """Train on `train`, select the epoch on `dev`, rank `test` in folds of 1,000 images.

    The main score is the mean of recall at 1, 5 and 10 in both directions. Examples: `recall`,
    whose mean it is; `caption_rank` of each image and `image_rank` of each caption, from 1.
    """
    from theodolite.engine.classifiers import ranking

    _check_splits(data, ranking.least_images())
    parts, start = {}, 0
    for name, part in data.parts.items():
        rows = slice(start, start := start + len(part.captions))
        captions = np.ascontiguousarray(vectors[rows], np.float32)
        parts[name] = ranking.Matched(captions, part.images)
    dev, ranks, passes = ranking.fit(parts, seed, tick)
    n = len(ranks.of_captions)
    counts = (n, CAPTIONS * n)
    by_image = ranks.by_image()
    scores = [Score("test", None, "mean_recall", 100 * float(by_image.mean()), n, main=True)]
    for direction, recalls, count in zip(_DIRECTIONS, ranks.recalls(), counts, strict=True):
        scores += [
            Score("test", None, f"{direction}_recall_at_{k}", recall, count)
            for k, recall in zip(ranking.AT, recalls, strict=True)
        ]
    for direction, median, count in zip(_DIRECTIONS, ranks.medians(), counts, strict=True):
        scores.append(Score("test", None, f"{direction}_median_rank", median, count, unit="rank"))
    n_dev = min(len(parts["dev"].images), ranking.FOLD * ranking.FOLDS)
    scores.append(Score("dev", None, "mean_recall", dev / 6, n_dev))
    examples = {
        "recall": by_image,
        "caption_rank": ranks.of_captions + 1,
        "image_rank": ranks.of_images + 1,
    }
    details: dict[str, object] = {"passes": passes, "fold_images": list(ranks.sizes)}
    if ranks.sizes != (ranking.FOLD,) * ranking.FOLDS:
        details["notes"] = [
            f"The test split has {n:,} images: {len(ranks.sizes)} of {ranking.FOLDS} folds of "
            f"{ranking.FOLD:,}, the last with {ranks.sizes[-1]:,}. Fewer images are easier to tell "
            "apart; no published score compares with this one."
        ]
    return Measurement(tuple(scores), examples, details)


def _check_splits(data: Captions, least: int) -> None:
    """Raise UserError for missing splits and for too few training images."""
    missing = [
        name for name in _SPLITS if name not in data.parts or not len(data.parts[name].images)
    ]
    if missing:
        raise UserError(
            f"{data.name} has no images in {' and '.join(missing)}.",
            "Retrieval needs the splits train, dev and test.",
            code="missing",
        )
    n = len(data.parts["train"].images)
    if n < least:
        raise UserError(
            f"{data.name} has {n} training images; at least {least} are needed, since contrasts "
            "are drawn from outside of a batch of captions.",
            "Add images to the training split.",
            code="too-few",
        )


def _examples(data: Captions, protocol: str, seed: int) -> ExampleTexts:
    texts = data.parts["test"].captions
    groups = (texts[start : start + CAPTIONS] for start in range(0, len(texts), CAPTIONS))
    return [(of_image, f"photograph {n}") for n, of_image in enumerate(groups, start=1)]


TYPE = TaskType(
    "retrieval",
    kind="captions",
    protocol="senteval",
    metric="mean_recall",
    measure=lambda task, data, vectors, protocol, seed, tick: measure(data, vectors, seed, tick),
    trains=True,
    examples=_examples,
)
