"""Maps by their question: keys, what is made, what is known of a point, hard cases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.app.pages.map.conftest import ENCODER
from tests.errors import refused
from tests.fakes.uploads import collection
from tests.fakes.workers import do_units
from theodolite.app.components.map_columns import MAX_LABELS, Facts
from theodolite.app.jobs.kinds import job_of
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.data.service import keep
from theodolite.app.pages.map import facts as map_facts
from theodolite.app.pages.map import making
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapJob, seed_of
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import preview
from theodolite.engine.errors import Code
from theodolite.engine.space import projection


def test_a_key_changes_with_everything_that_decides_the_map(workspace: Workspace) -> None:
    """And with nothing else."""
    base: dict[str, Any] = {"method": "umap", "neighbours": 15, "min_dist": 0.1, "seed": 0}
    changes = [
        {},
        {"neighbours": 5},
        {"min_dist": 0.2},
        {"seed": 1},
        {"seed": None},
        {"method": "pca"},
        {"initial": "0" * 32},
    ]
    keys = [MapJob.of(ENCODER, "starter-topics", **base | c).key(workspace) for c in changes]
    keys.append(MapJob.of("random:17", "starter-topics", **base).key(workspace))
    keys.append(MapJob.of(ENCODER, "starter-pairs", **base).key(workspace))
    assert len(set(keys)) == len(keys)
    assert MapJob.of(ENCODER, "starter-topics").key(workspace) == keys[0]
    tsne = [
        MapJob.of(ENCODER, "starter-topics", method="tsne", **c).key(workspace)
        for c in ({}, {"min_dist": 0.2}, {"neighbours": 5}, {"seed": 1})
    ]
    assert tsne[0] == tsne[1]  # only UMAP knows a least distance
    assert len({*keys, *tsne}) == len(keys) + 3
    pca = [
        MapJob.of(ENCODER, "starter-topics", method="pca", seed=s).key(workspace) for s in (0, 1)
    ]
    assert pca[0] == pca[1]


def test_one_text_under_two_names_has_two_maps(workspace: Workspace, tmp_path: Path) -> None:
    """Even when the first was removed; and a new label is a new map, for its column is."""
    lines = ["A boat at sea.", "A train in the rain.", "Bread and salt."]
    first = collection(workspace, tmp_path, "first-name", lines)
    assert len(MapJob.of(ENCODER, first, method="pca").make(workspace).points) == 3
    workspace.store.uploads.remove("first-name")
    second = collection(workspace, tmp_path, "second-name", lines)
    assert len(MapJob.of(ENCODER, second, method="pca").make(workspace).points) == 3
    file = tmp_path / "labelled.csv"
    keys = []
    for label in ("dry", "wet"):
        file.write_text(f"sentence,label\nA boat at sea.,{label}\nBread and salt.,dry\n", "utf-8")
        mapping = preview(file, file.name).mapping
        keep(workspace, file, file.name, "labelled", mapping)
        keys.append(MapJob.of(ENCODER, "upload:labelled", method="pca").key(workspace))
        workspace.store.uploads.remove("labelled")
    assert keys[0] != keys[1]


@pytest.mark.parametrize(
    ("how", "code", "named"),
    [
        ({"method": "isomap"}, "unknown", "isomap"),
        ({"neighbours": 1}, "invalid", "1 cannot"),
        ({"neighbours": 201}, "invalid", "201"),
        ({"min_dist": 1.0}, "invalid", "1.0"),
        ({"seed": -1}, "invalid", "-1"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_it_is_queued(
    workspace: Workspace, how: dict[str, Any], code: Code, named: str
) -> None:
    with refused(code, named):
        queue(workspace, MapJob.of(ENCODER, "starter-topics", **how))
    assert workspace.store.runs.list() == []


def test_tsne_of_too_many_sentences_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is queued or encoded; as many as it takes are not."""
    n = len(workspace.catalog.sentences("starter-topics")[0])
    wanted = MapJob.of(ENCODER, "starter-topics", method="tsne")
    monkeypatch.setattr(projection, "TSNE_POINTS", n)
    wanted.validate(workspace)
    monkeypatch.setattr(projection, "TSNE_POINTS", n - 1)
    with refused("too-large", f"{n:,}", f"{n - 1:,}"):
        queue(workspace, MapJob.of(ENCODER, "starter-topics", method="tsne"))
    with refused("too-large"):
        wanted.make(workspace)
    MapJob.of(ENCODER, "starter-topics", method="umap").validate(workspace)
    assert workspace.store.runs.list() == []


