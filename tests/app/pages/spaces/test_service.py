"""Pairs of spaces: what decides them, what is measured and said of it; and an upgrade."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import procrustes
from sklearn.metrics.cluster import contingency_matrix, v_measure_score
from sklearn.metrics.pairwise import cosine_similarity

from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.uploads import collection
from tests.fakes.workers import do_units
from theodolite.app.components.map import Facts
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.spaces import job as spaces, upgrade
from theodolite.app.pages.spaces.answer import flows
from theodolite.app.pages.spaces.job import SpacesSpec
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.types import Retrieval, Sentences
from theodolite.engine.space import compare as engine

A, B = "random:32", "random:48?pooling=max"


@pytest.fixture(scope="module")
def workspace(starter: Workspace) -> Workspace:
    """Two encoders are listed."""
    for name in (A, B):
        starter.store.encoders.add(name)
    return starter


@pytest.fixture(scope="module")
def pair(workspace: Workspace) -> spaces.Pair:
    """Two random encoders over the starter topics, on principal components."""
    return SpacesSpec((A, B), "starter-topics", k=5, method="pca").make(workspace)


def test_a_key_changes_with_everything_that_decides_the_pair(workspace: Workspace) -> None:
    """And either side has one of its own."""
    changes = ({}, {"k": 5}, {"clustering": "hdbscan"}, {"size": 7}, {"method": "pca"})
    questions = [SpacesSpec((A, B), "starter-topics", **how) for how in changes]
    questions += [
        SpacesSpec((A, B), "starter-topics", method="quick"),
        SpacesSpec((B, A), "starter-topics"),
        SpacesSpec((A, B), "starter-pairs"),
    ]
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
def test_what_cannot_be_asked_is_refused(how: dict, code, named: str) -> None:
    """One encoder is no pair, however its spec is written."""
    with refused(code, named):
        SpacesSpec((A, B), "starter-topics", **how)
    with refused("conflict"):
        SpacesSpec(("random:32 | normalise", "random:32|normalise"), "starter-topics")


def test_the_figures_are_those_of_the_full_vectors(workspace: Workspace, pair: spaces.Pair) -> None:
    """Not of the plane: worked out anew from the encoders' vectors."""
    sentences, _ = workspace.catalog.sentences("starter-topics")
    first, second = (workspace.load(name).encode(sentences) for name in (A, B))
    found = engine.change(first, second, 5)
    numbers = engine.figures(first, second, found)
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
    row = spaces.measure(workspace, SpacesSpec((seeded, A), "starter-pairs"), Facts())["rows"][1]
    assert row["how"] == "with another seed"
    sentences, _ = workspace.catalog.sentences("starter-pairs")
    first, second = (workspace.load(name).encode(sentences) for name in (seeded, other))
    found = engine.change(first, second, 10, sample=spaces.FLOOR_SAMPLE)
    assert row["jaccard"] == pytest.approx(found.jaccard.mean())


def test_the_second_map_is_turned_onto_the_first(workspace: Workspace, pair: spaces.Pair) -> None:
    """As scipy turns it, and as wide as the first; the shape of neither map changes."""
    planes = SpacesSpec((A, B), "starter-topics", k=5, method="pca").planes(workspace)
    before = [maps.stored(workspace, plane.key(workspace)).points for plane in planes]
    np.testing.assert_array_equal(pair.first.points, before[0])
    _, turned, disparity = procrustes(*before)
    ours = pair.second.points - pair.second.points.mean(axis=0)
    ours, turned = (points / np.linalg.norm(points) for points in (ours, turned))
    np.testing.assert_allclose(ours, turned, atol=1e-4)
    assert pair.second.points.std() == pytest.approx(pair.first.points.std(), rel=0.01)
    assert 0 < disparity < 1


def test_names_of_regions_move_with_their_points(workspace: Workspace, pair: spaces.Pair) -> None:
    """A name lies at the same share of the way between any points."""
    plane = SpacesSpec((A, B), "starter-topics", method="pca").planes(workspace)[1]
    before = maps.stored(workspace, plane.key(workspace))
    assert len(before.regions) == len(pair.second.regions) > 0
    for was, now in zip(before.regions, pair.second.regions, strict=True):
        apart = [
            np.linalg.norm(side.points - np.array([region.x, region.y]), axis=1)
            for side, region in ((before, was), (pair.second, now))
        ]
        assert now.text == was.text
        np.testing.assert_allclose(apart[1] / apart[1].max(), apart[0] / apart[0].max(), atol=1e-3)


