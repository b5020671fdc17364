"""What the training of a decoder will take, before it is begun.

A few sentences are encoded and a few real updates are made, timed and then forgotten. The machine
is the one that answers, with whatever else it does meanwhile.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from engine.datasets.catalog import Catalog
from engine.decoding.folder import vocabulary_of
from engine.decoding.material import material_of, sentences_of
from engine.decoding.run import LOOKS, Run
from engine.decoding.spec import DecoderSpec
from engine.encoders.base import Encoder
from engine.probe import sentences_per_second, spread, trial

_TRIED = 3000
"""Sentences that the updates of the probe are made of."""
_READ = 50_000
"""Sentences that its vocabulary is learned from: of fewer it would be smaller, and so quicker."""
_PIECES = 512
"""Of an update of the probe, about: the largest decoder makes one in some seconds."""


@dataclass(frozen=True)
class DecoderEstimate:
    """What a training will take.

    Attributes:
        seconds: from start to end: encoding, updates, looks.
        encoding: seconds of it that encoding takes.
        sentences: that it learns from.
        steps: updates in all.
        parameters: of the decoder.
        pieces_per_second: while it learns.
        sentences_per_second: while it encodes; what a cache knows counts as quick.
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
    """Probe a training.

    Nothing stays: the state of the random generators is put back, and the memory returned.

    Args:
        spec: of the training; `out` is not looked at.
        encoder: whose vectors are decoded, perhaps with a cache.
        catalog: where data sets come from.
        seconds: to spend on updates, about; one is made in any case.

    Raises:
        UserError: as `train_decoder`, for what cannot be trained.
    """
    with trial() as folder:
        return _probed(spec, encoder, catalog or Catalog(), folder, seconds)


def _probed(
    spec: DecoderSpec, encoder: Encoder, catalog: Catalog, folder: Path, seconds: float
) -> DecoderEstimate:
    alone = replace(spec, out=str(folder / "probe"))
    texts = sentences_of(alone, catalog, folder).texts
    rate = sentences_per_second(encoder, spread(texts))
    run = _run(alone, texts[:_READ], encoder)
    return _told(alone, run, len(texts), rate, _speed(run, seconds))


def _run(spec: DecoderSpec, sentences: list[str], encoder: Encoder) -> Run:
    """A training on some sentences with vectors of chance, which take as long as any."""
    vocabulary = vocabulary_of(spec, sentences)
    sentences = sentences[:_TRIED]
    spec = replace(spec, held_out=min(spec.held_out, len(sentences) // 3))
    shape = (len(sentences), encoder.dim)
    vectors = np.random.default_rng(0).standard_normal(shape, dtype=np.float32)
    material = material_of(spec, sentences, vectors, vocabulary)
    return Run(spec, material, vocabulary, encoder.fingerprint, "")


def _speed(run: Run, seconds: float) -> float:
    """Pieces a second over parts of batches: small ones, which are a little slower than whole."""
    run.model.train()
    rows = max(8, int(_PIECES / _mean_pieces(run)))
    batches = (batch[:rows] for batch in run.batches(0))
    run.update(next(batches)[:4])  # pays for what is made once
    pieces, began = 0, time.perf_counter()
    for batch in batches:
        run.update(batch)
        pieces += sum(len(run.material.pieces[i]) - 1 for i in batch)
        if time.perf_counter() - began > seconds:
            break
    if run.device.type == "cuda":
        torch.cuda.synchronize()
    return max(1, pieces) / max(time.perf_counter() - began, 1e-6)


def _mean_pieces(run: Run) -> float:
    """That a sentence is learned by: BEGIN is given."""
    return float(np.mean([len(ids) - 1 for ids in run.material.pieces]))


def _told(
    spec: DecoderSpec, run: Run, sentences: int, rate: float, pieces_per_second: float
) -> DecoderEstimate:
    learned, mean = max(1, sentences - spec.held_out), _mean_pieces(run)
    total = learned * mean * spec.epochs
    # The sentences kept apart pass once at each look, without gradients: a third of an update.
    looked = LOOKS * spec.held_out * mean / 3
    encoding = sentences / rate
    return DecoderEstimate(
        seconds=encoding + (total + looked) / pieces_per_second,
        encoding=encoding,
        sentences=learned,
        steps=max(1, round(total / spec.batch_tokens)),
        parameters=sum(p.numel() for p in run.model.parameters()),
        pieces_per_second=pieces_per_second,
        sentences_per_second=rate,
        device=str(run.device),
    )
