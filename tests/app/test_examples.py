"""The answers that ship: there, small, of the encoders that ship, and what would be worked out."""

import json
import shutil
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from theodolite.app import decoders
from theodolite.app.examples import make, shipped
from theodolite.app.pages.choose import sheet as sheets
from theodolite.app.pages.compare import page as compare_page
from theodolite.app.pages.curate import leaks
from theodolite.app.pages.decode import example as decode
from theodolite.app.pages.decode.answer import DECODE
from theodolite.app.pages.decode.service import STEPS
from theodolite.app.pages.diagnose import answer as diagnosed
from theodolite.app.pages.evaluate.job import welcome
from theodolite.app.pages.evaluate.results import evaluate_one
from theodolite.app.pages.geometry import sections, service as geometry
from theodolite.app.pages.judge import answer as judged
from theodolite.app.pages.map import service as maps
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.search import service as searching
from theodolite.app.pages.search.answer import QUERY, SearchSpec, shipped_hits
from theodolite.app.pages.spaces import upgrade
from theodolite.app.pages.spaces.job import SpacesSpec
from theodolite.app.workspace import STARTER_ENCODERS


def test_the_map_of_the_starter_set_is_there_before_anything_was_done(starter):
    """A UMAP with names, trust and neighbours; not for another encoder, method or seed."""
    found = MapSpec("minilm", "starter-topics").stored(starter)
    assert (found.info["method"], found.info["trust"]["k"]) == ("umap", 15)
    assert len(found.regions) > 5 and found.points.shape == (len(found.sentences), 2)
    assert starter.store.derived.list(maps.KIND) == []
    for encoder, how in (
        ("minilm", {"method": "tsne"}),
        ("minilm", {"seed": 1}),
        ("minilm", {"neighbours": 16}),
        ("minilm|normalise", {}),
        ("wordllama", {}),
    ):
        assert MapSpec(encoder, "starter-topics", **how).stored(starter) is None
    # Encoded here, a sentence has the shipped ones as its nearest.
    opened = maps.point(starter, found, 7, 10)
    texts = [found.sentences[7], *(hit["text"] for hit in opened["neighbours"])]
    rows = starter.load("minilm").encode(texts).astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert np.allclose(rows[1:] @ rows[0], [h["cosine"] for h in opened["neighbours"]], atol=1e-4)


def test_two_spaces_and_the_geometries_are_there_too(starter):
    """With all that their pages show; for another number of neighbours there is nothing."""
    pair = SpacesSpec(("minilm", "wordllama"), "starter-topics").stored(starter)
    assert pair.report["encoders"] == ["minilm", "wordllama"]
    assert len(pair.report["changed"]) == 50
    assert SpacesSpec(("minilm", "wordllama"), "starter-topics", k=11).stored(starter) is None
    known, failures = sections.read(starter, STARTER_ENCODERS, "StarterSTS")
    assert set(known) == set(STARTER_ENCODERS) and not failures


def test_an_upgrade_either_way_is_there_without_its_map(starter):
    """For the number of texts that it was measured with, and for no other."""
    for names, verdict in (
        (("minilm", "wordllama"), "keep"),
        (("wordllama", "minilm"), "re-encode"),
    ):
        spec = upgrade.UpgradeSpec(*names)
        (found,) = upgrade.answer(starter, spec, lambda job: False)
        assert (found.info["verdict"], found.shipped, found.bridge) == (verdict, True, {})
        (other,) = upgrade.answer(starter, replace(spec, texts=9), lambda job: False)
        assert not other.info


@pytest.mark.long
def test_an_upgrade_that_ships_is_the_one_measured_here(starter):
    spec = upgrade.UpgradeSpec("wordllama", "minilm")
    (found,) = upgrade.answer(starter, spec, lambda job: False)
    (measured,) = upgrade.answer(starter, spec, lambda job: True)
    assert [row["recall"] for row in found.rows()] == pytest.approx(
        [row["recall"] for row in measured.rows()], abs=0.2
    )


def test_a_geometry_that_ships_is_the_one_measured_here(starter):
    """To the last digits that a float32 has."""
    shipped_one = geometry.stored(starter, "wordllama", "starter-pairs")
    taken = geometry.take(starter.catalog.load("starter-pairs"))
    info, arrays = geometry._measure(taken, starter.load("wordllama").encode(taken.sentences), None)
    assert np.allclose(arrays["cosine"], shipped_one.cosine, atol=1e-5)
    for name in ("uniformity", "alignment_over", "isoscore", "hub_skew"):
        assert info[name] == pytest.approx(shipped_one.info[name], rel=1e-3)


def test_the_query_of_search_is_answered_by_each_encoder_that_ships(starter):
    """As the search itself answers it; nothing for another question, encoder or collection."""
    usual = SearchSpec((QUERY,), encoders=STARTER_ENCODERS)
    found = shipped_hits(starter, usual)
    assert list(found) == list(STARTER_ENCODERS)
    hits = searching.nearest(starter, "random:256", usual.data, [QUERY], searching.Limits(10))
    assert [hit.sentence for hit in found["random:256"][0]] == [hit.sentence for hit in hits[0]]
    for other in (
        replace(usual, k=3),
        replace(usual, queries=("rain",)),
        replace(usual, data="starter-pairs"),
        replace(usual, encoders=("random:64",)),
    ):
        assert shipped_hits(starter, other) == {}


