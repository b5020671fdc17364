"""The pooling doctor: which pooling fits a checkpoint, and why.

A wrong pooling is the commonest cause of SimCSE numbers that cannot be reproduced. `diagnose` reads
the files only; `check_poolings` measures.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from engine.encoders.loading import checkpoint_of
from engine.encoders.pooling_choice import PoolingDiagnosis, examine

if TYPE_CHECKING:
    from engine.datasets.types import PairPart


def diagnose(source: str) -> PoolingDiagnosis:
    """Diagnose a source as it is written in a spec, e.g. `hf:ID?pooling=cls_token` or `dir:FOLDER`.

    Raises:
        UserError: the source cannot be read, has no checkpoint, or is more than one source.
    """
    spec, checkpoint = checkpoint_of(source)
    checkpoint.check()
    return examine(checkpoint, spec.option("pooling"))


def check_poolings(
    source: str, pairs: PairPart, poolings: Sequence[str] = (), device: str | None = None
) -> list[tuple[str, float, float]]:
    """Measure every pooling on scored pairs, e.g. STS-B dev, in one pass through the model.

    Args:
        source: as in a spec; its own pooling does not matter.
        pairs: n pairs with gold scores.
        poolings: by default all that the checkpoint allows.
        device: see `load`.

    Returns:
        (pooling, Spearman of the cosine x 100, seconds of the pass they share), best first.
    """
    import numpy as np
    from scipy.stats import spearmanr

    from engine.encoders.source import slices
    from engine.encoders.spec import POOLINGS
    from engine.encoders.transformer import TransformerSettings, TransformerSource, ahead
    from engine.space.geometry import cosine

    _, checkpoint = checkpoint_of(source)
    checkpoint.check()
    allowed = [p for p in poolings or POOLINGS if p != "pooler_output" or checkpoint.has_pooler]
    model = TransformerSource(
        source, checkpoint, TransformerSettings("avg"), device=device
    ).transformer
    started = time.perf_counter()
    parts: list[list[np.ndarray]] = [[] for _ in allowed]
    for ids in ahead(model.ids, slices([*pairs.left, *pairs.right])):
        for part, rows in zip(parts, model.pooled(ids, allowed), strict=True):
            part.append(rows)
    seconds = time.perf_counter() - started
    scores = []
    for pooling, part in zip(allowed, parts, strict=True):
        left, right = np.split(np.concatenate(part), [len(pairs.left)])
        found = spearmanr(cosine(left, right), pairs.gold)
        scores.append((pooling, 100 * float(found.statistic), seconds))
    return sorted(scores, key=lambda row: -row[1])
