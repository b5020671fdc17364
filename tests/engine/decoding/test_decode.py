"""Decoding as a whole: vectors in, sentences out; ranked, corrected, or refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import geometric_slerp
from scipy.spatial.distance import cosine as cosine_distance

from tests.fakes.decoders import LONGEST, known_sentences
from tests.fakes.encoders import HashEncoder
from theodolite.engine.datasets import Catalog
from theodolite.engine.decode import Decoder, interpolate, open_decoder
from theodolite.engine.decoding.shipped import shipped
from theodolite.engine.encoders import load
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError


@pytest.fixture(scope="module")
def points(encoder: Encoder) -> np.ndarray:
    """Six of its sentences, pushed off their places."""
    vectors = encoder.encode(known_sentences()[:6])
    rng = np.random.default_rng(4)
    return (vectors + 0.15 * rng.normal(size=vectors.shape)).astype(np.float32)


def near(encoder: Encoder, sentence: str, point: np.ndarray) -> float:
    """Cosine by scipy."""
    return 1.0 - float(cosine_distance(encoder.encode([sentence])[0], point))


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_what_it_learned_comes_back(decoder: Decoder, encoder: Encoder, method: str) -> None:
    """Most of the sentences it was trained on, by every method."""
    sentences = known_sentences()[:20]
    found = decoder.decode(encoder.encode(sentences), method=method, temperature=0.5)
    assert sum(a.sentence == b for a, b in zip(found, sentences, strict=True)) >= 14
    assert not any(one.cut for one in found)
    assert all(one.cosine is None for one in found)


def test_the_references_search_stops_early(decoder: Decoder, encoder: Encoder) -> None:
    """Its highest mean is often a mere beginning, whose last piece is then badly chosen."""
    sentences = known_sentences()[:5]
    found = decoder.decode(encoder.encode(sentences), method="vec2sent-ref")
    for one, sentence in zip(found, sentences, strict=True):
        assert one.sentence.split()[:2] == sentence.split()[:2]
        assert 0 < one.score < 1
        assert any(sentence.startswith(other.sentence) for other in (one, *one.others))


@pytest.mark.parametrize("method", ["beam", "sample"])
def test_candidates_are_ranked_by_cosine(
    decoder: Decoder, encoder: Encoder, points: np.ndarray, method: str
) -> None:
    """Each is given once, with the cosine of its own vector to the point, the nearest first."""
    found = decoder.decode(points, encoder=encoder, method=method, beams=6, temperature=1.5)
    assert any(one.others for one in found)
    for point, one in zip(points, found, strict=True):
        ranked = [one, *one.others]
        cosines = [each.cosine for each in ranked]
        assert cosines == sorted(cosines, reverse=True)
        assert cosines == pytest.approx(
            [near(encoder, c.sentence, point) for c in ranked], abs=1e-6
        )
        assert len({c.sentence for c in ranked}) == len(ranked) <= 6


def test_without_an_encoder_the_likeliest_is_first(decoder: Decoder, points: np.ndarray) -> None:
    """By score; a beam's first candidate is the same with more of them, or better."""
    for one in decoder.decode(points, beams=6):
        scores = [c.score for c in (one, *one.others)]
        assert scores == sorted(scores, reverse=True)


def test_a_seed_decides_what_is_drawn(decoder: Decoder, points: np.ndarray) -> None:
    """Equal for one seed, and not for another."""

    def drawn(seed: int) -> list[str]:
        found = decoder.decode(points, method="sample", temperature=3, top_p=1, seed=seed)
        return [one.sentence for one in found]

    assert drawn(1) == drawn(1) != drawn(2)


def test_one_point_is_as_good_as_many(decoder: Decoder, points: np.ndarray) -> None:
    """More than one batch, and each by itself."""
    many = np.repeat(points, 12, 0)
    alone = [decoder.decode(point[None], method="greedy")[0].sentence for point in points]
    found = [one.sentence for one in decoder.decode(many, method="greedy")]
    assert found == [sentence for sentence in alone for _ in range(12)]


@pytest.mark.parametrize("step", [0.5, 1.0])
def test_correction_keeps_the_best_by_cosine(
    decoder: Decoder, encoder: Encoder, points: np.ndarray, step: float
) -> None:
    """Never farther than without, nearer somewhere, and each round keeps what the last one had."""
    before = [one.cosine for one in decoder.decode(points, encoder=encoder, method="greedy")]
    for rounds in (1, 4):
        found = decoder.correct(points, encoder, rounds=rounds, step=step, method="greedy")
        after = [one.cosine for one in found]
        assert all(new >= old for new, old in zip(after, before, strict=True))
        assert after == pytest.approx(
            [near(encoder, d.sentence, p) for d, p in zip(found, points, strict=True)], abs=1e-6
        )
        before = after


