"""A diagnosis of a decoder that knows its sentences, of one that does not, and as a result."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from tests.errors import refused
from tests.fakes.decoders import known_sentences
from tests.fakes.encoders import ConstantEncoder, NaNEncoder
from theodolite.engine import diagnose as module
from theodolite.engine.decode import Decoder
from theodolite.engine.decoding import diagnostics
from theodolite.engine.decoding.diagnosis import Diagnosis, to_result
from theodolite.engine.diagnose import diagnose
from theodolite.engine.encoders import load
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import Code
from theodolite.engine.stats.bootstrap import main_sample
from theodolite.store.folder import Store

KNOWN = known_sentences()
SAID = [
    *KNOWN[:12],
    *(f"{a.split()[0]} {b}" for a, b in zip(KNOWN[12:20], KNOWN[20:28], strict=True)),
]
"""Twelve that the decoder knows by heart, and eight that nobody ever said."""
METRICS = ["id", "perm", "id_perm", "bleu", "bleu-ref", "mover-random:16", "token_f1", "round_trip"]


@pytest.fixture(scope="module")
def found(decoder: Decoder, encoder: Encoder) -> Diagnosis:
    """Of the twenty sentences, with the last forty as those learned from."""
    return diagnose(decoder, encoder, SAID, KNOWN[20:], words=load("random:16"))


def test_every_figure_is_that_of_what_was_decoded(
    found: Diagnosis, decoder: Decoder, encoder: Encoder
) -> None:
    """Worked out again, from the decoder's own sentences, by sacrebleu and numpy."""
    from sacrebleu import corpus_bleu

    back = [one.sentence for one in decoder.decode(encoder.encode(SAID), encoder=encoder)]
    ours = found.figures()
    assert list(ours) == METRICS
    same = [diagnostics.tokens(a) == diagnostics.tokens(b) for a, b in zip(SAID, back, strict=True)]
    again = 1 - np.diag(cdist(encoder.encode(back), encoder.encode(SAID), "cosine"))
    assert found.examples["round_trip"] == pytest.approx(again, abs=1e-6)
    values = {name: figure.value for name, figure in ours.items()}
    examples = {name: 100 * values_.mean() for name, values_ in found.examples.items()}
    assert {name: values[name] for name in METRICS if name not in ("id_perm", "bleu-ref")} == {
        "id": pytest.approx(100 * np.mean(same)),
        "perm": pytest.approx(examples["permuted"]),
        "bleu": pytest.approx(corpus_bleu(back, [SAID], lowercase=True).score),
        "mover-random:16": pytest.approx(examples["mover"]),
        "token_f1": pytest.approx(examples["token_f1"]),
        "round_trip": pytest.approx(again.mean(), abs=1e-6),
    }
    assert values["id"] == pytest.approx(examples["identical"]) >= 40
    for figure in ours.values():
        assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9


def test_the_nearest_training_sentence(found: Diagnosis, encoder: Encoder) -> None:
    """By scipy's cosine; where the sentence itself was learned from, it comes back."""
    far = cdist(encoder.encode(SAID), encoder.encode(KNOWN[20:]), "cosine")
    back = [KNOWN[20:][i] for i in far.argmin(1)]
    nearest = found.figures("nearest")
    assert nearest["round_trip"].value == pytest.approx(1 - far.min(1).mean(), abs=1e-6)
    assert nearest["token_f1"].value == pytest.approx(100 * diagnostics.token_f1(SAID, back).mean())
    assert nearest["id"].value == 0.0
    assert [s.nearest for s in found.samples] == back


def test_another_sentences_vector_tells_nothing(found: Diagnosis) -> None:
    """What a decoder says of a sentence it was not asked for: no sentence is its own other."""
    another = found.figures("another")
    assert another["id"].value == 0.0
    assert math.isnan(another["id_perm"].value)
    assert another["token_f1"].high < found.figures()["token_f1"].low
    for n in (2, 3, 50):
        others = module._others(n, 1111)
        assert sorted(others) == list(range(n))
        assert (others != np.arange(n)).all()


def test_by_length(found: Diagnosis) -> None:
    """Groups of the words between spaces, which together are all sentences."""
    assert found.lengths == ("1 to 4 words", "5 to 7 words", "8 to 10 words")
    counts = {r.length: r.n for r in found.rows if r.system == "decoder"}
    assert counts["8 to 10 words"] == sum(8 <= len(s.split()) <= 10 for s in SAID) > 0
    assert sum(counts.values()) == 2 * counts[""] == 40
    rows = [len(s.split()) <= 4 for s in SAID]
    short = found.figures(length="1 to 4 words")
    assert short["token_f1"].value == pytest.approx(100 * found.examples["token_f1"][rows].mean())
    assert set(found.figures("nearest", "1 to 4 words")) == set(short) == {*METRICS} - {"bleu-ref"}


