"""What decoders say of a sentence, a way, an expression and a place of a map."""

from __future__ import annotations

import inspect
import json
from dataclasses import astuple

import numpy as np
import pytest
from scipy.spatial import geometric_slerp
from scipy.spatial.distance import cosine as cosine_distance

from tests.errors import refused
from tests.fakes.decoders import known_sentences
from theodolite.app import decoders
from theodolite.app.pages.decode import analogies, command, form, views
from theodolite.app.pages.decode import service as decode
from theodolite.app.pages.decode.service import DecodeOptions, NoDecoder
from theodolite.app.pages.map import decoding as map_decoding
from theodolite.app.pages.map import job as map_job
from theodolite.app.pages.map import service as maps
from theodolite.app.workspace import Workspace
from theodolite.engine.decoding.differing import differing
from theodolite.engine.errors import UserError

ENCODER = "random:64"
WITHOUT = "random:32"


@pytest.fixture(scope="module")
def workspace(decoding: Workspace) -> Workspace:
    """A store with one decoder."""
    return decoding


@pytest.fixture(scope="module")
def known(workspace: Workspace) -> list[str]:
    """Sentences that the decoder gives back word for word."""
    sentences = known_sentences()
    found = [
        decode.decode(workspace, [ENCODER], text, DecodeOptions("greedy"))[0] for text in sentences
    ]
    kept = [text for text, line in zip(sentences, found, strict=True) if line.sentence == text]
    assert len(kept) > 30
    return kept


def vectors(workspace: Workspace, *sentences: str) -> np.ndarray:
    """Of the encoder, in float64."""
    return workspace.load(ENCODER).encode(list(sentences)).astype(float)


# A sentence -------------------------------------------------------------------------------


def test_a_sentence_that_is_known_comes_back_whole(workspace, known):
    """Every word is kept, the cosine of the round trip is 1."""
    (longer,) = decode.decode(workspace, [ENCODER], " ".join(known[:3]))
    words = len(" ".join(known[:3]).split())
    assert (longer.known, longer.longer, longer.given) == (7, True, words)
    (decoded,) = decode.decode(workspace, [ENCODER], f"  {known[0]}\n")
    assert decoded.sentence == known[0]
    assert decoded.cosine == pytest.approx(1, abs=1e-6)
    assert {word.fate for word in decoded.words} == {"kept"}
    assert not decoded.longer
    assert decoded.problem is None


def test_the_cosine_is_that_of_the_vectors(workspace):
    """Of what was decoded to the vector of the sentence given, by SciPy; others are no nearer."""
    text = "Never point your finger at the moon!"
    (decoded,) = decode.decode(workspace, [ENCODER], text, DecodeOptions(beams=4))
    given, came = vectors(workspace, text, decoded.sentence)
    assert decoded.cosine == pytest.approx(1 - cosine_distance(given, came), abs=1e-5)
    assert 1 <= len(decoded.others) <= 3
    assert decoded.sentence not in [other.sentence for other in decoded.others]
    assert [decoded.cosine, *(o.cosine for o in decoded.others)] == sorted(
        [decoded.cosine, *(o.cosine for o in decoded.others)], reverse=True
    )


def test_one_encoder_without_a_decoder_leaves_the_others_standing(workspace, known):
    """Each has its own answer or problem, in the order asked for."""
    found = decode.decode(workspace, [WITHOUT, ENCODER, "no such thing:1"], known[0])
    assert [text.encoder for text in found] == [WITHOUT, ENCODER, "no such thing:1"]
    assert isinstance(found[0].problem, NoDecoder)
    assert found[1].sentence == known[0]
    assert isinstance(found[2].problem, UserError)
    assert not isinstance(found[2].problem, NoDecoder)


@pytest.mark.parametrize(
    ("sentence", "code"), [("", "missing"), ("  \n ", "missing"), ("word " * 500, "too-large")]
)
def test_an_empty_or_endless_sentence_is_refused(workspace, sentence, code):
    """Before any model is loaded."""
    with refused(code):
        decode.decode(workspace, [ENCODER], sentence)


@pytest.mark.parametrize(
    "how",
    [
        {"method": "magic"},
        {"beams": 0},
        {"beams": 1000},
        {"temperature": 0.0},
        {"top_p": 0.0},
        {"top_p": 1.5},
        {"rounds": -1},
        {"rounds": 100},
        {"temperature": float("nan")},
    ],
)
def test_what_cannot_be_decoded_by_is_refused(how):
    """Each option has its limits."""
    with pytest.raises(UserError):
        DecodeOptions(**how)


def test_half_a_character_is_no_trouble(workspace):
    """A lone surrogate can come with an address; it cannot be encoded."""
    (decoded,) = decode.decode(workspace, [ENCODER], "a \ud800 dog")
    assert decoded.problem is None
    decoded.sentence.encode()


