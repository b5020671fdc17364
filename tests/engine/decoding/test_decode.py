"""Decoding as a whole: vectors in, sentences out; ranked, corrected, or refused."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file
from scipy.spatial import geometric_slerp
from scipy.spatial.distance import cdist, cosine as cosine_distance

from tests.errors import refused
from tests.fakes.decoders import LONGEST, known_sentences
from tests.fakes.encoders import HashEncoder
from theodolite.engine.datasets import Catalog
from theodolite.engine.datasets.starter import read_topics
from theodolite.engine.decode import Decoder, interpolate, open_decoder
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.facts import shipped
from theodolite.engine.decoding.vocabulary import words_of
from theodolite.engine.encoders import Encoder, load
from theodolite.engine.errors import Code


@pytest.fixture(scope="module")
def points(encoder: Encoder) -> np.ndarray:
    """Six of its sentences, pushed off their places."""
    vectors = encoder.encode(known_sentences()[:6])
    return (vectors + 0.15 * np.random.default_rng(4).normal(size=vectors.shape)).astype(np.float32)


def near(encoder: Encoder, sentence: str, point: np.ndarray) -> float:
    """Cosine by scipy."""
    return 1.0 - float(cosine_distance(encoder.encode([sentence])[0], point))


@pytest.mark.parametrize("method", ["greedy", "beam", "sample"])
def test_what_it_learned_comes_back(decoder: Decoder, encoder: Encoder, method: str) -> None:
    """Most of the sentences it was trained on, by every method."""
    sentences = known_sentences()[:20]
    found = decoder.decode(encoder.encode(sentences), method=method, temperature=0.5)
    assert sum(a.sentence == b for a, b in zip(found, sentences, strict=True)) >= 14
    assert {(one.cut, one.cosine) for one in found} == {(False, None)}
    for one in found:  # without an encoder the likeliest is first
        scores = [candidate.score for candidate in (one, *one.others)]
        assert scores == sorted(scores, reverse=True)
    assert decoder.decode(np.empty((0, 64)), encoder=encoder, method=method) == []


@pytest.mark.parametrize("method", ["beam", "sample"])
def test_candidates_are_ranked_by_cosine(
    decoder: Decoder, encoder: Encoder, points: np.ndarray, method: str
) -> None:
    """Each is given once, with the cosine of its own vector to the point, the nearest first."""
    found = decoder.decode(points, encoder=encoder, method=method, beams=6, temperature=1.5)
    assert any(one.others for one in found)
    for point, one in zip(points, found, strict=True):
        ranked = {each.sentence: each.cosine for each in (one, *one.others)}
        assert len(ranked) == 1 + len(one.others) <= 6
        assert list(ranked.values()) == sorted(ranked.values(), reverse=True)
        by_scipy = {sentence: near(encoder, sentence, point) for sentence in ranked}
        assert ranked == pytest.approx(by_scipy, abs=1e-6)


def test_a_seed_decides_what_is_drawn(decoder: Decoder, points: np.ndarray) -> None:
    """Equal for one seed, and not for another."""
    one, again, other = (
        decoder.decode(points, method="sample", temperature=3, top_p=1, seed=seed)
        for seed in (1, 1, 2)
    )
    assert one == again != other


@pytest.fixture
def asked(decoder: Decoder, monkeypatch: pytest.MonkeyPatch) -> list[np.ndarray]:
    """The vectors of each call of `decode`."""
    calls, decode = [], decoder.decode
    monkeypatch.setattr(
        decoder, "decode", lambda vectors, **how: calls.append(vectors) or decode(vectors, **how)
    )
    return calls


def test_correction_goes_where_it_must(
    decoder: Decoder, encoder: Encoder, asked: list[np.ndarray]
) -> None:
    """By hand: each query is the one before and half of what the last decoding missed."""
    target = encoder.encode([known_sentences()[0]]) + 0.4
    found = decoder.correct(target, encoder, rounds=2, step=0.5, method="greedy")
    queries = asked[:3]
    tried = [decoder.decode(query, method="greedy")[0].sentence for query in queries]
    first, second, _ = (encoder.encode([sentence]) for sentence in tried)
    assert np.allclose(queries[0], target)
    assert np.allclose(queries[1], target + 0.5 * (target - first), atol=1e-5)
    assert np.allclose(queries[2], queries[1] + 0.5 * (target - second), atol=1e-5)
    assert found[0].cosine == pytest.approx(max(near(encoder, s, target[0]) for s in tried))


def test_what_came_back_whole_is_not_corrected(
    decoder: Decoder, encoder: Encoder, asked: list[np.ndarray]
) -> None:
    """Beside another vector, which alone is decoded again."""
    sentences = known_sentences()[:20]
    vectors = encoder.encode(sentences)
    found = decoder.decode(vectors, encoder=encoder)
    whole = next(row for row, one in enumerate(found) if one.sentence == sentences[row])
    corrected = decoder.correct(np.stack([vectors[whole], vectors[whole] + 0.4]), encoder, rounds=2)
    assert [len(each) for each in asked] == [20, 2, 1, 1]
    assert corrected[0].sentence == sentences[whole]


@pytest.mark.parametrize(("rounds", "how"), [(0, {}), (3, {"method": "vec2sent-ref"})])
def test_no_correction_is_a_decoding(
    decoder: Decoder, encoder: Encoder, points: np.ndarray, rounds: int, how: dict[str, str]
) -> None:
    """Candidates and all; the search of the reference code has none at all."""
    plain = decoder.decode(points, encoder=encoder, **how)
    assert decoder.correct(points, encoder, rounds=rounds, **how) == plain


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_what_goes_on_at_the_greatest_length_is_flagged(
    decoder: Decoder, encoder: Encoder, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A decoder with room for three pieces; it was trained on seven words at most."""
    texts = ("and " * LONGEST + "then some", "one " * LONGEST)
    assert [decoder.too_long(text) for text in texts] == [True, False]
    monkeypatch.setattr(decoder.model, "positions", 4)
    vectors = encoder.encode(known_sentences()[:5])
    assert all(one.cut for one in decoder.decode(vectors, method=method))


