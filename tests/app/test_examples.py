"""The answers that ship: there, small, of the encoders that ship, and what would be worked out."""

from __future__ import annotations

import numpy as np
import pytest

from app.examples import shipped
from app.pages.geometry import densities
from app.pages.geometry import service as geometry
from app.pages.map import service as maps
from app.pages.map.job import MapJob
from app.pages.spaces.service import SpacesJob
from app.workspace import STARTER_ENCODERS, Workspace


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    """A store in which nothing was done."""
    made = Workspace(tmp_path_factory.mktemp("fresh") / "store")
    yield made
    made.close()


def test_together_they_are_small():
    """Under 5 MB, and there."""
    files = [f for f in shipped.FOLDER.iterdir() if f.suffix in (".json", ".npz")]
    assert 0 < sum(file.stat().st_size for file in files) < 5_000_000


def test_the_map_of_the_starter_set_is_there_before_anything_was_done(fresh):
    """A UMAP with names, trust and neighbours; not for another encoder, method or seed."""
    found = MapJob.of("minilm", "starter-topics").stored(fresh)
    assert found is not None
    assert found.info["method"] == "umap"
    assert found.info["trust"]["k"] == 15
    assert len(found.regions) > 5
    assert found.points.shape == (len(found.sentences), 2)
    assert fresh.store.projections.list() == []
    for other in ({"method": "tsne"}, {"seed": 1}, {"neighbours": 16}):
        assert MapJob.of("minilm", "starter-topics", **other).stored(fresh) is None
    assert MapJob.of("minilm|normalise", "starter-topics").stored(fresh) is None
    assert MapJob.of("wordllama", "starter-topics").stored(fresh) is None


def test_its_neighbours_are_those_of_the_vectors(fresh):
    """Encoded here, a sentence has the shipped ones as its nearest."""
    found = MapJob.of("minilm", "starter-topics").stored(fresh)
    opened = maps.point(fresh, found, 7, 10)
    texts = [found.sentences[7], *(hit["text"] for hit in opened["neighbours"])]
    rows = fresh.load("minilm").encode(texts).astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(rows[1:] @ rows[0], [h["cosine"] for h in opened["neighbours"]], atol=1e-4)


def test_two_spaces_and_the_geometries_are_there_too(fresh):
    """With all that their pages show; for another number of neighbours there is nothing."""
    pair = SpacesJob.of("minilm", "wordllama", "starter-topics").stored(fresh)
    assert pair is not None
    assert pair.report["encoders"] == ["minilm", "wordllama"]
    assert len(pair.report["changed"]) == 50
    assert SpacesJob.of("minilm", "wordllama", "starter-topics", k=11).stored(fresh) is None
    for encoder in STARTER_ENCODERS:
        found = geometry.found(fresh, encoder, "starter-pairs")
        assert found is not None
        assert len(found.cosine) == found.info["n_pairs"]
    assert set(densities.distributions(fresh, STARTER_ENCODERS, "StarterSTS")) == set(
        STARTER_ENCODERS
    )


def test_a_geometry_that_ships_is_the_one_measured_here(fresh):
    """To the last digits that a float32 has."""
    shipped_one = geometry.found(fresh, "wordllama", "starter-pairs")
    taken = geometry.take(fresh.catalog.load("starter-pairs"))
    vectors = fresh.load("wordllama").encode(taken.sentences)
    info, arrays = geometry._measured(taken, vectors, None)
    assert np.allclose(arrays["cosine"], shipped_one.cosine, atol=1e-5)
    for name in ("uniformity", "alignment_over", "isoscore", "hub_skew"):
        assert info[name] == pytest.approx(shipped_one.info[name], rel=1e-3)