# Words ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("before", "after", "fates"),
    [
        ("a b c", "a b c", "kept kept kept"),
        ("a b c", "a c", "kept lost kept"),
        ("a c", "a b c", "kept new kept"),
        ("a b", "b a", "moved kept|kept moved"),
        ("a, b.", "a b.", "kept lost kept kept"),
        ("Paris", "paris", "lost new"),
        ("a", "", "lost"),
        ("", "a", "new"),
    ],
)
def test_words_are_kept_moved_lost_or_new(before, after, fates):
    """Each once, at its place."""
    assert " ".join(word.fate for word in differing(before, after)) in fates.split("|")


# A way ------------------------------------------------------------------------------------


@pytest.mark.parametrize("spherical", [False, True])
def test_a_way_leads_from_one_sentence_to_the_other(workspace, known, spherical):
    """The ends are the sentences; the points between are those of SciPy and NumPy."""
    first, second = known[0], known[1]
    steps = decode.interpolate(workspace, ENCODER, first, second, 5, spherical=spherical)
    assert [step.share for step in steps] == [0, 0.25, 0.5, 0.75, 1]
    assert (steps[0].result.sentence, steps[-1].result.sentence) == (first, second)
    a, b = vectors(workspace, first, second)
    if spherical:
        points = geometric_slerp(a / np.linalg.norm(a), b / np.linalg.norm(b), np.linspace(0, 1, 5))
    else:
        points = np.array([a + share * (b - a) for share in np.linspace(0, 1, 5)])
    for step, point in zip(steps, points, strict=True):
        assert step.point_first == pytest.approx(1 - cosine_distance(point, a), abs=1e-5)
        assert step.point_second == pytest.approx(1 - cosine_distance(point, b), abs=1e-5)
        (came,) = vectors(workspace, step.result.sentence)
        assert step.to_first == pytest.approx(1 - cosine_distance(came, a), abs=1e-5)
        assert step.to_second == pytest.approx(1 - cosine_distance(came, b), abs=1e-5)


def test_beneath_each_step_stand_the_nearest_real_sentences(workspace, known):
    """As NumPy finds them among all of the collection."""
    steps = decode.interpolate(
        workspace, ENCODER, known[0], known[1], 3, collection="starter-topics", near=2
    )
    sentences, _ = workspace.catalog.sentences("starter-topics")
    rows = vectors(workspace, *sentences)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    a, b = vectors(workspace, known[0], known[1])
    for step, point in zip(steps, (a, (a + b) / 2, b), strict=True):
        cosines = rows @ (point / np.linalg.norm(point))
        best = np.sort(cosines)[::-1][:2]
        assert [hit.cosine for hit in step.near] == pytest.approx(best.tolist(), abs=1e-5)
        assert step.near[0].sentence == sentences[int(cosines.argmax())]


def test_a_way_that_cannot_be_is_refused(workspace):
    """Too few steps, an empty end, no decoder."""
    with refused("invalid", "1 steps"):
        decode.interpolate(workspace, ENCODER, "a", "b", 1)
    with refused("missing", "second sentence"):
        decode.interpolate(workspace, ENCODER, "a", " ")
    with refused("no-result", WITHOUT):
        decode.interpolate(workspace, WITHOUT, "a", "b")


# An expression ----------------------------------------------------------------------------


def test_an_expression_is_worked_out_before_it_is_decoded(workspace, known):
    """What is taken away and added again leaves the sentence; so does half of it twice."""
    named = dict(zip("abc", known, strict=False))
    for expression in ("a - b + b", "(a + a) / 2"):
        (decoded,) = decode.calculate(workspace, [ENCODER], expression, named)
        assert decoded.sentence == known[0], expression
        assert decoded.cosine == pytest.approx(1, abs=1e-5)
    (decoded,) = decode.calculate(workspace, [ENCODER], "a - b + c", named)
    a, b, c = vectors(workspace, *known[:3])
    (came,) = vectors(workspace, decoded.sentence)
    assert decoded.cosine == pytest.approx(1 - cosine_distance(came, a - b + c), abs=1e-5)


@pytest.mark.parametrize(
    ("expression", "code", "named"), [("a - q", "damaged", "'q'"), ("1 + 1", "invalid", "1 + 1")]
)
def test_an_expression_that_cannot_be_read_is_refused_at_once(workspace, expression, code, named):
    """Whatever the encoders: it is wrong for all of them."""
    with refused(code, named):
        decode.calculate(workspace, [WITHOUT], expression, {"a": "one", "b": "two"})


def test_two_hundred_sentences_can_be_named(workspace):
    """And one more is too many."""
    lines = "\n".join(f"s{i} = Sentence number {i}." for i in range(200))
    named = analogies.named(lines)
    (decoded,) = decode.calculate(workspace, [ENCODER], " + ".join(named), named)
    assert decoded.cosine is not None
    with refused("too-large", 200):
        analogies.named(f"{lines}\nt = One more.")


def test_names_are_read_line_by_line():
    """With an equals sign or a colon; the sentence may hold either."""
    text = "a = He said: no = no.\n\n  b2: It is 5 = 5.  \n"
    assert analogies.named(text) == {"a": "He said: no = no.", "b2": "It is 5 = 5."}


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("", "missing", ""),
        ("a = x\nhello there", "damaged", "Line 2"),
        ("a =", "missing", "Line 1"),
        ("a = x\na = y", "conflict", "Line 2"),
        ("2 = x", "damaged", "Line 1"),
    ],
)
def test_a_line_that_names_nothing_is_told(text, code, named):
    with refused(code, named):
        analogies.named(text)