def test_clusters_are_columns_and_their_flow_adds_up(pair: spaces.Pair) -> None:
    """Counts are those of the two columns; agreement with the labels is scikit-learn's."""
    clusters = pair.report["clusters"]
    a, b, labels = (pair.first.values[key] for key in ("cluster_a", "cluster_b", "label"))
    counts = np.array(clusters["counts"])
    np.testing.assert_array_equal(contingency_matrix(a, b), counts)
    assert clusters["kept"] == sum(counts[i, j] for i, j in clusters["pairs"])
    ours = [found["v_measure"] for found in clusters["labels"]]
    assert ours == pytest.approx([v_measure_score(labels, a), v_measure_score(labels, b)])
    sizes = [flow.sentences for flow in flows(clusters)]
    assert sum(sizes) == len(a) and sizes == sorted(sizes, reverse=True)


def test_a_run_does_its_units_and_may_do_them_twice(workspace: Workspace, tmp_path: Path) -> None:
    """A collection of a few sentences in several scripts, one with markup, from start to end."""
    lines = ["<img src=x> a boat", "A boat.", "A train in the rain.", "مرحبا 👩‍🚀", "Bread."]
    question = SpacesSpec((A, B), collection(workspace, tmp_path, "few", lines), k=50, method="pca")
    for _ in range(2):
        assert [outcome.failure for outcome in do_units(workspace, question)] == [None] * 5
    report = question.stored(workspace).report
    assert (report["k"], len(report["changed"])) == (4, 5)  # as many as there are


def test_umap_of_a_pair_begins_where_the_first_ended(workspace: Workspace) -> None:
    first, second = SpacesSpec((A, B), "starter-topics").planes(workspace)
    assert second.initial == MapSpec(first.encoder, first.data).key(workspace)


def test_identical_points_are_compared(workspace: Workspace, tmp_path: Path) -> None:
    """Four ways of writing the same words: nothing varies, and what has no value is none.

    Two points have no neighbourhoods, and are refused.
    """
    two = collection(workspace, tmp_path, "two", ["One.", "Two."])
    with refused("too-few", two, 2):
        queue(workspace, SpacesSpec((A, B), two))
    name = collection(workspace, tmp_path, "same", ["A boat.", "a boat.", "A BOAT.", "a BOAT."])
    made = SpacesSpec((A, B), name, method="pca").make(workspace)
    assert made.report["rows"][0]["cka"] is None and np.isfinite(made.second.points).all()


def test_a_quick_pair_measures_nothing(workspace: Workspace) -> None:
    """Two aligned planes, and no figure that would have taken long."""
    quick = SpacesSpec((A, B), "starter-topics", method="quick").make(workspace)
    assert quick.report == {}
    assert [c.key for c in quick.first.columns] == [c.key for c in quick.second.columns]


def test_the_verb_prints_figures_changes_and_clusters(workspace: Workspace) -> None:
    """One object a line, told apart by `what`."""
    options = ("--in", "starter-pairs", "--k", "5", "--json", "--maps", "pca")
    store = str(workspace.store.folder)
    rows = objects(theodolite("spaces", A, B, *options, "--store", store))
    kinds = [row["kind"] for row in rows if row["what"] == "figures"]
    assert kinds == ["between", "floor", "floor", "chance"] and rows[-1]["what"] == "clusters"
    changed = [row for row in rows if row["what"] == "changed"]
    assert [row["overlap"] for row in changed] == sorted(row["overlap"] for row in changed)
    assert all(len(row["first"]) == len(row["second"]) == 5 for row in changed)


# Keep, bridge or encode again: what is measured, said and written.

SPEC = upgrade.UpgradeSpec("random:8", "wordllama", texts=1000)


@pytest.fixture(scope="module")
def made(starter: Workspace) -> upgrade.Upgrade:
    (answer,) = upgrade.answer(starter, SPEC, lambda job: True)
    return answer


