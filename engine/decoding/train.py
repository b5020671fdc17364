"""Training of a decoder: vectors in, their own sentences out (Vec2Sent, section 2).

    for event in train_decoder(DecoderSpec("minilm", ("sentences.txt",), "my-decoder")):
        print(event)

The loss is the cross entropy of the next token given the vector and the tokens before it. Vectors
are standardised by the mean of each dimension and one deviation for all, so that one learning rate
suits every encoder. Some sentences are held out, and the weights with the lowest loss on them are
kept.

A killed run resumes from its checkpoint when it is started again, and on a CPU ends with exactly
the weights of an uninterrupted one. The checkpoint lies beside the folder, in `NAME.training`,
until the decoder is written.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.dataset import DecoderTexts, encoded, sentences_of, with_vectors
from theodolite.engine.decoding.events import DecoderFinished, finished
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.start import Start
from theodolite.engine.decoding.trainer import DecoderTrainer
from theodolite.engine.encoders import load
from theodolite.engine.encoders.base import Encoder
from theodolite.engine.errors import UserError
from theodolite.engine.training.events import Event, Noted
from theodolite.engine.training.lock import lock
from theodolite.engine.training.loop import never


def train_decoder(
    spec: DecoderSpec,
    catalog: Catalog | None = None,
    *,
    encoder: Encoder | None = None,
    stop: Callable[[], bool] = never,
) -> Iterator[Event]:
    """Train a decoder, or resume its training.

    Args:
        spec: the settings of the training.
        catalog: where data sets come from.
        encoder: loaded already, perhaps with a cache; by default `spec.encoder` is loaded.
        stop: called before every update; once true, the best weights so far become the decoder.

    Yields:
        `Noted` and `Encoded`, then `Started`, and `Finished` last; for a decoder that exists
        already, with the same settings and data, `Noted` and `Finished` alone. Stopped before the
        first update it ends without `Finished`, as there is nothing to keep.
    """
    sentences = sentences_of(spec, catalog or Catalog(), spec.working_folder)
    if last := _finished(spec, sentences):
        yield Noted(last.step, f"{last.out} already exists, from this same training.")
        yield last
        return
    with lock(spec.working_folder):
        yield from _trained(spec, sentences, encoder or load(spec.encoder), stop)


def _trained(
    spec: DecoderSpec, sentences: DecoderTexts, encoder: Encoder, stop: Callable[[], bool]
) -> Iterator[Event]:
    yield from (Noted(0, note) for note in sentences.notes)
    start = Start.of(spec, encoder)
    vectors = yield from encoded(sentences.texts, encoder, stop)
    if vectors is None:
        yield Noted(0, "Stopped before the first update: there is no decoder.")
        return
    learned, held_out = sentences.texts[: -spec.held_out], sentences.texts[-spec.held_out :]
    vocabulary = start.vocabulary if start else folders.vocabulary_of(spec, learned)
    vocabulary = folders.with_known_words(vocabulary, learned, held_out)
    dataset = with_vectors(
        spec, sentences.texts, vectors, vocabulary, start.facts if start else None
    )
    if left := len(sentences.texts) - len(dataset.sentences):
        yield Noted(0, f"{left:,} sentences of very many tokens were left out.")
    trainer = DecoderTrainer(
        spec, dataset, vocabulary, encoder.fingerprint, sentences.hash, start=start
    )
    yield from trainer.events(stop)


def _finished(spec: DecoderSpec, sentences: DecoderTexts) -> DecoderFinished | None:
    """Return the last event of a training, killed or repeated, that has written its decoder."""
    out = spec.out_folder
    if not out.exists():
        return None
    try:
        facts = folders.facts_of(out)
    except UserError:  # something else is there
        facts = {}
    if facts.get("hash") != spec.hash or facts.get("data_hash") != sentences.hash:
        raise UserError(
            f"{out} already exists, and is not the decoder with these settings and sentences.",
            "Name another folder, or remove it; nothing is overwritten.",
            code="conflict",
        )
    shutil.rmtree(spec.working_folder, ignore_errors=True)
    return finished(facts, out)
