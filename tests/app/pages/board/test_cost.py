"""What encoders cost: measured in a process of its own, kept, and set against quality."""

import math
from collections import namedtuple
from itertools import product
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from tests.errors import refused
from tests.fakes.costs import FOUND, keep
from tests.fakes.measured import put
from tests.fakes.workers import do_units
from theodolite.app.blocks import Chart, Finding, Grid
from theodolite.app.pages.board import cost, standings
from theodolite.app.pages.board.cost import COST, CostSpec
from theodolite.app.pages.board.cost_page import curves
from theodolite.app.pages.evaluate.results import evaluated
from theodolite.app.workspace import STARTER_ENCODERS, Workspace
from theodolite.engine import cost as footprint


def test_medians_spread_and_percentiles_by_hand() -> None:
    """Of 10 to 50 the median is 30; of 1 to 100 ms half do not exceed 50, and 95 not 95."""
    row = cost.row(FOUND | {"machine": "here"})
    assert [row[f"per_second_16{end}"] for end in ("", "_low", "_high")] == [30, 10, 50]
    assert (row["latency_p50"], row["latency_p95"]) == (50.0, 95.0)
    assert (row["memory"], row["disk"]) == (3.0, 1.0)
    assert (row["embedding_parameters"], row["other_parameters"]) == (10.0, 20.0)
    quick = cost.row(FOUND | {"machine": "here", "load_seconds": [0.000541, 0.0005, 0.012]})
    assert cost.described(quick, "load_seconds") == "541 µs (500 µs to 12 ms)"


def test_the_pareto_front_by_hand() -> None:
    """B is slower and worse than A; C is slower and better; D is as fast as A and worse."""
    points = {"A": (100.0, 60.0), "B": (90.0, 55.0), "C": (10.0, 70.0), "D": (100.0, 50.0)}
    assert cost.front(points, more_is_better=True) == ["A", "C"]
    assert cost.front(points, more_is_better=False) == ["C"]


def test_what_another_machine_measured_is_not_shown(workspace: Workspace) -> None:
    keep(workspace, "random:32")
    keep(workspace, "random:64", machine="elsewhere")
    assert list(cost.measured(workspace)) == ["random:32"]


def timed(ms: float, load: float, **more: Any) -> dict[str, Any]:
    """A measurement as its process prints it, with single sentences of so many milliseconds."""
    even = {length: [1000 / ms] * 5 for length in ("16", "64", "256")}
    return FOUND | {"latency_ms": [ms] * 60, "per_second": even, "load": load, "cores": 2} | more


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What the next processes that measure an encoder will print."""
    next_ones: list[dict[str, Any]] = []
    monkeypatch.setattr(footprint, "in_own_process", lambda *_: next_ones.pop(0))
    return next_ones


def test_what_was_disturbed_is_measured_again(
    workspace: Workspace, process: list[dict[str, Any]]
) -> None:
    """Until it is quiet, three times at most; then the least disturbed is kept, and said so."""
    process += [timed(70, 1.9), timed(10, 0.1), timed(70, 1.9), timed(30, 0.5), timed(50, 1.0)]
    cost.measure(workspace, "random:32")
    row = cost.measured(workspace)["random:32"]
    assert (row["latency_p50"], row["load"], row["disturbed"], len(process)) == (10, 0.1, False, 3)
    cost.ensure(workspace, "random:32")
    assert len(process) == 3 and cost.disturbance([row]) == ""
    cost.measure(workspace, "random:64")
    row = cost.measured(workspace)["random:64"]
    assert (row["latency_p50"], process) == (30, [])
    assert "random:64" in cost.disturbance([row]) and cost.load(row) == "0.5 of 2 cores"


def test_a_disturbed_measurement_is_not_kept_for_good(
    workspace: Workspace, process: list[dict[str, Any]]
) -> None:
    """It is measured once more whenever it is needed; a worse one does not replace it."""
    process += [timed(ms, 1.9) for ms in (70, 60, 65, 90, 40)] + [timed(10, 0.0)]
    cost.measure(workspace, "random:32")
    for kept in (60, 40, 10, 10):
        cost.ensure(workspace, "random:32")
        assert cost.measured(workspace)["random:32"]["latency_p50"] == kept
        left = cost.unmeasured(workspace, ["random:32", "random:64"])
        assert left == ["random:32", "random:64"][kept == 10 :]
    assert cost.CostJob(("random:32",)).is_stored(workspace)


def test_repeats_that_differ_disturb_too() -> None:
    """By more than half; not where nothing is said of the load, nor at an endpoint's server."""
    uneven = timed(10, 0.0, per_second={"16": [100.0, 60.0], "64": [9.0, 9.0]})
    assert footprint.disturbed(uneven)
    assert not footprint.disturbed(uneven | {"per_second": {"16": [100.0, 70.0]}})
    assert not footprint.disturbed(uneven | {"device": footprint.AN_ENDPOINT})
    assert not footprint.disturbed({k: v for k, v in uneven.items() if k != "load"})