def test_what_a_person_should_know(found: Diagnosis, decoder: Decoder, encoder: Encoder) -> None:
    """Sentences beyond it, sentences it learned from, figures no better than a baseline's."""
    long = sum(len(s.split()) > 7 for s in SAID)
    assert any(note.startswith(f"{long} of 20 sentences") for note in found.notes)
    assert not any("learned from" in note for note in found.notes)
    learned = diagnose(decoder, encoder, KNOWN[:9], KNOWN, words=load("random:16")).notes
    assert "9 of 9 sentences are among those it learned from." in learned
    assert any("“nearest training sentence”" in note and "BLEU" in note for note in learned)
    other = Decoder(decoder.model, decoder.vocabulary, decoder.facts | {"fingerprint": "else"})
    notes = diagnose(other, encoder, KNOWN[:3], [], words=load("random:16")).notes
    assert "The decoder was trained for another version of this encoder." in notes
    assert "No training sentences were given: how near they come is not known." in notes


def test_without_words_for_the_mover_score(
    decoder: Decoder, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is left out, and a note says why."""
    monkeypatch.setattr(module, "MOVER", "folder:/nowhere")
    without = diagnose(decoder, encoder, KNOWN[:3], KNOWN[3:6])
    assert (without.mover, "mover" in " ".join(without.figures())) == ("", False)
    assert any(note.startswith("There is no Word Mover's score: ") for note in without.notes)


def test_samples_say_what_differs(found: Diagnosis) -> None:
    """In the order of the sentences, each with what became of its words."""
    assert [s.sentence for s in found.samples] == SAID
    fates = {s.sentence: {word.fate for word in s.words} for s in found.samples}
    assert all((fates[s.sentence] == {"kept"}) >= (s.sentence == s.decoded) for s in found.samples)
    part = next(s for s in found.samples if s.sentence.lower() != s.decoded.lower())
    assert fates[part.sentence] - {"kept"}
    assert not next(s for s in found.samples if s.sentence == s.decoded).cut


def test_a_seed_decides_what_is_drawn(found: Diagnosis, decoder: Decoder, encoder: Encoder) -> None:
    """Equal numbers for one seed."""
    shares: list[float] = []
    words = load("random:16")
    again = diagnose(decoder, encoder, SAID, KNOWN[20:], words=words, tick=shares.append)
    assert shares == sorted(shares)  # progress never goes back
    assert shares[0] <= 0.5 < shares[-1] == 1.0
    assert again.rows[0] == found.rows[0]
    assert again.fingerprint == found.fingerprint != encoder.fingerprint
    moved = diagnose(decoder, encoder, SAID, KNOWN[20:], words=words, seed=1).figures()["bleu"]
    bleu = found.figures()["bleu"]
    assert moved.value == bleu.value and moved.low != bleu.low


def test_it_is_a_result_like_every_other(found: Diagnosis, tmp_path: Path) -> None:
    """Kept by the store, its main score with values for each sentence, all else in its details."""
    result = to_result(found, "abc")
    assert (result.task, result.protocol, result.seed) == ("Vec2Sent-abc", "vec2sent", 1111)
    assert to_result(found).task == "Vec2Sent"
    main = found.figures()["token_f1"].value
    assert (result.main.metric, result.main.score) == ("token_f1", main)
    assert main_sample(result.examples, result.details).statistic == pytest.approx(main)
    scores = {(s.aggregation, s.metric): s for s in result.scores}
    assert len(scores) == len(result.scores)
    nearest = found.figures("nearest", "5 to 7 words")["bleu"].value
    assert scores["5 to 7 words, nearest training sentence", "bleu"].score == nearest
    assert scores[None, "round_trip"].unit == "cosine"
    assert ("another sentence's vector", "id_perm") not in scores
    results = Store(tmp_path).results
    given = vars(result) | {"scores": [vars(score) for score in result.scores]}
    again = Diagnosis.from_dict(results.by_id(results.put(given))["details"])
    assert (again.rows[0], again.samples) == (found.rows[0], found.samples)
    assert again.to_dict() == found.to_dict()
    json.dumps(result.details, allow_nan=False)


@pytest.mark.parametrize(
    ("sentences", "other", "code", "named"),
    [
        ([], None, "too-few", 0),
        (["one dog"], None, "too-few", 1),
        (["a", " ", "b"], None, "missing", "Sentence 2"),
        (KNOWN[:4], ConstantEncoder(16), "mismatch", 16),
        (KNOWN[:4], NaNEncoder(64), "not-finite", ""),
    ],
)
def test_what_cannot_be_measured_is_told(
    decoder: Decoder,
    encoder: Encoder,
    sentences: list[str],
    other: Encoder | None,
    code: Code,
    named: object,
) -> None:
    """Sentences, another dimension, and vectors that are no numbers."""
    with refused(code, named):
        diagnose(decoder, other or encoder, sentences, KNOWN)


def test_a_collapsed_encoder_is_told_from_nothing(decoder: Decoder) -> None:
    """Every vector is one: what comes back is what comes back of another, and the notes say so."""
    collapsed = diagnose(decoder, ConstantEncoder(64), KNOWN[:8], KNOWN, words=load("random:16"))
    assert collapsed.figures()["bleu"].value == pytest.approx(
        collapsed.figures("another")["bleu"].value
    )
    assert any("another sentence" in note and "Token F1" in note for note in collapsed.notes)
