"""Charts hold the numbers they were given, as plotly accepts them; words say what these say."""

import json
from itertools import product

import numpy as np
import pytest
from plotly.graph_objects import Figure
from scipy.stats import norm

from theodolite.app import formats
from theodolite.app.pages.compare import figures as comparing
from theodolite.app.pages.decode.answer import cosines
from theodolite.app.pages.decode.service import DecodeResult, Step
from theodolite.app.pages.geometry.sections import lines
from theodolite.app.pages.spaces import answer as spaces
from theodolite.app.terminal import emit_json
from theodolite.app.web import figures
from theodolite.app.web.theme import PALETTE, SERIES
from theodolite.engine.stats.agreement import LeaveOneOut
from theodolite.engine.stats.ranks import RankInterval

GRID = np.linspace(-1.0, 1.0, 401)


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


def test_a_forest_draws_intervals_and_counts_real_differences_and_ties() -> None:
    """Four tasks: two better, one worse, one tied, which is a hollow mark."""
    rows = [interval("A", 2, 1), interval("B", 3, 2), interval("C", -2, 1), interval("D", 0.1, 1)]
    (trace,) = Figure(figures.forest(rows, "wordllama")).data
    assert list(trace.x) == [2.0, 3.0, -2.0, 0.1]
    assert list(trace.error_x.array) == pytest.approx([1, 2, 1, 1])
    assert list(trace.marker.symbol) == [*["circle"] * 3, "circle-open"]
    text = figures.forest_headline(rows, "wordllama")
    assert text == "Against wordllama, minilm is better on 2, worse on 1 and tied on 1 of 4 tasks"


def test_ordered_colours_show_on_both_papers() -> None:
    """At least 3:1, as WCAG asks of graphics."""
    for colour, paper in product((*figures.ordered_colours(5), *SERIES), PALETTE["surface"]):
        assert contrast(colour, paper) >= 3.0, (colour, paper)


def test_names_of_points_lie_on_no_other() -> None:
    """Of many at one place some are named, those that come first; none leaves the chart."""
    crowd = figures.names_beside(["a long name"] * 9, [0] * 9, [1] * 9, [8])["text"]
    assert crowd[8] and "" in crowd
    found = figures.names_beside(["a", "far <off> at the right"], [0, 9], [1, 5])
    assert found["text"] == ["a", "far &lt;off&gt; at the right"]
    assert found["textposition"] == ["top center", "top left"]
    barred = figures.names_beside(["a", "b"], [0, 9], [1, 5], bars=[(0, 2), (3, 8)])
    assert barred["textposition"] == ["top right"] * 2


def test_a_long_name_keeps_both_ends() -> None:
    """Specs differ at the front (the model) or at the back (the steps)."""
    short = formats.shorten("hf:bert-base-uncased?pooling=avg | whiten:nli,256", 20)
    assert len(short) == 20 and short.startswith("hf:bert") and short.endswith("nli,256")


@pytest.mark.parametrize(
    ("values", "begins"),
    [
        ([2.0, 5.0], "1 2 3 4 5 6 7 8 9"),
        ([2.0, 8.0], "1 2 3 5 7"),
        ([2_700.0, 38_000.0], "1k 2k 5k 10k 20k 50k 100k 200k 500k"),
        ([2.0, 1_536.0], "1 3 10 30 100 300 1k"),
        ([0.02, 900.0], "0.01 0.1 1 10 100 1k"),
    ],
)
def test_a_logarithmic_axis_is_labelled_in_full(values, begins):
    """At all digits where values are near, at fewer the further they are apart, then at powers."""
    axis = figures.log_axis("ms", values)
    assert " ".join(axis["ticktext"]).startswith(begins)
    assert len(axis["tickvals"]) == len(axis["ticktext"]) and axis["tickvals"][0] <= values[0]


MARKUP = "<b>x</b>"
STEPS = [
    Step(share, DecodeResult("a", sentence="s", cosine=0.5), 1 - share, share, 1 - share, share, ())
    for share in (0.0, 0.5, 1.0)
]

CLUSTERS = {
    "names": [[MARKUP, "c"], []],
    "sizes": [[3, 2], []],
    "noise": [1, 6],
    "counts": [[3], [2], [1]],
    "pairs": [],
    "kept": 0,
}
"""Two groups, and noise against noise alone."""

