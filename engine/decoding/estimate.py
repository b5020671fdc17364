"""What the training of a decoder will take, before it is begun.

A few sentences are encoded and a few real updates are made, timed and then forgotten. The machine
is the one that answers, with whatever else it does meanwhile.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch

from engine.datasets.catalog import Catalog
from engine.decoding import train
from engine.decoding.spec import DecoderSpec
from engine.decoding.train import Material, Run
from engine.decoding.vocabulary import Vocabulary
from engine.encoders.base import Encoder

_TRIED = 3000
"""Sentences that the vocabulary and the updates of the probe are made of."""
_ENCODED = 64
_PIECES = 512
"""Of an update of the probe, about: the largest decoder makes one in some seconds."""


@dataclass(frozen=True)
class Estimate:
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
) -> Estimate:
    """Probe a training.

    Nothing stays, and the state of the random generator is put back.

    Args:
        spec: of the training; `out` is not looked at.
        encoder: whose vectors are decoded, perhaps with a cache.
        catalog: where data sets come from.
        seconds: to spend on updates, about; one is made in any case.

    Raises:
        UserError: as `train_decoder`, for what cannot be trained.
    """
    with (
        tempfile.TemporaryDirectory(prefix="theodolite-estimate-") as folder,
        torch.random.fork_rng(devices=[]),
    ):
        alone = replace(spec, out=str(Path(folder) / "probe"))
        sentences = train._sentences(alone, catalog or Catalog(), Path(folder))
        rate = _encoding_rate(encoder, sentences)
        run = Run(alone, _material(alone, sentences, encoder.dim), encoder, Path(folder))
        pieces_per_second = _speed(run, seconds)
        return _told(alone, run, len(sentences), rate, pieces_per_second)


def _encoding_rate(encoder: Encoder, sentences: list[str]) -> float:
    """Sentences a second, of some from all over: what a cache holds is among them in its share."""
    places = np.linspace(0, len(sentences) - 1, 2 * _ENCODED).astype(int)
    encoder.encode([sentences[i] for i in places[1::2]][:2])  # loads the weights
    began = time.perf_counter()
    encoder.encode([sentences[i] for i in places[::2]])
    return _ENCODED / max(time.perf_counter() - began, 1e-6)


def _material(spec: DecoderSpec, sentences: list[str], dim: int) -> Material:
    """Some sentences with vectors of chance, which take as long as any."""
    some = sentences[:_TRIED]
    vocabulary = Vocabulary.learn(some, spec.vocabulary)
    vectors = np.random.default_rng(0).standard_normal((len(some), dim), dtype=np.float32)
    mean = np.zeros(dim, np.float32)
    apart = min(train.DEV, len(some) // 3)
    return Material(vocabulary, some, vocabulary.ids(some), vectors, mean, 1.0, len(some) - apart)


def _speed(run: Run, seconds: float) -> float:
    """Pieces a second over parts of batches: small ones, which are a little slower than whole."""
    run.model.train()
    rows = max(8, int(_PIECES / np.mean([len(ids) for ids in run.material.pieces])))
    batches = (batch[:rows] for batch in run._batches(0))
    run._update(next(batches)[:4])  # pays for what is made once
    pieces, began = 0, time.perf_counter()
    for batch in batches:
        pieces += run._update(batch)[1]
        if time.perf_counter() - began > seconds:
            break
    if run.device.type == "cuda":
        torch.cuda.synchronize()
    return max(1, pieces) / max(time.perf_counter() - began, 1e-6)


def _told(
    spec: DecoderSpec, run: Run, sentences: int, rate: float, pieces_per_second: float
) -> Estimate:
    learned = max(1, sentences - train.DEV)
    mean = float(np.mean([len(ids) for ids in run.material.pieces]))
    total = learned * mean * spec.epochs
    learning = total / pieces_per_second
    encoding = sentences / rate
    # The sentences kept apart pass once at each look, without gradients: a third of an update.
    looks = 1 + learning / train.LOOK_SECONDS
    learning += looks * train.DEV * mean / pieces_per_second / 3
    return Estimate(
        seconds=encoding + learning,
        encoding=encoding,
        sentences=learned,
        steps=max(1, round(total / spec.batch_tokens)),
        parameters=sum(p.numel() for p in run.model.parameters()),
        pieces_per_second=pieces_per_second,
        sentences_per_second=rate,
        device=str(run.device),
    )
