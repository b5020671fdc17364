"""Maps over HTTP: who gets what, as what."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import httpx
import numpy as np
import pandas as pd
import pytest

from tests.app.pages.map.conftest import ENCODER
from tests.fakes.uploads import collection
from theodolite.app import ui
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapJob
from theodolite.app.workspace import Workspace

HOSTILE = "=1+1 <b>bold</b>"


@pytest.fixture(scope="module")
def hostile(workspace: Workspace, tmp_path_factory: pytest.TempPathFactory) -> maps.StoredMap:
    """A small map with a formula and markup in it."""
    lines = [HOSTILE, "A boat, at sea", 'She said "no"', "plain"]
    name = collection(workspace, tmp_path_factory.mktemp("h"), "hostile", lines)
    return MapJob.of(ENCODER, name, method="pca").make(workspace)


@pytest.fixture(scope="module")
def site(workspace: Workspace) -> Iterator[str]:
    """The app, read-only and behind a password."""
    looking = Workspace(workspace.store.folder, read_only=True)
    demo = ui.launch(looking, open_browser=False, auth=("reader", "secret"), block=False)
    yield str(demo.local_url)
    demo.close()
    looking.close()


@pytest.fixture(scope="module")
def reader(site: str) -> Iterator[httpx.Client]:
    """A visitor who is signed in."""
    with httpx.Client(base_url=site, timeout=30) as client:
        client.post("/login", data={"username": "reader", "password": "secret"})
        yield client


PARTS = ["points", "column/length", "texts?ids=0", "texts", "find?text=a", "point?id=0"]


@pytest.mark.parametrize("part", PARTS)
def test_strangers_get_nothing(site: str, pca: maps.StoredMap, part: str) -> None:
    """401 without the login, whether or not there is such a map."""
    for key in (pca.key, "0" * 32):
        assert httpx.get(f"{site}theodolite/map/{key}/{part}").status_code == 401
    for name in ("table.csv", "table.parquet", "place"):
        answer = httpx.post(f"{site}theodolite/map/{pca.key}/{name}", content=b"")
        assert answer.status_code == 401


def test_numbers_and_texts_are_those_of_the_map(reader: httpx.Client, pca: maps.StoredMap) -> None:
    """Little-endian and immutable; texts in the order asked for, words in any case."""
    base = f"/theodolite/map/{pca.key}"
    answer = reader.get(f"{base}/points").raise_for_status()
    assert "immutable" in answer.headers["cache-control"]
    np.testing.assert_array_equal(np.frombuffer(answer.content, "<f4").reshape(-1, 2), pca.points)
    labels = reader.get(f"{base}/column/label").content
    np.testing.assert_array_equal(np.frombuffer(labels, "<u2"), pca.values["label"])
    texts = reader.get(f"{base}/texts?ids=5,0,5").json()
    assert texts == [pca.sentences[i] for i in (5, 0, 5)]
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
        "KEY/texts?ids=1,x",
        "KEY/texts?ids=",
        "KEY/texts?ids=" + ",".join(["1"] * 201),
        "KEY/point?id=999999",
        "KEY/point",
        "KEY/point?id=1,2",
    ],
)
def test_what_is_not_there_is_404(reader: httpx.Client, pca: maps.StoredMap, path: str) -> None:
    """Nothing of a request opens a path."""
    answer = reader.get(f"/theodolite/map/{path.replace('KEY', pca.key)}")
    assert answer.status_code == 404


def test_patterns_are_found_there_and_stopped(
    reader: httpx.Client, pca: maps.StoredMap, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `re` finds them; one that would take for ever, and one that is none, in a sentence."""
    place, fields = f"/theodolite/map/{pca.key}/find", {"text": r"^who .*\?$", "pattern": "1"}
    body = reader.get(place, params=fields).content
    expected = [i for i, s in enumerate(pca.sentences) if re.search(fields["text"], s, re.I)]
    assert np.frombuffer(body, "<u4").tolist() == expected != []
    for pattern, seconds, text in (
        ("(", 30, "not a regular expression"),
        ("(.*.*.*)*~", 1, "stopped"),
    ):
        monkeypatch.setattr("theodolite.engine.search.regex.SECONDS", seconds)
        answer = reader.get(place, params={"text": pattern, "pattern": "1"})
        assert answer.headers["Content-Type"].startswith("text/plain")
        assert text in answer.text


def test_tables_of_given_points(reader: httpx.Client, hostile: maps.StoredMap) -> None:
    """The text as it is; for spreadsheets, with formulas made harmless."""
    ids = np.array([2, 0], "<u4").tobytes()
    base = f"/theodolite/map/{hostile.key}/table"
    text = reader.post(f"{base}.csv", content=ids).raise_for_status().content
    rows = pd.read_csv(io.BytesIO(text))
    assert rows["id"].tolist() == [2, 0]
    assert rows["sentence"].tolist() == ['She said "no"', HOSTILE]
    safe = reader.post(base.replace("/table", "/spreadsheet.csv"), content=ids).raise_for_status()
    assert pd.read_csv(io.BytesIO(safe.content))["sentence"].tolist()[1] == f"'{HOSTILE}"
    np.testing.assert_allclose(rows[["x", "y"]].to_numpy(), hostile.points[[2, 0]], atol=1e-5)
    held = reader.post(f"{base}.parquet", content=ids).raise_for_status().content
    assert pd.read_parquet(io.BytesIO(held))["sentence"].tolist()[1] == HOSTILE


def test_tables_are_bounded(reader: httpx.Client, hostile: maps.StoredMap) -> None:
    """Numbers of points that are there, whole ones, and not without end."""
    base = f"/theodolite/map/{hostile.key}/table.csv"
    assert reader.post(base, content=np.array([4], "<u4").tobytes()).status_code == 404
    assert reader.post(base, content=b"123").status_code == 404
    assert reader.post(base, content=bytes(8_000_004)).status_code == 413
    assert reader.get(base).status_code == 405


def test_a_sentence_is_placed_for_visitors(reader: httpx.Client, hostile: maps.StoredMap) -> None:
    """What goes wrong is a sentence, not a traceback."""
    base = f"/theodolite/map/{hostile.key}/place"
    placed = reader.post(base, content="A boat").raise_for_status().json()
    assert placed["neighbours"][0]["text"] == "A boat, at sea"
    empty = reader.post(base, content="  ")
    assert empty.status_code == 400 and "Traceback" not in empty.text
    assert reader.post(base, content="x" * 8001).status_code == 413
