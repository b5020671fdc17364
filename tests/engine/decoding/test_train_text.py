"""What a decoder is given to learn from: too little of it, odd lines, odd vectors."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tests.fakes.decoder_training import finished, running_sentences
from theodolite.engine.decode import open_decoder
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import train_decoder
from theodolite.engine.errors import UserError
from theodolite.engine.training import Noted


def lines_of(spec: DecoderSpec, lines: list[str]) -> DecoderSpec:
    """The same with other sentences."""
    Path(spec.train[0]).write_text("\n".join(lines) + "\n", "utf-8")
    return spec


def test_too_few_sentences_are_told(spec: DecoderSpec) -> None:
    """As many as are kept apart must at least be left, and then some."""
    sentences = running_sentences(spec)
    with pytest.raises(UserError, match="60 different sentences of at most 6 words are left"):
        list(train_decoder(lines_of(spec, sentences[:60])))
    finished(list(train_decoder(lines_of(replace(spec, epochs=1), sentences[:61]))))


def test_the_same_sentence_over_and_over_is_one(spec: DecoderSpec) -> None:
    """Nothing can be learned from it."""
    with pytest.raises(UserError, match="1 different sentences"):
        list(train_decoder(lines_of(spec, ["the cat sees the dog"] * 500)))


def test_empty_and_long_lines_are_left_out_and_told(spec: DecoderSpec) -> None:
    """A line of marks alone is empty too; without `clauses` long ones are left out."""
    sentences = running_sentences(spec)
    odd = ["", "   ", "?!", "one two three four five six seven, and no clause that is short enough"]
    events = list(
        train_decoder(
            lines_of(replace(spec, clauses=False, epochs=1), [*odd, *sentences, *sentences])
        )
    )
    notes = [e.message for e in events if isinstance(e, Noted)]
    assert any("2 empty lines were left out" in note for note in notes)
    assert any("300 different sentences of at most 6 words, from 602 lines" in n for n in notes)


def test_a_line_without_spaces_does_not_make_all_others_wait(spec: DecoderSpec) -> None:
    """An address of 200 letters would be 200 positions for every sentence."""
    sentences = running_sentences(spec)
    rng = random.Random(1)
    address = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz/0123456789", k=200))
    events = list(train_decoder(lines_of(replace(spec, epochs=1), [*sentences, address])))
    assert any(
        isinstance(e, Noted) and "1 sentences of very many tokens" in e.message for e in events
    )
    assert open_decoder(Path(finished(events).out)).model.positions <= 4 * 6 + 8


def test_vectors_that_are_no_numbers_are_told(spec: DecoderSpec) -> None:
    """Before anything is trained on them."""

    class Broken:
        name, dim, fingerprint, warnings = "broken", 4, "0", ()

        def encode(self, sentences: list[str], progress: object = None) -> np.ndarray:
            return np.full((len(sentences), 4), np.nan, np.float32)

    with pytest.raises(UserError, match="no numbers"):
        list(train_decoder(spec, encoder=Broken()))


def test_an_encoder_that_knows_nothing_still_gives_a_language_model(spec: DecoderSpec) -> None:
    """One vector for every sentence: no division by its deviation."""

    class Constant:
        name, dim, fingerprint, warnings = "constant", 4, "0", ()

        def encode(self, sentences: list[str], progress: object = None) -> np.ndarray:
            return np.ones((len(sentences), 4), np.float32)

    events = list(train_decoder(replace(spec, epochs=1), encoder=Constant()))
    assert np.isfinite(finished(events).best_loss)