CHARTS = {
    "flow": spaces.sankey(CLUSTERS, (MARKUP, "b")),
    "rank intervals": comparing.ranks(
        [RankInterval(MARKUP, 80.0, 1, 1, 2, 0.9), RankInterval("b", 70.0, 2, 1, 2, 0.1)], ""
    ).figure,
    "slopes": comparing.slopes({"one": {MARKUP: 80.0, "b": 70.0}}, "points"),
    "curves": lines(
        {(MARKUP, "F1"): (np.array([1.0, 2.0]), np.array([0.5, 0.25]))},
        "%{x}",
        figures.axis("x"),
        figures.axis("y"),
        {(MARKUP, "F1"): (1.0, 0.5)},
    ),
    "dots": comparing.dots(
        (("old", {MARKUP: 1.0, "b": 2.0}), ("new", {MARKUP: 3.0})), "points", {"b": (1.0, 4.0)}
    ),
    "dimensions": comparing.curves([(MARKUP, 64, 70.0), (MARKUP, 300, 71.0)], "points"),
    "grid": comparing.grid(
        {
            ("MR", MARKUP): LeaveOneOut(0.9, 9, 0.8, 0.95, "a", "b"),
            ("CR", "q"): LeaveOneOut(0.1, 4, -0.8, 0.95, "a", "b"),
        }
    ),
    "space": figures.space({MARKUP: (0.2, -2.0)}),
    "forest": figures.forest(
        [figures.Interval(MARKUP, MARKUP, 2.0, 1.0, 3.0, True, "better")], MARKUP
    ),
    "ridges": figures.ridges(
        [
            figures.Panel(
                MARKUP,
                [
                    figures.Ridge("0–1", 9, np.ones(5), 0.1),
                    figures.Ridge("4–5", 0, np.zeros(5), None),
                ],
            )
        ],
        np.linspace(-1, 1, 5),
    ),
    "no ridges": figures.ridges([], np.linspace(-1, 1, 5)),
    "interpolation": cosines(STEPS).figure,
}


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_plotly_accepts_it(chart):
    """Each name of a property and each value; a name with markup is text."""
    assert MARKUP not in Figure(chart).to_json()
    assert json.loads(formats.json_text(chart))["data"] is not None


def test_ranks_have_their_intervals():
    """From low to high, the best at the top."""
    bars, marks = Figure(CHARTS["rank intervals"]).data
    assert (bars.x, marks.x, marks.y) == ((1, 2, None, 1, 2, None), (1, 2), (0, 1))


# Numbers on their way out: to the browser, to programs, into words.


def test_json_has_no_number_that_is_none() -> None:
    """Arrays are lists, whatever lies between their numbers; NaN is null."""
    given = {"every other": np.arange(4)[::2], "one": np.float32(1), "none": [float("nan"), np.inf]}
    assert json.loads(formats.json_text(given)) == {
        "every other": [0, 2],
        "one": 1.0,
        "none": [None, None],
    }


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0.0 s"),
        (0.000541, "541 µs"),
        (0.00836, "8.4 ms"),
        (0.01249, "12 ms"),
        (0.9996, "1.0 s"),
        (0.9994, "999 ms"),
        (0.0009996, "1.0 ms"),
        (200, "3 min 20 s"),
    ],
)
def test_a_duration_has_a_unit_that_fits(seconds: float, words: str) -> None:
    """Two or three figures, whatever it took."""
    assert formats.duration(seconds) == words


def test_no_p_value_is_printed_as_zero() -> None:
    """A p that three decimals cannot hold is said to be smaller than they can."""
    expected = {0.0344: "0.034", 0.001: "0.001", 0.00099: "< 0.001", 0.0: "< 0.001"}
    assert {p: formats.p_value(p) for p in expected} == expected


def test_only_none_is_0_and_only_all_100_percent() -> None:
    """A share between, however small or large, is neither."""
    expected = {0.0: "0", 1e-9: "under 1", 0.01: "1", 0.988: "99", 0.996: "over 99", 1.0: "100"}
    assert {share: formats.percent(share) for share in expected} == {
        share: f"{words}\u00a0%" for share, words in expected.items()
    }
    finely = [formats.percent(share, 1) for share in (0.0004, 0.5, 0.9996)]
    assert finely == ["under 0.1\u00a0%", "50.0\u00a0%", "over 99.9\u00a0%"]


def test_output_for_programs_has_no_nan(capfd: pytest.CaptureFixture[str]) -> None:
    """JSON has no NaN and no infinity, however deep they lie."""
    emit_json({"score": float("nan"), "vector": [1.0, float("inf")], "n": 3})
    assert capfd.readouterr().out == '{"score": null, "vector": [1.0, null], "n": 3}\n'
