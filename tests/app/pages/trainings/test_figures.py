"""Pictures of training: what is drawn is what was measured, and nothing jumps while it grows."""

from __future__ import annotations

import json

import numpy as np
from plotly.graph_objects import Figure

from theodolite.app.pages.trainings import views
from theodolite.app.pages.trainings.figures import (
    Curve,
    Path,
    curves,
    curves_drawing,
    thinned,
    trajectory,
    trajectory_drawing,
)


def test_a_short_curve_is_drawn_as_it_is():
    """Every point, and a star where the weights were kept."""
    figure = curves([Curve("first", [125, 250, 375], [3.0, 2.0, 2.5], kept=250)], "loss")
    line, star = Figure(figure).data
    assert (list(line.x), list(line.y)) == ([125, 250, 375], [3.0, 2.0, 2.5])
    assert (list(star.x), list(star.y)) == ([250], [2.0])


def test_a_long_curve_is_averaged_over_neighbours():
    """Numpy's means over blocks of eight; the last step is never lost."""
    values = np.random.default_rng(0).random(7_003)
    steps, means = thinned(range(1, 7_004), values)
    blocks = [values[i : i + 8].mean() for i in range(0, 7_003, 8)]
    np.testing.assert_allclose(means, blocks, rtol=1e-12)
    assert (len(steps), steps[0], steps[-1]) == (876, 8, 7_003)


def test_a_curve_that_grows_keeps_the_points_it_had():
    """Until it doubles: what is on the screen does not move."""
    values = np.arange(1_999.0)
    before = thinned(range(1_500), values[:1_500])[1][:-1]
    after = thinned(range(1_999), values)[1]
    assert after[: len(before)] == before


def test_a_path_begins_hollow_and_ends_large():
    """Alignment upwards, uniformity sideways, in the order of the looks, as in SimCSE's figure."""
    path = Path("one", [0, 125, 250], [0.9, 0.5, 0.3], [-1.0, -2.0, -2.4], kept=250)
    line, star = Figure(trajectory([path])).data
    assert (list(line.x), list(line.y)) == ([-1.0, -2.0, -2.4], [0.9, 0.5, 0.3])
    assert list(line.marker.symbol) == ["circle-open", "circle", "circle"]
    assert (list(star.x), list(star.y)) == ([-2.4], [0.3])


def test_every_picture_has_its_numbers():
    """Run, step and value in rows, under a sentence that says where each run went."""
    value = curves_drawing([Curve("a", [1, 2], [5.0, 4.0])], "loss", "loss")
    assert json.loads(value["table"]) == {
        "columns": ["run", "step", "loss"],
        "rows": [["a", 1, 5.0], ["a", 2, 4.0]],
    }
    assert value["label"] == "Loss by step. a: 5 to 4 at step 2"
    value = trajectory_drawing([Path("a", [0, 9], [0.5, 0.25], [-1.0, -2.0])])
    assert json.loads(value["table"])["rows"] == [["a", 0, 0.5, -1.0], ["a", 9, 0.25, -2.0]]
    assert value["label"] == "a: alignment 0.5 to 0.25, uniformity −1 to −2 over 9 steps"


def test_names_of_runs_are_shown_as_they_are():
    """A name with markup is no markup, neither in the hover nor as a trace."""
    (line,) = Figure(curves([Curve("<b>x</b>", [1], [1.0])], "loss")).data
    assert line.name == "&lt;b&gt;x&lt;/b&gt;"
    assert "<b>" not in line.hovertemplate


def test_zoom_and_hidden_lines_outlive_the_next_value():
    """The same chart of a run that grew has the same revision."""
    first = curves([Curve("a", [1], [1.0])], "loss")["layout"]["uirevision"]
    assert curves([Curve("a", [1, 2], [1.0, 2.0])], "loss")["layout"]["uirevision"] == first


def test_a_chart_is_headed_by_what_it_shows() -> None:
    """One curve by its ends, several by the best of them; the usual title without numbers."""
    low, high = Curve("small", [1, 500], [0.9, 0.25]), Curve("large", [1, 9], [0.8, 0.1], 1)
    assert "Loss: 0.9 to 0.25 at step 500" in views.title("loss", [low])
    assert "Loss: lowest with large, 0.1" in views.title("loss", [low, high])
    assert "Dev score: highest with small, 0.9" in views.title("score", [low, high])
    assert "Learning rate: at most 0.9" in views.title("rate", [low, high])
    assert "<h2>Speed</h2>" in views.title("speed", [low, high])
    assert "<h2>Dev score</h2>" in views.title("score")
