"""A diagnosis of a decoder that knows its sentences, of one that does not, and as a result."""

import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU
from scipy import stats
from scipy.optimize import linear_sum_assignment
from scipy.spatial.distance import cdist

from tests.errors import refused
from tests.fakes.decoders import known_sentences
from tests.fakes.encoders import ConstantEncoder, HashEncoder, NaNEncoder
from theodolite.engine import diagnose as module
from theodolite.engine.decode import Decoder
from theodolite.engine.decoding import diagnostics
from theodolite.engine.decoding.diagnosis import Diagnosis, to_result
from theodolite.engine.diagnose import diagnose
from theodolite.engine.encoders import Encoder, load
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
        "bleu": pytest.approx(BLEU(lowercase=True).corpus_score(back, [SAID]).score),
        "mover-random:16": pytest.approx(examples["mover"]),
        "token_f1": pytest.approx(examples["token_f1"]),
        "round_trip": pytest.approx(again.mean(), abs=1e-6),
    }
    assert 40 <= values["id"] == pytest.approx(examples["identical"])
    assert all(one.low - 1e-9 <= one.value <= one.high + 1e-9 for one in ours.values())


def test_the_nearest_training_sentence(found: Diagnosis, encoder: Encoder) -> None:
    """By scipy's cosine; where the sentence itself was learned from, it comes back."""
    far = cdist(encoder.encode(SAID), encoder.encode(KNOWN[20:]), "cosine")
    back = [KNOWN[20:][i] for i in far.argmin(1)]
    nearest = {name: figure.value for name, figure in found.figures("nearest").items()}
    assert nearest == nearest | {
        "round_trip": pytest.approx(1 - far.min(1).mean(), abs=1e-6),
        "token_f1": pytest.approx(100 * diagnostics.token_f1(SAID, back).mean()),
        "id": 0.0,
    }
    assert [s.nearest for s in found.samples] == back


def test_another_sentences_vector_tells_nothing(found: Diagnosis) -> None:
    """What a decoder says of a sentence it was not asked for: no sentence is its own other."""
    another = found.figures("another")
    assert another["id"].value == 0.0 and math.isnan(another["id_perm"].value)
    assert another["token_f1"].high < found.figures()["token_f1"].low
    for n in (2, 3, 50):
        others = module._others(n, 1111)
        assert sorted(others) == list(range(n)) and (others != np.arange(n)).all()


def test_by_length(found: Diagnosis) -> None:
    """Groups of the words between spaces, which together are all sentences."""
    assert found.lengths == ("1 to 4 words", "5 to 7 words", "8 to 10 words")
    counts, words = {r.length: r.n for r in found.rows}, [len(s.split()) for s in SAID]
    assert counts["8 to 10 words"] == sum(8 <= n <= 10 for n in words) > 0
    assert sum(counts.values()) == 2 * counts[""] == 40
    rows, short = [n <= 4 for n in words], found.figures(length="1 to 4 words")
    assert short["token_f1"].value == pytest.approx(100 * found.examples["token_f1"][rows].mean())
    assert set(found.figures("nearest", "1 to 4 words")) == set(short) == {*METRICS} - {"bleu-ref"}


def test_what_a_person_should_know(
    found: Diagnosis, decoder: Decoder, encoder: Encoder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sentences beyond it, sentences it learned from, figures no better than a baseline's."""
    long = sum(len(s.split()) > 7 for s in SAID)
    assert any(note.startswith(f"{long} of 20 sentences") for note in found.notes)
    assert not any("learned from" in note for note in found.notes)
    learned = diagnose(decoder, encoder, KNOWN[:9], KNOWN, words=load("random:16")).notes
    assert "9 of 9 sentences are among those it learned from." in learned
    assert any("“nearest training sentence”" in note and "BLEU" in note for note in learned)
    other = Decoder(decoder.model, decoder.vocabulary, decoder.facts | {"fingerprint": "else"})
    monkeypatch.setattr(module, "MOVER", "folder:/nowhere")
    without = diagnose(other, encoder, KNOWN[:3], [])
    assert (without.mover, "mover" in " ".join(without.figures())) == ("", False)
    for told in (
        "The decoder was trained for another version of this encoder.",
        "No training sentences were given: how near they come is not known.",
        "There is no Word Mover's score: ",
    ):
        assert any(note.startswith(told) for note in without.notes)


def test_a_seed_decides_what_is_drawn(found: Diagnosis, decoder: Decoder, encoder: Encoder) -> None:
    """Equal numbers for one seed."""
    shares: list[float] = []
    words = load("random:16")
    again = diagnose(decoder, encoder, SAID, KNOWN[20:], words=words, tick=shares.append)
    assert shares == sorted(shares) and shares[0] <= 0.5 < shares[-1] == 1.0
    assert again.rows[0] == found.rows[0]
    assert again.fingerprint == found.fingerprint != encoder.fingerprint
    moved = diagnose(decoder, encoder, SAID, KNOWN[20:], words=words, seed=1)
    moved, bleu = (each.figures()["bleu"] for each in (moved, found))
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
    code: str,
    named: object,
) -> None:
    """Sentences, another dimension, and vectors that are no numbers."""
    with refused(code, named):
        diagnose(decoder, other or encoder, sentences, KNOWN)


