"""Maps by their question: what is made, what is known of a point, hard cases; and over HTTP."""

import io
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fastapi import FastAPI
from sklearn.neighbors import NearestNeighbors
from starlette.testclient import TestClient

from tests.errors import refused
from tests.fakes.uploads import collection
from theodolite.app.components.map import MAX_LABELS, Facts
from theodolite.app.jobs.submit import queue
from theodolite.app.pages.data.service import keep
from theodolite.app.pages.map import job as map_job, service as maps
from theodolite.app.pages.map.job import MapSpec, SecondMap
from theodolite.app.pages.map.routes import routes
from theodolite.app.workspace import Workspace
from theodolite.engine.datasets.tables import preview
from theodolite.engine.space import projection

ENCODER = "random:16"


@pytest.fixture(scope="module")
def workspace(starter: Workspace) -> Workspace:
    """One encoder is listed."""
    starter.store.encoders.add(ENCODER)
    return starter


@pytest.fixture(scope="module")
def pca(workspace: Workspace) -> maps.StoredMap:
    """The principal components of the starter topics."""
    return MapSpec(ENCODER, "starter-topics", method="pca").make(workspace)


def test_a_key_changes_with_everything_that_decides_the_map(workspace: Workspace) -> None:
    """And with nothing else."""

    def key(encoder: str = ENCODER, dataset: str = "starter-topics", **how) -> str:
        return MapSpec(encoder, dataset, **how).key(workspace)

    keys = [
        key(),
        key(neighbours=5),
        key(min_dist=0.2),
        key(seed=1),
        key(seed=None),
        SecondMap(ENCODER, initial="0" * 32).key(workspace),
        key("random:17"),
        key(dataset="starter-pairs"),
        key(method="pca"),
        key(method="tsne"),
        key(method="tsne", neighbours=5),
        key(method="tsne", seed=1),
    ]
    assert len(set(keys)) == len(keys)
    assert key(method="umap", neighbours=15, min_dist=0.1, seed=0) == key()
    assert key(method="tsne", min_dist=0.2) == key(method="tsne")  # only UMAP knows it
    assert key(method="pca", seed=1) == key(method="pca", seed=0)


def test_one_text_under_two_names_has_two_maps(workspace: Workspace, tmp_path: Path) -> None:
    """Even when the first was removed; and a new label is a new map, for its column is."""
    for name in ("first-name", "second-name"):
        dataset = collection(workspace, tmp_path, name, ["A boat.", "A train.", "Bread and salt."])
        assert len(MapSpec(ENCODER, dataset, method="pca").make(workspace).points) == 3
        workspace.store.uploads.remove(name)
    file, keys = tmp_path / "labelled.csv", set()
    for label in ("dry", "wet"):
        file.write_text(f"sentence,label\nA boat at sea.,{label}\nBread and salt.,dry\n", "utf-8")
        keep(workspace, file, file.name, "labelled", preview(file, file.name).mapping)
        keys.add(MapSpec(ENCODER, "upload:labelled", method="pca").key(workspace))
        workspace.store.uploads.remove("labelled")
    assert len(keys) == 2


@pytest.mark.parametrize(
    ("how", "code", "named"),
    [
        ({"method": "isomap"}, "unknown", "isomap"),
        ({"neighbours": 1}, "invalid", "cannot be 1"),
        ({"neighbours": 201}, "invalid", "201"),
        ({"min_dist": 1.0}, "invalid", "1.0"),
        ({"seed": -1}, "invalid", "-1"),
    ],
)
def test_what_cannot_be_asked_is_refused_before_it_is_queued(
    workspace: Workspace, how: dict, code, named: str
) -> None:
    with refused(code, named):
        queue(workspace, MapSpec(ENCODER, "starter-topics", **how))
    assert workspace.store.runs.list() == []