@pytest.mark.parametrize(
    ("vectors", "how", "code", "named"),
    [
        (np.ones((2, 63)), {}, "mismatch", "(2, 63)"),
        (np.ones(64), {}, "mismatch", "(64,)"),
        (np.full((1, 64), np.nan), {}, "not-finite", "NaN"),
        (np.full((1, 64), np.inf), {}, "not-finite", "infinity"),
        (np.ones((1, 64)), {"method": "guess"}, "unknown", "guess"),
        (np.ones((1, 64)), {"beams": 0}, "invalid", "0 beams"),
        (np.ones((1, 64)), {"beams": 51}, "invalid", "51 beams"),
        (np.ones((1, 64)), {"method": "sample", "temperature": 0}, "invalid", "temperature 0"),
        (np.ones((1, 64)), {"method": "sample", "temperature": np.nan}, "invalid", "nan"),
        (np.ones((1, 64)), {"method": "sample", "top_p": 0}, "invalid", "share of 0"),
        (np.ones((1, 64)), {"encoder": HashEncoder(16)}, "mismatch", "16 dimensions"),
    ],
)
def test_what_cannot_be_decoded_is_refused(
    decoder: Decoder, vectors: np.ndarray, how: dict, code: Code, named: str
) -> None:
    with refused(code, named):
        decoder.decode(vectors, **how)


@pytest.mark.parametrize("how", [{"rounds": -1}, {"rounds": 51}, {"step": 0}, {"step": 3}])
def test_what_cannot_be_corrected_is_refused(decoder: Decoder, encoder: Encoder, how: dict) -> None:
    with refused("invalid", *how.values()):
        decoder.correct(np.ones((1, 64)), encoder, **how)


def test_a_fingerprint_is_of_all_that_decides(decoder: Decoder, decoder_folder: Path) -> None:
    """Equal for the same folder, and another for another scale or weight."""
    again = open_decoder(decoder_folder)
    assert again.fingerprint == decoder.fingerprint
    scaled = Decoder(again.model, again.vocabulary, again.facts | {"scale": 2.0})
    next(iter(again.model.parameters())).data.add_(1.0)
    moved = Decoder(again.model, again.vocabulary, again.facts)
    assert decoder.fingerprint not in (scaled.fingerprint, moved.fingerprint)


