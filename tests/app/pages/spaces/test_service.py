"""Pairs of spaces: what decides them, what is measured, what is said of it."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from plotly.graph_objects import Figure
from scipy.spatial import procrustes
from sklearn.metrics import v_measure_score
from typer.testing import CliRunner

from tests.errors import refused
from tests.fakes.workers import do_units
from theodolite.app import formats
from theodolite.app.cli import app
from theodolite.app.jobs.kinds import job_of
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.data.service import keep
from theodolite.app.pages.encoders import service as encoders
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapJob
from theodolite.app.pages.spaces import flow
from theodolite.app.pages.spaces import making as spaces_making
from theodolite.app.pages.spaces import service as spaces
from theodolite.app.pages.spaces import views as spaces_views
from theodolite.app.pages.spaces.changes import Changed, Neighbour, listed
from theodolite.app.pages.spaces.service import SpacesJob
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import preview
from theodolite.engine.errors import Code
from theodolite.engine.space import compare as engine

A, B = "random:32", "random:48?pooling=max"
HOSTILE = "<img src=x onerror=alert(1)> a boat"


@pytest.fixture(scope="module")
def workspace(starter: Workspace) -> Workspace:
    """Two encoders are listed."""
    for name in (A, B):
        encoders.add(starter, name)
    return starter


@pytest.fixture(scope="module")
def pair(workspace: Workspace) -> spaces.Pair:
    """Two random encoders over the starter topics, on principal components."""
    return SpacesJob.of(A, B, "starter-topics", k=5, method="pca").make(workspace)


def collection(workspace: Workspace, tmp_path: Path, name: str, lines: list[str]) -> str:
    """Upload sentences, one a line."""
    file = tmp_path / f"{name}.txt"
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    mapping = preview(file, file.name).mapping
    return "upload:" + keep(workspace, file, file.name, name, mapping)["name"]


def test_a_key_changes_with_everything_that_decides_the_pair(workspace: Workspace) -> None:
    """And either side has one of its own."""
    changes: list[dict[str, Any]] = [
        {},
        {"k": 5},
        {"clustering": "hdbscan"},
        {"size": 7},
        {"method": "pca"},
        {"method": "quick"},
    ]
    questions = [SpacesJob.of(A, B, "starter-topics", **c) for c in changes]
    questions += [SpacesJob.of(B, A, "starter-topics"), SpacesJob.of(A, B, "starter-pairs")]
    keys = [key for question in questions for key in question.keys(workspace)]
    assert len(set(keys)) == 2 * len(questions)


@pytest.mark.parametrize(
    ("how", "code", "named"),
    [
        ({"k": 0}, "invalid", "0"),
        ({"k": 101}, "invalid", "101"),
        ({"size": 1}, "invalid", "1"),
        ({"clustering": "dbscan"}, "unknown", "dbscan"),
        ({"method": "tsne"}, "unknown", "tsne"),
    ],
)
def test_what_cannot_be_asked_is_refused(how: dict[str, Any], code: Code, named: str) -> None:
    """One encoder is no pair, however its spec is written."""
    with refused(code, named):
        SpacesJob.of(A, B, "starter-topics", **how)
    with refused("conflict"):
        SpacesJob.of("random:32 | normalise", "random:32|normalise", "starter-topics")


def test_the_figures_are_those_of_the_full_vectors(workspace: Workspace, pair: spaces.Pair) -> None:
    """Not of the plane: worked out anew from the encoders' vectors."""
    sentences, _ = workspace.catalog.sentences("starter-topics")
    first, second = (workspace.load(name).encode(sentences) for name in (A, B))
    found = engine.change(first, second, 5)
    numbers = asdict(engine.figures(first, second, found))
    between = pair.report["rows"][0]
    assert {name: between[name] for name in numbers} == pytest.approx(numbers)
    column = pair.first.values["change"]
    np.testing.assert_allclose(column, 1 - found.overlap, atol=1e-6)
    np.testing.assert_array_equal(column, pair.second.values["change"])


def test_the_floor_and_chance_stand_below(pair: spaces.Pair) -> None:
    """An encoder shares more with itself than with another, and anything more than chance."""
    rows = pair.report["rows"]
    assert [row["kind"] for row in rows] == ["between", "floor", "floor", "chance"]
    between, *floors, chance = (row["jaccard"] for row in rows)
    assert chance < between < min(floors)
    residuals = [row["residual"] for row in rows]
    assert max(residuals[1:3]) < residuals[0] < residuals[3]


@pytest.mark.parametrize(
    ("seeded", "other"),
    [
        ("random:64 | dims:32,random,7", "random:64 | dims:32,random,8"),
        ("borep:32?pooling=max", "borep:32?pooling=max&seed=1"),
    ],
)
def test_an_encoder_with_a_seed_is_held_against_another_seed(
    workspace: Workspace, seeded: str, other: str
) -> None:
    """Its floor is the comparison that the two specs would give."""
    report, _, _ = spaces_making.measure(workspace, SpacesJob.of(seeded, A, "starter-pairs"))
    row = report["rows"][1]
    assert row["how"] == "with another seed"
    sentences, _ = workspace.catalog.sentences("starter-pairs")
    first, second = (workspace.load(name).encode(sentences) for name in (seeded, other))
    found = engine.change(first, second, 10, sample=spaces_making.FLOOR_SAMPLE)
    assert row["jaccard"] == pytest.approx(found.jaccard.mean())


