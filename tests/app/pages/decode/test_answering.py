"""Points decoded for many who ask at the same moment."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.fakes.decoders import known_sentences
from theodolite.app.pages.decode import answering
from theodolite.app.pages.decode import service as decode
from theodolite.app.pages.decode.service import DecodeOptions
from theodolite.app.workspace import Workspace
from theodolite.engine.decode import Decoded, Decoder, open_decoder
from theodolite.engine.decoding.folder import with_known_words
from theodolite.engine.decoding.known_words import words_of
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError

ENCODER = "random:64"
PATIENCE = 60


class Counting(Decoder):
    """A decoder that remembers how many points it was given at a time, and can be held up."""

    def __init__(self, opened: Decoder) -> None:
        super().__init__(opened.model, opened.vocabulary, opened.facts)
        self.passes: list[int] = []
        self.inside, self.go = threading.Event(), threading.Event()

    def decode(self, vectors: np.ndarray, **how: Any) -> list[Decoded]:
        """As it is."""
        self.passes.append(len(vectors))
        self.inside.set()
        assert self.go.wait(PATIENCE)
        return super().decode(vectors, **how)


@pytest.fixture(autouse=True)
def forgetful() -> Iterator[None]:
    """Nothing is remembered from one test to the next."""
    answering.forget()
    yield
    answering.forget()


@pytest.fixture
def decoder(decoder_folder: Path) -> Counting:
    """It knows sixty sentences by heart."""
    return Counting(open_decoder(decoder_folder))


@pytest.fixture
def encoder(decoding: Workspace) -> Encoder:
    """Whose vectors it reads."""
    return decoding.load(ENCODER)


def asked_behind_each_other(
    pool: ThreadPoolExecutor,
    decoder: Counting,
    encoder: Encoder,
    points: np.ndarray,
    how: DecodeOptions,
) -> list[Future[list[Decoded]]]:
    """A request a point; the first is held up while the others come to stand in the line."""
    seen = []
    for point in points:
        told = threading.Semaphore(0)
        seen.append(
            pool.submit(
                answering.decode,
                decoder,
                encoder,
                point[None],
                how,
                lambda ahead, told=told: told.release(),
            )
        )
        for _ in range(2):  # before it stands in the line, and while it does
            assert told.acquire(timeout=PATIENCE)
        assert decoder.inside.wait(PATIENCE)
    decoder.go.set()
    return seen


@pytest.mark.parametrize(
    "how", [DecodeOptions("greedy"), DecodeOptions("beam"), DecodeOptions("beam", rounds=1)]
)
def test_many_who_ask_share_a_pass(decoder: Counting, encoder: Encoder, how: DecodeOptions) -> None:
    """While one is decoded twelve ask: the next pass takes all, and says what it says alone."""
    points = encoder.encode(known_sentences()[:13])
    with ThreadPoolExecutor(13) as pool:
        results = asked_behind_each_other(pool, decoder, encoder, points, how)
        together = [one.result(PATIENCE)[0] for one in results]
    assert set(decoder.passes) == {1, 12}
    answering.forget()
    alone = [answering.decode(decoder, encoder, point[None], how)[0] for point in points]
    assert [one.sentence for one in together] == [one.sentence for one in alone]
    assert [one.cosine for one in together] == pytest.approx([one.cosine for one in alone])
    assert [[o.sentence for o in one.others] for one in together] == [
        [o.sentence for o in one.others] for one in alone
    ]


def test_the_references_search_is_not_corrected(decoder: Counting, encoder: Encoder) -> None:
    """It finds what it finds, however many rounds are asked for."""
    decoder.go.set()
    points = encoder.encode(known_sentences()[:2]) + 0.4
    found = answering.decode(decoder, encoder, points, DecodeOptions("vec2sent-ref", rounds=3))
    assert decoder.passes == [1, 1]
    assert found == decoder.decode(points, encoder=encoder, method="vec2sent-ref")


def test_what_was_asked_before_is_not_decoded_again(decoder: Counting, encoder: Encoder) -> None:
    """The same point with the same options; another option is another question."""
    decoder.go.set()
    points = encoder.encode(known_sentences()[:3])
    first = answering.decode(decoder, encoder, points, DecodeOptions("greedy"))
    assert answering.decode(decoder, encoder, points[::-1], DecodeOptions("greedy")) == first[::-1]
    assert (
        answering.decode(decoder, encoder, points[[1, 1]], DecodeOptions("greedy"))
        == [first[1]] * 2
    )
    assert decoder.passes == [3]
    answering.decode(decoder, encoder, points[:1], DecodeOptions("beam"))
    assert decoder.passes == [3, 1]


def test_samples_are_those_that_were_drawn_alone(decoder: Counting, encoder: Encoder) -> None:
    """The draws of a request are its own, whoever asks beside it."""
    decoder.go.set()
    points = encoder.encode(known_sentences()[:4])
    how = DecodeOptions("sample", beams=3)
    found = answering.decode(decoder, encoder, points, how)
    drawn = decoder.decode(
        points, encoder=encoder, method="sample", beams=3, temperature=1.0, top_p=0.9, seed=0
    )
    assert [one.sentence for one in found] == [one.sentence for one in drawn]


def test_any_word_can_be_asked_for(decoder: Counting, encoder: Encoder) -> None:
    """Held to the words of its text by default; lifted, it is another answer."""
    decoder.go.set()
    sentences = known_sentences()
    decoder.vocabulary = with_known_words(decoder.vocabulary, sentences, sentences)
    points = np.random.default_rng(0).normal(0, 0.5, (12, 64)).astype(np.float32)
    for known_words in (True, False):
        found = answering.decode(decoder, encoder, points, DecodeOptions(known_words=known_words))
        text = [one.sentence for one in found]
        strange = set(words_of(text)) - set(words_of(sentences))
        assert bool(strange) != known_words


def test_a_point_that_is_none_fails_alone(decoder: Counting, encoder: Encoder) -> None:
    """Numbers that are not finite are refused; whoever waited with them is answered."""
    good = encoder.encode(known_sentences()[:2])
    points = np.stack([good[0], np.full(64, np.nan, np.float32), good[1]])
    with ThreadPoolExecutor(3) as pool:
        results = asked_behind_each_other(pool, decoder, encoder, points, DecodeOptions("greedy"))
        assert [len(results[place].result(PATIENCE)) for place in (0, 2)] == [1, 1]
        with pytest.raises(UserError, match="NaN or infinity"):
            results[1].result(PATIENCE)


def test_who_leaves_is_not_decoded(decoding: Workspace) -> None:
    """What is told to one who is gone ends the request before anything is computed."""

    def gone(ahead: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        decode.decode(decoding, [ENCODER], "A sentence of nobody.", waiting=gone)