def test_the_great_circle_is_scipys() -> None:
    """Directions by scipy's slerp, lengths in proportion; both ends as they were."""
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=12), 3 * rng.normal(size=12)
    found = interpolate(a, b, 7, spherical=True)
    lengths = np.linspace(np.linalg.norm(a), np.linalg.norm(b), 7)
    circle = geometric_slerp(a / lengths[0], b / lengths[-1], np.linspace(0, 1, 7))
    assert np.allclose(found, circle * lengths[:, None], atol=1e-6)
    assert np.allclose(found[[0, -1]], [a, b], atol=1e-6)


@pytest.mark.parametrize(
    ("a", "b", "spherical"),
    [
        ([1.0, 2.0], [3.0, -2.0], False),
        # There is no great circle: one direction, opposite ones, and no direction at all.
        ([1.0, 0.0], [2.0, 0.0], True),
        ([1.0, 0.0], [-1.0, 0.0], True),
        ([0.0, 0.0], [1.0, 1.0], True),
    ],
)
def test_the_line_is_numpys(a: list[float], b: list[float], spherical: bool) -> None:
    line = interpolate(np.array(a), np.array(b), 5, spherical=spherical)
    assert np.allclose(line, np.linspace(a, b, 5)) and line.dtype == np.float32


@pytest.mark.parametrize(
    ("end", "steps", "code", "named"),
    [(np.ones(2), 1, "too-few", (1,)), (np.ones(3), 4, "mismatch", (2, 3))],
    ids=["one step", "ends of two encoders"],
)
def test_ways_that_are_none(end: np.ndarray, steps: int, code: Code, named: tuple) -> None:
    with refused(code, *named):
        interpolate(np.ones(2), end, steps)


@pytest.mark.parametrize("method", ["greedy", "beam"])
def test_a_batch_says_what_each_says_alone(method: str) -> None:
    """Of a decoder that ships and sentences that it never saw: candidates and cosines too."""
    encoder, opened = load("random:256"), open_decoder(shipped()["random:256"])
    vectors = encoder.encode(Catalog(None).sentences("starter-topics")[0][::250])
    together = opened.decode(vectors, encoder=encoder, method=method)
    for vector, found in zip(vectors, together, strict=True):
        (alone,) = opened.decode(vector[None], encoder=encoder, method=method)
        assert (found.sentence, found.cut) == (alone.sentence, alone.cut)
        assert found.cosine == pytest.approx(alone.cosine, abs=1e-6)
        assert [o.sentence for o in found.others] == [o.sentence for o in alone.others]


# --- folders ---


NEW = [
    "The children played football in the park.",
    "She bought fresh bread at the market.",
    "Heavy rain is expected over the weekend.",
    "The senator voted against the new tax.",
    "My brother has lost his keys again.",
    "This film is far too long.",
]


@pytest.fixture
def copied(decoder_folder: Path, tmp_path: Path) -> Path:
    """A decoder to damage."""
    return Path(shutil.copytree(decoder_folder, tmp_path / "copied"))


def loss(folder: Path) -> float:
    """Over all pieces of the sentences that the tiny decoder knows."""
    model, vocabulary, facts = folders.read(folder)
    vectors = load("random:64").encode(known_sentences())
    points = torch.from_numpy((vectors - np.array(facts["mean"], np.float32)) / facts["scale"])
    rows = [torch.from_numpy(ids.astype(np.int64)) for ids in vocabulary.ids(known_sentences())]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return float(model.loss(points.float(), ids).detach())


def small(source: Path, target: Path) -> Path:
    """The same decoder as int8."""
    folders.write(target, *folders.read(source), small=True)
    return target


def test_int8_is_a_quarter_of_the_numbers_and_close(decoder_folder: Path, tmp_path: Path) -> None:
    """Every weight within half a step of its row, and hardly another loss."""
    folder = small(decoder_folder, tmp_path / "small")
    (model, *_), (whole, *_) = folders.read(folder), folders.read(decoder_folder)
    for (name, weight), other in zip(whole.named_parameters(), model.parameters(), strict=True):
        step = weight.abs().amax(-1, keepdim=True) / 127 if weight.ndim == 2 else 1e-3
        assert ((weight - other).abs() <= 0.5 * step + 1e-6).all(), name
    assert loss(folder) == pytest.approx(loss(decoder_folder), abs=0.02)
    file, other = (each / "model.safetensors" for each in (folder, decoder_folder))
    matrices = [t for n, t in load_file(file).items() if t.ndim == 2 and not n.endswith("scale")]
    assert {matrix.dtype for matrix in matrices} == {torch.int8}
    assert file.stat().st_size < 0.6 * other.stat().st_size


