"""Estimates the cost of training a decoder.

A few sentences are encoded and a few real updates are made, timed and discarded. The estimate holds
for the current machine under its current load.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from theodolite.engine.cost.speed import Speed, encoding_speed, spread, timed_updates, trial
from theodolite.engine.datasets.catalog import Catalog
from theodolite.engine.decoding.dataset import sentences_of, with_vectors
from theodolite.engine.decoding.folder import vocabulary_of
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.start import Start
from theodolite.engine.decoding.train import EVALUATIONS, DecoderTrainer
from theodolite.engine.encoders.base import Encoder

_TRIED = 3000
"""Sentences used for the updates of the probe."""
_READ = 50_000
"""Sentences that its vocabulary is learned from: fewer would make it smaller, and so faster."""


@dataclass(frozen=True)
class DecoderEstimate:
    """The estimated cost of a training.

    Attributes:
        seconds: from start to end: encoding, updates, evaluations.
        encoding: seconds of these spent on encoding.
        sentences: trained on.
        steps: updates in all.
        parameters: of the decoder.
        pieces_per_second: tokens per second of training.
        sentences_per_second: of encoding; sentences in a cache count as fast ones.
        device: where it was measured.
    """

    seconds: float
    encoding: float
    sentences: int
    steps: int
    parameters: int
    pieces_per_second: float
    sentences_per_second: float
    device: str


def estimate(
    spec: DecoderSpec, encoder: Encoder, catalog: Catalog | None = None, seconds: float = 2.0
) -> DecoderEstimate:
    """Estimate the cost of a training from a short probe.

    The probe leaves no trace: the state of the random generators is restored, and memory is freed.

    Args:
        spec: of the training; `out` is ignored.
        encoder: the encoder whose vectors are decoded, perhaps with a cache.
        catalog: where data sets come from.
        seconds: approximate time for updates; at least one is timed.
    """
    with trial() as folder:
        return _probed(spec, encoder, catalog or Catalog(), folder, seconds)


def _probed(
    spec: DecoderSpec, encoder: Encoder, catalog: Catalog, folder: Path, seconds: float
) -> DecoderEstimate:
    probe = replace(spec, out=str(folder / "probe"))
    texts = sentences_of(probe, catalog, folder).texts
    encoding = encoding_speed(encoder, spread(texts))
    trainer = _trainer(probe, texts[:_READ], encoder)
    return _estimate(probe, trainer, len(texts), encoding, _learning_speed(trainer, seconds))


def _trainer(spec: DecoderSpec, sentences: list[str], encoder: Encoder) -> DecoderTrainer:
    """A trainer on some sentences with random vectors, which take as long as real ones."""
    start = Start.of(spec, encoder)
    vocabulary = start.vocabulary if start else vocabulary_of(spec, sentences)
    sentences = sentences[:_TRIED]
    spec = replace(spec, held_out=min(spec.held_out, len(sentences) // 3))
    shape = (len(sentences), encoder.dim)
    vectors = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    dataset = with_vectors(spec, sentences, vectors, vocabulary, start.facts if start else None)
    return DecoderTrainer(spec, dataset, vocabulary, encoder.fingerprint, "", start=start)


def _learning_speed(trainer: DecoderTrainer, seconds: float) -> Speed:
    """Time per token; small batches, a little slower than full ones, weigh less."""
    whole = max(1, int(trainer.spec.batch_tokens / _mean_tokens(trainer)))
    _, *updates = timed_updates(trainer, whole, seconds)
    tokens = sum(len(trainer.dataset.tokens[i]) - 1 for batch, _ in updates for i in batch)
    return Speed(max(sum(took for _, took in updates), 1e-6) / max(1, tokens))


def _mean_tokens(trainer: DecoderTrainer) -> float:
    """Mean number of target tokens of a sentence: all but BEGIN."""
    return float(np.mean([len(ids) - 1 for ids in trainer.dataset.tokens]))


def _estimate(
    spec: DecoderSpec,
    trainer: DecoderTrainer,
    sentences: int,
    encoding: Speed,
    learning: Speed,
) -> DecoderEstimate:
    learned, mean = max(1, sentences - spec.held_out), _mean_tokens(trainer)
    total = learned * mean * spec.epochs
    # The held-out sentences pass once at each evaluation, without gradients: a third of an update.
    evaluating = EVALUATIONS * spec.held_out * mean / 3
    return DecoderEstimate(
        seconds=encoding.seconds(sentences) + learning.seconds(total + evaluating),
        encoding=encoding.seconds(sentences),
        sentences=learned,
        steps=max(1, round(total / spec.batch_tokens)),
        parameters=sum(p.numel() for p in trainer.model.parameters()),
        pieces_per_second=learning.per_second,
        sentences_per_second=encoding.per_second,
        device=str(trainer.precision.device),
    )