def test_correction_goes_where_it_must(decoder: Decoder, encoder: Encoder) -> None:
    """By hand: each query is the one before and half of what the last decoding missed."""
    seen: list[np.ndarray] = []

    class Watched(Decoder):
        def decode(self, vectors: np.ndarray, **how: object) -> list:
            seen.append(vectors)
            return super().decode(vectors, **how)

    watched = Watched(decoder.model, decoder.vocabulary, decoder.facts)
    target = encoder.encode([known_sentences()[0]]) + 0.4
    found = watched.correct(target, encoder, rounds=2, step=0.5, method="greedy")
    first = encoder.encode([decoder.decode(seen[0], method="greedy")[0].sentence])
    second = encoder.encode([decoder.decode(seen[1], method="greedy")[0].sentence])
    assert np.allclose(seen[0], target)
    assert np.allclose(seen[1], target + 0.5 * (target - first), atol=1e-5)
    assert np.allclose(seen[2], seen[1] + 0.5 * (target - second), atol=1e-5)
    tried = [decoder.decode(a, method="greedy")[0].sentence for a in seen]
    assert found[0].cosine == pytest.approx(max(near(encoder, s, target[0]) for s in tried))


def test_what_came_back_whole_is_not_corrected(decoder: Decoder, encoder: Encoder) -> None:
    """Beside another vector, which alone is decoded again."""
    asked: list[int] = []

    class Counted(Decoder):
        def decode(self, vectors: np.ndarray, **how: object) -> list:
            asked.append(len(vectors))
            return super().decode(vectors, **how)

    vectors = encoder.encode(known_sentences()[:20])
    found = decoder.decode(vectors, encoder=encoder)
    whole = next(row for row, one in enumerate(found) if one.sentence == known_sentences()[row])
    given = np.stack([vectors[whole], vectors[whole] + 0.4])
    counted = Counted(decoder.model, decoder.vocabulary, decoder.facts)
    corrected = counted.correct(given, encoder, rounds=2)
    assert asked == [2, 1, 1]
    assert corrected[0].sentence == known_sentences()[whole]


def test_no_correction_is_a_decoding(
    decoder: Decoder, encoder: Encoder, points: np.ndarray
) -> None:
    """Candidates and all; the search of the reference code has none at all."""
    assert decoder.correct(points, encoder, rounds=0) == decoder.decode(points, encoder=encoder)
    reference = {"method": "vec2sent-ref"}
    plain = decoder.decode(points, encoder=encoder, **reference)
    assert decoder.correct(points, encoder, rounds=3, **reference) == plain


def test_a_sentence_longer_than_the_decoder_knows_is_flagged(
    decoder: Decoder, encoder: Encoder
) -> None:
    """It was trained on seven words at most: what it says of more is cut, though it ends."""
    short, longer = known_sentences()[0], "and " * LONGEST + "then some"
    (found,) = decoder.decode(encoder.encode([short]), method="greedy")
    assert not found.cut
    assert not decoder.too_long(short)
    assert decoder.too_long(longer)
    assert not decoder.too_long("one " * LONGEST)


def test_what_goes_on_at_the_greatest_length_is_flagged(decoder: Decoder) -> None:
    """A decoder with room for three pieces."""
    short = Decoder(decoder.model, decoder.vocabulary, decoder.facts)
    positions = decoder.model.positions
    try:
        decoder.model.positions = 4
        vectors = load("random:64").encode(known_sentences()[:5])
        for method in ("greedy", "beam"):
            assert all(one.cut for one in short.decode(vectors, method=method))
    finally:
        decoder.model.positions = positions


def test_nothing_gives_nothing(decoder: Decoder, encoder: Encoder) -> None:
    """No points."""
    assert decoder.decode(np.empty((0, 64)), encoder=encoder) == []


