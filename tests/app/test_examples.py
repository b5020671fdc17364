"""The answers that ship: there, small, of the encoders that ship, and what would be worked out."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pytest

from app import decoders
from app.examples import shipped
from app.pages.curate import service as curation
from app.pages.curate.page import CONTROLS as CURATED
from app.pages.decode import example as decode
from app.pages.decode import service as decoding
from app.pages.decode.service import DEFAULTS, STEPS, DecodeOptions
from app.pages.diagnose import example as diagnosed
from app.pages.geometry import densities
from app.pages.geometry import service as geometry
from app.pages.map import service as maps
from app.pages.map.job import MapJob
from app.pages.search import example as search
from app.pages.search import service as searching
from app.pages.spaces.service import SpacesJob
from app.pages.trainings import example as trainings
from app.pages.trainings.service import table
from app.workspace import STARTER_ENCODERS, Workspace

WAY = (decode.WALKED, decode.ENDS, STEPS, "linear", decode.COLLECTION)


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


def test_the_query_of_search_is_answered_by_each_encoder_that_ships(fresh):
    """As the search itself answers it; nothing for another question, encoder or collection."""
    usual = searching.spec([search.QUERY], encoders=STARTER_ENCODERS)
    found = search.known(fresh, usual)
    assert list(found) == list(STARTER_ENCODERS)
    asked = searching.nearest(fresh, "random:256", usual.collection, [search.QUERY], usual.k)
    assert [hit.sentence for hit in found["random:256"][0]] == [hit.sentence for hit in asked[0]]
    for other in (replace(usual, k=3), replace(usual, queries=("rain",)),
                  replace(usual, collection="starter-pairs"),
                  replace(usual, encoders=("random:64",))):  # fmt: skip
        assert search.known(fresh, other) == {}


def test_what_ships_of_the_decoders_is_of_these_decoders(fresh):
    """If this fails, run `python -m app.examples.make decode interpolate arithmetic`."""
    assert set(decode.decoded(fresh, STARTER_ENCODERS, decode.SENTENCE, DEFAULTS)) == {
        *STARTER_ENCODERS
    }
    lines = decode.ANALOGY.lines
    found = decode.calculated(fresh, STARTER_ENCODERS, "a - b + c", lines, DEFAULTS)
    assert set(found) == {*STARTER_ENCODERS}
    assert found["minilm"].sentence == decode.ANALOGY.answer
    assert len(decode.interpolated(fresh, *WAY, DEFAULTS)) == STEPS


def test_nothing_ships_for_another_question_or_way_of_decoding(fresh):
    """Neither is it shown where the encoder has another decoder by now."""
    names = STARTER_ENCODERS
    assert decode.decoded(fresh, names, "A cat.", DEFAULTS) == {}
    assert decode.decoded(fresh, names, decode.SENTENCE, DecodeOptions("greedy")) == {}
    assert decode.decoded(fresh, ["random:64"], decode.SENTENCE, DEFAULTS) == {}
    assert decode.interpolated(fresh, "wordllama", *WAY[1:], DEFAULTS) == []


def test_a_decoder_of_ones_own_takes_the_place_of_an_example(fresh, tmp_path):
    """The newest decoder of an encoder is the one that is asked."""
    folder = tmp_path / "mine"
    shutil.copytree(decoders.decoder_of(fresh, "random:256").folder, folder)
    facts = json.loads((folder / decoders.FACTS).read_text("utf-8"))
    (folder / decoders.FACTS).write_text(json.dumps(facts | {"loss": 1.0}), encoding="utf-8")
    name = decoders.register(fresh, folder).name
    assert decode.decoded(fresh, ["random:256"], decode.SENTENCE, DEFAULTS) == {}
    fresh.store.decoders.remove(name)
    assert decode.decoded(fresh, ["random:256"], decode.SENTENCE, DEFAULTS) != {}


@pytest.mark.slow
def test_the_decoded_example_is_what_the_decoder_says(fresh):
    """Of the encoder that needs no model."""
    known = decode.decoded(fresh, ["random:256"], decode.SENTENCE, DEFAULTS)["random:256"]
    (said,) = decoding.decode(fresh, ["random:256"], decode.SENTENCE)
    assert (known.sentence, known.words, known.given) == (said.sentence, said.words, said.given)


def test_the_training_learned(fresh):
    """A real run that ended, with its curves; in no list."""
    run, learned = trainings.read()
    assert (run.state, run.encoder, run.step) == ("done", None, run.steps)
    assert run.score == max(one["score"] for one in learned.evals) > learned.evals[0]["score"] + 10
    assert learned.steps[-1]["loss"] < learned.steps[0]["loss"]
    assert table(fresh) == []


@pytest.mark.slow
def test_the_curation_is_what_the_page_asks_first(fresh):
    """The same sentences as worked out anew; nothing of it lies in the store."""
    first = next(control for control in CURATED if control.name == "check").default
    asked = curation.spec(first, "starter-topics", encoder="minilm")
    shown = curation.found(fresh, asked)
    assert shown is not None
    assert curation.found(fresh, replace(asked, many=50)) is None
    info, arrays = curation.checks.WORK[asked.check](fresh, asked, None)
    assert shown.info["n"] == info["n"]
    np.testing.assert_array_equal(shown.ids, arrays["ids"])
    np.testing.assert_allclose(shown.columns["cosine"], arrays["cosine"], atol=1e-5)


def test_the_diagnosis_is_of_the_decoder_that_ships(fresh):
    """If this fails, run `python -m app.examples.make diagnose`."""
    found = diagnosed.read(fresh)
    assert found is not None
    assert (found.encoder, found.decoder["architecture"]) == (diagnosed.ENCODER, "prefix")
    assert max(row.n for row in found.rows) == diagnosed.SENTENCES
    assert set(one.sentence for one in found.samples) <= set(
        fresh.catalog.sentences(diagnosed.TEXT)[0]
    )