def test_the_second_map_is_turned_onto_the_first(workspace: Workspace, pair: spaces.Pair) -> None:
    """As scipy turns it, and as wide as the first; the shape of neither map changes."""
    question = SpacesJob.of(A, B, "starter-topics", k=5, method="pca")
    before = [maps.stored(workspace, plane.key(workspace)) for plane in question.planes(workspace)]
    np.testing.assert_array_equal(pair.first.points, before[0].points)
    _, turned, disparity = procrustes(before[0].points, before[1].points)
    ours = pair.second.points - pair.second.points.mean(axis=0)
    np.testing.assert_allclose(
        ours / np.linalg.norm(ours), turned / np.linalg.norm(turned), atol=1e-4
    )
    assert pair.second.points.std() == pytest.approx(pair.first.points.std(), rel=0.01)
    assert 0 < disparity < 1


def test_names_of_regions_move_with_their_points(workspace: Workspace, pair: spaces.Pair) -> None:
    """A name lies at the same share of the way between any points."""
    plane = SpacesJob.of(A, B, "starter-topics", method="pca").planes(workspace)[1]
    before = maps.stored(workspace, plane.key(workspace))
    assert len(before.regions) == len(pair.second.regions) > 0
    for was, now in zip(before.regions, pair.second.regions, strict=True):
        apart = [
            np.linalg.norm(side.points - np.array([region.x, region.y]), axis=1)
            for side, region in ((before, was), (pair.second, now))
        ]
        assert now.text == was.text
        np.testing.assert_allclose(apart[1] / apart[1].max(), apart[0] / apart[0].max(), atol=1e-3)


def test_clusters_are_columns_and_their_flow_adds_up(
    workspace: Workspace, pair: spaces.Pair
) -> None:
    """Counts are those of the two columns; agreement with the labels is scikit-learn's."""
    clusters = pair.report["clusters"]
    a, b = (np.asarray(pair.first.values[key]) for key in ("cluster_a", "cluster_b"))
    counts = np.array(clusters["counts"])
    for i, j in ((0, 0), (1, 2), (3, 3)):
        assert counts[i, j] == ((a == i) & (b == j)).sum()
    assert counts.sum() == len(a)
    assert clusters["kept"] == sum(counts[i, j] for i, j in clusters["pairs"])
    labels = np.asarray(pair.first.values["label"])
    ours = [found["v_measure"] for found in clusters["labels"]]
    assert ours == pytest.approx([v_measure_score(labels, a), v_measure_score(labels, b)])
    rows = flow.rows(clusters)
    assert sum(row[2] for row in rows) == len(a)
    assert [row[2] for row in rows] == sorted((row[2] for row in rows), reverse=True)


def test_the_flow_is_drawn_with_the_counts(pair: spaces.Pair) -> None:
    """Every band is a count of the table; each of its ends exists."""
    clusters = pair.report["clusters"]
    (sankey,) = Figure(flow.figure(clusters, (A, B))).data
    shown, every, share = flow.extent(clusters)
    assert len(sankey.link.value) == shown <= every
    assert sum(sankey.link.value) / 2040 == pytest.approx(share)
    assert max(sankey.link.target) < len(sankey.node.label)
    assert max(sankey.link.source) < min(sankey.link.target)


def test_a_flow_with_noise_says_so() -> None:
    """Two groups and noise against noise alone."""
    clusters = {
        "names": [["a <b>", "c"], []],
        "sizes": [[3, 2], []],
        "noise": [1, 6],
        "counts": [[3], [2], [1]],
        "pairs": [],
        "kept": 0,
    }
    assert flow.names(clusters) == (["a <b>", "c", "in no group"], ["in no group"])
    assert "every sentence is in no group" in flow.headline(clusters, ("x", "y"))
    (sankey,) = Figure(flow.figure(clusters, ("x", "y"))).data
    assert "a &lt;b&gt;" in sankey.node.label
    assert list(sankey.link.value) == [3, 2, 1]


def test_the_headline_names_the_noise(pair: spaces.Pair) -> None:
    """A difference beyond the floor and one within it are told apart."""
    report = pair.report
    assert "noise alone would leave" in spaces_views.headline(report)
    within = [report["rows"][0] | {"jaccard": 0.9}, *report["rows"][1:]]
    assert "no less than" in spaces_views.headline(report | {"rows": within})