def test_what_ships_of_the_decoders_is_of_these_decoders(starter):
    """If this fails, run `python -m theodolite.app.examples.make decoded`."""
    sentence, walk = decode.SENTENCES, decode.WALK
    known = decode.results(starter, sentence)
    assert set(known) == set(STARTER_ENCODERS)
    spec = replace(sentence, encoders=("random:256",))
    (said,) = DECODE.last(starter, spec, lambda job: False).every
    shown = known["random:256"]
    assert (shown.sentence, shown.words, shown.given) == (said.sentence, said.words, said.given)
    assert decode.results(starter, replace(sentence, sentences=("A cat.",))) == {}
    assert decode.results(starter, replace(sentence, method="greedy")) == {}
    assert decode.steps(starter, replace(walk, encoder="wordllama")) == []
    found = decode.results(starter, decode.EXPRESSION)
    assert set(found) == set(STARTER_ENCODERS)
    assert found["minilm"].sentence == decode.PRESET.answer
    assert len(decode.steps(starter, walk)) == STEPS


def test_a_decoder_of_ones_own_takes_the_place_of_an_example(starter, tmp_path):
    """The newest decoder of an encoder is the one that is asked."""
    folder = tmp_path / "mine"
    shutil.copytree(decoders.decoder_of(starter, "random:256").folder, folder)
    facts = json.loads((folder / decoders.FACTS).read_text("utf-8"))
    (folder / decoders.FACTS).write_text(json.dumps(facts | {"loss": 1.0}), encoding="utf-8")
    name = decoders.register(starter, folder).name
    spec = replace(decode.SENTENCES, encoders=["random:256"])
    assert decode.results(starter, spec) == {}
    starter.store.decoders.remove(name)
    assert decode.results(starter, spec) != {}


def test_the_session_the_sheet_and_the_leaks_are_of_these_encoders(starter):
    """Of what the pages begin with, and of no named machine; leaks without texts."""
    board = judged.judgement(starter, "", names=True).board
    (pair,) = board["pairs"]
    assert pair["verdict"] == "minilm" and len(pair["path"]) == board["marks"] + 1
    sheet = shipped.read(starter, sheets.KIND, make.COLLECTION)
    assert sheet is not None and sheet["data"] == make.COLLECTION
    assert [row["encoder"] for row in sheet["encoders"]] == list(STARTER_ENCODERS[::-1])
    assert sheet["best"]["encoder"] == "minilm" and sheet["cheapest"]["dtype"] == "int8"
    assert sheet["machine"] == "the machine it was made on"
    first, *_ = leaks.example(starter, leaks.EXAMPLE)
    assert first.share > 0.2 and first.trained_on == leaks.EXAMPLE_SET and first.examples == ()
    assert leaks.example(starter, "wordllama") == []


def test_the_diagnosis_is_of_the_decoder_that_ships(starter):
    """If this fails, run `python -m theodolite.app.examples.make`."""
    found = diagnosed.example(starter, diagnosed.EXAMPLE_ENCODER)
    assert (found.encoder, found.decoder["architecture"]) == ("minilm", "prefix")
    assert max(row.n for row in found.rows) == make.SENTENCES
    sentences, _ = starter.catalog.sentences(diagnosed.EXAMPLE_TEXT)
    assert {one.sentence for one in found.samples} <= set(sentences)


def compared(workspace, *encoders):
    """What Compare shows."""
    usual = {"protocol": "", "tasks": [], "published": []}
    wanted = SimpleNamespace(encoder=list(encoders), baseline=encoders[0], **usual)
    *_, (blocks, _) = compare_page._blocks(workspace, wanted)
    return str(blocks)


def test_results_ship_and_give_way_to_those_measured_here(workspace):
    """In Compare until each of its encoders is measured, and never in the store or its verbs."""
    assert welcome(workspace)
    shown = compared(workspace, "random:256", "wordllama")
    assert "shipped=True" in shown and "StarterSearch" in shown
    assert workspace.store.results.table() == []
    evaluate_one(workspace, "random:256", "StarterSTS")
    assert "shipped=True" in compared(workspace, "random:256", "wordllama")
    evaluate_one(workspace, "wordllama", "StarterSTS")
    mine = compared(workspace, "random:256", "wordllama")
    assert "shipped=True" not in mine and "StarterSearch" not in mine
    assert "being computed" in compared(workspace, "random:64", "random:32")


def test_a_result_that_ships_is_the_one_measured_here(starter):
    """If this fails, run `python -m theodolite.app.examples.make`."""
    kept = shipped.scores(starter, [*STARTER_ENCODERS, "random:64"])
    assert len(kept) == 9 and {name for name, _ in kept} == set(STARTER_ENCODERS)
    assert len(starter.shipped.store.results.table()) == 9
    row = evaluate_one(starter, "random:256", "StarterSTS")
    assert kept["random:256", "StarterSTS"] == pytest.approx(row["score"], abs=1e-4)
    starter.store.results.remove([row["id"]])
