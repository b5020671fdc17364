"""A decoder that knows sixty short sentences by heart, trained in a few seconds."""

from pathlib import Path

import torch

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.starter import read_topics
from theodolite.engine.decoding.dataset import sentences_of, with_vectors
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.text import words
from theodolite.engine.decoding.train import DecoderTrainer
from theodolite.engine.decoding.vocabulary import Vocabulary
from theodolite.engine.encoders import load

LONGEST = 7
"""Words of its sentences."""
COUNT = 60
HELD_OUT = 20


def known_sentences() -> list[str]:
    """The sixty sentences, of the starter set."""
    short = [s for s in dict.fromkeys(read_topics().sentences) if 3 <= words(s) <= LONGEST]
    return short[:: len(short) // COUNT][:COUNT]


def tiny_decoder(folder: Path, encoder: str = "random:64") -> Path:
    """Train a decoder that gives back most of `known_sentences`.

    Args:
        folder: becomes the decoder; must not be there.
        encoder: spec string of the encoder whose vectors it reads.
    """
    sentences = known_sentences()
    spec = DecoderSpec(
        encoder,
        ("starter",),
        str(folder),
        words=LONGEST,
        vocabulary=500,
        width=96,
        layers=1,
        held_out=HELD_OUT,
        dropout=0.0,
        epochs=45,
        batch_tokens=300,
        learning_rate=4e-3,
        warmup=20,
        device="cpu",
    )
    opened = load(encoder)
    # Those kept apart are among those learned from: the best look is the one that knows them best.
    texts = sentences + sentences[:HELD_OUT]
    text = sentences_of(spec, Catalog(None), folder)  # it says that it learned from all of them
    vocabulary = Vocabulary.learn(sentences, spec.vocabulary)
    dataset = with_vectors(spec, texts, opened.encode(texts), vocabulary)
    with torch.random.fork_rng(devices=[]):
        trainer = DecoderTrainer(spec, dataset, vocabulary, opened.fingerprint, text.hash)
        list(trainer.events())
    return folder


def small_spec(out: Path, **changes: object) -> DecoderSpec:
    """A training of seconds on the starter set, of a decoder that will know next to nothing."""
    usual: dict[str, object] = {
        "encoder": "random:32",
        "train": ("starter",),
        "out": str(out),
        "vocabulary": 300,
        "width": 32,
        "layers": 1,
        "epochs": 3.0,
        "batch_tokens": 256,
        "warmup": 5,
        "limit": 300,
        "held_out": 40,
        "device": "cpu",
    }
    return DecoderSpec(**usual | changes)  # type: ignore[arg-type]
