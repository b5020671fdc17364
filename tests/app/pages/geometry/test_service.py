"""Geometry of spaces: what is measured, kept and said."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import distance

from tests.errors import refused
from tests.fakes.results import invent
from tests.fakes.workers import do_units
from theodolite.app.pages.geometry import densities
from theodolite.app.pages.geometry import service as geometry
from theodolite.app.pages.geometry import views as geometry_views
from theodolite.app.pages.geometry.job import GeometryJob
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import LabelledPairs, PairPart, ScoredPairs, Sentences


@pytest.fixture(scope="module")
def workspace(starter: Workspace) -> Workspace:
    """For all tests of this module."""
    return starter


@pytest.fixture(scope="module")
def measured(workspace: Workspace) -> geometry.Geometry:
    """Of a baseline on the starter pairs."""
    return geometry.measure(workspace, "random:32", "starter-pairs")


def pairs(**parts: tuple[str, str, float]) -> ScoredPairs:
    """One pair a part."""
    made = {n: PairPart((a,), (b,), np.array([g])) for n, (a, b, g) in parts.items()}
    return ScoredPairs("mine", made, "splits")


def test_both_sides_are_taken_and_duplicates_kept() -> None:
    """Four occurrences of three sentences; a split alone has its own."""
    data = pairs(dev=("a", "b", 4.0), test=("b", "c", 5.0))
    taken = geometry.take(data)
    assert [taken.sentences[i] for i in taken.rows] == ["a", "b", "b", "c"]
    assert (taken.left.tolist(), taken.right.tolist()) == ([0, 1], [1, 2])
    assert [taken.parts[i] for i in taken.part] == ["dev", "test"]
    alone = geometry.take(data, "test")
    assert (alone.sentences, alone.gold.tolist(), alone.parts) == (["b", "c"], [5.0], ["test"])


def test_labelled_pairs_and_plain_sentences() -> None:
    """Labels come along; a plain collection has no pairs."""
    data = LabelledPairs.of("mine", ["a", "a"], ["b", "c"], ["yes", "no"], ["dev", "test"])
    taken = geometry.take(data, "test")
    assert (taken.sentences, taken.labels) == (["a", "c"], ["no"])
    plain = geometry.take(Sentences("mine", ["x", "y", "x"]))
    assert (plain.rows.tolist(), len(plain.left)) == ([0, 1, 0], 0)


def test_more_than_can_be_paired_are_drawn() -> None:
    """It is said, and the same ones every time."""
    data = Sentences("mine", [str(i) for i in range(50)])
    first, second = (geometry.take(data, most=20) for _ in range(2))
    assert first.drawn
    assert len(set(first.rows.tolist())) == 20
    assert first.rows.tolist() == second.rows.tolist()
    assert not geometry.take(data).drawn


def test_bad_questions_are_refused() -> None:
    with refused("unknown", "train", "dev"):
        geometry.take(pairs(dev=("a", "b", 1.0), test=("a", "c", 1.0)), "train")
    with refused("too-few", "1 sentence"):
        geometry.take(Sentences("mine", ["x"]))


def test_pages_begin_with_sts_b_once_it_was_measured(data_root: Path, tmp_path: Path) -> None:
    """Before, with what ships; Distributions also with the first task there is."""
    workspace = Workspace(tmp_path / "store", data_root)
    tasks = ["mine", "StarterSTS", "STSBenchmark"]
    assert geometry.opening(workspace) == "starter-pairs"
    assert densities.opening(workspace, tasks) == "StarterSTS"
    geometry.measure(workspace, "random:8", "STSBenchmark")
    invent(workspace, "random:8", "STSBenchmark", 0.7)
    assert geometry.opening(workspace) == densities.opening(workspace, tasks) == "STSBenchmark"
    assert densities.opening(workspace, ["mine"]) == "mine"
    workspace.close()
    without = Workspace(tmp_path / "other")
    assert geometry.opening(without) == "starter-pairs"
    without.close()


def test_alignment_under_both_rules_is_that_of_scipy(
    workspace: Workspace, measured: geometry.Geometry
) -> None:
    """Mean squared distance of unit vectors of the pairs graded above 4, and from 4 on."""
    (part,) = workspace.catalog.load("starter-pairs").parts.values()  # type: ignore[union-attr]
    encoder = workspace.load("random:32")
    left, right = encoder.encode(part.left), encoder.encode(part.right)
    unit = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in (left, right)]
    gaps = ((unit[0] - unit[1]) ** 2).sum(axis=1)
    for name, rows in (("over", part.gold > 4), ("from", part.gold >= 4)):
        assert measured.info[f"n_{name}"] == rows.sum()
        assert measured.info[f"alignment_{name}"] == pytest.approx(gaps[rows].mean(), rel=1e-5)
    squares = distance.pdist(np.concatenate(unit).astype(float), "sqeuclidean")
    assert measured.info["n_data"] == 960
    assert measured.info["uniformity"] == pytest.approx(math.log(np.exp(-2 * squares).mean()), 1e-5)


def test_it_is_measured_once(workspace: Workspace, measured: geometry.Geometry) -> None:
    """Found again with the same numbers, and listed for the chart of all encoders."""
    again = geometry.found(workspace, "random:32", "starter-pairs")
    assert again is not None
    assert again.info == measured.info
    assert np.array_equal(again.singular, measured.singular)
    assert geometry.everyone(workspace, "starter-pairs", "all") == {"random:32": measured.info}
    assert geometry.found(workspace, "random:33", "starter-pairs") is None


def test_a_run_leaves_the_same(workspace: Workspace, measured: geometry.Geometry) -> None:
    """Its units done one after another, twice."""
    job = GeometryJob.of(["random:16"], "starter-pairs")
    progress: list[float] = []
    for _ in range(2):
        do_units(workspace, job, progress.append)
    assert max(progress) == 1.0
    assert set(geometry.everyone(workspace, "starter-pairs", "all")) == {"random:32", "random:16"}


def test_every_chart_says_something_and_has_its_numbers(measured: geometry.Geometry) -> None:
    """Title, table and one sentence an encoder."""
    for view in (
        geometry_views.alignment({"random:32": measured.info}, "over", "starter-pairs"),
        geometry_views.spectrum([measured]),
        geometry_views.hubs([measured]),
        geometry_views.cosines([measured], "starter-pairs"),
        geometry_views.thresholds([measured], 4.0, None),
    ):
        title, value, readings = view
        assert "<h2>" in title
        assert json.loads(value["table"])["rows"]
        assert readings.count("<li>") == 1


def test_a_threshold_that_parts_nothing_is_said(measured: geometry.Geometry) -> None:
    """No pair is graded from 9 on."""
    title, value, _ = geometry_views.thresholds([measured], 9.0, None)
    assert "No threshold to find" in title
    assert value is None


def test_a_threshold_is_judged_on_the_split_it_was_not_chosen_on() -> None:
    """On dev 0.5 is best by hand; on test it gets three of four right."""
    info = {"labels": [], "scale": [0.0, 5.0], "parts": ["dev", "test"]}
    cosine = np.array([0.2, 0.4, 0.6, 0.8, 0.1, 0.6, 0.7, 0.9])
    gold = np.array([0.0, 0.0, 5.0, 5.0, 0.0, 0.0, 5.0, 5.0])
    part = np.repeat([0, 1], 4)
    made = geometry.Geometry("mine", "d", "all", info, np.ones(1), np.ones(1), cosine, gold, part)
    _, value, readings = geometry_views.thresholds([made], 4.0, None)
    held = json.loads(value["table"])["rows"][-1]
    assert held[2:4] == [pytest.approx(0.5), 0.75]
    assert "75" in readings.split("Chosen on dev")[1]


@pytest.mark.data
def test_the_whole_sts_b_has_its_golden_counts(data_root: Path, tmp_path: Path) -> None:
    """Pairs and sentences of the table in the golden README, through the app."""
    workspace = Workspace(tmp_path / "store", data_root)
    found = geometry.measure(workspace, "wordllama", "STSBenchmark", "dev").info
    assert (found["n_over"], found["n_from"], found["n_data"]) == (208, 264, 3000)
    assert found["alignment_over"] == pytest.approx(0.299133, abs=1e-6)
    assert found["alignment_from"] == pytest.approx(0.335196, abs=1e-6)
    assert found["uniformity"] == pytest.approx(-3.832552, abs=1e-6)
    workspace.close()