def test_what_is_measured(starter: Workspace, made: upgrade.Upgrade) -> None:
    info = made.info
    assert (info["verdict"], info["judged"], info["queries"]) == ("re-encode", True, 1000)
    assert info["bytes"] == 1000 * starter.load("wordllama").dim * 4 and info["fitted"] == 1020
    rows = made.rows()
    assert [row["option"] for row in rows][::4] == ["keep", "re-encode"] and len(rows) == 5
    assert rows[0]["change"] == 0.0 and rows[-1]["low"] > 0
    assert made.finding.startswith("Encode again with wordllama")
    assert [row["verdict"] for row in rows] == [False] * 4 + [True]
    (again,) = upgrade.answer(starter, SPEC, lambda job: False)
    assert again.info == info


def test_recall_is_counted_by_hand(starter: Workspace) -> None:
    """Of every query by itself, with scikit-learn's cosines."""
    texts = starter.catalog.load("starter-topics").sentences[:60]
    task = upgrade.Search(texts, texts, [{(i + 1) % 60, (i + 2) % 60} for i in range(60)])
    encode = starter.load("random:8").encode
    shares, _ = upgrade.qualities(task, *2 * [lambda texts, queries=False: encode(texts)])
    cosines = cosine_similarity(encode(texts))
    np.fill_diagonal(cosines, -1)
    near = np.argsort(-cosines, axis=1)[:, :10]
    whole = [len({(i + 1) % 60, (i + 2) % 60} & set(near[i].tolist())) / 2 for i in range(60)]
    kept = np.random.default_rng(0).permutation(60)[30:]
    assert shares["keep"].tolist() == [whole[i] for i in sorted(kept)]


def test_the_map_is_used_as_the_page_says(
    starter: Workspace, made: upgrade.Upgrade, tmp_path: Path
) -> None:
    assert "Encoding" in made.notes()[1]  # a terminal says the price, which --texts is for
    made.npz(tmp_path / "bridge.npz")
    shell, code = [block for block in made.blocks() if isinstance(block, upgrade.Code)]
    assert shell.lines[0].startswith("theodolite upgrade random:8 wordllama --in starter-topics")
    names: dict = {}
    lines = code.lines[0].replace("bridge.npz", str(tmp_path / "bridge.npz"))
    exec(lines, names)  # noqa: S102 - what a person would paste
    mapped = names["to_old_space"](starter.load("wordllama").encode(["A boat.", "Tea.", "Rain."]))
    assert mapped.shape == (3, 8)
    np.testing.assert_allclose(np.linalg.norm(mapped, axis=1), 1.0, atol=1e-6)


def test_texts_without_judgements_and_with(starter: Workspace) -> None:
    assert upgrade.search_of(Sentences("s", ["a", "b", "a"])) == (["a", "b"], ["a", "b"], None)
    data = Retrieval(
        "r", {"q": "Q", "p": "P"}, {"a": "A", "b": "B"}, {"test": {"q": {"b": 1, "a": 0}, "p": {}}}
    )
    assert upgrade.search_of(data) == (["Q"], ["A", "B"], [{1}])
    pairs = upgrade.search_of(starter.catalog.load("starter-pairs"))
    assert pairs.relevant and all(pairs.relevant) and len(pairs.queries) <= 160


def test_what_cannot_be_measured(starter: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    with refused("conflict"):
        upgrade.UpgradeSpec("minilm", "minilm")
    monkeypatch.setattr(upgrade, "MIN_QUERIES", 5000)
    with refused("too-few", "starter-topics"):
        upgrade.measure(starter, SPEC)
    (unmade,) = upgrade.answer(
        starter, upgrade.UpgradeSpec("random:8", "random:9"), lambda job: False
    )
    assert not unmade.rows() and not unmade.facts() and unmade.blocks()


def test_vectors_in_a_file_can_be_new_but_not_all_equal(starter: Workspace, tmp_path: Path) -> None:
    """Only texts that the file has are encoded, to measure the time as well."""
    texts = [*dict.fromkeys(starter.catalog.load("starter-topics").sentences)]
    vectors = starter.load("random:4").encode(texts)
    np.savez(tmp_path / "own.npz", sentences=texts, vectors=vectors)
    np.savez(tmp_path / "one.npz", sentences=texts, vectors=np.ones_like(vectors))
    spec = upgrade.UpgradeSpec("random:8", f"vectors:{tmp_path / 'own.npz'}")
    (found,) = upgrade.answer(starter, spec, lambda job: True)
    assert len(found.rows()) == 5
    with refused("unsupported", "same vector"):
        upgrade.measure(starter, upgrade.UpgradeSpec("random:8", f"vectors:{tmp_path / 'one.npz'}"))
