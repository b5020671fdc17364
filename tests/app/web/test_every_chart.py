"""Every chart is one that plotly's own classes accept, with the numbers it was given."""

from __future__ import annotations

import json

import numpy as np
import pytest
from plotly.graph_objects import Figure

from theodolite.app.components.chart import drawing
from theodolite.app.pages.compare import figures as ranks
from theodolite.app.pages.decode.interpolate import cosines
from theodolite.app.pages.decode.service import DecodeResult, Step
from theodolite.app.pages.fair import figures as fair
from theodolite.app.pages.fair.points import DimensionCurves, Dots, Exhibit, Grid
from theodolite.app.pages.geometry import figures as geometry
from theodolite.app.web import figures
from theodolite.engine.stats.agreement import LeaveOneOut
from theodolite.engine.stats.ranks import RankInterval

MARKUP = "<b>x</b>"
RANKED = [RankInterval(MARKUP, 80.0, 1, 1, 2, 0.9), RankInterval("b", 70.0, 2, 1, 2, 0.1)]
CURVE = geometry.EncoderCurve(MARKUP, np.array([1.0, 2.0]), np.array([0.5, 0.25]), [(1.0, 0.5)])
STEPS = [
    Step(share, DecodeResult("a", sentence="s", cosine=0.5), 1 - share, share, 1 - share, share, ())
    for share in (0.0, 0.5, 1.0)
]
SURE = LeaveOneOut(0.9, 9, 0.8, 0.95, "a", "b")
TURNS = LeaveOneOut(0.1, 4, -0.8, 0.95, "a", "b")
DOTS = Dots((("old", {MARKUP: 1.0, "b": 2.0}), ("new", {MARKUP: 3.0})), "points", {"b": (1.0, 4.0)})
GRID = Grid((MARKUP, "q"), ("MR", "CR"), {("MR", MARKUP): SURE, ("CR", "q"): TURNS})
MANY = {name: place + 1 for place, name in enumerate(f"e{i}" for i in range(20))}

CHARTS = {
    "rank intervals": ranks.intervals(RANKED),
    "ranks": ranks.bump({"one": {MARKUP: 1, "b": 2}}, {"one": {MARKUP: 80.0, "b": 70.0}}),
    "many ranks": ranks.bump({"one": MANY}, {"one": {name: 1.0 for name in MANY}}),
    "spectrum": geometry.spectrum([CURVE]),
    "hubs": geometry.hubs([CURVE], 10),
    "thresholds": geometry.thresholds([CURVE]),
    "dots": fair.dots(DOTS),
    "dimensions": fair.curves(DimensionCurves({MARKUP: [(64, 70.0), (300, 71.0)]}, "points")),
    "grid": fair.grid(GRID),
    "space": figures.space([figures.SpacePoint(MARKUP, 0.2, -2.0)]),
    "forest": figures.forest(
        [figures.Interval(MARKUP, MARKUP, 2.0, 1.0, 3.0, True, "better")], MARKUP
    ),
    "ridges": figures.ridges(
        [figures.Panel(MARKUP, [figures.Ridge("0–1", 9, np.ones(5), 0.1)])], np.linspace(-1, 1, 5)
    ),
    "no ridges": figures.ridges([], np.linspace(-1, 1, 5)),
    "interpolation": json.loads(cosines(STEPS)["figure"]),
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_plotly_accepts_it(chart):
    """Each name of a property and each value; a name with markup is text."""
    assert MARKUP not in Figure(chart).to_json()
    assert json.loads(drawing(chart, "label")["figure"])["data"] is not None


def test_ranks_have_their_intervals():
    """From low to high, the best at the top."""
    bars, marks = Figure(CHARTS["rank intervals"]).data
    assert bars.x == (1, 2, None, 1, 2, None)
    assert (marks.x, marks.y) == ((1, 2), (0, 1))


def test_a_cell_whose_sign_turns_has_a_border():
    """And no other."""
    (border,) = Figure(CHARTS["grid"]).layout.shapes
    assert (border.x0, border.y0) == (1 - 0.46, 1 - 0.42)


def test_a_best_threshold_is_marked():
    """In the colour of its line."""
    line, best = Figure(CHARTS["thresholds"]).data
    assert (best.x, best.y, best.marker.color) == ((1.0,), (0.5,), line.line.color)


def test_an_exhibit_is_drawn_by_its_kind():
    """With its own rows: here a line for each row, a bar for its range, marks of two series."""
    value = fair.show(Exhibit("name", "label", DOTS, ("row", "value"), (("b", 2.0),)))
    assert json.loads(value["table"]) == {"columns": ["row", "value"], "rows": [["b", 2.0]]}
    assert len(json.loads(value["figure"])["data"]) == 2 + 1 + 2
