"""Decoding: a sentence, a way, an expression, a place of a map; by verbs, and for many at once."""

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial import geometric_slerp
from scipy.spatial.distance import cosine as cosine_distance

from tests.errors import refused
from tests.fakes.command_line import objects, theodolite
from tests.fakes.decoders import known_sentences, small_spec
from tests.fakes.small_training import small, write_sentences
from theodolite.app import decoders
from theodolite.app.jobs import submit
from theodolite.app.pages.decode import analogies, service
from theodolite.app.pages.decode.answer import (
    ANALOGY,
    DECODE,
    INTERPOLATE,
    AnalogySpec,
    DecodeSpec,
    InterpolateSpec,
    limits,
    no_decoder,
    word_diff_of,
)
from theodolite.app.pages.decode.service import DecodeOptions, DecodeResult, NoDecoder
from theodolite.app.pages.diagnose.service import DiagnoseJob
from theodolite.app.pages.map import routes as map_routes, service as maps
from theodolite.app.pages.map.job import MapSpec
from theodolite.app.pages.train.job import TrainDecoderJob, TrainJob
from theodolite.app.web.address import link
from theodolite.app.workspace import Workspace
from theodolite.engine.decode import Decoded, Decoder, open_decoder
from theodolite.engine.decoding.differing import differing
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.training.events import Evaluated

ENCODER = "random:64"
WITHOUT = "random:32"


