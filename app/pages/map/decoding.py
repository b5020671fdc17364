"""A position between the points of a map: its vector, and what the decoder makes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from app import formats
from app.pages.decode import service as decode
from app.pages.decode.service import NoDecoder
from app.pages.map import service
from engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from app.workspace import Workspace

NEAREST = 8
"""Points of the plane that have a say."""


def weighted(points: np.ndarray, x: float, y: float, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The points nearest to a place on the plane, and what each counts.

    By the inverse square of the distance (Shepard 1968): a place on a point is that point.

    Args:
        points: float (n, 2).
        x: the place.
        y: the place.
        k: how many count at most.

    Returns:
        int64 (k,) numbers, nearest first; float64 (k,) weights that sum to 1.
    """
    import numpy as np

    away = ((np.asarray(points, np.float64) - (x, y)) ** 2).sum(axis=1)
    near = np.argsort(away, kind="stable")[: min(k, len(away))]
    if away[near[0]] == 0:
        weights = (away[near] == 0).astype(np.float64)
    else:
        weights = away[near[0]] / away[near]  # the nearest has 1: no square of a tiny number
    return near, weights / weights.sum()


def decoded(workspace: Workspace, found: service.StoredMap, x: float, y: float) -> dict[str, Any]:
    """What the decoder says of a place, through the full vectors of the nearest points.

    Args:
        workspace: where encoder and decoder are.
        found: a map with at least one point.
        x: of the plane.
        y: of the plane.

    Returns:
        `x`, `y`, and `sentence`, `cosine` (of the sentence's own vector to the mean), `dim`,
        `neighbours` (each with `id`, `text`, `weight`); or `lacking` (the
        encoder) and `time` (that a training takes) where there is no decoder;
        or `failure` and `hint` where it cannot be used.

    Raises:
        UserError: an encoder that cannot be loaded.
    """
    encoder = found.info["encoder"]
    ids, weights = weighted(found.points, x, y, NEAREST)
    rows = service.vectors(workspace, encoder, found.info["dataset"])
    try:
        result = decode.decode_point(workspace, encoder, weights @ rows[ids])
    except NoDecoder:
        time = decode.training_time(workspace, encoder)
        return {"x": x, "y": y, "lacking": encoder, "time": time}
    except UserError as error:  # part of the conversation: browsers log a 400 as a fault
        return {"x": x, "y": y, "failure": error.message, "hint": error.hint}
    near = [
        {"id": int(i), "text": formats.encodable(found.sentences[i]), "weight": float(weight)}
        for i, weight in zip(ids, weights, strict=True)
        if weight >= 0.0005
    ]
    return {
        "x": x, "y": y, "sentence": formats.encodable(result.sentence),
        "cosine": result.cosine or 0.0, "dim": rows.shape[1], "neighbours": near,
    }  # fmt: skip