# --- its figures, against numbers worked by hand and sacrebleu's own ---


SENTENCES = ["The cat sat on the mat.", "he sleeps", "a b c d", "one two three four five"]
CAME = ["the cat  sat on the mat .", "sleeps he", "a b x y", "one two three four six"]


def corpus() -> tuple[list[str], list[str]]:
    """200 sentences of nine words, each of which came back as it was with a chance of .8."""
    rng = np.random.default_rng(2)
    references = [" ".join(f"w{i}" for i in rng.integers(0, 30, 9)) for _ in range(200)]
    came = [" ".join(w if rng.random() < 0.8 else "x" for w in s.split()) for s in references]
    return references, came


def test_identity_and_permutation() -> None:
    """PERM counts the identical ones too, as the paper's code does; case and spaces are nothing.

    Words are folded and marks stand alone, as in the text that its figures were taken on.
    """
    assert list(map(diagnostics.tokens, ('Well, "he" paid 3.50!', "  "))) == [
        ["well", ",", '"', "he", '"', "paid", "3.50", "!"],
        [],
    ]
    same, permuted = diagnostics.identical(SENTENCES, CAME), diagnostics.permuted(SENTENCES, CAME)
    assert same.tolist() == [True, False, False, False]
    assert permuted.tolist() == [True, True, False, False]
    assert diagnostics.kept_order(same, permuted) == 0.5
    assert not diagnostics.permuted(["a a b"], ["a b b"])[0]  # bags, not sets
    # Token F1: all, all, two of four on both sides, four of five.
    scores = diagnostics.token_f1([*SENTENCES, "a a b", "", ""], [*CAME, "a b b", "", "x"])
    assert scores.tolist() == pytest.approx([1, 1, 0.5, 0.8, 2 / 3, 1, 0])
    none = np.zeros(3, bool)  # nothing came back with its words: there is no order to speak of
    interval = diagnostics.ratio_interval(none, none, diagnostics.resamples(3))
    assert all(map(math.isnan, [diagnostics.kept_order(none, none), *interval]))


def test_the_references_bleu_is_sacrebleus_of_one_line() -> None:
    """The whole file written out; also of next to nothing."""
    glued = BLEU(tokenize="none", smooth_method="none", force=True)
    for a, b in (corpus(), (["a b c d e"], ["b"]), (["a"], ["a b c d e"]), (["a"], [""])):
        expected = glued.corpus_score(["".join(b)], [["".join(a)]]).score
        assert diagnostics.reference_bleu(a, b) == pytest.approx(expected, abs=1e-9)


def by_scipy(statistic: Callable[..., np.ndarray], *values: np.ndarray) -> tuple[float, float]:
    """Its percentile bootstrap, of several arrays in step."""
    interval = stats.bootstrap(
        values,
        statistic,
        paired=True,
        n_resamples=4000,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(5),
    ).confidence_interval
    return interval.low, interval.high


def test_the_intervals_of_a_mean_and_of_a_ratio_are_scipys(rng: np.random.Generator) -> None:
    """Of a ratio both sums are drawn in step."""
    values = np.random.default_rng(1).random(500) < 0.3
    interval = diagnostics.mean_interval(values, diagnostics.resamples(500, 4000))
    assert interval == pytest.approx(by_scipy(np.mean, values), abs=0.006)
    below = rng.random(400) < 0.6
    above = below & (rng.random(400) < 0.5)
    interval = diagnostics.ratio_interval(above, below, diagnostics.resamples(400, 4000))
    ratio = by_scipy(lambda a, b, axis: a.sum(axis) / b.sum(axis), above, below)
    assert interval == pytest.approx(ratio, abs=0.008)