@pytest.fixture(scope="module")
def workspace(decoding: Workspace) -> Iterator[Workspace]:
    """A store with one decoder, and no data folder; that of the command line as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("THEODOLITE_HOME", str(decoding.store.folder))
        patch.delenv("THEODOLITE_DATA", raising=False)
        yield decoding


def decode(workspace: Workspace, text: str, *encoders: str, **how) -> list[DecodeResult]:
    """What each encoder's decoder makes of the sentence's vector."""
    spec = DecodeSpec(sentences=(text,), encoders=encoders or (ENCODER,), **how)
    return DECODE.last(workspace, spec, lambda job: False).every


def calculate(workspace: Workspace, expression: str, *named: str, **how) -> DecodeResult:
    """What the point of an expression is decoded to."""
    spec = AnalogySpec(**{"expression": expression, "named": named, "encoders": (ENCODER,)} | how)
    return ANALOGY.last(workspace, spec, lambda job: False).every[0]


@pytest.fixture(scope="module")
def known(workspace: Workspace) -> list[str]:
    """Sentences that the decoder gives back word for word."""
    kept = [
        text
        for text in known_sentences()
        if decode(workspace, text, method="greedy")[0].sentence == text
    ]
    assert len(kept) > 30
    return kept


def vectors(workspace: Workspace, *sentences: str) -> np.ndarray:
    """Of the encoder, in float64."""
    return workspace.load(ENCODER).encode(list(sentences)).astype(float)


# A sentence -------------------------------------------------------------------------------


def test_a_sentence_that_is_known_comes_back_whole(workspace, known):
    """Every word is kept, the cosine of the round trip is 1; of a longer one it is said."""
    (decoded,) = decode(workspace, f"  {known[0]}\n")
    assert (decoded.sentence, decoded.longer, decoded.problem) == (known[0], False, None)
    assert decoded.cosine == pytest.approx(1, abs=1e-6)
    assert {word.fate for word in decoded.words} == {"kept"}
    text = " ".join(known[:3])
    (longer,) = decode(workspace, text)
    assert (longer.known, longer.longer, longer.given) == (7, True, len(text.split()))


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
    (decoded,) = decode(workspace, "a \ud800 dog")
    assert decoded.problem is None and decoded.sentence.encode()


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
    """The ends are the sentences; the points between are those of SciPy and NumPy.

    So are the nearest real sentences that stand beneath each step.
    """
    first, second = known[:2]
    how = {"steps": 5, "spherical": spherical, "data": "starter-topics", "near": 2}
    spec = InterpolateSpec(first, second, ENCODER, **how)
    steps = INTERPOLATE.last(workspace, spec, lambda job: False).steps
    sentences, _ = workspace.catalog.sentences("starter-topics")
    rows = vectors(workspace, *sentences)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert [step.share for step in steps] == [0, 0.25, 0.5, 0.75, 1]
    assert (steps[0].result.sentence, steps[-1].result.sentence) == (first, second)
    a, b = vectors(workspace, first, second)
    points = [a + share * (b - a) for share in np.linspace(0, 1, 5)]
    if spherical:
        points = geometric_slerp(a / np.linalg.norm(a), b / np.linalg.norm(b), np.linspace(0, 1, 5))
    for step, point in zip(steps, points, strict=True):
        (came,) = vectors(workspace, step.result.sentence)
        ours = (step.point_first, step.point_second, step.to_first, step.to_second)
        pairs = ((point, a), (point, b), (came, a), (came, b))
        assert ours == pytest.approx([1 - cosine_distance(*pair) for pair in pairs], abs=1e-5)
        cosines = rows @ (point / np.linalg.norm(point))
        best = np.sort(cosines)[::-1][:2]
        assert [hit.cosine for hit in step.near] == pytest.approx(best.tolist(), abs=1e-5)
        nearest = cosines[sentences.index(step.near[0].sentence)]
        assert nearest == pytest.approx(best[0], abs=1e-5)  # half way both ends are as near


# An expression ----------------------------------------------------------------------------


def test_an_expression_is_worked_out_before_it_is_decoded(workspace, known):
    """What is taken away and added again leaves the sentence; so does half of it twice."""
    named = [f"{name}={text}" for name, text in zip("abc", known, strict=False)]
    a, b, c = vectors(workspace, *known[:3])
    for expression, point in (("a - b + b", a), ("(a + a) / 2", a), ("a - b + c", a - b + c)):
        decoded = calculate(workspace, expression, *named)
        (came,) = vectors(workspace, decoded.sentence)
        assert decoded.cosine == pytest.approx(1 - cosine_distance(came, point), abs=1e-5)
        assert (decoded.sentence == known[0]) is (point is a)


def test_two_hundred_sentences_can_be_named(workspace):
    """And one more is too many."""
    lines = [f"s{i} = Sentence number {i}." for i in range(200)]
    decoded = calculate(workspace, " + ".join(analogies.read_names(lines)), *lines)
    assert decoded.cosine is not None
    with refused("too-large", 201):
        calculate(
            workspace, " + ".join(["t", *analogies.read_names(lines)]), *lines, "t = One more."
        )


def test_names_are_read_line_by_line():
    """With an equals sign or a colon; the sentence may hold either."""
    text = "a = He said: no = no.\n\n  b2: It is 5 = 5.  \n"
    assert analogies.read_names(text.splitlines()) == {
        "a": "He said: no = no.",
        "b2": "It is 5 = 5.",
    }


@pytest.mark.parametrize(
    ("text", "code", "named"),
    [
        ("a = x\nhello there", "damaged", "Line 2"),
        ("a =", "damaged", "Line 1"),
        ("a = x\na = y", "conflict", "Line 2"),
        ("2 = x", "damaged", "Line 1"),
    ],
)
def test_a_line_that_names_nothing_is_told(text, code, named):
    with refused(code, named):
        analogies.read_names(text.splitlines())


# What a card says -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("decoded", "tag", "words"),
    [
        ({"given": 6, "unseen": ("zyx",)}, "unseen", "Not in this decoder's training text: zyx."),
        ({"given": 4, "unseen": ("alte", "hund")}, "unseen", "another language"),
        ({"given": 20, "known": 14, "cut": True}, "cut", "14"),
    ],
)
def test_what_the_decoder_could_not_know_is_said(decoded, tag, words):
    """A few words are listed; of many it is said that the language may be another."""
    ((found, text),) = limits(DecodeResult("minilm", **decoded))
    assert found == tag and words in text


def test_the_diagnosis_stands_beside_a_round_trip():
    """With its figure if the decoder is diagnosed; not beside a point."""
    words = differing("the old dog", "the dog")
    link = word_diff_of(DecodeResult("minilm", words=words, token_f1=0.51)).link
    assert link is not None and (link.page, link.label[-4:]) == ("diagnose", "0.51")
    assert word_diff_of(DecodeResult("minilm", words=words)).link is not None
    assert word_diff_of(DecodeResult("minilm")).link is None


def test_a_visitor_is_not_sent_to_train_a_decoder():
    """Who may train one is told how long it takes."""
    error = NoDecoder("minilm has no decoder yet.")
    error.took = "about 3 h"
    assert no_decoder("minilm", error).link is not None
    assert "about 3 h" in no_decoder("minilm", error).hint
    error.trains = False
    assert no_decoder("minilm", error).link is None


# A place of a map -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def pca(workspace: Workspace) -> maps.StoredMap:
    """The principal components of the starter topics."""
    return MapSpec(ENCODER, "starter-topics", "quick").make(workspace)


def test_a_place_on_a_point_is_its_sentence(workspace, pca, known):
    """Its vector alone counts."""
    number = pca.sentences.index(known[0])
    found = map_routes.decode_at(workspace, pca, *map(float, pca.points[number]))
    assert found["sentence"] == known[0] and found["cosine"] == pytest.approx(1, abs=1e-5)
    assert [one["id"] for one in found["neighbours"]] == [number]


def test_a_place_is_the_mean_of_the_nearest_weighted_by_distance(workspace, pca):
    """Inverse squares, worked out from the plane; the cosine is to that mean."""
    x, y = 0.05, -0.02
    found = map_routes.decode_at(workspace, pca, x, y)
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
    ids, weights = map_routes.nearest_points(
        np.array([[0, 0], [0, 0], [1, 0], [1e-20, 0]]), 0, 0, 3
    )
    assert sorted(ids.tolist()[:2]) == [0, 1] and weights.tolist()[:2] == [0.5, 0.5]


def test_a_map_without_a_decoder_says_so(workspace):
    """Calmly: there is nothing wrong with the place."""
    other = MapSpec(WITHOUT, "starter-topics", "quick").make(workspace)
    found = map_routes.decode_at(workspace, other, 0, 0)
    assert (found["lacking"], found["training"]) == (
        WITHOUT,
        link("train-decoder", encoder=WITHOUT),
    )


def test_a_decoder_that_cannot_be_read_is_told_of(workspace, pca, tmp_path):
    """Its newest one is damaged: in words, not as a fault of the map."""
    facts = decoders.facts_of(decoders.decoder_of(workspace, ENCODER).folder)
    (tmp_path / decoders.FACTS).write_text(json.dumps(facts), "utf-8")
    decoders.register(workspace, tmp_path)
    found = map_routes.decode_at(workspace, pca, 0, 0)
    (tmp_path / decoders.FACTS).unlink()
    assert tmp_path.name in found["failure"] and found["hint"]


# Many who ask ----------------------------------------------------------------------------


@pytest.fixture
def decoder(decoder_folder: Path) -> Decoder:
    """It knows sixty sentences by heart."""
    return open_decoder(decoder_folder)


@pytest.fixture
def encoder(workspace: Workspace) -> Encoder:
    """Whose vectors it reads."""
    return workspace.load(ENCODER)


def test_what_was_asked_before_is_not_decoded_again(decoder: Decoder, encoder: Encoder) -> None:
    """Nor does it take less time then; another option is another question."""
    points = encoder.encode(known_sentences()[:3])

    def ask(method: str) -> tuple[list[Decoded], float]:
        return service.decode_points(decoder, encoder, points, DecodeOptions(method=method))

    assert ask("greedy") is ask("greedy") is not ask("beam")


def test_samples_are_those_that_were_drawn_alone(decoder: Decoder, encoder: Encoder) -> None:
    """The draws of a request are its own, whoever asks beside it."""
    points = encoder.encode(known_sentences()[:4])
    options = DecodeOptions(method="sample", beams=3)
    found, _ = service.decode_points(decoder, encoder, points, options)
    drawn = decoder.decode(
        points, encoder=encoder, method="sample", beams=3, temperature=1.0, top_p=0.9, seed=0
    )
    assert [one.sentence for one in found] == [one.sentence for one in drawn]


# The verbs of decoding, as a person or a script meets them.


@pytest.mark.usefixtures("workspace")
def test_encoders_that_cannot_answer_leave_the_others_standing() -> None:
    """In the order asked for, each with its answer or error; the exit code says so."""
    known = known_sentences()[0]
    asked = ("-e", WITHOUT, "-e", ENCODER, "-e", "no such:1", "--beams", "3", "--json")
    *lines, _ = theodolite("decode", known, *asked, code=1)
    without, output, wrong = objects(lines)
    assert (output["encoder"], output["sentence"], output["cut"]) == (ENCODER, known, False)
    assert len(output["others"]) <= 2
    assert WITHOUT in without["error"] and "no such" in wrong["error"]


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    "arguments",
    [
        ("decode", "A cat.", "-e"),
        ("interpolate", "A cat.", "A dog.", "-e"),
        ("analogy", "a", "--let", "a=A cat.", "-e"),
        ("diagnose",),
    ],
)
def test_without_a_decoder_it_offers_to_train_one(arguments: tuple[str, ...]) -> None:
    error = theodolite(*arguments, "random:32", code=2)[-1]
    assert "theodolite train-decoder random:32 --train FILE --out FOLDER" in error


@pytest.mark.usefixtures("workspace")
def test_what_cannot_be_read_is_marked() -> None:
    """A caret under the place, also behind letters of two columns; its number in words and JSON."""
    named = ("--let", "a=A cat.", "--let", "猫=A dog.", "-e", ENCODER)
    for text, place, caret in (("a - 猫 / dog", 9, "           ^^^"), ("(a", 1, "  ^")):
        lines = theodolite("analogy", text, *named, code=2)[-1].splitlines()
        assert lines[1:3] == [f"  {text}", caret]
        (printed, *_) = theodolite("analogy", text, *named, "--json", code=2)
        output = json.loads(printed)
        assert (output["text"], output["place"]) == (text, place)


def test_every_training_is_a_row(workspace: Workspace, tmp_path: Path) -> None:
    """One list of encoders and decoders, the newest first; the curve of a decoder is its losses."""
    encoder = small(write_sentences(tmp_path / "s.txt"), tmp_path / "enc")
    trained = submit.queue(workspace, TrainJob.of(workspace, encoder))
    decoder = submit.queue(workspace, TrainDecoderJob(small_spec(tmp_path / "one")))
    diagnosed = submit.queue(workspace, DiagnoseJob.of(workspace, ENCODER, sentences=50))
    for step, loss in ((20, 3.5), (40, 3.25)):
        data = Evaluated(step, True, loss=loss).to_dict()
        workspace.store.events.add(decoder, data.pop("kind"), data)
    first, second = objects(theodolite("runs", "--json"))
    kinds = {decoder: "train-decoder", trained: "train"}
    assert {row["key"]: row["kind"] for row in (first, second)} == kinds
    assert first.keys() == second.keys()
    assert (first["loss"], first["score"], first["encoder"]) == (3.25, None, "random:32")
    assert "20: 3.50, 40: 3.25" in "\n".join(theodolite("runs", decoder, trained))
    assert diagnosed in theodolite("runs", diagnosed, code=2)[-1]


def test_decoders_are_listed_and_removed(workspace: Workspace, decoder_folder: Path) -> None:
    """A folder of one's own stays; what was done is said."""
    (row,) = [r for r in objects(theodolite("decoders", "list", "--json")) if not r["shipped"]]
    name = row["name"]
    assert row["encoder"] == ENCODER
    assert theodolite("decoders", "card", name)[0].startswith("# A decoder for")
    assert "nobody" in theodolite("decoders", "card", "nobody", code=2)[-1]
    (printed,) = objects(theodolite("decoders", "remove", name, "--json"))
    assert (printed["removed"], printed["deleted"]) == (name, False) and decoder_folder.exists()
    assert name in theodolite("decoders", "remove", name, code=2)[-1]
    decoders.register(workspace, decoder_folder)


