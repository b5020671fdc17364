"""What a training will take, told before it is begun."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.fakes.decoders import known_sentences, small_spec
from theodolite.engine.decoding.estimate import estimate
from theodolite.engine.decoding.presets import PRESETS, preset
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.decoding.train import train_decoder
from theodolite.engine.encoders import load
from theodolite.engine.errors import UserError
from theodolite.engine.training.events import DecoderStarted


def test_it_tells_what_the_training_then_is(tmp_path: Path) -> None:
    """Sentences, parameters and updates, nearly; and nothing stays of the probe."""
    spec = small_spec(tmp_path / "out")
    state = torch.get_rng_state()
    estimated = estimate(spec, load("random:32"), seconds=0.3)
    assert torch.equal(torch.get_rng_state(), state)
    assert list(tmp_path.iterdir()) == []
    started = next(e for e in train_decoder(spec) if isinstance(e, DecoderStarted))
    # A sentence of very many pieces, which is left out, may be beyond those the probe looks at.
    assert estimated.sentences == pytest.approx(started.sentences, rel=0.02)
    assert estimated.parameters == pytest.approx(started.parameters, rel=0.02)
    assert estimated.steps == pytest.approx(started.steps, rel=0.25)
    # By hand: at its speed, every piece of its share of the sentences is learned once.
    learning = estimated.steps * spec.batch_tokens / estimated.pieces_per_second
    assert estimated.seconds > estimated.encoding + 0.8 * learning
    assert estimated.encoding == pytest.approx(
        (estimated.sentences + spec.held_out) / estimated.sentences_per_second
    )


def test_what_cannot_be_trained_is_told_here_too(tmp_path: Path) -> None:
    """With the same words as the training."""
    file = tmp_path / "few.txt"
    file.write_text("\n".join(known_sentences()), "utf-8")
    spec = DecoderSpec("random:32", (str(file),), str(tmp_path / "out"))
    with pytest.raises(UserError, match="60 different sentences of at most 14 words"):
        estimate(spec, load("random:32"))


def test_presets_are_settings() -> None:
    """Of the paper and of its code: protocols of Vec2Sent; each name once, an unknown one told."""
    specs = {p.name: DecoderSpec("minilm", ("a.txt",), "out", **p.changes) for p in PRESETS}
    assert len(specs) == len(PRESETS)
    paper, code = specs["paper"], specs["code"]
    assert (paper.words, paper.limit, preset("paper").test) == (15, 1_400_000, 10_000)
    assert (code.words, code.limit, preset("code").test) == (14, 1_400_000, 1_000)
    assert paper.architecture == code.architecture == "lstm-mos"
    assert not paper.clauses and not code.clauses
    assert specs["ours"] == DecoderSpec("minilm", ("a.txt",), "out")
    with pytest.raises(UserError, match="no preset 'poem'"):
        preset("poem")