def test_the_load_of_others_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of ten core-seconds two were idle and three our own; the time of guests counts once."""
    times = namedtuple("Times", "user system idle iowait guest")
    own = SimpleNamespace(user=2.0, system=1.0)
    monkeypatch.setattr(psutil, "cpu_times", lambda: times(6.0, 2.0, 1.5, 0.5, 4.0))
    monkeypatch.setattr(psutil, "Process", lambda: SimpleNamespace(cpu_times=lambda: own))
    assert footprint._seconds_of_others() == 5.0


def test_quality_against_cost(workspace: Workspace) -> None:
    """Of those that are ranked; an example of what ships where nothing was measured."""
    put(workspace.store, "random:32", "MR", 50.0)
    for name, task in product(("random:64", "random:128"), ("CR", "SUBJ", "MR")):
        put(workspace.store, name, task, 60.0)
    assert standings.board(workspace).quality == {"random:64": 60.0, "random:128": 60.0}
    for task in ("CR", "SUBJ"):
        put(workspace.store, "random:32", task, 50.0)
    assert standings.board(workspace).quality["random:32"] == 50.0
    answer = COST.last(workspace, CostSpec(["random:32"]), lambda job: False)
    assert answer.shipped and set(answer.measurements) == set(answer.quality)
    assert set(answer.quality) == set(STARTER_ENCODERS) and answer.tasks == 3
    keep(workspace, "random:32")
    finding, chart, grid = COST.last(workspace, CostSpec(["random:32"]), lambda job: True).blocks()
    assert isinstance(finding, Finding) and "random:32" in finding.text
    assert isinstance(chart, Chart) and isinstance(grid, Grid) and grid.rows[0][0] == "random:32"


def test_a_job_measures_in_a_process_of_its_own(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every number is there and above zero; asked again, nothing is left to do."""
    monkeypatch.setattr(footprint, "BUSY", math.inf)
    monkeypatch.setattr(footprint, "APART", math.inf)
    job = cost.CostJob(("random:32", "dir:/nowhere"))
    good, bad = do_units(workspace, job)
    assert good.failure is None and "/nowhere" in str(bad.failure) and not job.is_stored(workspace)
    assert cost.CostJob(("random:32",)).is_stored(workspace)
    row = cost.measured(workspace)["random:32"]
    keys = ("per_second_16", "per_second_256", "latency_p50", "load_seconds", "vector_bytes")
    assert min(row[key] for key in keys) > 0
    assert row["per_second_16_low"] <= row["per_second_16"] <= row["per_second_16_high"]
    assert row["load"] >= 0 and row["cores"] >= 1


def test_smaller_vectors_are_scored_without_encoding(workspace: Workspace) -> None:
    """All dimensions score as the evaluation did; what was never encoded is refused."""
    with refused("no-result", "random:32", "StarterSTS"):
        curves(workspace, "random:32", "StarterSTS")
    score = evaluated(workspace, "random:32", "StarterSTS")["score"]
    found = curves(workspace, "random:32", "StarterSTS")
    by = {(one.how.method, one.how.dim): one for one in found}
    assert by["first", 32].score == pytest.approx(score, abs=1e-9)
    assert by["first", 16].how.bytes == 64 and by["binary", 32].how.bytes == 4
    assert abs(by["int8", 32].score - score) < 1
    assert ("pca", 32) not in by and ("pca", 16) in by
