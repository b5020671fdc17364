"""The value of a heatmap: what the browser is given to draw."""

from __future__ import annotations

import json

import numpy as np
import pytest

from theodolite.app.components.heatmap import Cell, HeatmapColumn, HeatmapRow, grid


def test_it_is_one_text() -> None:
    """Of an object, the browser would copy every number at each look at the store."""
    cells = {"STS12": Cell(71.5, 3, (("protocol", "simcse"),)), "STS13": Cell(state="waiting")}
    made = grid(
        [HeatmapColumn("STS12", "STS12"), HeatmapColumn("STS13", "STS13")],
        [HeatmapRow("minilm", cells)],
    )
    assert isinstance(made, str)
    read = json.loads(made)
    assert [column["key"] for column in read["columns"]] == ["STS12", "STS13"]
    (row,) = read["rows"]
    assert row["name"] == "minilm"
    assert row["cells"]["STS12"]["score"] == 71.5
    assert row["cells"]["STS12"]["facts"] == [["protocol", "simcse"]]
    assert row["cells"]["STS13"]["state"] == "waiting"


@pytest.mark.parametrize(("score", "read"), [(float("nan"), None), (np.float64(1.5), 1.5)])
def test_scores_are_json(score: float, read: float | None) -> None:
    """JSON knows no NaN: one cell would take the whole table with it."""
    made = grid([HeatmapColumn("a", "a")], [HeatmapRow("e", {"a": Cell(score)})])
    assert json.loads(made)["rows"][0]["cells"]["a"]["score"] == read