def test_a_run_does_its_units_and_may_do_them_twice(workspace: Workspace, tmp_path: Path) -> None:
    """A collection of a few sentences in several scripts, one with markup, from start to end."""
    lines = [HOSTILE, "A boat at sea.", "A train in the rain.", "مرحبا 👩‍🚀", "Bread and salt."]
    name = collection(workspace, tmp_path, "few", lines)
    question = SpacesJob.of(A, B, name, k=50, method="pca")
    run = workspace.store.runs.get(queue(workspace, question))
    job = job_of(run)
    for _ in range(2):
        assert [outcome.failure for outcome in do_units(workspace, job)] == [None] * 5
    made = question.stored(workspace)
    assert made is not None
    assert made.report["k"] == 4  # as many as there are
    assert len(made.report["changed"]) == 5
    head, text = spaces_views.changed(made, lines)
    assert "5 sentences" in head
    assert "<img" not in text


def test_umap_of_a_pair_begins_where_the_first_ended(workspace: Workspace) -> None:
    """The second plane names the first as its beginning; its parts say so."""
    question = SpacesJob.of(A, B, "starter-topics")
    first, second = question.planes(workspace)
    assert second.initial == MapJob.of(first.encoder, first.dataset).key(workspace)
    labels = question.units()
    assert len(labels) == 5
    assert "begun from the first" in labels[3]


def test_too_few_sentences_are_refused(workspace: Workspace, tmp_path: Path) -> None:
    """Two points have no neighbourhoods."""
    name = collection(workspace, tmp_path, "two", ["One.", "Two."])
    with refused("too-few", name, 2):
        queue(workspace, SpacesJob.of(A, B, name))


def test_identical_points_are_compared(workspace: Workspace, tmp_path: Path) -> None:
    """Four ways of writing the same words: nothing varies, and what has no value is none."""
    name = collection(workspace, tmp_path, "same", ["A boat.", "a boat.", "A BOAT.", "a BOAT."])
    made = SpacesJob.of(A, B, name, method="pca").make(workspace)
    assert made.report["rows"][0]["cka"] is None
    assert np.isfinite(made.second.points).all()
    assert formats.MISSING in spaces_views.figures(made.report)
    assert spaces_views.left(made)["whole"]


def test_a_quick_pair_measures_nothing(workspace: Workspace) -> None:
    """Two aligned planes, and no figure that would have taken long."""
    quick = spaces.quick(workspace, SpacesJob.of(A, B, "starter-topics"))
    assert quick is not None
    assert quick.report == {}
    assert [c.key for c in quick.first.columns] == [c.key for c in quick.second.columns]
    assert spaces_views.changed(quick, []) == ("", "")
    assert spaces_views.flow(quick.report) == ("", None)


def test_both_maps_open_on_the_same_place(pair: spaces.Pair) -> None:
    """Centre and the length that is seen are equal, and every point is in it."""
    seen = []
    for value, found in (
        (spaces_views.left(pair), pair.first),
        (spaces_views.right(pair), pair.second),
    ):
        x, y, span = map(float, value["whole"].split(","))
        size = (found.points.max(axis=0) - found.points.min(axis=0)).max()
        seen.append((x, y, span * size))
        assert (np.abs(found.points - (x, y)).max(axis=0) <= span * size / 2).all()
    assert seen[0] == pytest.approx(seen[1], rel=1e-3)


def test_the_list_escapes_and_marks_what_is_shared() -> None:
    """Text stays text; a neighbour of both is said to be one."""
    near = [Neighbour(3, "shared", 0.5), Neighbour(4, HOSTILE, -0.25)]
    one = Changed(7, HOSTILE, 1 / 3, 0.5, near, [near[0], Neighbour(5, "other", 0.1)])
    text = listed([one], ("<a>", "b"), "spaces")
    assert "<img" not in text
    assert "<a>" not in text
    assert text.count("in both") == 2
    assert "1 of 2 shared" in text
    assert "−0.250" in text


def test_the_verb_prints_figures_changes_and_clusters(workspace: Workspace) -> None:
    """One object a line, told apart by `what`; and what cannot be done, in a sentence."""
    arguments = [
        "spaces",
        A,
        B,
        "--in",
        "starter-pairs",
        "--k",
        "5",
        "--json",
        "--maps",
        "pca",
        "--store",
        str(workspace.store.folder),
    ]
    found = CliRunner().invoke(app, arguments)
    lines = [json.loads(line) for line in found.stdout.splitlines()]
    assert [line["kind"] for line in lines if line["what"] == "figures"] == [
        "between",
        "floor",
        "floor",
        "chance",
    ]
    changed = [line for line in lines if line["what"] == "changed"]
    assert [line["overlap"] for line in changed] == sorted(line["overlap"] for line in changed)
    assert all(len(line["first"]) == len(line["second"]) == 5 for line in changed)
    assert lines[-1]["what"] == "clusters"
    kept = SpacesJob.of(A, B, "starter-pairs", k=5, method="pca").stored(workspace)
    assert kept is not None, "the page opens what the command made"
    assert kept.report["rows"][0]["jaccard"] == lines[0]["jaccard"]
    same = CliRunner().invoke(app, ["spaces", A, A, *arguments[3:]])
    assert same.exit_code == 2
