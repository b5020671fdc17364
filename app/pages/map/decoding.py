"""Decode a position between the points of a map."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from theodolite.app import formats
from theodolite.app.pages.decode import service as decode
from theodolite.app.pages.decode.service import NoDecoder
from theodolite.app.pages.map import service
from theodolite.engine.errors import UserError

if TYPE_CHECKING:
    import numpy as np

    from theodolite.app.workspace import Workspace

NEAREST = 8
"""Number of nearest points whose vectors are averaged."""


def weighted(points: np.ndarray, x: float, y: float, k: int) -> tuple[np.ndarray, np.ndarray]:
    """The points nearest to a position on the plane, with interpolation weights.

    Weights are inverse squared distances (Shepard 1968): a position on a point is that point.

    Returns:
        int64 (k,) ids, nearest first; float64 (k,) weights that sum to 1.
    """
    import numpy as np

    away = ((np.asarray(points, np.float64) - (x, y)) ** 2).sum(axis=1)
    near = np.argsort(away, kind="stable")[: min(k, len(away))]
    if away[near[0]] == 0:
        weights = (away[near] == 0).astype(np.float64)
    else:
        weights = away[near[0]] / away[near]  # relative to the nearest: no overflow near a point
    return near, weights / weights.sum()


def decoded(workspace: Workspace, found: service.StoredMap, x: float, y: float) -> dict[str, Any]:
    """Decode a position as the weighted mean of the full vectors of the nearest points.

    Returns:
        `x`, `y`, and `sentence`, `cosine` (of the re-encoded sentence to the mean), `dim`,
        `neighbours` (each with `id`, `text`, `weight`); or `lacking` (the encoder) and `time`
        (of a training) without a decoder; or `failure` and `hint` if decoding fails.
    """
    encoder = found.info["encoder"]
    ids, weights = weighted(found.points, x, y, NEAREST)
    rows = service.vectors(workspace, encoder, found.info["dataset"])
    try:
        result = decode.decode_point(workspace, encoder, weights @ rows[ids])
    except NoDecoder:
        time = decode.training_time(workspace, encoder)
        return {"x": x, "y": y, "lacking": encoder, "time": time}
    except UserError as error:  # returned as a value: browsers log a 400 as an error
        return {"x": x, "y": y, "failure": error.message, "hint": error.hint}
    near = [
        {"id": int(i), "text": formats.encodable(found.sentences[i]), "weight": float(weight)}
        for i, weight in zip(ids, weights, strict=True)
        if weight >= 0.0005
    ]
    return {
        "x": x,
        "y": y,
        "sentence": formats.encodable(result.sentence),
        "cosine": result.cosine or 0.0,
        "dim": rows.shape[1],
        "neighbours": near,
    }
