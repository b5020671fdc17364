"""Charts hold the numbers they were given, as plotly accepts them; headlines say what these say."""

import json

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.graph_objects import Figure
from scipy.stats import norm

from theodolite.app import formats
from theodolite.app.components.chart import drawing
from theodolite.app.pages.compare import figures as ranks
from theodolite.app.pages.decode.interpolate import cosines
from theodolite.app.pages.decode.service import DecodeResult, Step
from theodolite.app.pages.fair import figures as fair
from theodolite.app.pages.fair.points import DimensionCurves, Dots, Exhibit, Grid
from theodolite.app.pages.geometry import figures as geometry
from theodolite.app.web import figures
from theodolite.app.web.theme import PALETTE, SERIES
from theodolite.engine.stats.agreement import LeaveOneOut
from theodolite.engine.stats.ranks import RankInterval

GRID = np.linspace(-1.0, 1.0, 401)


def panel(name: str, low: float, high: float) -> figures.Panel:
    """Two groups with normal densities of standard deviation 0.1."""
    groups = [("0–1", low), ("4–5", high)]
    return figures.Panel(
        name, [figures.Ridge(label, 50, norm.pdf(GRID, mean, 0.1), mean) for label, mean in groups]
    )


def interval(task: str, delta: float, half: float, encoder: str = "minilm") -> figures.Interval:
    """A difference with a symmetric interval."""
    clear = abs(delta) > half
    words = "minilm is better" if clear else "no real difference"
    return figures.Interval(task, encoder, delta, delta - half, delta + half, clear, words)


def contrast(first: str, second: str) -> float:
    """WCAG 2 contrast ratio, written out anew."""

    def luminance(colour: str) -> float:
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
        return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))

    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_overlap_of_normal_densities_is_the_textbook_value() -> None:
    """Two normals one standard deviation apart share 2 * Phi(-1/2) of their area."""
    shared = figures.overlap(norm.pdf(GRID, 0.2, 0.1), norm.pdf(GRID, 0.3, 0.1), GRID)
    assert shared == pytest.approx(2 * norm.cdf(-0.5), abs=2e-3)


def test_a_ridge_stands_on_its_baseline_and_keeps_its_density() -> None:
    """Group i is drawn from height i on; the hover has the density itself, and 0 where none is."""
    figure = go.Figure(figures.ridges([panel("minilm", 0.1, 0.8)], GRID))
    curves = [trace for trace in figure.data if trace.fill == "tonexty"]
    assert [min(curve.y) for curve in curves] == pytest.approx([1.0, 0.0], abs=1e-6)
    drawn = np.interp(GRID, curves[1].x, curves[1].customdata)
    np.testing.assert_allclose(drawn, norm.pdf(GRID, 0.1, 0.1), atol=1e-3)
    assert len(curves[1].x) < len(GRID) and curves[1].x[0] == GRID[0]


def test_panels_share_one_axis_and_one_height_scale() -> None:
    """Encoders can be compared by eye: same cosine range, same density per pixel."""
    figure = go.Figure(figures.ridges([panel("a", 0.1, 0.8), panel("b", 0.2, 0.7)], GRID))
    assert {trace.xaxis for trace in figure.data} == {None}
    assert {trace.yaxis for trace in figure.data} == {"y", "y2"}
    upper, lower = figure.layout.yaxis.domain, figure.layout.yaxis2.domain
    assert upper[1] == 1 and upper[0] > lower[1] and lower[0] == pytest.approx(0)
    heights = [max(t.y) - min(t.y) for t in figure.data if t.fill == "tonexty"]
    assert max(heights) == pytest.approx(min(heights), rel=1e-3)


def test_an_empty_group_is_drawn_flat_and_without_a_mean() -> None:
    """No pairs between 4 and 5 is no reason to fail."""
    empty = figures.Ridge("4–5", 0, np.zeros(len(GRID)), None)
    given = [figures.Panel("a", [figures.Ridge("0–1", 9, norm.pdf(GRID, 0.1, 0.1), 0.1), empty])]
    figure = go.Figure(figures.ridges(given, GRID))
    assert sum(trace.mode == "markers" for trace in figure.data) == 1
    assert "no pairs" in figures.ridges_headline(given, GRID)


