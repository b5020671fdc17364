"""A decoder's training of three seconds."""

import random
from pathlib import Path

from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.decoding import folder as folders
from theodolite.engine.decoding.dataset import sentences_of, with_vectors
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import DecoderTrainer
from theodolite.engine.encoders import load

NOUNS = "cat dog man woman child bird horse king road house tree song".split()
VERBS = "sees likes finds hears paints follows forgets wants".split()


def small(tmp_path: Path) -> DecoderSpec:
    """A training of three seconds: all that draws at random is on, dropout and noise."""
    rng = random.Random(4)
    sentences = [f"the {a} {v} the {b}" for a in NOUNS for v in VERBS for b in NOUNS]
    file = tmp_path / "sentences.txt"
    file.write_text("\n".join(rng.sample(sentences, 300)) + "\n", "utf-8")
    return DecoderSpec(
        "random:32",
        (str(file),),
        str(tmp_path / "out"),
        words=6,
        held_out=30,
        vocabulary=300,
        width=32,
        layers=1,
        epochs=4,
        batch_tokens=400,
        learning_rate=1e-2,
        warmup=5,
        dropout=0.1,
        noise=0.1,
        device="cpu",
    )


def running_sentences(spec: DecoderSpec) -> list[str]:
    """The sentences in their order."""
    return sentences_of(spec, Catalog(), spec.working_folder).texts


def opened(spec: DecoderSpec) -> DecoderTrainer:
    """What `train_decoder` opens."""
    sentences, encoder = sentences_of(spec, Catalog(), spec.working_folder), load(spec.encoder)
    vocabulary = folders.vocabulary_of(spec, sentences.texts[: -spec.held_out])
    dataset = with_vectors(spec, sentences.texts, encoder.encode(sentences.texts), vocabulary)
    return DecoderTrainer(spec, dataset, vocabulary, encoder.fingerprint, sentences.hash)