@pytest.mark.parametrize(
    ("vectors", "how", "said"),
    [
        (np.ones((2, 63)), {}, "shape (2, 63)"),
        (np.ones(64), {}, "shape (64,)"),
        (np.full((1, 64), np.nan), {}, "NaN or infinity"),
        (np.full((1, 64), np.inf), {}, "NaN or infinity"),
        (np.ones((1, 64)), {"method": "guess"}, "no method 'guess'"),
        (np.ones((1, 64)), {"beams": 0}, "0 beams"),
        (np.ones((1, 64)), {"beams": 51}, "51 beams"),
        (np.ones((1, 64)), {"method": "sample", "temperature": 0}, "temperature 0"),
        (np.ones((1, 64)), {"method": "sample", "temperature": np.nan}, "temperature nan"),
        (np.ones((1, 64)), {"method": "sample", "top_p": 0}, "share of 0"),
        (np.ones((1, 64)), {"encoder": HashEncoder(16)}, "fake:hash has 16 dimensions"),
    ],
)
def test_what_cannot_be_decoded_is_refused(
    decoder: Decoder, vectors: np.ndarray, how: dict, said: str
) -> None:
    """With what was given, and what would do."""
    with pytest.raises(UserError, match=re.escape(said)):
        decoder.decode(vectors, **how)


def test_what_cannot_be_corrected_is_refused(decoder: Decoder, encoder: Encoder) -> None:
    """Rounds and steps that cannot be."""
    vectors = np.ones((1, 64))
    for how in ({"rounds": -1}, {"rounds": 51}, {"step": 0}, {"step": 3}):
        with pytest.raises(UserError, match="corrections"):
            decoder.correct(vectors, encoder, **how)


def test_a_fingerprint_is_of_all_that_decides(decoder: Decoder, decoder_folder: Path) -> None:
    """Equal for the same folder, and another for another scale or weight."""
    again = open_decoder(decoder_folder)
    assert again.fingerprint == decoder.fingerprint
    scaled = Decoder(again.model, again.vocabulary, again.facts | {"scale": 2.0})
    assert scaled.fingerprint != decoder.fingerprint
    next(iter(again.model.parameters())).data.add_(1.0)
    assert Decoder(again.model, again.vocabulary, again.facts).fingerprint != decoder.fingerprint


def test_the_great_circle_is_scipys() -> None:
    """Directions by scipy's slerp, lengths in proportion; both ends as they were."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=12), 3 * rng.normal(size=12)
    found = interpolate(a, b, 7, spherical=True)
    lengths = np.linspace(np.linalg.norm(a), np.linalg.norm(b), 7)
    circle = geometric_slerp(a / lengths[0], b / lengths[-1], np.linspace(0, 1, 7))
    assert np.allclose(found, circle * lengths[:, None], atol=1e-6)
    assert np.allclose(found[[0, -1]], [a, b], atol=1e-6)


def test_the_line_is_numpys() -> None:
    """Evenly spaced."""
    a, b = np.array([1.0, 2.0]), np.array([3.0, -2.0])
    assert np.allclose(interpolate(a, b, 5), np.linspace(a, b, 5))
    assert interpolate(a, b, 5).dtype == np.float32


@pytest.mark.parametrize(
    ("a", "b"), [([1.0, 0.0], [2.0, 0.0]), ([1.0, 0.0], [-1.0, 0.0]), ([0.0, 0.0], [1.0, 1.0])]
)
def test_where_there_is_no_great_circle_the_line_is_taken(a: list[float], b: list[float]) -> None:
    """One direction, opposite ones, and no direction at all."""
    left, right = np.array(a), np.array(b)
    assert np.allclose(interpolate(left, right, 4, spherical=True), np.linspace(left, right, 4))


def test_ways_that_are_none() -> None:
    """One step, and ends of two encoders."""
    with pytest.raises(UserError, match="1 steps"):
        interpolate(np.ones(2), np.ones(2), 1)
    with pytest.raises(UserError, match="2 and 3 dimensions"):
        interpolate(np.ones(2), np.ones(3), 4)


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_batch_says_what_each_says_alone(method: str) -> None:
    """Of a decoder that ships and sentences that it never saw: candidates and cosines too."""
    encoder, opened = load("random:256"), open_decoder(shipped()["random:256"])
    sentences = Catalog(None).sentences("starter-topics")[0][::100]
    vectors = encoder.encode(sentences)
    together = opened.decode(vectors, encoder=encoder, method=method)
    for vector, found in zip(vectors, together, strict=True):
        (alone,) = opened.decode(vector[None], encoder=encoder, method=method)
        assert (found.sentence, found.cut) == (alone.sentence, alone.cut)
        assert found.cosine == pytest.approx(alone.cosine, abs=1e-6)
        assert [o.sentence for o in found.others] == [o.sentence for o in alone.others]