def test_the_headline_names_the_encoder_with_the_least_overlap() -> None:
    """And the one with the most, each with its share."""
    text = figures.ridges_headline([panel("random:256", 0.2, 0.3), panel("minilm", 0, 0.9)], GRID)
    assert text.startswith("minilm keeps")
    assert "under 1\u00a0%" in text and "random:256 by 62\u00a0%" in text


def test_forest_draws_the_interval_it_was_given() -> None:
    """From low to high; a tie is a hollow mark; encoders differ in shape and place too."""
    drawn = figures.forest([interval("STS12", 2.0, 0.5), interval("STS13", 0.1, 0.4)], "wordllama")
    (trace,) = go.Figure(drawn).data
    assert list(trace.x) == [2.0, 0.1]
    assert list(trace.error_x.array) == pytest.approx([0.5, 0.4])
    assert list(trace.error_x.arrayminus) == pytest.approx([0.5, 0.4])
    assert list(trace.marker.symbol) == ["circle", "circle-open"]
    drawn = figures.forest([interval("STS12", 2, 1, "a"), interval("STS12", 2, 1, "b")], "c")
    first, second = go.Figure(drawn).data
    assert first.marker.symbol != second.marker.symbol and first.y[0] < second.y[0]


def test_the_forest_headline_counts_real_differences_and_ties() -> None:
    """Four tasks: two better, one worse, one tied."""
    rows = [interval("A", 2, 1), interval("B", 3, 1), interval("C", -2, 1), interval("D", 0.1, 1)]
    text = figures.forest_headline(rows, "wordllama")
    assert text == "Against wordllama, minilm is better on 2, worse on 1 and tied on 1 of 4 tasks"
    names = ("minilm", "random:256")
    worse = [interval(task, -2, 1, name) for name in names for task in ("A", "B")]
    text = figures.forest_headline(worse, "wordllama")
    assert text == "Against wordllama, minilm and random:256 are worse on all 2 tasks"


def test_ordered_colours_show_on_both_papers() -> None:
    """At least 3:1, as WCAG asks of graphics."""
    for colour in (*figures.ordered_colours(5), *SERIES):
        for paper in PALETTE["surface"]:
            assert contrast(colour, paper) >= 3.0, (colour, paper)


def test_a_long_name_keeps_both_ends() -> None:
    """Specs differ at the front (the model) or at the back (the steps)."""
    short = formats.shorten("hf:bert-base-uncased?pooling=avg | whiten:nli,256", 20)
    assert len(short) == 20 and short.startswith("hf:bert") and short.endswith("nli,256")


def test_a_logarithmic_axis_is_labelled_in_full() -> None:
    """At all digits where values are near, at fewer the further they are apart, then at powers."""
    assert figures.log_axis("ms", [2.0, 5.0])["ticktext"][:9] == list("123456789")
    assert figures.log_axis("ms", [2.0, 8.0])["ticktext"][:5] == list("12357")
    near = figures.log_axis("sentences", [2_700.0, 38_000.0])
    assert near["ticktext"] == ["1k", "2k", "5k", "10k", "20k", "50k", "100k", "200k", "500k"]
    assert near["tickvals"][:2] == [1_000.0, 2_000.0]
    apart = figures.log_axis("bytes", [2.0, 1_536.0])["ticktext"]
    assert apart[:7] == ["1", "3", "10", "30", "100", "300", "1k"]
    wide = figures.log_axis("ms", [0.02, 900.0])
    assert wide["ticktext"] == ["0.01", "0.1", "1", "10", "100", "1k"]


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
SIGNS = Grid((MARKUP, "q"), ("MR", "CR"), {("MR", MARKUP): SURE, ("CR", "q"): TURNS})
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
    "grid": fair.grid(SIGNS),
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