def test_tsne_of_too_many_sentences_is_refused(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything is queued or encoded; as many as it takes are not."""
    n = len(workspace.catalog.sentences("starter-topics")[0])
    job = MapSpec(ENCODER, "starter-topics", method="tsne")
    monkeypatch.setattr(map_job, "TSNE_POINTS", n)
    job.validate(workspace)
    monkeypatch.setattr(map_job, "TSNE_POINTS", n - 1)
    with refused("too-large", f"{n:,}", f"{n - 1:,}"):
        queue(workspace, job)
    with refused("too-large"):
        job.make(workspace)
    MapSpec(ENCODER, "starter-topics", method="umap").validate(workspace)
    assert workspace.store.runs.list() == []


def test_a_missing_package_is_said_plainly(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PaCMAP is an extra."""
    monkeypatch.setitem(map_job.METHODS, "pacmap", map_job.Method(1, ["no-such-package-here"]))
    with refused("unsupported", "no-such-package-here", "theodolite[maps]"):
        MapSpec(ENCODER, "starter-topics", method="pacmap").key(workspace)


def test_columns_say_what_the_data_set_says(workspace: Workspace, pca: maps.StoredMap) -> None:
    """Labels, length; trust is measured at every point of a small collection."""
    data, columns = workspace.catalog.load("starter-topics"), {c.key: c for c in pca.columns}
    of = dict(zip(reversed(data.sentences), reversed(data.labels), strict=True))
    names = [columns["label"].labels[i] for i in pca.values["label"]]
    assert names == [of[s] for s in pca.sentences]
    assert pca.values["length"].tolist() == [len(s) for s in pca.sentences]
    assert np.isfinite(pca.values["recall"]).all()
    assert pca.info["trust"]["recall"] == pytest.approx(pca.values["recall"].mean(), abs=1e-6)
    assert {region.level for region in pca.regions} == {0, 1, 2}
    assert pca.values.keys() == columns.keys()


def test_a_point_knows_its_true_neighbours(workspace: Workspace, pca: maps.StoredMap) -> None:
    """By cosine as scikit-learn has it, and whether the map kept them near."""
    rows = workspace.load(ENCODER).encode(pca.sentences)
    full = NearestNeighbors(n_neighbors=11, metric="cosine").fit(rows)
    flat = NearestNeighbors(n_neighbors=11).fit(pca.points)
    distances, ((_, *near),) = full.kneighbors(rows[7:8])
    ((_, *on_map),) = flat.kneighbors(pca.points[7:8], return_distance=False)
    found = maps.point(workspace, pca, 7, 10)
    assert {one["id"] for one in found["neighbours"]} == set(near)
    assert {one["id"] for one in found["neighbours"] if one["kept"]} == set(on_map) & set(near)
    cosines = [one["cosine"] for one in found["neighbours"]]
    np.testing.assert_allclose(cosines, 1 - distances[0][1:], atol=1e-5)
    assert dict(found["facts"])["Length in characters"] == str(len(pca.sentences[7]))


def test_a_changed_collection_has_no_map(workspace: Workspace, tmp_path: Path) -> None:
    """The name of an upload may be given again to other sentences."""
    name = collection(workspace, tmp_path, "changing", ["a b", "c d", "e f"])
    key = MapSpec(ENCODER, name, method="pca").make(workspace).key
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
    found = MapSpec(ENCODER, name, method=method).make(workspace)
    assert found.points.shape == (len(lines), 2)
    assert np.isfinite(found.points).all()
    assert maps.point(workspace, found, 0, 15)["text"] == lines[0]


@pytest.mark.parametrize("method", ["pca", "umap", "tsne"])
def test_equal_vectors_are_one_point(workspace: Workspace, tmp_path: Path, method: str) -> None:
    """Nothing is measured between them, and the page says so."""
    words = tmp_path / "words.txt"
    words.write_text("the 1 2 3\nship 1 1 1\nred 0 0 1\nsea 2 0 1\nsails 0 3 1\n")
    unknown = [f"zzq{i} xqv{i}" for i in range(30)]

    def made(name: str, lines: list[str]) -> maps.StoredMap:
        dataset = collection(workspace, tmp_path, name, lines)
        return MapSpec(f"words:{words}", dataset, method=method).make(workspace)

    found = made("unknown", unknown)
    assert not found.points.any() and found.info["trust"] == {}
    assert "30 sentences" in maps.equal_vectors(found.info)
    found = made("some", [*unknown, "the ship", "red sea", "the sea", "red sails", "sails"])
    assert len(np.unique(found.points, axis=0)) == 6
    assert len(np.unique(found.points[:30], axis=0)) == 1
    assert (found.info["vectors"], found.info["trust"]["looked_at"]) == (6, 6)


def test_a_random_seed_is_read_in_one_way() -> None:
    """Of the page's box and the verb's option; nothing is any."""
    read = {text: MapSpec(ENCODER, seed=text).seed for text in ("7", " 0 ", "any", "", None)}
    assert read == {"7": 7, " 0 ": 0, "any": None, "": None, None: None}
    with refused("invalid", "'x'"):
        MapSpec(ENCODER, seed="x")


def test_ten_thousand_labels_and_more() -> None:
    """Up to 65,534 labels are told apart; what lies beyond is one label, other."""
    facts = Facts()
    facts.label("label", "Label", [str(i) for i in range(70_000)], np.arange(70_000))
    labels = facts.arrays["label"]
    assert (facts.columns[0].labels[-1], labels.max()) == ("other", MAX_LABELS)
    assert (labels == MAX_LABELS).sum() == 70_000 - MAX_LABELS


def test_density_knows_a_crowd() -> None:
    """A heap of a thousand is denser than a point alone; identical points are no trouble."""
    points = np.concatenate([np.random.default_rng(0).normal(size=(1000, 2)), [[50.0, 50.0]]])
    found = map_job.density(points)
    assert found[-1] == found.min() < found[0]
    assert len(np.unique(map_job.density(np.ones((9, 2))))) == 1


HOSTILE = "=1+1 <b>bold</b>"


@pytest.fixture(scope="module")
def hostile(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> maps.StoredMap:
    """A small map with a formula and markup in it."""
    lines = [HOSTILE, "A boat, at sea", 'She said "no"', "plain"]
    name = collection(workspace, tmp_path_factory.mktemp("h"), "hostile", lines)
    return MapSpec(ENCODER, name, method="pca").make(workspace)


@pytest.fixture(scope="module")
def reader(workspace: Workspace) -> TestClient:
    """A visitor, at the addresses of maps alone."""
    looking = Workspace(workspace.store.folder, read_only=True)
    return TestClient(FastAPI(routes=routes(looking)))


def test_numbers_and_texts_are_those_of_the_map(reader: TestClient, pca: maps.StoredMap) -> None:
    """Little-endian and immutable; texts in the order asked for, words in any case."""
    base = f"/theodolite/map/{pca.key}"
    answer = reader.get(f"{base}/points").raise_for_status()
    assert "immutable" in answer.headers["cache-control"]
    np.testing.assert_array_equal(np.frombuffer(answer.content, "<f4").reshape(-1, 2), pca.points)
    labels = np.frombuffer(reader.get(f"{base}/column/label").content, "<u2")
    np.testing.assert_array_equal(labels, pca.values["label"])
    assert reader.get(f"{base}/texts?ids=5&ids=0&ids=5").json() == [
        pca.sentences[i] for i in (5, 0, 5)
    ]
    found = reader.get(f"{base}/find", params={"text": "THE SEA"}).content
    expected = [i for i, s in enumerate(pca.sentences) if "the sea" in s.lower()]
    assert np.frombuffer(found, "<u4").tolist() == expected != []


@pytest.mark.parametrize(
    "path",
    [
        f"{'0' * 32}/points",
        "nonsense/points",
        "..%2f..%2fetc/points",
        "KEY/column/points",
        "KEY/column/..%2f..%2fx",
        "KEY/column/nothing",
        "KEY/texts?ids=-1",
        "KEY/texts?ids=999999",
        "KEY/texts?ids=1&ids=x",
        "KEY/texts?ids=",
        "KEY/texts?" + "&".join(["ids=1"] * 201),
        "KEY/point?id=999999",
        "KEY/point",
        "KEY/point?id=1,2",
        "KEY/decode?x=1",
        "KEY/decode?x=1&y=nan",
    ],
)
def test_what_is_not_there_is_404(reader: TestClient, pca: maps.StoredMap, path: str) -> None:
    """Nothing of a request opens a path."""
    assert reader.get(f"/theodolite/map/{path.replace('KEY', pca.key)}").status_code == 404


def test_patterns_are_found_there_and_stopped(
    reader: TestClient, pca: maps.StoredMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `re` finds them; one that would take for ever, and one that is none, in a sentence."""

    def find(pattern: str):
        fields = {"text": pattern, "pattern": "1"}
        return reader.get(f"/theodolite/map/{pca.key}/find", params=fields)

    pattern = r"^who .*\?$"
    expected = [i for i, s in enumerate(pca.sentences) if re.search(pattern, s, re.I)]
    assert np.frombuffer(find(pattern).content, "<u4").tolist() == expected != []
    monkeypatch.setattr("theodolite.engine.search.regex.SECONDS", 1)
    for pattern, said in (("(", "not a regular expression"), ("(.*.*.*)*~", "stopped")):
        answer = find(pattern)
        assert answer.headers["Content-Type"].startswith("text/plain") and said in answer.text


def test_tables_of_given_points(reader: TestClient, hostile: maps.StoredMap) -> None:
    """The text as it is; for spreadsheets, with formulas made harmless."""

    def table(name: str, read) -> pd.DataFrame:
        ids = np.array([2, 0], "<u4").tobytes()
        answer = reader.post(f"/theodolite/map/{hostile.key}/{name}", content=ids)
        return read(io.BytesIO(answer.raise_for_status().content))

    rows = table("table.csv", pd.read_csv)
    assert rows[["id", "sentence"]].values.tolist() == [[2, 'She said "no"'], [0, HOSTILE]]
    np.testing.assert_allclose(rows[["x", "y"]].to_numpy(), hostile.points[[2, 0]], atol=1e-5)
    assert table("spreadsheet.csv", pd.read_csv)["sentence"].tolist()[1] == f"'{HOSTILE}"
    assert table("table.parquet", pd.read_parquet)["sentence"].tolist()[1] == HOSTILE


def test_tables_are_bounded(reader: TestClient, hostile: maps.StoredMap) -> None:
    """Numbers of points that are there, whole ones, and not without end."""
    base = f"/theodolite/map/{hostile.key}/table.csv"
    for content, status in ((b"\x04\0\0\0", 404), (b"123", 404), (bytes(16_000_004), 413)):
        assert reader.post(base, content=content).status_code == status
    assert reader.post(f"{base}?own=a", content=b"\0\0\0\0\1\0\0\0").status_code == 404
    assert reader.get(base).status_code == 405


def test_a_sentence_is_placed_for_visitors(reader: TestClient, hostile: maps.StoredMap) -> None:
    """What goes wrong is a sentence, not a traceback."""
    base = f"/theodolite/map/{hostile.key}/place"
    placed = reader.post(base, content="A boat").raise_for_status().json()
    assert placed["neighbours"][0]["text"] == "A boat, at sea"
    empty = reader.post(base, content="  ")
    assert empty.status_code == 400 and "Traceback" not in empty.text
    assert reader.post(base, content="x" * 8001).status_code == 413


def test_a_selection_becomes_a_data_set_but_not_for_visitors(workspace, reader, hostile) -> None:
    """Labelled where there is a label for each; what does not fit is refused."""
    owner = TestClient(FastAPI(routes=routes(workspace)))
    base = f"/theodolite/map/{hostile.key}/dataset"
    body = {"name": "picked", "ids": [0, 2], "labels": ["odd", "plain"]}
    assert owner.post(base, json=body).json() == {"name": "upload:picked"}
    made = workspace.catalog.load("upload:picked")
    assert (made.sentences, made.labels) == ([HOSTILE, hostile.sentences[2]], ["odd", "plain"])
    for wrong in ({"ids": [4]}, {"ids": [-1]}, {"ids": []}, {"labels": ["odd"]}, {"name": ""}):
        assert owner.post(base, json=body | {"labels": []} | wrong).status_code == 404, wrong
    assert reader.post(base, json=body).status_code == 400
    assert "cannot" in owner.post(base, json=body | {"name": "<b>"}).raise_for_status().text
    workspace.store.uploads.remove("picked")


def test_a_selection_keeps_the_labels_of_the_collection(workspace, pca) -> None:
    """Unless all are the same, which says nothing."""
    labels = maps.table(pca, np.arange(len(pca.points)))["label"]
    alike = np.flatnonzero(labels == labels[0])[:5].tolist()
    different = [*alike, int(np.flatnonzero(labels != labels[0])[0])]
    for name, ids, has in (("alike", alike, False), ("different", different, True)):
        maps.keep(workspace, pca, name, ids, [])
        made = workspace.catalog.load(f"upload:{name}")
        assert getattr(made, "labels", None) == (labels[ids].tolist() if has else None)
        workspace.store.uploads.remove(name)


def test_points_are_seen_while_they_move_and_not_after(workspace, monkeypatch) -> None:
    """Over HTTP, as many as the map has; nothing is left when it is made."""
    monkeypatch.setattr(projection, "_WATCHED_EVERY", 0.0)
    job, seen = MapSpec(ENCODER, "starter-pairs"), []
    browser = TestClient(FastAPI(routes=routes(workspace)))

    def look(share: float = 0.0) -> int:
        answer = browser.get(f"/theodolite/map/{job.key(workspace)}/unfinished")
        if answer.status_code == 200 and len(seen) < 3:
            assert answer.headers["cache-control"] == "no-store"
            seen.append(np.frombuffer(answer.content, "<f4").reshape(-1, 2))
        return answer.status_code

    assert look() == 204
    made = job.make(workspace, look)
    assert look() == 204 and job.is_stored(workspace)
    assert [points.shape for points in seen] == [made.points.shape] * 3
    assert not np.array_equal(seen[0], seen[1])
    assert list(workspace.store.derived.folder.glob("*.tmp")) == []


def test_work_that_is_given_up_leaves_nothing(workspace, monkeypatch) -> None:
    """A run that is cancelled here."""
    monkeypatch.setattr(projection, "_WATCHED_EVERY", 0.0)
    job = MapSpec(ENCODER, "starter-pairs", seed=1)

    def stop(share: float) -> None:
        if workspace.store.derived.unfinished(job.key(workspace)):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.make(workspace, stop)
    assert list(workspace.store.derived.folder.glob("*.tmp")) == []


def test_no_path_is_opened_by_what_is_no_key(workspace) -> None:
    """A key has 32 hexadecimal digits."""
    assert workspace.store.derived.unfinished("../../etc/passwd") is None
