"""The result of an evaluation: scores, the values behind them, or an error as a value."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Score:
    """One number.

    Attributes:
        split: `test`, `dev`, `train`, or `all` when the data set has no splits.
        aggregation: `all`, `mean`, `wmean`, the name of a subset, or None; `plain` or
            `z-normalised` where a protocol chose between them.
        metric: `spearman`, `pearson`, `accuracy`, `precision_at_10`, `alignment`, `uniformity`, …
        score: points of 100 for correlations, accuracies, precisions and F1; otherwise in `unit`.
        n: number of examples.
        main: true on exactly one score of a result: the number a table shows.
        unit: empty for points of 100.
    """

    split: str
    aggregation: str | None
    metric: str
    score: float
    n: int
    main: bool = False
    unit: str = ""


@dataclass(frozen=True, eq=False)
class Result:
    """One task measured on one encoder under one protocol.

    Attributes:
        encoder: the encoder's name (canonical spec).
        fingerprint: of the encoder as used (completed by the task's data for `@task` steps).
        data_hash: content hash of the data set.
        scores: empty exactly when `error` is set.
        examples: named arrays of per-example values, for significance and distributions. STS:
            `cosine` and `gold` float64 (n,), `part` int16 (n,) into `details["parts"]`.
            Classification, transfer, probing: `correct` bool (n,). Search: `precision` and
            `as_neighbour` float64 (n,). Learned relatedness: `predicted` and `gold` float64 (n,).
            Retrieval: `recall` float64 (images,), `caption_rank` int64 (images,), `image_rank`
            int64 (captions,).
            MTEB's types: the array that `details["mean_of"]` names, whose mean is the main score,
            and those that their modules list; pairs: `similarity` float64 and `label` bool (n,).
            `cluster` int32 (n,) or (n, 2), as in `engine.stats.bootstrap.Sample`: of the examples
            of the main score, where some are not independent; `details["dependent"]` says by what.
            Not per example are `draws` float64 (draws,), scores in points that the main one is the
            mean of, and `seeds` float64 (seeds,), scores of which it is the first.
            Decoding: see `engine.decoding.diagnosis.Diagnosis`.
        details: small JSON-able extras (names of parts, histogram, counts, protocol choices);
            `notes` are sentences that a person should read beside the scores.
        error: what went wrong, for people; None on success.
    """

    encoder: str
    fingerprint: str
    dim: int
    task: str
    protocol: str
    seed: int
    data_hash: str
    scores: tuple[Score, ...] = ()
    examples: Mapping[str, np.ndarray] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    error: str | None = None
    hint: str = ""

    @property
    def main(self) -> Score:
        """The score a table shows.

        Raises:
            ValueError: for a result that holds an error.
        """
        for score in self.scores:
            if score.main:
                return score
        raise ValueError(f"{self.task} on {self.encoder} has no score: {self.error}")

    def rows(self) -> list[dict[str, Any]]:
        """One flat JSON-able object per number, as `theodolite evaluate --json` prints them."""
        head = {
            "encoder": self.encoder,
            "fingerprint": self.fingerprint,
            "task": self.task,
            "protocol": self.protocol,
            "seed": self.seed,
        }
        return [head | asdict(score) for score in self.scores]
