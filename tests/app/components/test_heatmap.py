"""The value of a heatmap: what the browser is given to draw."""

import json

import numpy as np
import pytest

from theodolite.app.components.heatmap import Cell, HeatmapColumn, HeatmapRow, grid


@pytest.mark.parametrize(("score", "read"), [(float("nan"), None), (np.float64(1.5), 1.5)])
def test_it_is_one_text_of_json(score: float, read: float | None) -> None:
    """Of an object, the browser would copy every number; one NaN would take all with it."""
    cells = {"a": Cell(score, 3, (("protocol", "simcse"),)), "b": Cell(state="waiting")}
    made = json.loads(grid([HeatmapColumn("a", "A")], [HeatmapRow("minilm", cells)]))
    first, second = made["rows"][0]["cells"].values()
    assert (first["score"], first["facts"]) == (read, [["protocol", "simcse"]])
    assert second["state"] == "waiting"