def test_a_missing_package_is_said_plainly(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PaCMAP is an extra."""
    monkeypatch.setitem(making.LIBRARIES, "pacmap", "no-such-package-here")
    with refused("unsupported", "no-such-package-here", "theodolite[maps]"):
        MapJob.of(ENCODER, "starter-topics", method="pacmap").key(workspace)


def test_points_and_trust_are_those_of_scikit_learn(
    workspace: Workspace, pca: maps.StoredMap
) -> None:
    """Up to the sign of an axis; rows are the collection's sentences in order."""
    from sklearn.decomposition import PCA
    from sklearn.manifold import trustworthiness

    assert pca.sentences == workspace.catalog.sentences("starter-topics")[0]
    rows = workspace.load(ENCODER).encode(pca.sentences)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    expected = PCA(2, svd_solver="full").fit_transform(rows)
    np.testing.assert_allclose(np.abs(pca.points), np.abs(expected), atol=1e-4)
    trust = trustworthiness(rows, pca.points, n_neighbors=15, metric="cosine")
    assert pca.info["trust"]["trustworthiness"] == pytest.approx(trust, abs=1e-3)


def test_columns_say_what_the_data_set_says(workspace: Workspace, pca: maps.StoredMap) -> None:
    """Labels, length; trust is measured at every point of a small collection."""
    dataset = workspace.catalog.load("starter-topics")
    of = dict(zip(reversed(dataset.sentences), reversed(dataset.labels), strict=True))
    labels = next(column for column in pca.columns if column.key == "label").labels
    assert [labels[i] for i in pca.values["label"]] == [of[s] for s in pca.sentences]
    assert pca.values["length"].tolist() == [len(s) for s in pca.sentences]
    assert np.isfinite(pca.values["recall"]).all()
    assert pca.info["trust"]["recall"] == pytest.approx(pca.values["recall"].mean(), abs=1e-6)
    assert {region.level for region in pca.regions} == {0, 1, 2}
    assert set(pca.values) == {column.key for column in pca.columns}


def test_a_point_knows_its_true_neighbours(workspace: Workspace, pca: maps.StoredMap) -> None:
    """By cosine as scikit-learn has it, and whether the map kept them near."""
    from sklearn.neighbors import NearestNeighbors

    rows = workspace.load(ENCODER).encode(pca.sentences)
    full = NearestNeighbors(n_neighbors=11, metric="cosine").fit(rows)
    flat = NearestNeighbors(n_neighbors=11).fit(pca.points)
    distances, near = full.kneighbors(rows[7:8])
    found = maps.point(workspace, pca, 7, 10)
    assert {one["id"] for one in found["neighbours"]} == set(near[0].tolist()) - {7}
    np.testing.assert_allclose(
        [one["cosine"] for one in found["neighbours"]], 1 - distances[0][1:], atol=1e-5
    )
    on_map = set(flat.kneighbors(pca.points[7:8], return_distance=False)[0].tolist())
    assert {o["id"] for o in found["neighbours"] if o["kept"]} == on_map & set(near[0]) - {7}
    assert dict(found["facts"])["Length in characters"] == str(len(pca.sentences[7]))


def test_a_known_sentence_is_placed_where_it_is(workspace: Workspace, pca: maps.StoredMap) -> None:
    """Its own neighbour with cosine 1 outweighs the rest."""
    found = maps.place(workspace, pca, pca.sentences[3], 5)
    assert found["neighbours"][0]["id"] == 3
    assert found["neighbours"][0]["cosine"] == pytest.approx(1, abs=1e-5)
    with refused("missing"):
        maps.place(workspace, pca, "  ", 5)


def test_the_run_makes_the_map_that_the_key_names(workspace: Workspace) -> None:
    """Units in order, a word on progress, and a second time nothing is made."""
    wanted = MapJob.of(ENCODER, "starter-pairs", method="pca")
    run = workspace.store.runs.get(queue(workspace, wanted))
    job, seen = job_of(run), []
    assert job == wanted
    assert job.units()[0] == f"Encoding starter-pairs with {ENCODER}"
    do_units(workspace, job, seen.append)
    assert seen == sorted(seen) or seen[-1] == 1
    assert wanted.is_stored(workspace)
    before = workspace.store.projections.get(wanted.key(workspace))
    wanted.make(workspace)
    assert workspace.store.projections.get(wanted.key(workspace)) == before
    workspace.store.runs.cancel(run["id"])


def test_a_changed_collection_has_no_map(workspace: Workspace, tmp_path: Path) -> None:
    """The name of an upload may be given again to other sentences."""
    name = collection(workspace, tmp_path, "changing", ["a b", "c d", "e f"])
    key = MapJob.of(ENCODER, name, method="pca").make(workspace).key
    assert maps.stored(workspace, key) is not None
    workspace.store.uploads.remove("changing")
    assert maps.stored(workspace, key) is None
    collection(workspace, tmp_path, "changing", ["other", "words", "here"])
    assert maps.stored(workspace, key) is None


@pytest.mark.parametrize("method", ["pca", "umap", "tsne"])
@pytest.mark.parametrize(
    "lines",
    [
        ["only one"],
        ["two", "of them"],
        ["a", "b", "c", "d", "e"],
        ["البيت كبير", "👩‍🚀 in space", "שלום עולם", "<script>alert(1)</script>", "x" * 5000],
    ],
    ids=["one", "two", "fewer than neighbours", "scripts and signs"],
)
def test_hard_collections_have_maps(
    workspace: Workspace, tmp_path: Path, lines: list[str], method: str
) -> None:
    """A single sentence, fewer points than neighbours, text of every kind."""
    name = collection(workspace, tmp_path, f"hard{len(lines)}{len(lines[0])}", lines)
    found = MapJob.of(ENCODER, name, method=method).make(workspace)
    assert found.points.shape == (len(lines), 2)
    assert np.isfinite(found.points).all()
    assert maps.point(workspace, found, 0, 15)["text"] == lines[0]


@pytest.mark.parametrize("method", ["pca", "umap", "tsne"])
def test_equal_vectors_are_one_point(workspace: Workspace, tmp_path: Path, method: str) -> None:
    """Nothing is measured between them, and the page says so."""
    words = tmp_path / "words.txt"
    words.write_text("the 1 2 3\nship 1 1 1\nred 0 0 1\nsea 2 0 1\nsails 0 3 1\n")
    encoder = f"words:{words}"
    unknown = [f"zzq{i} xqv{i}" for i in range(30)]
    every = collection(workspace, tmp_path, "unknown", unknown)
    found = MapJob.of(encoder, every, method=method).make(workspace)
    assert not found.points.any()
    assert found.info["trust"] == {}
    assert "All 30 sentences have the same vector" in maps.equal_vectors(found.info)
    known = ["the ship", "red sea", "the sea", "red sails", "sails"]
    some = collection(workspace, tmp_path, "some", [*unknown, *known])
    found = MapJob.of(encoder, some, method=method).make(workspace)
    assert len(np.unique(found.points, axis=0)) == 6
    assert len(np.unique(found.points[:30], axis=0)) == 1
    assert (found.info["vectors"], found.info["trust"]["looked_at"]) == (6, 6)


def test_a_random_seed_is_read_in_one_way() -> None:
    """Of the page's box and the verb's option; nothing is any."""
    assert [seed_of(text) for text in ("7", " 0 ", "any", "", None)] == [
        7,
        0,
        None,
        None,
        None,
    ]
    with refused("invalid", "'x'"):
        seed_of("x")


def test_ten_thousand_labels_and_more() -> None:
    """Up to 65,534 labels are told apart; what lies beyond is one label, other."""
    facts = Facts()
    facts.label("label", "Label", [str(i) for i in range(70_000)], np.arange(70_000))
    assert facts.columns[0].labels[-1] == "other"
    assert facts.arrays["label"].max() == MAX_LABELS
    assert (facts.arrays["label"] == MAX_LABELS).sum() == 70_000 - MAX_LABELS


def test_density_knows_a_crowd() -> None:
    """A heap of a thousand is denser than a point alone; identical points are no trouble."""
    points = np.concatenate([np.random.default_rng(0).normal(size=(1000, 2)), [[50.0, 50.0]]])
    found = map_facts.density(points)
    assert found[-1] == found.min() < found[0]
    assert len(np.unique(map_facts.density(np.ones((9, 2))))) == 1