@pytest.mark.usefixtures("workspace")
@pytest.mark.parametrize(
    ("arguments", "code", "named"),
    [
        (("decode", "  ", "-e", ENCODER), "missing", ""),
        (("decode", "A cat.", "-e", ENCODER, "--method", "guess"), "unknown", "'guess'"),
        (("decode", "word " * 500, "-e", ENCODER), "too-large", "2,499"),
        (("interpolate", "A", "B", "-e", ENCODER, "--steps", "1"), "invalid", "Steps"),
        (("interpolate", "A", " ", "-e", ENCODER), "missing", "second sentence"),
        (("analogy", "1 + 1", "--let", "a=A cat.", "-e", ENCODER), "invalid", "1 + 1"),
        (("analogy", "a - d", "--let", "a=A cat.", "-e", ENCODER), "damaged", "'d'"),
        (("analogy", "a", "--let", "A cat.", "-e", ENCODER), "damaged", "A cat."),
        (("analogy", "a", "--let", "a=x", "--let", "a=y", "-e", ENCODER), "conflict", "a "),
        (("diagnose",), "conflict", "--across"),
        (("diagnose", "--across"), "no-result", ""),
        (("diagnose", ENCODER, "--sentences", "1"), "invalid", "How many"),
        (("train-decoder", ENCODER, "--preset", "best"), "unknown", "'best'"),
        (("train-decoder", ENCODER, "--epochs", "0"), "invalid", "epochs cannot be 0"),
    ],
)
def test_what_cannot_be_is_said_in_a_sentence(
    arguments: tuple[str, ...], code: str, named: str
) -> None:
    """With exit code 2, and as an object with --json."""
    assert named in " ".join(theodolite(*arguments, code=2)[-1].split())
    output = json.loads(theodolite(*arguments, "--json", code=2)[0])
    assert (output["code"], named in output["error"]) == (code, True)


@pytest.mark.usefixtures("workspace")
def test_a_decoder_is_trained_and_used(tmp_path: Path) -> None:
    """Every event is an object, the last the outcome; then it decodes and is diagnosed."""
    spec, text = small_spec(tmp_path / "mine", encoder="random:32", epochs=0.5), tmp_path / "t.txt"
    first, *_, last = objects(theodolite(*spec.command()[1:], "--json"))
    assert (first["kind"], last["kind"], last["out"]) == ("noted", "finished", spec.out)
    assert theodolite("decode", "A cat sleeps.", "-e", "random:32")
    text.write_text("\n".join(f"The fox number {n} sleeps." for n in range(9)), encoding="utf-8")
    rows = objects(theodolite("diagnose", "random:32", "--in", str(text), "--json"))
    assert {row["what"] for row in rows} >= {"figure", "sample"}