@pytest.mark.parametrize("name", ["decoder.json", "model.safetensors", "vocabulary.json"])
@pytest.mark.parametrize("how", ["missing", "empty", "half", "other"])
def test_a_missing_or_damaged_file_is_told(copied: Path, name: str, how: str) -> None:
    file = copied / name
    whole = file.read_bytes()
    file.unlink()
    if how != "missing":
        file.write_bytes({"empty": b"", "half": whole[: len(whole) // 2], "other": b"[1, 2]"}[how])
    with refused(*(("no-file", name) if how == "missing" else ("damaged",)), "copied"):
        open_decoder(copied)


@pytest.mark.parametrize(
    ("changes", "code", "named"),
    [
        ({"format": 99}, "damaged", "copied"),
        ({"mean": [0.0]}, "damaged", "copied"),
        ({"scale": float("nan")}, "damaged", "copied"),
        ({"architecture": "tea"}, "unknown", "tea"),
        ({"sizes": {"width": 8}}, "damaged", "copied"),
        ({"dim": "many"}, "damaged", "copied"),
        ({"encoder": None}, "damaged", "it has no encoder"),
        ({"format": None}, "damaged", "it has no format"),
    ],
)
def test_facts_that_do_not_fit_are_told(copied: Path, changes: dict, code, named: str) -> None:
    """A later format, another size, a number that is none; without the field where it is None."""
    facts = json.loads((copied / "decoder.json").read_text("utf-8")) | changes
    facts = {name: value for name, value in facts.items() if value is not None}
    (copied / "decoder.json").write_text(json.dumps(facts), "utf-8")
    with refused(code, named):
        open_decoder(copied)


def test_weights_of_another_model_are_told(copied: Path) -> None:
    """A tensor too few."""
    stored = load_file(copied / "model.safetensors")
    save_file({k: v for k, v in stored.items() if k != "norm.weight"}, copied / "model.safetensors")
    with refused("damaged", "copied"):
        open_decoder(copied)


def test_what_ships_is_listed_by_encoder(decoder_folder: Path, tmp_path: Path) -> None:
    """A damaged one is left out, and an empty folder lists nothing."""
    assert shipped(tmp_path) == shipped(tmp_path / "nowhere") == {}
    small(decoder_folder, tmp_path / "tiny")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "decoder.json").write_text("{")
    assert shipped(tmp_path) == {"random:64": tmp_path / "tiny"}


def test_what_ships_says_again_what_it_reads() -> None:
    """Each answer lies nearer to its own sentence than to the others; none is like another.

    None has a word that its training text had not; without that some do. All together have at most
    25 MB, and cards whose terms are filled in.
    """
    assert sum(f.stat().st_size for each in shipped().values() for f in each.iterdir()) <= 25e6
    more = ["The old dog slept by the fire.", *read_topics().sentences[::500]]
    strange: set[str] = set()
    for name, folder in shipped().items():
        assert "To be filled in" not in (folder / "README.md").read_text("utf-8")
        encoder, decoder = load(name), open_decoder(folder)
        assert decoder.facts["fingerprint"] == encoder.fingerprint
        vectors = encoder.encode([*NEW, *more])
        held, free = (
            [one.sentence for one in decoder.decode(vectors, encoder=encoder, known_words=known)]
            for known in (True, False)
        )
        assert len(set(held[: len(NEW)])) == len(NEW)
        nearest = cdist(encoder.encode(held[: len(NEW)]), vectors[: len(NEW)], "cosine").argmin(1)
        assert nearest.tolist() == list(range(len(NEW)))
        words = set(decoder.vocabulary.known_words.words)
        assert set(words_of(held)) <= words
        strange |= set(words_of(free)) - words
    assert strange
