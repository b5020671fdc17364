"""`cls` meant two things: refused now, read in old records as what it meant, hashed as it was."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tests.engine.encoders.models import SENTENCES, save, save_sentence_transformer
from theodolite.engine.decoding.spec import DecoderSpec
from theodolite.engine.encoders import load, parse
from theodolite.engine.encoders.checkpoint import Checkpoint
from theodolite.engine.encoders.doctor import diagnose
from theodolite.engine.encoders.fingerprint import fingerprint
from theodolite.engine.encoders.spec import from_legacy, to_legacy
from theodolite.engine.errors import UserError
from theodolite.engine.training.spec import TrainSpec


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny BERT with a pooler."""
    return save(tmp_path_factory.mktemp("bert"))


@pytest.mark.parametrize("kind", ["hf:a/b", "dir:/x", "minilm"])
def test_the_bare_word_is_refused_and_both_names_are_told(kind: str) -> None:
    """In the spec of an encoder and in that of a training."""
    with pytest.raises(UserError, match=r"cls_token.*pooler_output"):
        parse(f"{kind}?pooling=cls")
    with pytest.raises(UserError, match=r"cls_token.*pooler_output"):
        TrainSpec("unsup", kind, "a.txt", "out", pooling="cls")  # type: ignore[arg-type]
    with pytest.raises(UserError, match=r"cls_token with head=mlp"):
        TrainSpec("unsup", kind, "a.txt", "out", pooling="pooler_output")  # type: ignore[arg-type]


def test_the_longer_word_of_before_is_another_for_the_raw_token() -> None:
    """It never had two meanings."""
    assert str(parse("hf:a/b?pooling=cls_before_pooler")) == "hf:a/b?pooling=cls_token"


@pytest.mark.parametrize(
    ("pooling", "before"), [("cls_token", "cls_before_pooler"), ("pooler_output", "cls")]
)
def test_fingerprints_are_those_of_before(bert: Path, pooling: str, before: str) -> None:
    """What was cached and measured under the old names is found."""
    hashes = Checkpoint(bert, "bert").hashes
    expected = fingerprint("transformer", *hashes, before, -1, None, "", False, "float32")
    encoder = load(f"dir:{bert}?pooling={pooling}", device="cpu")
    assert encoder.fingerprint == expected
    assert np.isfinite(encoder.encode(SENTENCES)).all()


def test_old_specs_are_read_as_what_they_meant() -> None:
    """Wherever in a text they stand; other words are left alone."""
    old = "hf:a/b?layer=1&pooling=cls_before_pooler + hf:c?pooling=cls | normalise"
    today = "hf:a/b?layer=1&pooling=cls_token + hf:c?pooling=pooler_output | normalise"
    assert from_legacy(old) == from_legacy(today) == today
    assert to_legacy(today) == to_legacy(old) == old
    for other in ("wordllama?pooling=max", "what does pooling=cls mean", "hf:a?pooling=clsx"):
        assert from_legacy(other) == to_legacy(other) == other


def test_trainings_keep_their_hash_and_old_ones_are_read() -> None:
    """The numbers are those that version 1 gave; a checkpoint of then is gone on with."""
    base = "dir:base?pooling=pooler_output"
    spec = TrainSpec("unsup", base, "a.txt", "out", pooling="cls_token")
    assert spec.hash == "4f1122912777e549006aaa0a49c051a8"
    assert (
        TrainSpec("unsup", "minilm", "a.txt", "out", pooling="avg").hash
        == "c185cd1466310a0a313cc65621ab3bc6"
    )
    old = spec.to_dict() | {"version": 1, "pooling": "cls", "base": "dir:base?pooling=cls"}
    assert TrainSpec.from_dict(old) == spec
    with pytest.raises(UserError, match="two things"):
        TrainSpec.from_dict({k: v for k, v in old.items() if k != "version"})


def test_decoders_keep_their_hash_and_old_ones_are_read() -> None:
    """By the encoder's spec in the words of then."""
    spec = DecoderSpec("hf:a/b?pooling=pooler_output | normalise", ("a.txt",), "out")
    assert spec.hash == "1934aaadef93f0193bbbc6024fe1fb8c"
    old = spec.to_dict() | {"encoder": "hf:a/b?pooling=cls | normalise"}
    assert DecoderSpec.from_dict(old) == spec


@pytest.mark.parametrize(
    ("said", "meant"), [("cls", "pooler_output"), ("cls_before_pooler", "cls_token")]
)
def test_the_record_of_a_trained_folder_may_be_old(tmp_path: Path, said: str, meant: str) -> None:
    """`theodolite.json` of before, beside the files of sentence-transformers."""
    folder = save_sentence_transformer(tmp_path / "trained")
    (folder / "theodolite.json").write_text(json.dumps({"version": 1, "pooling": said}))
    assert diagnose(f"dir:{folder}").pooling == meant