def test_every_preset_can_be_worked_out(workspace):
    """Two of the paper, and at least a dozen analogies of ours with what a person might say."""
    for preset in analogies.PRESETS:
        named = analogies.named(preset.lines)
        assert tuple(named.values()) == preset.sentences
        (decoded,) = decode.calculate(
            workspace, [ENCODER], preset.expression, named, DecodeOptions("greedy")
        )
        assert decoded.problem is None
    ours = [one for one in analogies.PRESETS if one.expression == analogies.ANALOGY][2:]
    assert len(ours) >= 12
    assert all(one.answer for one in ours)


# A place of a map -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pca(workspace: Workspace) -> maps.StoredMap:
    """The principal components of the starter topics."""
    return map_job.quick(workspace, ENCODER, "starter-topics")


def test_a_place_on_a_point_is_its_sentence(workspace, pca, known):
    """Its vector alone counts."""
    number = pca.sentences.index(known[0])
    x, y = map(float, pca.points[number])
    found = map_decoding.decoded(workspace, pca, x, y)
    assert found["sentence"] == known[0]
    assert found["cosine"] == pytest.approx(1, abs=1e-5)
    assert [one["id"] for one in found["neighbours"]] == [number]


def test_a_place_is_the_mean_of_the_nearest_weighted_by_distance(workspace, pca):
    """Inverse squares, worked out from the plane; the cosine is to that mean."""
    x, y = 0.05, -0.02
    found = map_decoding.decoded(workspace, pca, x, y)
    away = np.hypot(pca.points[:, 0] - x, pca.points[:, 1] - y)
    near = np.argsort(away)[:8]
    weights = away[near] ** -2.0 / (away[near] ** -2.0).sum()
    assert [one["id"] for one in found["neighbours"]] == near.tolist()
    assert [one["weight"] for one in found["neighbours"]] == pytest.approx(weights, rel=1e-3)
    mean = weights @ vectors(workspace, *(pca.sentences[i] for i in near))
    (came,) = vectors(workspace, found["sentence"])
    assert found["cosine"] == pytest.approx(1 - cosine_distance(came, mean), abs=1e-4)


def test_points_on_one_place_share_it():
    """Nothing is divided by zero."""
    points = np.array([[0, 0], [0, 0], [1, 0], [1e-20, 0]])
    ids, weights = map_decoding.weighted(points, 0, 0, 3)
    assert sorted(ids.tolist()[:2]) == [0, 1]
    assert weights.tolist()[:2] == [0.5, 0.5]


def test_a_map_without_a_decoder_says_so(workspace):
    """Calmly: there is nothing wrong with the place."""
    other = map_job.quick(workspace, WITHOUT, "starter-topics")
    found = map_decoding.decoded(workspace, other, 0, 0)
    assert found.pop("time")
    assert found == {"x": 0, "y": 0, "lacking": WITHOUT}


def test_a_decoder_that_cannot_be_read_is_told_of(workspace, pca, tmp_path):
    """Its newest one is damaged: in words, not as a fault of the map."""
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    facts = {
        "encoder": ENCODER,
        "dim": 64,
        "architecture": "prefix",
        "fingerprint": workspace.load(ENCODER).fingerprint,
    }
    (damaged / "decoder.json").write_text(json.dumps(facts), "utf-8")
    decoders.register(workspace, damaged)
    try:
        found = map_decoding.decoded(workspace, pca, 0, 0)
    finally:
        (damaged / "decoder.json").unlink()
    assert "damaged" in found["failure"]
    assert found["hint"]


# Page and verb ----------------------------------------------------------------------------


@pytest.mark.parametrize("verb", [command.decode, command.interpolate, command.analogy])
def test_page_and_verb_have_the_same_defaults(verb):
    """Those of `DecodeOptions`; of an interpolation its steps and real sentences too."""
    given = {name: one.default for name, one in inspect.signature(verb).parameters.items()}
    names = ("method", "beams", "temperature", "top_p", "seed", "corrections", "known_words")
    assert tuple(given[name] for name in names) == astuple(decode.DEFAULTS)
    assert {option.name: option.default for option in form.OPTIONS} == vars(decode.DEFAULTS)
    assert given.get("steps", decode.STEPS) == decode.STEPS
    assert given.get("near", decode.NEAR) == decode.NEAR


# An offer ---------------------------------------------------------------------------------


def test_an_encoder_without_a_decoder_is_offered_one(workspace):
    """With about how long that takes and the encoder filled in; visitors get no such link."""
    offer = views.no_decoder(workspace, WITHOUT)
    assert "./train-decoder?encoder=random%3A32" in offer
    assert "about" in offer or "seconds" in offer
    workspace.read_only = True
    try:
        assert "train-decoder" not in views.no_decoder(workspace, WITHOUT)
    finally:
        workspace.read_only = False
