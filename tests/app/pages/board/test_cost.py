"""What encoders cost: measured in a process of its own, kept, and set against quality."""

from __future__ import annotations

import json

import pytest

from app.pages.board import cost, cost_views, curves, service
from app.pages.evaluate.results import evaluated
from app.workspace import STARTER_ENCODERS, Workspace
from engine.errors import UserError
from tests.fakes.costs import FOUND, keep
from tests.fakes.measured import put


def test_medians_spread_and_percentiles_by_hand() -> None:
    """Of 10 to 50 the median is 30; of 1 to 100 ms half do not exceed 50, and 95 not 95."""
    row = cost.row(FOUND | {"machine": "here"})
    assert (row["per_second_16"], row["per_second_16_low"], row["per_second_16_high"]) == (
        30,
        10,
        50,
    )
    assert (row["latency_p50"], row["latency_p95"]) == (50.0, 95.0)
    assert (row["memory"], row["disk"]) == (3.0, 1.0)
    assert (row["embedding_parameters"], row["other_parameters"]) == (10.0, 20.0)
    assert cost.described(row, "per_second_16") == "30 /s (10 to 50)"
    quick = cost.row(FOUND | {"machine": "here", "load_seconds": [0.000541, 0.0005, 0.012]})
    assert cost.described(quick, "load_seconds") == "541 µs (500 µs to 12 ms)"
    assert cost_views.cells(quick, "load_seconds")[0][0] == "0.541"


def test_the_pareto_front_by_hand() -> None:
    """B is slower and worse than A; C is slower and better; D is as fast as A and worse."""
    points = {"A": (100.0, 60.0), "B": (90.0, 55.0), "C": (10.0, 70.0), "D": (100.0, 50.0)}
    assert cost.front(points, more_is_better=True) == ["A", "C"]
    assert cost.front(points, more_is_better=False) == ["C"]


def test_what_another_machine_measured_is_not_shown(workspace: Workspace) -> None:
    """Speeds of two machines say nothing of each other."""
    keep(workspace, "random:32")
    keep(workspace, "random:64", machine="elsewhere")
    assert list(cost.measured(workspace)) == ["random:32"]
    cost.forget(workspace, ["random:32"])
    assert cost.measured(workspace) == {}


def test_quality_against_cost(workspace: Workspace) -> None:
    """The finding names the front; an encoder that is not ranked has no place in the picture."""
    for name, score, speed in (("random:32", 50.0, 90.0), ("random:64", 60.0, 40.0)):
        put(workspace.store, name, "MR", score)
        keep(workspace, name, per_second={n: [speed] * 5 for n in ("16", "64", "256")})
    for name in ("random:64", "random:128"):
        for task in ("CR", "SUBJ", "MR"):
            put(workspace.store, name, task, 60.0)
    board = service.board(workspace, service.BoardSpec())
    html, picture = cost_views.pareto(
        cost.quality(board), len(board.columns), cost.measured(workspace), "per_second_64"
    )
    assert "Only random:64 is ranked on the suite" in html and picture is not None
    for task in ("CR", "SUBJ"):
        put(workspace.store, "random:32", task, 50.0)
    board = service.board(workspace, service.BoardSpec())
    html, picture = cost_views.pareto(
        cost.quality(board), len(board.columns), cost.measured(workspace), "per_second_64"
    )
    assert "random:32 and random:64 are on the Pareto front, 2 of 2 encoders" in html
    rows = json.loads(picture["table"])["rows"]
    assert {row[0]: row[1] for row in rows} == {"random:64": 40.0, "random:32": 90.0}
    drawn = json.loads(cost_views.table(cost.measured(workspace)))
    assert len(drawn["heads"]) == 1 + len(cost.AXES)


def test_an_example_stands_where_nothing_was_measured() -> None:
    """Of the encoders that ship, with their quality, and said to be of another machine."""
    rows, quality, tasks = cost.example()
    assert set(rows) == set(quality) == set(STARTER_ENCODERS) and tasks == 3
    page_html, picture = cost_views.pareto(quality, tasks, rows, "per_second_64")
    assert "on the Pareto front" in page_html and picture is not None
    html = cost_views.elsewhere(rows, visitor=False)
    assert html.startswith("An example, measured on ") and rows["minilm"]["machine"] in html


@pytest.mark.slow
def test_a_job_measures_in_a_process_of_its_own(workspace: Workspace) -> None:
    """Every number is there and above zero; asked again, nothing is left to do."""
    job = cost.CostJob.of(["random:32"])
    assert not job.is_stored(workspace)
    job.work(workspace, 0, lambda *_: None)  # type: ignore[arg-type]
    row = cost.measured(workspace)["random:32"]
    for key in ("per_second_16", "per_second_256", "latency_p50", "load_seconds", "vector_bytes"):
        assert row[key] > 0
    assert row["per_second_16_low"] <= row["per_second_16"] <= row["per_second_16_high"]
    assert job.is_stored(workspace) and cost.queue_measurement(workspace, ["random:32"]) == ""
    with pytest.raises(UserError, match="There is no folder"):
        cost.CostJob.of(["dir:/nowhere"]).work(workspace, 0, lambda *_: None)  # type: ignore[arg-type]


def test_smaller_vectors_are_scored_without_encoding(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All dimensions score as the evaluation did; what was never encoded is refused in words."""
    with pytest.raises(UserError, match="has not encoded StarterSTS yet"):
        curves.curves(workspace, "random:32", "StarterSTS")
    row = evaluated(workspace, "random:32", "StarterSTS")
    found = curves.curves(workspace, "random:32", "StarterSTS")
    by = {(one.how.method, one.how.dim): one for one in found}
    assert by["first", 32].score == pytest.approx(row["score"], abs=1e-9)
    assert by["first", 16].how.bytes == 64 and by["binary", 32].how.bytes == 4
    assert abs(by["int8", 32].score - row["score"]) < 1
    assert ("pca", 32) not in by and ("pca", 16) in by
    html, picture = cost_views.curves(found, "random:32", "StarterSTS")
    assert "stays within a point" in html and picture["table"]