def test_a_resample_of_bleu_is_the_bleu_of_the_resample() -> None:
    """Drawn once, in another mixture: the very score of those sentences written out."""
    references, came = corpus()
    times = diagnostics.resamples(200, 1, seed=9)
    rows = np.repeat(np.arange(200), times[0])
    again = diagnostics.bleu([references[i] for i in rows], [came[i] for i in rows])
    assert diagnostics.bleu_interval(references, came, times) == pytest.approx((again, again))


def test_the_interval_of_the_references_bleu_holds_other_corpora() -> None:
    """Lines that match any other line, where hardly a resample comes up to the score.

    It lies about the score, and is at least as wide as the scores of other corpora of its kind
    vary: the jackknife's variance is too large on average (Efron, Stein 1981).
    """
    scores, widths = [], []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        lines = [" ".join(f"w{i}" for i in rng.geometric(0.2, 9)) for _ in range(160)]
        given = lines[:80], lines[80:]
        scores.append(diagnostics.reference_bleu(*given))
        if seed < 5:
            low, high = diagnostics.reference_bleu_interval(*given)
            assert low < scores[-1] < high
            widths.append(high - low)
    assert 1.0 < np.mean(widths) / (2 * 1.99 * np.std(scores)) < 1.7
    assert all(map(math.isnan, diagnostics.reference_bleu_interval(["a"], ["a"])))


class Plane(HashEncoder):
    """Words on the unit circle, by their angle in degrees; `none` has no vector, `far` is long."""

    def encode(self, sentences: list[str], progress: object = None) -> np.ndarray:
        """One row a word, float32 (n, 2)."""
        sizes = {"none": 0.0, "far": 9.0}
        words = [word for word in sentences if word]
        angles = np.radians([90.0 if word in sizes else float(word) for word in words])
        lengths = np.array([sizes.get(word, 1.0) for word in words])
        return (lengths * [np.cos(angles), np.sin(angles)]).T.astype(np.float32)


@pytest.mark.parametrize(
    ("a", "b", "travelled"),
    [
        ("0", "0", 0.0),
        ("0 60", "60 0", 0.0),
        ("0", "90", 2.0),
        ("0", "180", 4.0),
        ("0", "60", 1.0),
        ("far", "0", 2.0),
        # Each to its nearer: 0 -> 60 and 90 -> 150, not crosswise.
        ("0 90", "150 60", 1.0),
        # 0 weighs two thirds, one of which goes on to 60.
        ("0 0 60", "0 60 60", 1 / 3),
        # The half of 0 splits: a third stays, a sixth goes to 60; 90 (a half) goes there by a
        # sixth and to 150 by a third: (1 + (2 - 2 cos 30)) / 6 + 1 / 3.
        ("0 90", "0 60 150", (1 + (2 - math.sqrt(3))) / 6 + 1 / 3),
        # Words without a vector are as far from all others as words that share nothing.
        ("none", "0", 2.0),
        ("none", "none", 0.0),
        ("", "0", 2.0),
        ("0", "", 2.0),
        ("", "", 0.0),
    ],
)
def test_the_transport_by_hand(a: str, b: str, travelled: float) -> None:
    """1 - what was worked out on paper, in either direction."""
    scores = diagnostics.word_mover_scores([a, b], [b, a], Plane(2))
    assert scores.tolist() == pytest.approx([1 - travelled] * 2, abs=1e-6)


def test_many_at_once_are_as_good_as_an_assignment() -> None:
    """Each word split into equal parts, which scipy assigns one to one: exact as well."""
    rng, words = np.random.default_rng(0), load("random:16")
    lines = [
        [f"w{i}" for i in rng.integers(0, 30, rng.integers(1, 9))]
        for _ in range(3 * diagnostics.AT_ONCE)
    ]
    sentences = [" ".join(line) for line in lines]
    came = sentences[1:] + sentences[:1]
    found = diagnostics.word_mover_scores(sentences, came, words)
    for a, b, got in zip(sentences, came, found, strict=True):
        left, right = (words.encode(diagnostics.tokens(s)).astype(float) for s in (a, b))
        far = 2 * cdist(left, right, "cosine")  # squared distances of unit vectors
        size = math.lcm(*far.shape)
        split = far.repeat(size // len(left), 0).repeat(size // len(right), 1)
        assert got == pytest.approx(1 - split[linear_sum_assignment(split)].mean(), abs=1e-5)
    # The same bag of words is 1, whatever its order.
    assert (
        diagnostics.word_mover_scores(["The dog, asleep."], ["asleep the , dog ."], words)[0] == 1.0
    )
