"""A decoder that knows sixty short sentences by heart, trained in a few seconds."""

import random
from pathlib import Path

import numpy as np
import torch

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.datasets.starter import read_topics
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.dataset import sentences_of, with_vectors
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.text import words
from theodolite.engine.decoding.train import DecoderTrainer, vocabulary_of
from theodolite.engine.encoders import load

LONGEST = 7
"""Words of its sentences."""
COUNT = 60
NOUNS = "cat dog man woman child bird horse king road house tree song".split()
VERBS = "sees likes finds hears paints follows forgets wants".split()
HELD_OUT = 20


def known_sentences() -> list[str]:
    """The sixty sentences, of the starter set."""
    short = [s for s in dict.fromkeys(read_topics().sentences) if 3 <= words(s) <= LONGEST]
    return short[:: len(short) // COUNT][:COUNT]


def tiny_decoder(folder: Path) -> Path:
    """Train a decoder that gives back most of `known_sentences`, into a folder that is new."""
    sentences = known_sentences()
    spec = DecoderSpec(
        "random:64",
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
    # Those kept apart are among those learned from: the best look is the one that knows them best.
    with torch.random.fork_rng(devices=[]):
        list(opened(spec, sentences + sentences[:HELD_OUT]).events())
    return folder


def opened(spec: DecoderSpec, texts: list[str] | None = None) -> DecoderTrainer:
    """What `train_decoder` opens; of other texts it still says that it learned from the spec's."""
    sentences, encoder = sentences_of(spec, Catalog(None), spec.working_folder), load(spec.encoder)
    texts = texts or sentences.texts
    vocabulary = vocabulary_of(spec, texts[: -spec.held_out])
    dataset = with_vectors(spec, texts, encoder.encode(texts), vocabulary)
    return DecoderTrainer(spec, dataset, vocabulary, encoder.fingerprint, sentences.hash)


def loss_of(folder: Path, encoder: str, sentences: list[str]) -> float:
    """The mean over all tokens of sentences, computed from what a folder holds."""
    model, vocabulary, facts = folders.read(folder)
    vectors = load(encoder).encode(sentences)
    points = torch.from_numpy((vectors - np.array(facts["mean"], np.float32)) / facts["scale"])
    rows = [torch.from_numpy(ids.astype(np.int64)) for ids in vocabulary.ids(sentences)]
    ids = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True)
    return float(model.loss(points.float(), ids).detach())


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
    return DecoderSpec(**usual | changes)


def random_spec(folder: Path) -> DecoderSpec:
    """A training of three seconds: all that draws at random is on, dropout and noise."""
    sentences = [f"the {a} {v} the {b}" for a in NOUNS for v in VERBS for b in NOUNS]
    file = folder / "sentences.txt"
    file.write_text("\n".join(random.Random(4).sample(sentences, 300)) + "\n", "utf-8")
    return small_spec(
        folder / "out",
        train=(str(file),),
        words=6,
        limit=None,
        held_out=30,
        epochs=4,
        batch_tokens=400,
        learning_rate=1e-2,
        dropout=0.1,
        noise=0.1,
    )
